"""Loops that wait come to an end, in whatever order they first run."""

from __future__ import annotations

import threading
from collections.abc import Callable

import bohrbug
from bohrbug.exploration.result import VerdictKind
from tests.programs.together import together


def takes_what_is_put_unless_it_was_removed() -> None:
    """In turn, who removes always runs just before who takes: that one needs another order."""
    lock = threading.Lock()
    box: list[int] = []
    done = {"put": 0, "remove": 0, "take": 0}

    def repeat(name: str, work: Callable[[], bool]) -> Callable[[], None]:
        def loop() -> None:
            while min(done.values()) < 2:
                with lock:
                    done[name] += work()

        return loop

    def put() -> bool:
        box[:] = [1]
        return True

    def remove() -> bool:
        was_there = bool(box)
        box.clear()
        return was_there

    together(repeat("put", put), repeat("remove", remove), repeat("take", lambda: bool(box)))


def test_the_order_of_those_that_spin_varies() -> None:
    result = bohrbug.explore(
        takes_what_is_put_unless_it_was_removed, strategy="ipb", executions=1, level="sync"
    )
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND, result.failures
