"""Events as partial-order reduction sees them: who, what was chosen, and what was touched.

A footprint is a pair of bit masks, the resources read and those written, so that
whether two events conflict is three operations on integers.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bohrbug.accelerator import native, with_fast_path
from bohrbug.model.operation import EXIT, ROOT, ResourceId
from bohrbug.model.plan import Choice


class Footprint(NamedTuple):
    """What an event touches.

    Parameters:
        reads: the resources that it only reads, one bit for each.
        writes: the resources that it changes.
    """

    reads: int
    writes: int

    def conflicts_with(self, other: Footprint) -> bool:
        """Whether the order of the two events matters."""
        return bool(self.writes & (other.reads | other.writes) or self.reads & other.writes)


EVERYTHING = Footprint(0, -1)
"""The footprint of an event whose order with every other event matters."""


_VARIABLE = re.compile(r"[^:]*:\d+(?=[.\[])")
"""The part of the id of a variable that names its owner."""

_ENDS = frozenset({EXIT, ROOT})
"""What happens at the end of an execution happens after everything else."""


class Event(NamedTuple):
    """One step, without its place in an execution.

    Parameters:
        task: the number of the task that does it.
        choice: the element of the choice sequence: the task's id, or the value of a data choice.
        footprint: what it touches.
    """

    task: int
    choice: Choice
    footprint: Footprint


Asleep = tuple[Event, ...]
"""The next events of tasks that sleep."""


if native is not None:
    native.use_events(Event)


@with_fast_path
def is_weak_initial(event: Event, sequence: list[Event], start: int = 0, /) -> int | None:
    """Whether ``event`` can come first in something equivalent to an extension of a sequence.

    That is so if it is in the sequence and commutes with all before it, or if it is not in
    it and commutes with all of it (weak initials: Abdulla, Aronis, Jonsson and Sagonas, JACM
    2017, section 5).

    Parameters:
        event: enabled where the sequence begins.
        sequence: events.
        start: the sequence begins with this element.

    Returns:
        ``None`` if it is not; else its index in the sequence, or ``len(sequence)`` if it is
        not in it.
    """
    task, choice, (reads, writes) = event
    both = reads | writes
    for index in range(start, len(sequence)):
        other, chosen, (other_reads, other_writes) = sequence[index]
        if other == task:
            return index if chosen == choice else None
        if writes & (other_reads | other_writes) or both & other_writes:
            return None
    return len(sequence)


@with_fast_path
def first_initial(events: Asleep, sequence: list[Event]) -> int | None:
    """The index of the first of some events that is a weak initial of a sequence.

    Returns:
        ``None`` if none of them is.
    """
    for index, event in enumerate(events):
        if is_weak_initial(event, sequence) is not None:
            return index
    return None


@with_fast_path
def still_asleep(asleep: Asleep, event: Event) -> Asleep:
    """Who of the sleeping is not woken by an event: it is another's, and does not conflict."""
    task, _, (reads, writes) = event
    both = reads | writes
    return tuple(
        [
            other
            for other in asleep
            if other[0] != task and not (writes & (other[2][0] | other[2][1]) or both & other[2][1])
        ]
    )


class Footprints:
    """The footprints of operations; numbers the resources of an exploration as they come.

    Attributes:
        single: of operations without effects that were met, by ``is_write`` and resource.
    """

    def __init__(self) -> None:
        self._bits: dict[ResourceId, int] = {}
        self._names: list[ResourceId] = []
        self.single: dict[tuple[bool, ResourceId], Footprint] = {}
        self._widened: dict[tuple[Footprint, int], Footprint] = {}

    def bit(self, resource: ResourceId) -> int:
        """The mask with the bit of one resource."""
        bit = self._bits.get(resource)
        if bit is None:
            bit = self._bits[resource] = 1 << len(self._names)
            self._names.append(resource)
        return bit

    def of(self, is_write: bool, resource: ResourceId) -> Footprint:
        """The footprint of an operation without effects."""
        key = (is_write, resource)
        found = self.single.get(key)
        if found is None:
            bit = self.bit(resource)
            if resource in _ENDS:
                found = EVERYTHING
            else:
                found = Footprint(0, bit) if is_write else Footprint(bit, 0)
            self.single[key] = found
        return found

    def of_many(self, touched: dict[ResourceId, bool]) -> Footprint:
        """The footprint of a step with effects: ``{resource: is_write}``."""
        reads = writes = 0
        for resource, is_write in touched.items():
            if is_write:
                writes |= self.bit(resource)
            else:
                reads |= self.bit(resource)
        return Footprint(reads, writes)

    def widened(self, footprint: Footprint, known: int) -> Footprint:
        """The footprint with what its new variables may be called in other executions.

        A variable is named after the task that came to it first, and so may have another name
        where the order is another.  What stays is the attribute or the key.

        Parameters:
            footprint: of an event.
            known: the resources that were touched in the common prefix of the executions; they
                have the same names in all of them.
        """
        new = (footprint.reads | footprint.writes) & ~known
        if not new or footprint is EVERYTHING:
            return footprint
        key = (footprint, new)
        found = self._widened.get(key)
        if found is None:
            reads, writes = footprint
            for name in self.names(new):
                variable = _VARIABLE.match(name)
                if variable is not None:
                    alias = self.bit("any object" + name[variable.end() :])
                    if writes & self.bit(name):
                        writes |= alias
                    else:
                        reads |= alias
            found = self._widened[key] = Footprint(reads, writes)
        return found

    def names(self, mask: int) -> tuple[ResourceId, ...]:
        """The resources of a mask, in the order of their numbers."""
        found = []
        while mask:
            low = mask & -mask
            found.append(self._names[low.bit_length() - 1])
            mask ^= low
        return tuple(found)
