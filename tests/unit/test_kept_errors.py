"""What futures keep, be it an exception or not."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import bohrbug
from bohrbug import VerdictKind


def test_a_future_may_keep_what_is_no_exception() -> None:
    """The library lets it, and tests of programs do so."""

    def program() -> None:
        future: Future[int] = Future()
        thread = threading.Thread(target=future.set_exception, args=(1,))
        thread.start()
        assert future.exception() == 1
        thread.join()

    assert bohrbug.explore(program).verdict.kind is VerdictKind.HOLDS
