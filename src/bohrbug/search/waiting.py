"""Branches that wait for their bound."""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any

from bohrbug.model.plan import Choice
from bohrbug.search.deferred import Alphabet, Deferred

Branch = tuple[int, Choice, int]
"""A step, the choice to make there, and the edge's key for a cache, 0 without one."""


class Waiting:
    """Branches that wait: those of the current bound for their turn, others for their bound.

    A bound is what the schedules cost that the branches lead to.

    Parameters:
        limit: branches beyond so many are dropped.
        has_keys: whether those of the edges are kept.
    """

    def __init__(self, limit: int, has_keys: bool) -> None:
        self._limit = limit
        self._has_keys = has_keys
        self._alphabet = Alphabet()
        self._current: deque[Deferred] = deque()
        self._later: dict[int, deque[Deferred]] = {}
        self.now = 0
        """How many branches of the current bound wait."""
        self.at: Counter[int] = Counter()
        """How many wait for each later one."""
        self._later_in_all = 0
        self.dropped = 0
        """How many did not find room."""

    @property
    def next_bound(self) -> int | None:
        """The first bound after the current one that branches wait for."""
        return min(self._later, default=None)

    def begin(self, bound: int) -> None:
        """Let this bound, for which branches wait, be the current one."""
        assert not self._current
        self._current = self._later.pop(bound)
        self.now = sum(record.waiting for record in self._current)
        self._later_in_all -= self.now
        del self.at[bound]

    def put_off(self, choices: Sequence[Choice], branches: Sequence[Branch], bound: int) -> None:
        """Keep branches for a later bound, as far as there is room.

        Parameters:
            choices: of the execution that they branch off.
            branches: in the order of their steps.
            bound: the bound.
        """
        room = max(self._limit - self._later_in_all - self.now, 0)
        self.dropped += max(len(branches) - room, 0)
        branches = branches[:room]
        if not branches:
            return
        steps, options, keys = zip(*branches, strict=True)
        encode = self._alphabet.encode
        record = Deferred(
            encode(choices[: steps[-1]]),
            array("I", steps),
            encode(options),
            array("q", keys if self._has_keys else ()),
        )
        self._add_later(bound, [record])

    def _add_later(self, bound: int, records: Sequence[Deferred]) -> None:
        self._later.setdefault(bound, deque()).extend(records)
        waiting = sum(record.waiting for record in records)
        self._later_in_all += waiting
        self.at[bound] += waiting

    # -- of the current bound ----------------------------------------------------------

    def take(self) -> tuple[Deferred, int] | None:
        """The next branch, as a record and its number there; see :meth:`prefix`."""
        if not self._current:
            return None
        record = self._current[0]
        index = record.next
        record.next = index + 1
        self.now -= 1
        if record.next == len(record.steps):
            self._current.popleft()
        return record, index

    def next_ones(self) -> Iterator[tuple[Deferred, int]]:
        """The branches that :meth:`take` would give."""
        for record in self._current:
            for index in range(record.next, len(record.steps)):
                yield record, index

    def prefix(self, record: Deferred, index: int) -> tuple[Choice, ...]:
        """The choices that lead to a branch, and the one made there."""
        return self._alphabet.decode(record.prefix(index))

    def part_with(self, branches: int) -> list[list[Any]]:
        """Part with the first records that have so many branches, or a few more, together.

        Returns:
            Plain data for :meth:`merge`.
        """
        taken: list[list[Any]] = []
        while self._current and branches > 0:
            record = self._current[0]
            if record.waiting > branches:
                record = record.split(branches)
            else:
                self._current.popleft()
            taken.append(record.to_json())
            branches -= record.waiting
            self.now -= record.waiting
        return taken

    # -- as plain data -----------------------------------------------------------------

    def alphabet_to_json(self) -> list[Choice]:
        """What the records are written in."""
        return self._alphabet.choices()

    def current_to_json(self) -> list[list[Any]]:
        """The records of the current bound."""
        return [record.to_json() for record in self._current]

    def later_to_json(self) -> list[list[Any]]:
        """The later bounds, each with its records."""
        return [
            [bound, [record.to_json() for record in records]]
            for bound, records in self._later.items()
        ]

    def merge(
        self, alphabet: list[Choice], current: list[list[Any]], later: list[list[Any]]
    ) -> None:
        """Take in what others have written; what is of the current bound comes first."""
        codes = self._alphabet.translation(alphabet)
        records = [Deferred.from_json(each, codes) for each in current]
        self._current.extendleft(reversed(records))
        self.now += sum(record.waiting for record in records)
        for bound, others in later:
            self._add_later(bound, [Deferred.from_json(each, codes) for each in others])
