"""What an event loop may run next: the rule that says in which orders its callbacks can come.

asyncio runs callbacks in turns.  A turn takes what was called for in the turn before, first in,
first out, and behind that what has arrived from outside: descriptors that are ready, timers that
are over.  First in, first out is a promise; when something arrives is not.  So an *arrival* may be
late: what stands behind it may come first, up to the callbacks of the next turn, behind which it
stands then.  ``await asyncio.sleep(0)`` takes at least one turn, and counts as an arrival.

Where only arrivals are left, a turn may end, for all of them may be late by one turn.  Nothing is
lost by that: what could come before may still come first.  So it does end there, and what arrives
meanwhile, or was called for and may be late itself, stands beside them.

A callback that *only counts* is seen by nobody else, so that its place among arrivals makes no
difference.  In its own turn it runs as soon as nothing called for stands before it.  If it would
end a turn, what follows it matters: more that was called for keeps what is late then from coming
first, so that its end is a choice; if only arrivals follow, nothing is kept back, and it runs at
once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import chain
from typing import Generic, Protocol, TypeVar

LATE_TURNS = 16
"""For so many turns an arrival may be late: a loop that only spins must not starve it."""


class Order(Enum):
    """What is promised of when something comes."""

    FIFO = "first in, first out"
    TIMER = "any turn, but not before a timer that is over earlier"
    ARRIVAL = "any turn"


Place = tuple[int, int]
"""Where something stands in asyncio's own order: the number of a turn, and its part of it."""

_CALLED, _LATE, _ARRIVED = 0, 1, 2
"""The parts of a turn, in order."""


class Entry(Protocol):
    """Something that an event loop is to run.

    Attributes:
        order: what is promised of it.
        place: where it stands, unless more is late.
        since: the turn in which it could have come.
    """

    order: Order
    place: Place
    since: int

    @property
    def deadline(self) -> object:
        """Of a timer the number by which it is over; the same object for those with one deadline.

        Times that are equal only under control are different objects.
        """
        ...

    def is_cancelled(self) -> bool:
        """Whether it is not to be run any more."""
        ...

    def only_counts(self, others: int = 0) -> bool:
        """Whether nobody else can see that it has run, if it is the next that is called for.

        Parameters:
            others: so many that only count run before it.
        """
        ...


_Entry = TypeVar("_Entry", bound=Entry)


class ReadyQueue(Generic[_Entry]):
    """The callbacks of one loop: those of the running turn, and those that follow it.

    Attributes:
        was_impatient: something was not let be late any longer, see :data:`LATE_TURNS`.
    """

    __slots__ = ("_following", "_number", "_turn", "was_impatient")

    def __init__(self) -> None:
        self._number = 0
        self._turn: deque[_Entry] = deque()
        self._following: deque[_Entry] = deque()
        self.was_impatient = False

    def __len__(self) -> int:
        return len(self._turn)

    def __iter__(self) -> Iterator[_Entry]:
        return chain(self._turn, self._following)

    @property
    def has_following(self) -> bool:
        """Whether something was called for during this turn."""
        return bool(self._following)

    def call(self, entry: _Entry) -> None:
        """Something is called for, which is to follow this turn."""
        entry.since = self._number + 1
        entry.place = entry.since, _CALLED
        self._following.append(entry)

    def begin_turn(self, arrived: Iterable[_Entry]) -> None:
        """Begin a turn with what was called for during the last one.

        Parameters:
            arrived: what has arrived since, in the order in which the loop would take it.
        """
        late, called = self._turn, self._following
        self._number = max(self._number, called[0].place[0]) if called else self._number + 1
        self._turn, self._following = called, deque()
        for entry in late:
            self._delay(entry)
        self._turn += late
        self.arrive(arrived)

    def arrive(self, arrived: Iterable[_Entry]) -> None:
        """More has arrived before anything of this turn was run."""
        for entry in arrived:
            entry.since = self._number
            entry.place = entry.since, _ARRIVED
            self._turn.append(entry)

    @property
    def has_only_arrivals(self) -> bool:
        """Whether all that is left, and all that follows, may be late."""
        return all(entry.order is not Order.FIFO or entry.is_cancelled() for entry in self)

    def extend_turn(self, arrived: Iterable[_Entry]) -> None:
        """End the turn, where it has only arrivals, and let all of them be of the next one.

        Parameters:
            arrived: what has arrived until then.
        """
        self._turn += self._following
        self._following = deque()
        for entry in arrived:
            entry.since = self._number + 1
            entry.place = entry.since, _ARRIVED
            self._turn.append(entry)

    def next_ones(self, *, may_end: bool = True) -> list[_Entry]:
        """What may run next, in the order in which the loop would run it if nothing were late.

        Parameters:
            may_end: what follows may come, too; if that is chosen, the turn has ended.
        """
        turn = self._turn
        while turn and turn[0].is_cancelled():
            turn.popleft()
        found: list[_Entry] = []
        has_timer = False
        for entry in self if may_end else turn:
            if entry.is_cancelled():
                continue
            if entry.order is Order.FIFO:
                if found and self._counts_aside(entry):
                    return [entry]
                found.append(entry)
                break
            if entry.order is Order.TIMER:
                if has_timer:
                    continue
                has_timer = True
            found.append(entry)
        if len(found) > 1:
            found.sort(key=_place_of)
        return found

    def _counts_aside(self, entry: _Entry) -> bool:
        """Whether something that was called for may come now, and only now, as it only counts.

        Parameters:
            entry: the first one that was called for.
        """
        if not entry.only_counts():
            return False
        if any(each is entry for each in self._turn):
            return True
        called = [
            each for each in self._following if each.order is Order.FIFO and not each.is_cancelled()
        ]
        return all(each.only_counts(others) for others, each in enumerate(called))

    def take(self, entry: _Entry) -> bool:
        """Take an entry out, to run it; false if it is none of this turn's.

        Timers with one deadline come right behind one another.
        """
        turn = self._turn
        if turn and turn[0] is entry:
            turn.popleft()
        else:
            index = next((i for i, each in enumerate(turn) if each is entry), None)
            if index is None:
                return False
            del turn[index]
        if entry.place[0] > self._number:
            # By asyncio's own order a turn has ended in between.
            self._number = entry.place[0]
            for each in turn:
                if each.place[0] < self._number:
                    self._delay(each)
        if entry.order is Order.TIMER:
            together = [each for each in turn if each.deadline is entry.deadline]
            for each in reversed(together):
                each.order = Order.FIFO
                turn.remove(each)
                turn.appendleft(each)
        return True

    def _delay(self, entry: _Entry) -> None:
        entry.place = self._number, _LATE
        if self._number - entry.since >= LATE_TURNS and entry.order is not Order.FIFO:
            entry.order = Order.FIFO
            self.was_impatient = True


def _place_of(entry: Entry) -> Place:
    return entry.place
