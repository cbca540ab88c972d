"""Exceptions that leave threads: they fail the execution, unless the program expects them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.rewrite import tell
from bohrbug.runtime.threads.rewrite.callables import place_of_call
from bohrbug.runtime.threads.task import TaskKilled


class Expected:
    """While a test runs.

    Attributes:
        says_so: whether it says that an exception may leave a thread of this name; the pytest
            plugin puts its own in.
    """

    says_so: Callable[[str], bool] = staticmethod(lambda name: False)


_make_invoke_excepthook = threading._make_invoke_excepthook  # type: ignore[attr-defined]


def make_invoke_excepthook() -> Callable[[Any], None]:
    """Stands for ``threading._make_invoke_excepthook``: tells the execution first."""
    original = _make_invoke_excepthook()

    def invoke(thread: Any) -> None:
        _tell_of_error(thread, lambda: original)

    return invoke


def invoke_excepthook(thread: Any) -> None:
    """The same for all threads that are made under control: an exception is to leave ``thread``."""
    _tell_of_error(thread, _make_invoke_excepthook)


def _tell_of_error(thread: Any, make_original: Callable[[], Callable[[Any], None]]) -> None:
    execution = controlled()
    error = sys.exc_info()[1]
    if execution is not None and error is not None:
        if isinstance(error, TaskKilled):
            return
        if tell.active:
            # Which one there is now: another task may be about to exchange it.
            place = place_of_call("Thread._invoke_excepthook")
            tell.item(vars(threading), "excepthook", False, place)
        expected = (
            isinstance(error, SystemExit)
            or threading.excepthook is not execution.excepthook_before
            or Expected.says_so(thread.name)
        )
        if not expected:
            execution.ending.fail_with_exception(execution.current, error)
            if not execution.settings.is_service:
                return
    make_original()(thread)
