"""What an event loop may run next: the rule that says in which orders its callbacks can come.

asyncio runs callbacks in turns.  A turn takes what was called for in the turn before, first in,
first out, and behind that what has arrived from outside: descriptors that are ready, timers that
are over.  First in, first out is a promise; when something arrives is not.  So an *arrival* may be
late: what stands behind it may come first, up to the callbacks of the next turn, behind which it
stands then.  ``await asyncio.sleep(0)`` takes at least one turn, and counts as an arrival.

Where only arrivals are left, a turn may end, for all of them may be late by one turn; and it may
not.  What is called for from then on follows either that turn or the next one, which the order of
the steps up to there does not tell.  So both are kept in mind, as *states* in which the loop may
be: what one of them allows may come next, and whatever comes rules others out.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar

from bohrbug.accelerator.plain import plain

LATE_TURNS = 16
"""For so many turns an arrival may be late: a loop that only spins must not starve it."""


MOST_KEPT = 256
"""So many entries of all states together are kept in mind, in those that asyncio comes to first.

That is all there is for 15 tasks that give way beside one another, which have 16 states."""


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

    @property
    def cancelled(self) -> bool:
        """Whether it is not to be run any more."""
        ...


_Entry = TypeVar("_Entry", bound=Entry)


@plain
@dataclass(slots=True)
class State(Generic[_Entry]):
    """How far a loop may have come: where the things stand that it is to run.

    Parameters:
        turn: what is left of the running turn.
        following: what was called for during it.
        arrived: what has arrived during it, and is found when the next one begins.
        is_new: nothing of the turn has run.
    """

    turn: list[_Entry]
    following: list[_Entry]
    arrived: list[_Entry]
    is_new: bool

    def __iter__(self) -> Iterator[_Entry]:
        yield from self.turn
        yield from self.following
        yield from self.arrived

    def may_end(self) -> bool:
        """Whether all that is left of the turn may be late."""
        return not any(entry.order is Order.FIFO and not entry.cancelled for entry in self.turn)

    def may_differ(self) -> bool:
        """Whether the turn may end, and that makes a difference."""
        return bool(self.following or self.arrived) and self.may_end()

    def ended(self) -> State[_Entry]:
        """The state in which the turn has ended.

        What was cancelled is gone then: a loop with nothing else to run has to wait.
        """
        turn = [
            entry for entry in (*self.following, *self.turn, *self.arrived) if not entry.cancelled
        ]
        return State(turn, [], [], is_new=True)

    def without(self, entry: _Entry) -> State[_Entry]:
        """The state once an entry of the turn has run; timers with its deadline come next."""
        turn = [each for each in self.turn if each is not entry and not each.cancelled]
        if entry.order is Order.TIMER:
            deadline = entry.deadline
            together = [each for each in turn if each.deadline is deadline]
            if together:
                turn = [*together, *(each for each in turn if each.deadline is not deadline)]
        return State(turn, self.following, self.arrived, self.is_new)

    def only(self, entries: Container[_Entry]) -> State[_Entry]:
        """The state as it would be without any but some entries."""
        turn, following, arrived = (
            [entry for entry in each if entry in entries]
            for each in (self.turn, self.following, self.arrived)
        )
        return State(turn, following, arrived, self.is_new)

    def options(self) -> Iterator[_Entry]:
        """What of the turn may run next."""
        has_timer = False
        for entry in self.turn:
            if entry.cancelled:
                continue
            if entry.order is Order.FIFO:
                yield entry
                return
            if entry.order is Order.TIMER:
                if has_timer:
                    continue
                has_timer = True
            yield entry

    def key(self) -> object:
        """The same for states that allow the same from here on."""
        return _shape(self.turn), _shape(self.following), _shape(self.arrived)


def _shape(entries: list[_Entry]) -> object:
    """What stands before, between and behind the callbacks that come first in, first out."""
    shape: list[object] = []
    arrivals: list[int] = []
    timers: list[int] = []
    for entry in entries:
        if entry.order is Order.ARRIVAL:
            arrivals.append(id(entry))
        elif entry.order is Order.TIMER:
            timers.append(id(entry))
        else:
            shape.append((frozenset(arrivals), tuple(timers), id(entry)))
            arrivals, timers = [], []
    return tuple(shape), frozenset(arrivals), tuple(timers)


class ReadyQueue(Generic[_Entry]):
    """The callbacks of one loop: those of the running turn, and those that follow it.

    Attributes:
        was_impatient: something was not let be late any longer, see :data:`LATE_TURNS`.
        has_forgotten: there was more to keep in mind than :data:`MOST_KEPT`.
    """

    __slots__ = ("_number", "_states", "has_forgotten", "was_impatient")

    def __init__(self) -> None:
        self._number = 0
        # The first one is that of asyncio itself, if nothing else is late than what was.
        self._states: list[State[_Entry]] = [State([], [], [], is_new=True)]
        self.was_impatient = self.has_forgotten = False

    def __len__(self) -> int:
        state = self._states[0]
        return len(state.turn) + len(state.following) + len(state.arrived)

    def __iter__(self) -> Iterator[_Entry]:
        return iter(self._states[0])

    def call(self, entry: _Entry) -> None:
        """Something is called for, which is to follow this turn."""
        entry.since = self._number + 1
        entry.place = entry.since, _CALLED
        for state in self._states:
            state.following.append(entry)

    def begin_turn(self, arrived: Collection[_Entry]) -> None:
        """Begin a turn with what was called for during the last one.

        Parameters:
            arrived: what has arrived since, in the order in which the loop would take it.
        """
        if arrived:
            self.arrive(arrived)
        self._number += 1
        self._keep([state.ended() for state in self._states])
        self._delay()

    def arrive(self, arrived: Iterable[_Entry]) -> None:
        """More has arrived, which is found by a turn of which nothing has run, or by the next."""
        for entry in arrived:
            entry.since = self._number
            entry.place = entry.since, _ARRIVED
            for state in self._states:
                (state.turn if state.is_new else state.arrived).append(entry)

    @property
    def has_only_arrivals(self) -> bool:
        """Whether all that is left, and all that follows, may be late."""
        for entry in self._states[0]:
            if entry.order is Order.FIFO and not entry.cancelled:
                return False
        return True

    @property
    def may_end(self) -> bool:
        """Whether the turn may end, and another one begin, before anything else runs."""
        return any(state.may_end() for state in self._states)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left of the turn."""
        return not any(state.turn for state in self._states)

    @property
    def first(self) -> _Entry | None:
        """What comes next, if there is one state and something that was called for is its first.

        First in, first out: nothing else may come before it.  Most steps are of this kind.
        """
        if len(self._states) == 1:
            for entry in self._states[0].turn:
                if not entry.cancelled:
                    return entry if entry.order is Order.FIFO else None
        return None

    def next_ones(self, *, may_end: bool = True) -> list[_Entry]:
        """What may run next, in the order in which the loop would run it if nothing were late.

        Parameters:
            may_end: what follows may come, too; if that is chosen, the turn has ended.
        """
        first = self.first
        if first is not None:
            return [first]
        found: dict[int, _Entry] = {}
        for state in self._states:
            for entry in state.options():
                found[id(entry)] = entry
        if may_end:
            for state in self._states:
                if state.may_differ():
                    for entry in state.ended().options():
                        found[id(entry)] = entry
        return [*found.values()]

    def next_ones_among(self, entries: Container[_Entry]) -> list[_Entry]:
        """What could run next of some entries if there were no others, now or before one of them.

        Parameters:
            entries: that stand in the queue.
        """
        found: dict[int, _Entry] = {}
        for state in self._states:
            alone = state.only(entries)
            for each in (alone, alone.ended()) if alone.may_differ() else (alone,):
                for entry in each.options():
                    found[id(entry)] = entry
        return [*found.values()]

    def take(self, entry: _Entry, *, may_end: bool = True) -> bool:
        """Take out what comes next, to run it; true if a turn may have begun with it.

        What arrives until :meth:`run` is called belongs to that turn, too.

        Parameters:
            entry: one of those that may.
            may_end: see :meth:`next_ones`.
        """
        if len(self._states) == 1 and entry.order is Order.FIFO and not entry.cancelled:
            state = self._states[0]
            turn = state.turn
            if turn and turn[0] is entry:
                # Most steps: however many there are, only the first one is looked at.
                state.is_new = False
                del turn[0]
                while turn and turn[0].cancelled:
                    del turn[0]
                if entry.place[0] > self._number:
                    self._number += 1
                    self._delay()
                return False
        self.run()
        if entry.cancelled:
            # By another thread, since it was chosen: it does not run.
            return False
        staying, ending = self._states_after(entry, may_end)
        if entry.order is Order.TIMER:
            for each in staying[0] if staying else ending[0]:
                if each.deadline is entry.deadline:
                    each.order = Order.FIFO
        if not staying or entry.place[0] > self._number:
            # By asyncio's own order a turn has ended in between.
            self._number += 1
        self._keep(staying + ending)
        self._delay()
        return bool(ending)

    def _states_after(
        self, entry: _Entry, may_end: bool
    ) -> tuple[list[State[_Entry]], list[State[_Entry]]]:
        """The states once an entry has run: those in the running turn, and those in the next."""
        if entry is self.first:
            return [self._states[0].without(entry)], []
        staying: list[State[_Entry]] = []
        ending: list[State[_Entry]] = []
        for state in self._states:
            if any(each is entry for each in state.options()):
                staying.append(state.without(entry))
            if may_end and state.may_differ():
                ended = state.ended()
                if any(each is entry for each in ended.options()):
                    ending.append(ended.without(entry))
        return staying, ending

    def leaves_open(self, entry: _Entry, others: Container[_Entry]) -> bool:
        """Whether others may come in the same orders as before once an entry has run.

        Not so if it runs only in the next turn, and one of them could still come in this one.

        Parameters:
            entry: one of those that may come next.
            others: that stand in the queue.
        """
        staying, ending = self._states_after(entry, may_end=True)
        before = {state.only(others).key() for state in self._states}
        return before <= {state.only(others).key() for state in (*staying, *ending)}

    def run(self) -> None:
        """Something of the turn is run."""
        for state in self._states:
            state.is_new = False

    def _keep(self, states: list[State[_Entry]]) -> None:
        """Keep states in mind, each of them once."""
        if len(states) == 1:
            self._states = states
            return
        kept: dict[object, State[_Entry]] = {}
        for state in states:
            known = kept.setdefault(state.key(), state)
            known.is_new = known.is_new or state.is_new
        self._states = [
            State(state.turn, [*state.following], [*state.arrived], state.is_new)
            for state in kept.values()
        ]
        most = max(1, MOST_KEPT // max(1, len(self)))
        if len(self._states) > most:
            del self._states[most:]
            self.has_forgotten = True

    def _delay(self) -> None:
        """What could have come in an earlier turn is late."""
        for entry in self._states[0].turn:
            if entry.place[0] < self._number:
                entry.place = self._number, _LATE
                if self._number - entry.since >= LATE_TURNS and entry.order is not Order.FIFO:
                    entry.order = Order.FIFO
                    self.was_impatient = True
