"""Signals that Bohrbug gets and a program is meant to."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

_PASSED_ON = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
"""Signals that are meant for the program."""


class PassingOn:
    """What this process is told goes to the program; a context manager.

    Parameters:
        note: called with the number of each signal.
    """

    def __init__(self, note: Callable[[int], object]) -> None:
        self._note = note
        self._pid = 0
        self._early: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._pass_on) for number in _PASSED_ON}
        return self

    def __exit__(self, *exc_info: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def go_to(self, pid: int) -> None:
        """From now on to this process, with those that came before there was one."""
        self._pid = pid
        for number in self._early:
            self._send(number)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        self._note(number)
        if self._pid:
            self._send(number)
        else:
            self._early.append(number)

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, number)
