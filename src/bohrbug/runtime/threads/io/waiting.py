"""Waiting as a task until a file descriptor is ready, and points where nothing blocks."""

from __future__ import annotations

import select
import selectors
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from bohrbug.model.operation import EXTERNAL, Kind
from bohrbug.model.standstill import is_long
from bohrbug.runtime.threads.arrivals import Watched
from bohrbug.runtime.threads.children import settle_children
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.channels import Reach, channel_of, note_arrival, reach_of
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.stacks import begins_a_task, is_own
from bohrbug.runtime.threads.synchronizers import place_of
from bohrbug.runtime.threads.task import TimeoutPolicy

_real_poll = select.poll

READABLE = select.POLLIN | select.POLLPRI
WRITABLE = select.POLLOUT


_ON_BEHALF_OF_OTHERS = ("socket", "ssl", "asyncio")
"""Modules, and a package, whose code in Python does what it is asked for at once."""


_OF_LOOPS = "bohrbug.runtime.threads.loops."


def place_outside(frame: Any) -> Any:
    """The place in the program, or in a library, that uses a socket; not in :mod:`socket`."""
    caller = frame
    while caller is not None:
        module = caller.f_globals.get("__name__")
        if not _is_for_others(module):
            code = caller.f_code
            if not is_own(code.co_filename):
                return place_of(caller)
            if begins_a_task(code) or str(module).startswith(_OF_LOOPS):
                # What a loop does by itself, whoever runs it.
                break
        caller = caller.f_back
    # A method may be itself what a thread runs, or an event loop.
    return place_of(frame)


@lru_cache
def _is_for_others(module: object) -> bool:
    return str(module).partition(".")[0] in _ON_BEHALF_OF_OTHERS


def is_ready(descriptor: int, mask: int) -> bool:
    """Whether an operation on a file descriptor would not block now."""
    if descriptor < 0:
        return True
    settle_children()
    poll = _real_poll()
    poll.register(descriptor, mask)
    return bool(poll.poll(0))


def wait_until(
    execution: Execution,
    state: ResourceState,
    place: Any,
    ready: Callable[[], bool],
    timeout: float | None,
    reach: Callable[[], Reach],
    may_end_early: bool = False,
    watched: Callable[[], Watched] | None = None,
    kind: Kind = EXTERNAL,
    waits_on: Callable[[], Iterable[int]] | None = None,
) -> bool:
    """Wait until ``ready`` holds; false if the virtual timeout fired.

    Parameters:
        waits_on: the descriptors that can make it true; ``None``: other things can.
        kind: what the task does.
        may_end_early: the timeout may fire while other tasks can run, however long it is.  A long
            one of a socket is there for a peer that has died.
        watched: the descriptors that it becomes true by; ``None``: it takes something else.
    """
    now = ready()
    if now and execution.current.inside:
        return True
    where = Reach.NEAR if now else reach()
    is_early = may_end_early or (timeout is not None and not is_long(timeout))
    firing = TimeoutPolicy.EARLY if is_early else TimeoutPolicy.LATE
    if where is Reach.FAR:
        firing = TimeoutPolicy.IN_REAL_TIME
    arrivals = None if now or watched is None else execution.outside.arrivals
    task = execution.current
    if arrivals is not None and watched is not None:
        arrivals.watch(task, watched)
    waiting_on = execution.outside.waiting_on
    if waits_on is not None:
        waiting_on[task] = waits_on
    try:
        return execution.perform(
            kind,
            state,
            place,
            ready,
            timeout,
            external=where is not Reach.LOCAL,
            firing=firing,
        )
    finally:
        waiting_on.pop(task, None)
        if arrivals is not None:
            arrivals.unwatch(task)


def watched_by(selector: Any) -> Watched:
    """What a selector of :mod:`selectors` waits for."""
    real: Any = getattr(selector, "_selector", None)
    if hasattr(real, "fileno"):
        return ((real.fileno(), READABLE),)
    return tuple(
        (
            descriptor,
            (READABLE if key.events & selectors.EVENT_READ else 0)
            | (WRITABLE if key.events & selectors.EVENT_WRITE else 0),
        )
        for descriptor, key in dict(selector._fd_to_key).items()
    )


def point(
    execution: Execution, descriptor: int, place: Any, kind: Kind = EXTERNAL
) -> ResourceState:
    """A scheduling point before an operation that never blocks."""
    state = channel_of(execution, descriptor, place)
    if not execution.current.inside:
        execution.perform(kind, state, place)
    return state


def await_descriptor(
    execution: Execution,
    descriptor: Callable[[], int],
    mask: int,
    timeout: float | None,
    place: Any,
    kind: Kind,
) -> bool:
    """Wait until a file descriptor is ready for what a task does with it."""
    first = descriptor()
    state = channel_of(execution, first, place)
    is_there = wait_until(
        execution,
        state,
        place,
        lambda: is_ready(descriptor(), mask),
        timeout,
        lambda: reach_of(execution, first),
        watched=lambda: ((descriptor(), mask),),
        kind=kind,
        waits_on=lambda: (descriptor(),),
    )
    if is_there and mask == READABLE:
        note_arrival(execution, first, state)
    return is_there
