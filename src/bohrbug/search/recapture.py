"""How large a systematic search is, from how much of what others met at random it has shown.

Who marks animals that were caught, and counts how many of those caught later are marked, knows how
many there are (Petersen 1896, Lincoln 1930).  Here the happens-before classes that random
executions met are the second catch: a search that has shown half of them has, as far as they tell,
half of its executions behind it.  The two catches are as independent as a depth-first search and a
random walk can be.
"""

from __future__ import annotations

from collections.abc import Collection

LEAST_SHOWN = 20
"""Classes that both have shown, before their number says anything."""

LATE_PART = 3
"""The last one of so many parts of its executions shows whether a search still gets to others."""

LEAST_PROGRESS = 0.25
"""What that part has to show, as a share of what it would if each part showed as many."""


class Recapture:
    """Which classes a systematic search has shown, and when.

    It may come to an end long after it has shown all that random executions meet: of a loop that
    may go round for ever it explores each number of rounds.  So what it shows has to increase.
    """

    __slots__ = ("_shown_at",)

    def __init__(self) -> None:
        self._shown_at: dict[int, int] = {}

    def add(self, known_by: int, executions: int) -> None:
        """The search has executed something of a class.

        Parameters:
            known_by: its hash.
            executions: of the search, this one included.
        """
        self._shown_at.setdefault(known_by, executions)

    def size(self, executions: int, met: Collection[int]) -> float | None:
        """How many executions the search takes in all; ``None`` if that can't be told.

        Parameters:
            executions: those of the search so far.
            met: the hashes of the classes that random executions have met.
        """
        shown = [self._shown_at[each] for each in met if each in self._shown_at]
        if len(shown) < LEAST_SHOWN:
            return None
        late = sum(LATE_PART * at > (LATE_PART - 1) * executions for at in shown)
        if LATE_PART * late < LEAST_PROGRESS * len(shown):
            return None
        return executions * len(met) / len(shown)

    def to_json(self) -> list[list[int]]:
        """Plain data: the hashes, and after how many executions each was shown."""
        return [list(self._shown_at), list(self._shown_at.values())]

    def merge(self, data: list[list[int]]) -> None:
        """Become what :meth:`to_json` wrote."""
        self._shown_at = dict(zip(*data, strict=True))
