"""What an event loop may run next: the rule that says in which orders its callbacks can come.

asyncio runs callbacks in turns.  A turn takes what was called for in the turn before, first in,
first out, and behind that what has arrived from outside: descriptors that are ready, timers that
are over.  First in, first out is a promise; when something arrives is not.  So an *arrival* may be
late: what stands behind it may come first, up to the callbacks of the next turn, behind which it
stands then.  ``await asyncio.sleep(0)`` takes at least one turn, and counts as an arrival.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Generic, Protocol, TypeVar

LATE_TURNS = 16
"""For so many turns an arrival may be late: a loop that only spins must not starve it."""


class Order(Enum):
    """What is promised of when something comes."""

    FIFO = "first in, first out"
    TIMER = "any turn, but not before a timer that is over earlier"
    ARRIVAL = "any turn"


class Entry(Protocol):
    """Something that an event loop is to run.

    Attributes:
        order: what is promised of it.
        turns_late: for how many turns it could have come.
    """

    order: Order
    turns_late: int

    def is_cancelled(self) -> bool:
        """Whether it is not to be run any more."""
        ...


_Entry = TypeVar("_Entry", bound=Entry)


class ReadyQueue(Generic[_Entry]):
    """The callbacks of the running turn of one loop.

    Attributes:
        was_impatient: something was not let be late any longer, see :data:`LATE_TURNS`.
    """

    __slots__ = ("_turn", "was_impatient")

    def __init__(self) -> None:
        self._turn: deque[_Entry] = deque()
        self.was_impatient = False

    def __len__(self) -> int:
        return len(self._turn)

    def __iter__(self) -> Iterator[_Entry]:
        return iter(self._turn)

    def begin_turn(self, called: Iterable[_Entry], arrived: Iterable[_Entry]) -> None:
        """Begin a turn.

        Parameters:
            called: what was called for during the last turn, in that order.
            arrived: what has arrived since, in the order in which the loop would take it.
        """
        late = self._turn
        self._turn = deque(called)
        for entry in late:
            entry.turns_late += 1
            if entry.turns_late >= LATE_TURNS and entry.order is not Order.FIFO:
                entry.order = Order.FIFO
                self.was_impatient = True
        self._turn += late
        self._turn += arrived

    def arrive(self, arrived: Iterable[_Entry]) -> None:
        """More has arrived before anything of this turn was run."""
        self._turn += arrived

    def next_ones(self, following: Iterable[_Entry]) -> list[_Entry]:
        """What may run next, in the order in which the loop would run it if nothing were late.

        Parameters:
            following: what was called for during this turn; if one of these is chosen, the turn
                has ended.
        """
        turn = self._turn
        while turn and turn[0].is_cancelled():
            turn.popleft()
        found: list[_Entry] = []
        has_timer = False
        for entries in (turn, following):
            for entry in entries:
                if entry.is_cancelled():
                    continue
                if entry.order is Order.FIFO:
                    found.append(entry)
                    return found
                if entry.order is Order.TIMER:
                    if has_timer:
                        continue
                    has_timer = True
                found.append(entry)
        return found

    def take(self, entry: _Entry) -> bool:
        """Take an entry out, to run it; false if it is none of this turn's."""
        turn = self._turn
        if turn and turn[0] is entry:
            turn.popleft()
            return True
        for index, each in enumerate(turn):
            if each is entry:
                del turn[index]
                return True
        return False
