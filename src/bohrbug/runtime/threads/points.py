"""Which accesses to data are scheduling points."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from types import CodeType
from typing import Any

from bohrbug.runtime.threads.data.places import Place, PlaceSet
from bohrbug.runtime.threads.instrumentation import Instrumentation

PlaceKey = tuple[str, str, int, int]
"""A place as plain data: file name, function, its first line, byte offset."""


def place_key(place: Any) -> PlaceKey:
    """What names a place in another process."""
    code, offset = place
    return (code.co_filename, code.co_qualname, code.co_firstlineno, offset)


class AccessPoints:
    """The accesses that are scheduling points; grows as executions show more of the test.

    Parameters:
        instrumentation: knows all accesses of the functions that are rewritten so far.

    Attributes:
        places: where they are.
        found: those that do not count yet, but from the next execution on: the one that
            showed them can only be replayed without them.
    """

    def __init__(self, instrumentation: Instrumentation) -> None:
        self.places = PlaceSet()
        self.found: list[Place] = []
        self._instrumentation = instrumentation
        self._wanted: set[PlaceKey] = set()
        # By identity of code objects: whether there is a point in it, or in code nested in it.
        self._in_code: dict[int, bool] = {}

    def keys(self) -> list[PlaceKey]:
        """They as plain data, for a reproduction file."""
        return sorted(place_key(place) for place in self.places)

    def are_in(self, code: CodeType) -> bool:
        """Whether one is in a function, or in one that is nested in it."""
        known = self._in_code
        if not known:
            for place in self.places:
                known[id(place[0])] = True
        answer = known.get(id(code))
        if answer is None:
            answer = known[id(code)] = any(
                self.are_in(nested) for nested in code.co_consts if isinstance(nested, CodeType)
            )
        return answer

    # -- found by executions -------------------------------------------------------

    def find(self, places: PlaceSet) -> int:
        """Accesses turned out to matter: how many of them are new."""
        self.found = [place for place in places if place not in self.places]
        return len(self.found)

    def take_found(self) -> None:
        """Let those count that were found, and all that files call the same.

        Two lambdas of one line have one name: of a point in one of them a replay could not know
        in which.
        """
        self.places.update(self.found)
        self.want(place_key(place) for place in self.found)
        self.found = []

    # -- given as data -------------------------------------------------------------

    def want(self, keys: Iterable[PlaceKey]) -> None:
        """Make these places points as soon as their functions are rewritten."""
        self._wanted.update(keys)
        self.add_wanted()

    def add_wanted(self) -> None:
        """Functions were rewritten: among their accesses may be some that are wanted."""
        self._in_code.clear()
        if self._wanted:
            for place in self._instrumentation.places():
                if place_key(place) in self._wanted:
                    self.places.add(place)

    def missing(self) -> int:
        """How many are wanted that no function has which is rewritten."""
        return len(self._wanted.difference(place_key(place) for place in self.places))

    def keep_only_wanted(self) -> None:
        """Forget those that were found on the way and are not wanted."""
        self.found = []
        self.add_wanted()
        self.places = PlaceSet(place for place in self.places if place_key(place) in self._wanted)

    @contextmanager
    def others(self, keys: Iterable[PlaceKey]) -> Generator[None]:
        """Within it these places and no others are points, as far as they are known."""
        usual = self.places, self._wanted
        self.places, self._wanted = PlaceSet(), set(keys)
        try:
            self.add_wanted()
            yield
        finally:
            self.places, self._wanted = usual
            self._in_code.clear()
