"""Places in the code of the tested program, and sets of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType

from bohrbug.model.site import site_of

Place = tuple[CodeType, int]
"""``(original code object, byte offset)``; there is one such tuple for each place."""


class PlaceSet:
    """A set of places, in the order in which they were added.

    Places are told apart by identity: the hash of a code object goes through
    all of its instructions, which takes longer than everything else that is
    done for an access.

    Parameters:
        places: what is in it from the start.
    """

    __slots__ = ("by_identity",)

    def __init__(self, places: Iterable[Place] = ()) -> None:
        # Two empty ones are made in each execution.
        self.by_identity: dict[int, Place] = (
            {id(place): place for place in places} if places else {}
        )

    def add(self, place: Place) -> None:
        """Put a place in."""
        self.by_identity[id(place)] = place

    def update(self, places: Iterable[Place]) -> None:
        """Put several places in."""
        if isinstance(places, PlaceSet):
            self.by_identity.update(places.by_identity)
        else:
            self.by_identity.update((id(place), place) for place in places)

    def __contains__(self, place: object) -> bool:
        return id(place) in self.by_identity

    def __iter__(self) -> Iterator[Place]:
        return iter(self.by_identity.values())

    def __len__(self) -> int:
        return len(self.by_identity)

    def __repr__(self) -> str:
        return f"PlaceSet({[str(site_of(place)) for place in self]})"
