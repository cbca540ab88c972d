"""Event loops of asyncio that are called by other threads than their own.

``call_soon`` and ``call_at`` are for callbacks of the loop alone: a loop that waits already does
not wake up. What wakes it, ``call_soon_threadsafe``, writes into a socket pair and is controlled
as such. All that asyncio does for a program that forgets about threads ends in these two:
``Future.set_result``, ``Event.set``, ``Queue.put_nowait``, ``create_task``.
"""

from __future__ import annotations

from sys import _getframe
from typing import Any

from bohrbug.model.operation import PUT
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.recording import saw
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.synchronizers import place_of

_TYPE = "event loop"


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


@patches.when_imported("asyncio.base_events")
def _wrap_loops(module: Any) -> None:
    for name in ("call_soon", "call_at"):
        _wrap_scheduling(module.BaseEventLoop, name)


def _wrap_scheduling(cls: Any, name: str) -> None:
    original = getattr(cls, name)

    @patches.method(cls, name)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = controlled()
        if execution is not None and len(execution.alive) > 1:
            task = execution.current
            selector = getattr(self, "_selector", None)
            if selector is not None and self._thread_id != task.ident and not task.inside:
                # Also of a loop that does not run yet: it may have begun to wait by now.
                state = _state_of(execution, selector)
                execution.perform(PUT, state, place_of(_getframe(1)))
        return original(self, *args, **kwargs)
