"""What rewritten functions tell of their accesses, written down."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

from bohrbug.runtime.threads.rewrite import Place, Rewriter, set_sink


class Recorder:
    """A sink that writes down what it is told; ``labels`` say how to call the objects."""

    def __init__(self, **labels: object) -> None:
        self.labels = {id(value): label for label, value in labels.items()}
        self.accesses: list[str] = []
        self.places: list[Place] = []

    def label(self, owner: object) -> str:
        """What an object is called in the record."""
        if id(owner) in self.labels:
            return self.labels[id(owner)]
        return owner.__name__ if isinstance(owner, type) else type(owner).__name__

    def attribute(self, owner: object, name: str, is_write: bool, place: Place) -> None:
        self._record(f"{self.label(owner)}.{name}", is_write, place)

    def item(self, owner: object, key: object, is_write: bool, place: Place) -> None:
        self._record(f"{self.label(owner)}[{key!r}]", is_write, place)

    def whole(self, owner: object, is_write: bool, place: Place) -> None:
        self._record(self.label(owner), is_write, place)

    def breaker(self) -> None:
        self.accesses.append("breaker")

    def _record(self, what: str, is_write: bool, place: Place) -> None:
        self.accesses.append(f"{'write' if is_write else 'read'} {what}")
        self.places.append(place)


REWRITER = Rewriter()


def told(function: Callable[..., object], **arguments: object) -> list[str]:
    """The accesses of a rewritten function; arguments are called by their parameters' names."""
    REWRITER.install_function(function)  # type: ignore[arg-type]
    recorder = Recorder(globals=function.__globals__, **arguments)
    set_sink(recorder)
    try:
        function(**arguments)
    finally:
        set_sink(None)
    return recorder.accesses


class Box:
    """An ordinary class with an attribute of the class, one of the instance, and a method."""

    shared = 0

    def __init__(self) -> None:
        self.value = 1

    def method(self) -> int:
        return 5

    @property
    def double(self) -> int:
        return self.value * 2

    @functools.cached_property
    def expensive(self) -> int:
        return 7


class Slotted:
    """A class without an instance dict."""

    __slots__ = ("value",)


@dataclasses.dataclass
class Point:
    """Its methods are generated."""

    x: int
    y: int
