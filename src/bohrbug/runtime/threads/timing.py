"""``time`` under control: sleeping is waiting for virtual time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from sys import _getframe
from types import FrameType
from typing import Any

from bohrbug.model.operation import SLEEP, YIELD
from bohrbug.runtime.threads import dates
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.standing import standing
from bohrbug.runtime.threads.synchronizers import place_of

patches = dates.DatePatches()

real_sleep = time.sleep
_real_time = time.time

SHORTEST_SLEEP = 5e-5
"""Seconds that a sleep takes at least if it is not of 0.

As long as Linux lets a thread oversleep unless told otherwise; loops of the shortest sleeps
that a float can tell would else make no time pass.
"""


def _never() -> bool:
    return False


def sleep(seconds: Any, /) -> None:
    """Stands for ``time.sleep``."""
    execution = controlled()
    if execution is None:
        real_sleep(seconds)
        return
    if hasattr(seconds, "__index__"):
        duration = float(seconds.__index__())
    elif hasattr(seconds, "__float__"):
        duration = float(seconds)
    else:
        real_sleep(seconds)
        return
    if duration < 0:
        raise ValueError("sleep length must be non-negative")
    if duration != duration:
        raise ValueError("Invalid value NaN (not a number)")
    frame = _getframe(1)
    if duration == 0:
        _give_way(execution, frame)
        return
    task = execution.current
    state = execution.resources.state_named("clock", "the clock", "clock")
    place = place_of(frame)
    if execution.aborting:
        execution.perform(SLEEP, state, place, _never)
    else:
        execution.fairness.comes(task, standing(frame))
        execution.perform(SLEEP, state, place, _never, max(duration, SHORTEST_SLEEP))
    task.looks.clear()


def _give_way(execution: Execution, frame: FrameType) -> None:
    """The running task yields, by a call from a frame."""
    task = execution.current
    fairness = execution.fairness
    # Where accesses to data are no scheduling points, this is the only one between two of them.
    sees_accesses = execution.sink is not None
    if sees_accesses and not execution.aborting and fairness.is_repeated(task):
        return
    state = execution.resources.state_named("clock", "the clock", "clock")
    fairness.comes(task, standing(frame))
    execution.perform(YIELD, state, place_of(frame))
    task.looks.clear()


def _reader(name: str, epoch: bool, nanoseconds: bool) -> Callable[[], Any]:
    real = getattr(time, name)

    def read() -> Any:
        execution = controlled()
        if execution is None or execution.clock.is_real or (epoch and dates.is_travelling()):
            return real()
        value = execution.clock.read(execution)
        value += execution.clock.epoch if epoch else execution.clock.uptime
        return int(value * 1_000_000_000) if nanoseconds else value

    return read


@contextmanager
def real_functions() -> Iterator[None]:
    """Meanwhile the module has its own functions, for who looks for them as objects in C."""
    installed = bool(time.time is not _real_time)
    if installed:
        patches.restore()
    try:
        yield
    finally:
        if installed:
            patches.install()


patches.add(time, "sleep", sleep)
for _name, _epoch in (("time", True), ("monotonic", False), ("perf_counter", False)):
    patches.add(time, _name, _reader(_name, _epoch, False))
    patches.add(time, _name + "_ns", _reader(_name + "_ns", _epoch, True))
dates.add_to(patches)


if hasattr(os, "sched_yield"):
    real_sched_yield = os.sched_yield

    def sched_yield() -> None:
        """Stands for ``os.sched_yield``."""
        execution = controlled()
        if execution is None:
            real_sched_yield()
            return
        _give_way(execution, _getframe(1))

    patches.add(os, "sched_yield", sched_yield)
