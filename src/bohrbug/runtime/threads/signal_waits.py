"""Waiting for signals under control: ``signal.pause``, ``sigwait`` and their kind.

What the kernel has pending is looked up each time and not kept here.  All tasks share one thread
of the system, and so its signal mask.  A signal may always come from another process, so that one
that never comes is no deadlock.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from sys import _getframe
from typing import Any

from bohrbug.model.operation import EXTERNAL, RAISE
from bohrbug.runtime.interposed import CONTROL, wrapped_alike
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.deferred_signals import handle_now, signals_of
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.exiting import end_by_signal
from bohrbug.runtime.threads.keyboard import interrupts
from bohrbug.runtime.threads.late_patches import LatePatches
from bohrbug.runtime.threads.processes import Deferring
from bohrbug.runtime.threads.synchronizers import place_of
from bohrbug.runtime.threads.task import TimeoutPolicy

patches = LatePatches()

_real_getpid = os.getpid
_real_sigpending: Any = getattr(signal, "sigpending", None)
_real_kill = os.kill


def _wait(
    execution: Execution, place: Any, ready: Callable[[], bool], timeout: float | None = None
) -> bool:
    """Wait until ``ready`` holds; false if the virtual timeout fired."""
    state = signals_of(execution)
    return execution.perform(
        EXTERNAL, state, place, ready, timeout, external=True, firing=TimeoutPolicy.LATE
    )


@patches.function(os, "kill")
def kill(pid: int, number: int, /) -> None:
    """Stands for ``os.kill``: a signal to this process lets those go on that wait for it."""
    execution = controlled()
    if execution is not None and pid == _real_getpid() and not execution.current.inside:
        execution.perform(RAISE, signals_of(execution), place_of(_getframe(2)))
        if interrupts(number):
            return
        end_by_signal(number)
    _real_kill(pid, number)
    handle_now()


if hasattr(signal, "pause"):
    _real_pause = signal.pause

    @patches.function(signal, "pause")
    def pause() -> None:
        """Stands for ``signal.pause``: handlers run in the root task, which waits for one."""
        execution = controlled()
        if execution is None or execution.current is not execution.root:
            _real_pause()
            return
        place = place_of(_getframe(2))
        # A signal that comes before this call is waited for in vain.
        execution.perform(EXTERNAL, signals_of(execution), place)
        before = Deferring.calls
        _wait(execution, place, lambda: Deferring.calls != before)


def _pending(wanted: frozenset[int]) -> Callable[[], bool]:
    return lambda: not wanted.isdisjoint(_real_sigpending())


def _wrap(name: str) -> None:
    """``sigwait`` or ``sigwaitinfo``."""
    real = getattr(signal, name)

    @patches.function(signal, name)
    def wrapper(sigset: Iterable[int], /) -> Any:
        """Wait as a task until one of the signals is pending, and take it."""
        execution = controlled()
        wanted = frozenset(sigset)
        if execution is not None:
            _wait(execution, place_of(_getframe(2)), _pending(wanted))
        return real(wanted)


for _name, _how in wrapped_alike("signal", CONTROL):
    if _how == "external":
        _wrap(_name)


if hasattr(signal, "sigtimedwait"):
    _real_sigtimedwait = signal.sigtimedwait

    @patches.function(signal, "sigtimedwait")
    def sigtimedwait(sigset: Iterable[int], timeout: float, /) -> Any:
        """Stands for ``signal.sigtimedwait``; the timeout is virtual."""
        execution = controlled()
        wanted = frozenset(sigset)
        if execution is not None and timeout >= 0:
            _wait(execution, place_of(_getframe(2)), _pending(wanted), timeout)
            timeout = 0
        return _real_sigtimedwait(wanted, timeout)
