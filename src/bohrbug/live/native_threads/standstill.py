"""Deadlocks of real threads: all of them wait for locks, and none has moved for long.

Who holds a lock is not known, as locks are the real ones. What is known is where each thread
stands: if the innermost instruction of all of them acquires a lock, without a timeout, nobody in
this process is left to release one.
"""

from __future__ import annotations

import ast
import dis
import multiprocessing.process
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from bohrbug.runtime.threads.data.expressions import code_at
from bohrbug.runtime.threads.local_variables import local_variables

Frames = Mapping[int, FrameType]

LOOK_EVERY = 0.25
"""Seconds between two looks."""

_WAITS = {"acquire": 1, "join": 0, "get": 1, "__enter__": None, "_acquire_restore": None}
"""Methods in C that wait, and which of their arguments is the timeout; ``None``: there is none.

The one before it, if there is one, says whether they wait at all.
"""

_OPCODES = "BEFORE_WITH", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "PRECALL"


class Standstill:
    """Looks for deadlocks, now and then.

    Parameters:
        seconds: for how long no thread may have moved; 0: it never looks.
        found: called with the frames of all threads if there is one.
        frames: of all threads, by their numbers.
        may_be_woken: whether somebody outside could wake a thread.
    """

    def __init__(
        self,
        seconds: float,
        found: Callable[[Frames], object],
        frames: Callable[[], Frames] = sys._current_frames,
        may_be_woken: Callable[[], bool] | None = None,
    ) -> None:
        self._seconds, self._found, self._frames = seconds, found, frames
        self._may_be_woken = may_be_woken or _may_be_woken
        self._next = 0.0
        self._since = 0.0
        self._seen: dict[int, tuple[int, int]] = {}

    def look(self, now: float, own: int) -> None:
        """Look, if it is time to.

        Parameters:
            now: in seconds.
            own: the number of the thread that looks, which is none of the program's.
        """
        if not self._seconds or now < self._next:
            return
        self._next = now + LOOK_EVERY
        frames = {number: each for number, each in self._frames().items() if number != own}
        seen = {number: (id(each), each.f_lasti) for number, each in frames.items()}
        if seen != self._seen:
            self._seen, self._since = seen, now
        elif now - self._since >= self._seconds:
            self._since = now
            if frames and all(map(waits_for_lock, frames.values())) and not self._may_be_woken():
                self._found(frames)


def _may_be_woken() -> bool:
    """Whether a handler of signals, or another process, could release a lock."""
    if multiprocessing.process._children:  # type: ignore[attr-defined]
        return True
    usual = signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler, None
    return any(signal.getsignal(number) not in usual for number in signal.valid_signals())


def other_threads(known: int) -> int:
    """How many threads the process has that are not Python's; 0 where that can't be known.

    Parameters:
        known: how many are.
    """
    folder = Path("/proc/self/task")
    return max(len(os.listdir(folder)) - known, 0) if folder.is_dir() else 0


def waits_for_lock(frame: FrameType) -> bool:
    """Whether what a frame is at acquires a lock, for as long as it takes.

    It is read in the source, so that code without it never does.
    """
    code, at = frame.f_code, frame.f_lasti
    opcode = dis.opname[code.co_code[at]] if at >= 0 else ""
    if opcode not in _OPCODES:
        return False
    if opcode == "BEFORE_WITH":
        # Of a class in Python there would be a frame.
        return True
    expression = code_at((code, at))
    if isinstance(expression, ast.Call):
        return isinstance(expression.func, ast.Attribute) and _waits(expression, frame)
    # From Python 3.14 on "with lock:" calls what it has looked up.
    return expression is not None


def _waits(call: ast.Call, frame: FrameType) -> bool:
    """Whether a call of a method of that name waits, without a timeout."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr not in _WAITS:
        return False
    at = _WAITS[call.func.attr]
    if at is None:
        return True
    values = dict(enumerate(_value(each, frame) for each in call.args))
    named = {each.arg: _value(each.value, frame) for each in call.keywords}
    timeout = values.get(at, named.get("timeout"))
    is_blocking = values.get(0, True) if at else True
    is_blocking = is_blocking and named.get("blocking", named.get("block", True))
    return bool(is_blocking is not _UNREAD and is_blocking and timeout in (None, -1))


_UNREAD: Any = object()


def _value(expression: ast.expr, frame: FrameType) -> Any:
    """A constant, or a plain local variable."""
    if isinstance(expression, ast.Constant):
        return expression.value
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.operand, ast.Constant):
        return ast.literal_eval(expression)
    if isinstance(expression, ast.Name):
        found = local_variables(frame).get(expression.id, _UNREAD)
        return found if type(found) in (int, float, bool, type(None)) else _UNREAD
    return _UNREAD
