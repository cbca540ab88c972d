"""Which accesses to data are scheduling points."""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType

from bohrbug.model.conditions import PlaceKey, place_key
from bohrbug.runtime.threads.data.places import Place, PlaceSet
from bohrbug.runtime.threads.instrumentation import Instrumentation
from bohrbug.runtime.threads.rewrite.memory import TAKING_ADDRESSES


class AccessPoints:
    """The accesses that are scheduling points in an execution, of those that its plan names.

    Parameters:
        instrumentation: knows all accesses of the functions that are rewritten so far.

    Attributes:
        places: where they are.
    """

    def __init__(self, instrumentation: Instrumentation) -> None:
        self.places = PlaceSet()
        self._instrumentation = instrumentation
        self._wanted: frozenset[PlaceKey] = frozenset()
        # Those that executions have found, by their keys: not all are known to the rewriter.
        self._found: dict[PlaceKey, PlaceSet] = {}
        # By identity of code objects: whether there is a point in it, or in code nested in it.
        self._in_code: dict[int, bool] = {}

    def use(self, keys: frozenset[PlaceKey]) -> None:
        """Let these places be points, as soon as their functions are rewritten, and no others.

        Two lambdas of one line have one name: of a point in one of them a replay could not know
        in which, so both are.
        """
        if keys is self._wanted:
            return
        if keys != self._wanted:
            if not keys >= self._wanted:
                self.places = PlaceSet()
            self._wanted = keys
            self.add_wanted()
            self._instrumentation.let_all_tell_again()
        self._wanted = keys

    def add_wanted(self) -> None:
        """Functions were rewritten: among their accesses may be some that are wanted."""
        self._in_code.clear()
        wanted = self._wanted
        if wanted:
            self.places.update(self.known(wanted))

    @property
    def wanted(self) -> frozenset[PlaceKey]:
        """What was last given to :meth:`use`."""
        return self._wanted

    def missing(self) -> int:
        """How many are wanted that no function has which is rewritten."""
        return len(self._wanted.difference(map(place_key, self.places)))

    def known(self, keys: Iterable[PlaceKey]) -> PlaceSet:
        """The accesses with these names, as far as they are known."""
        wanted = frozenset(keys)
        known = PlaceSet()
        known.update(p for p in self._instrumentation.places() if place_key(p) in wanted)
        for key in self._found.keys() & wanted:
            known.update(self._found[key])
        return known

    def find(self, places: Iterable[Place]) -> frozenset[PlaceKey]:
        """Accesses turned out to matter: those that are no points yet, as plain data."""
        fresh = [place for place in places if place not in self.places]
        for place in fresh:
            self._found.setdefault(place_key(place), PlaceSet()).add(place)
        return frozenset(map(place_key, fresh))

    def are_in(self, code: CodeType) -> bool:
        """Whether one is in a function, or in one that is nested in it.

        Or whether it takes addresses: an access to what is there is known by that.
        """
        known = self._in_code
        if not known:
            for place in self.places:
                known[id(place[0])] = True
        answer = known.get(id(code))
        if answer is None:
            answer = known[id(code)] = not TAKING_ADDRESSES.isdisjoint(code.co_names) or any(
                self.are_in(nested) for nested in code.co_consts if isinstance(nested, CodeType)
            )
        return answer
