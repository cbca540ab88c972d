"""The container that a ``queue.Queue`` keeps its items in, for programs that look into it.

Putting and getting are operations on the queue, and nobody is told what they store. Once a program
reads ``Queue.queue`` they also change a container, which other tasks may iterate over meanwhile.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.namespaces import with_subclasses
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.rewrite import tell
from bohrbug.runtime.threads.rewrite.callables import CALLABLE_PLACES
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.task import JOINED

_LOOKED_INTO = "the container of a queue"


class _Telling(Patches):
    """In place from the first look into a queue on: it would slow down all others."""

    def install(self) -> None:
        """Nothing yet."""

    def begin(self) -> None:
        """Tell from now on."""
        if self._originals:
            return
        self._wanted.clear()
        for cls in with_subclasses(queue.Queue):
            if cls.__module__ == queue.__name__:
                for name in ("_put", "_get"):
                    original = vars(cls).get(name)
                    if original is not None:
                        self.add(cls, name, _telling(original))
        super().install()


patches = _Telling()


def look_into(execution: Execution) -> None:
    """A task is about to get the container of a queue."""
    execution.namespaces.add(_LOOKED_INTO)
    patches.begin()


def _telling(original: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, *args: Any) -> Any:
        execution = controlled()
        if execution is not None:
            tell_of(execution, self, True)
        return original(self, *args)

    return wrapper


def tell_of(execution: Execution, queue: Any, is_write: bool) -> None:
    """The step of an operation on a queue reads its container as well, or changes it."""
    task = execution.current
    if (
        _LOOKED_INTO not in execution.namespaces
        or not tell.active
        or not execution.rows
        or execution.is_alone()
    ):
        return
    inside, joined = task.inside, task.joined
    task.inside, task.joined = 0, JOINED
    try:
        tell.whole(queue.queue, is_write, _INSIDE)
    finally:
        task.inside, task.joined = inside, joined


def _place_inside() -> Place:
    name = "an operation of a queue"
    code = _place_inside.__code__.replace(co_name=name, co_qualname=name)
    return CALLABLE_PLACES.setdefault(name, Place((code, 0)))


_INSIDE = _place_inside()
