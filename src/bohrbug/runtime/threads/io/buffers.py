"""Buffered files over raw ones in Python: two tasks in one of them wait for each other.

A buffered file has a lock of its own in C, which it holds while it reads or writes the raw file.
Natively another thread waits for it.  All tasks share one thread, which the file would take for
one that calls it from within itself: ``RuntimeError: reentrant call``.

So what a program makes by the names ``io.BufferedReader`` and its like is of a class derived from
the one in C, whose methods are scheduling points and let no task in where another is.  Over raw
files in C no task can lose control within: there, and where ``open`` makes it, a buffered file
remains what it is.
"""

from __future__ import annotations

import _io
import functools
import io
from collections.abc import Callable
from sys import _getframe
from typing import Any, ClassVar

from bohrbug.model.operation import USE
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.recording import touch
from bohrbug.runtime.threads.synchronizers import place_of
from bohrbug.runtime.threads.task import Task

_READING = ("peek", "read", "read1", "readinto", "readinto1")
_WRITING = ("flush", "write")
_BOTH = ("close", "detach", "readline", "seek", "truncate")

_RAW_IN_C = (_io.FileIO, _io.BytesIO)


class _Half:
    """The lock of a buffered file, or of one half of a pair: who is within."""

    __slots__ = ("execution", "task")

    def __init__(self) -> None:
        self.execution: Execution | None = None
        self.task: Task | None = None

    def holder(self, execution: Execution) -> Task | None:
        """Which task is within; those of earlier executions are gone."""
        return self.task if self.execution is execution else None


class _Buffered(type):
    """Of the classes that stand for those in C: what these have made is of them, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        if super().__subclasscheck__(subclass):
            return True
        real = cls.__base__
        return real is not None and type(real) is type and issubclass(subclass, real)


def _enter(self: Any, halves: tuple[_Half, ...], execution: Execution, frame: Any) -> None:
    """Wait until no other task is in any of these halves, and go in."""
    task = execution.current

    def is_free() -> bool:
        return all(half.holder(execution) is None for half in halves)

    if not task.inside or not is_free():
        state = execution.resources.of(self, type(self).__name__)
        execution.perform(USE, state, place_of(frame), is_free)
    for half in halves:
        half.execution, half.task = execution, task


def _leave(self: Any, halves: tuple[_Half, ...], execution: Execution) -> None:
    for half in halves:
        half.execution = half.task = None
    if not execution.aborting:
        # What was done within comes before what the next one does within.
        touch(execution, execution.resources.of(self, type(self).__name__))


def _guarded(original: Callable[..., Any], which: slice) -> Callable[..., Any]:
    """A method that waits until no other task is within."""
    is_close = original.__name__ == "close"

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = controlled()
        is_over = getattr(self, "_finalizing", False) or (is_close and self.closed)
        if execution is None or is_over:
            return original(self, *args, **kwargs)
        halves = self._bohrbug_halves[which]
        if any(half.holder(execution) is execution.current for half in halves):
            # From within itself, which a buffered file complains about.
            return original(self, *args, **kwargs)
        _enter(self, halves, execution, _getframe(1))
        try:
            return original(self, *args, **kwargs)
        finally:
            _leave(self, halves, execution)

    method.__name__ = original.__name__
    method.__qualname__ = original.__qualname__
    method.__doc__ = original.__doc__
    return method


def _stand_in(real: Any, halves: int) -> Any:
    """The class that stands for one in C.

    Parameters:
        real: the class.
        halves: how many locks its files have: 2, for reading and for writing, or 1.
    """

    class StandIn(real, metaclass=_Buffered):  # type: ignore[misc]
        __slots__: ClassVar = ("_bohrbug_halves",)
        __doc__ = real.__doc__

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            # Not a variable of the function around: that would be exchanged for this class.
            real = StandIn.__base__
            raws = (*args, *kwargs.values())[:halves]
            if cls is StandIn and raws and all(type(raw) in _RAW_IN_C for raw in raws):
                return real(*args, **kwargs)
            self = real.__new__(cls)
            self._bohrbug_halves = tuple(_Half() for _ in range(halves))
            execution = controlled()
            if execution is not None:
                place = place_of(_getframe(1))
                execution.resources.register(self, execution.current, cls.__name__, place)
            return self

        def __repr__(self) -> str:
            name = f"{self.__class__.__module__}.{self.__class__.__qualname__}"
            return str(StandIn.__base__.__repr__(self)).replace(
                f"<{self.__class__.__name__}", f"<{name}", 1
            )

    for names, which in (
        (_READING, slice(0, 1)),
        (_WRITING, slice(halves - 1, halves)),
        (_BOTH, slice(0, halves)),
    ):
        for name in names:
            method = vars(real).get(name)
            if method is not None:
                setattr(StandIn, name, _guarded(method, which))
    StandIn.__module__ = real.__module__
    StandIn.__name__ = real.__name__
    StandIn.__qualname__ = real.__qualname__
    return StandIn


for _name, _halves in (
    ("BufferedReader", 1),
    ("BufferedWriter", 1),
    ("BufferedRandom", 1),
    ("BufferedRWPair", 2),
):
    _class = _stand_in(getattr(_io, _name), _halves)
    patches.add(_io, _name, _class)
    patches.add(io, _name, _class)

_find_impl = functools._find_impl  # type: ignore[attr-defined]


@patches.method(functools, "_find_impl")
def _find_implementation(cls: type, registry: dict[type, Any]) -> Any:
    """Stands for how ``functools.singledispatch`` finds one for a class.

    A file that ``open`` makes is of the class in C, of which ours is no base class: beside
    ``BufferedIOBase`` it would be as good a match, and the call ambiguous.
    """
    if any(type(each) is _Buffered for each in registry):
        registry = {_in_c(each): registry[each] for each in registry}
    return _find_impl(cls, registry)


def _in_c(cls: Any) -> Any:
    """The class that one of ours stands for; any other one itself."""
    is_ours = type(cls) is _Buffered and type(cls.__base__) is type
    return cls.__base__ if is_ours else cls
