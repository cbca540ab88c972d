"""Ctrl-C while an exploration lasts."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import signal
import threading
from collections.abc import Callable
from typing import Any, Self

_set_handler: Any = _signal.signal
"""That of the module ``signal`` tries to make a constant of each handler, old and new, which takes
a tenth of the time of an exploration with one execution."""


class Handlers:
    """Who handles ``SIGINT``.

    Attributes:
        ours: ends the exploration, if there is one that does so.
        program: what it has taken the place of.
    """

    ours: Any = None
    program: Any = None


class Interrupts:
    """Context manager: Ctrl-C ends the exploration in good order, a second one at once.

    Does nothing outside of the main thread, to which Python brings all signals.

    Parameters:
        stop: ends the exploration.
    """

    def __init__(self, stop: Callable[[], object]) -> None:
        self._stop = stop
        # What was set before: for the program, and as it is.
        self._handler: Any = None
        self._before: Any = None
        self._came = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._handler = signal.getsignal(signal.SIGINT)
            self._before = _set_handler(signal.SIGINT, self._interrupt)
            Handlers.ours, Handlers.program = self._interrupt, self._handler
        return self

    def _interrupt(self, *_: object) -> None:
        if self._came:
            raise KeyboardInterrupt
        self._came = True
        self._stop()

    def __exit__(self, *exc_info: object) -> None:
        if self._handler is not None:
            _set_handler(signal.SIGINT, self._before)
            Handlers.ours = Handlers.program = None
