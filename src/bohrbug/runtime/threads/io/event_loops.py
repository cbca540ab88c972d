"""Event loops of asyncio that are called by other threads than their own.

``call_soon`` and ``call_at`` are for callbacks of the loop alone: a loop that waits already does
not wake up. What wakes it, ``call_soon_threadsafe``, writes into a socket pair and is controlled
as such. All that asyncio does for a program that forgets about threads ends in these two:
``Future.set_result``, ``Event.set``, ``Queue.put_nowait``, ``create_task``.
"""

from __future__ import annotations

import sys
from sys import _getframe
from typing import Any

from bohrbug.model.operation import PUT
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.loops.tasks import loop_tasks_of, place_from
from bohrbug.runtime.threads.loops.turns import LoopTurns
from bohrbug.runtime.threads.recording import saw
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.synchronizers import place_of

_TYPE = "event loop"
_TURNS = "_bohrbug_turns"


def looked_for_work(execution: Execution, selector: Any) -> None:
    """The loop of a selector looked whether there are callbacks; it waits if there are none."""
    if execution.rows:
        saw(execution, _state_of(execution, selector))


def _state_of(execution: Execution, selector: Any) -> ResourceState:
    """The resource of a loop, by its selector, which is what waits."""
    return execution.resources.of(selector, _TYPE)


@patches.when_imported("asyncio.selector_events")
def _register_loops(module: Any) -> None:
    cls = module.BaseSelectorEventLoop
    initialise = cls.__init__

    @patches.method(cls, "__init__")
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        execution = controlled()
        if execution is not None:
            frame = _getframe(1)
            while frame.f_back and frame.f_globals.get("__name__", "").startswith("asyncio."):
                frame = frame.f_back
            place = place_of(frame)
            execution.resources.register(self._selector, execution.current, _TYPE, place)


@patches.when_imported("asyncio.selector_events")
def _wake_loops(module: Any) -> None:
    cls = module.BaseSelectorEventLoop
    write_to_self = cls._write_to_self

    @patches.method(cls, "_write_to_self")
    def wake(self: Any) -> None:
        execution = controlled()
        turns: LoopTurns | None = self.__dict__.get(_TURNS)
        if execution is None or turns is None or turns.execution is not execution:
            write_to_self(self)
        else:
            turns.wake()


@patches.when_imported("asyncio.events")
def _watch_handles(module: Any) -> None:
    cls = module.Handle
    initialise = cls.__init__

    @patches.method(cls, "__init__")
    def init(self: Any, callback: Any, args: Any, loop: Any, context: Any = None) -> None:
        initialise(self, callback, args, loop, context)
        execution = controlled()
        if execution is not None:
            loop_tasks_of(execution).handle_made(self, callback, _getframe(1))


@patches.when_imported("asyncio.base_events")
def _control_loops(module: Any) -> None:
    cls = module.BaseEventLoop
    for name in ("call_soon", "call_at"):
        _wrap_scheduling(cls, name)
    _wrap_calls_of_other_threads(cls)
    run_once = cls._run_once

    @patches.method(cls, "_run_once")
    def run(self: Any) -> None:
        execution = controlled()
        if execution is None or not _can_control(execution, self):
            run_once(self)
        else:
            turns_of(execution, self).run(place_from(_getframe(1)))


def _can_control(execution: Execution, loop: Any) -> bool:
    """Whether the order of what a loop runs can be chosen: it is asyncio's own kind of loop."""
    if execution.current.inside or execution.atomic:
        return False
    events = sys.modules.get("asyncio.selector_events")
    return events is not None and isinstance(loop, events.BaseSelectorEventLoop)


def turns_of(execution: Execution, loop: Any) -> LoopTurns:
    """The turns of a loop in an execution."""
    turns: LoopTurns | None = loop.__dict__.get(_TURNS)
    if turns is None or turns.execution is not execution:
        state = _state_of(execution, loop._selector)
        turns = loop.__dict__[_TURNS] = LoopTurns(execution, loop, state)
    return turns


def _wrap_scheduling(cls: Any, name: str) -> None:
    original = getattr(cls, name)

    @patches.method(cls, name)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = controlled()
        if execution is None or self._thread_id == execution.current.ident:
            return original(self, *args, **kwargs)
        return _ask_from_outside(execution, self, original, args, kwargs)


def _wrap_calls_of_other_threads(cls: Any) -> None:
    original = cls.call_soon_threadsafe

    @patches.method(cls, "call_soon_threadsafe")
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = controlled()
        if execution is None or self._thread_id == execution.current.ident:
            return original(self, *args, **kwargs)
        return _ask_from_outside(execution, self, original, args, kwargs)


def _ask_from_outside(
    execution: Execution, loop: Any, original: Any, args: Any, kwargs: Any
) -> Any:
    """A task asks a loop for a call that its own thread does not run."""
    task = execution.current
    selector = getattr(loop, "_selector", None)
    if len(execution.alive) > 1 and selector is not None and not task.inside:
        # Also of a loop that does not run yet: it may have begun to wait by now.
        execution.perform(PUT, _state_of(execution, selector), place_of(_getframe(2)))
    result = original(loop, *args, **kwargs)
    turns: LoopTurns | None = loop.__dict__.get(_TURNS) if hasattr(loop, "__dict__") else None
    if turns is not None and turns.execution is execution:
        turns.called_from_outside()
    return result
