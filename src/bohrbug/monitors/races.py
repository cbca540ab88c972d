"""Data races by happens-before, in the manner of FastTrack.

FastTrack (Flanagan and Freund, PLDI 2009) is based on the observation that a
moment of a task need not be compared as a whole vector clock: one number, an
*epoch*, says which moment of which task it is, and an earlier access happens
before a later one exactly if the later task's clock has reached its epoch.

Three things differ from the paper, because of how the results are used.
A variable remembers an epoch for each *place* that accessed it, not only
for each task, because a race is reported with, and turned into scheduling
points by, both of its places.  A write forgets the earlier accesses of other
tasks that it is ordered after (what races with them races with the write too), but
not those that it races with, so that detection goes on precisely after
the first race of a variable.  And a container is more than one
variable: accesses to different keys don't conflict with each other, but do
with those to the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bohrbug.accelerator import native
from bohrbug.model.operation import READ, WRITE, Kind, Operation, TaskId
from bohrbug.model.outcome import Access, Frame, Held, Race
from bohrbug.monitors.clocks import TAG_BITS, Clocks
from bohrbug.runtime.threads.data.places import Place, PlaceSet
from bohrbug.runtime.threads.data.shadows import NO_ACCESSES, SEVERAL, Accesses, Shadow
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.rewrite.attributes import COMPUTED_BY_C

Pair = tuple[int, int]
"""Identities of the two places of a race, the smaller one first."""

_PLACE_MASK = (1 << TAG_BITS) - 1


@dataclass(slots=True)
class Conflict:
    """A pair of places that raced, with what was seen the first time.

    Parameters:
        shadow: the variable.
        first_task: index of the task of the earlier access.
        first_place: where it was; its stack was not kept, because it was not known
            then that it would be part of a race.
        first_is_write: whether it was a write.
        second_task: index of the task of the later access.
        second_place: where it was.
        second_is_write: whether it was a write.
        stack: of the later access, innermost frame last.
        holding: what the task of the later access held.
        count: how often these two places raced.
    """

    shadow: Shadow
    first_task: int
    first_place: Place
    first_is_write: bool
    second_task: int
    second_place: Place
    second_is_write: bool
    stack: tuple[Frame, ...] = ()
    holding: tuple[Held, ...] = ()
    count: int = 1


class RaceDetector(Clocks):
    """Finds the data races of one execution.

    Parameters:
        stack: returns the stack of a running task.
        locks_held: returns what a running task holds.
        known: pairs of places that raced in earlier executions; their stacks
            are not taken again.  Pairs that are found are added.
        finalizes: whether the running code, at a place, is the finalizer of an object, which
            comes after all that others have done with that object.
    """

    __slots__ = (
        "_places",
        "conflicts",
        "finalizes",
        "known",
        "locks_held",
        "racy_places",
        "shared_places",
        "stack",
    )

    def __init__(
        self,
        stack: Callable[[int], tuple[Frame, ...]] | None = None,
        locks_held: Callable[[int], tuple[Held, ...]] | None = None,
        known: set[Pair] | None = None,
        finalizes: Callable[[Any, Place], bool] | None = None,
    ) -> None:
        super().__init__()
        self.finalizes = finalizes
        self.stack = stack
        self.locks_held = locks_held
        self.known: set[Pair] = set() if known is None else known
        # Places of accesses that took part in a race.
        self.racy_places = PlaceSet()
        # Places of accesses that conflict with one of another task, ordered or not.
        # Some more are in it, all of them of accesses to variables with such conflicts.
        self.shared_places = PlaceSet()
        self.conflicts: dict[Pair, Conflict] = {}
        self._places: dict[int, Place] = {}

    # -- accesses ----------------------------------------------------------------

    def read(self, shadow: Shadow, task_index: int, place: Place) -> Conflict | None:
        """A task reads a variable.

        Parameters:
            shadow: the variable.
            task_index: the task that reads.
            place: where.

        Returns:
            A race of this access with an earlier one, or ``None``.
        """
        return self._take_in(shadow, task_index, place, False)

    def write(self, shadow: Shadow, task_index: int, place: Place) -> Conflict | None:
        """A task writes a variable; see :meth:`read`."""
        return self._take_in(shadow, task_index, place, True)

    def interrupt(self, shadow: Shadow, task_index: int, place: Place, is_write: bool) -> None:
        """A handler of a signal is about to access a variable, in the middle of what a task does.

        The task's own accesses might as well have come after it.  That is no race, as it is one
        task, but the places of both matter.

        Parameters:
            shadow: the variable.
            task_index: the task that the handler runs in.
            place: where the handler accesses it.
            is_write: whether it writes.
        """
        earlier = [shadow.writes, shadow.item_writes]
        if is_write:
            earlier += [shadow.reads, shadow.item_reads]
        container = shadow.container
        if container is not None:
            earlier.append(container.writes)
            if is_write:
                earlier.append(container.reads)
        for accesses in earlier:
            for key in accesses:
                if key >> TAG_BITS == task_index:
                    for each in (self._places[key & _PLACE_MASK], place):
                        self.racy_places.add(each)
                        self.shared_places.add(each)

    def _take_in(self, shadow: Shadow, index: int, place: Place, is_write: bool) -> Conflict | None:
        if index >= len(self.epochs):
            self.add_tasks(index + 1)
        identity = id(place)
        epoch = self.epochs[index]
        key = identity + self.tags[index]
        if (shadow.writes if is_write else shadow.reads).get(key) == epoch:
            return None
        self._places[identity] = place
        container = shadow.container
        conflict = None
        if shadow.sole != index or (container is not None and container.sole != index):
            conflict = self._look_at_all(shadow, index, place, is_write)
        if is_write:
            if shadow.writes is NO_ACCESSES:
                shadow.writes = {}
            shadow.writes[key] = epoch
            if container is not None:
                if container.item_writes is NO_ACCESSES:
                    container.item_writes = {}
                container.item_writes[key] = epoch
        else:
            if shadow.reads is NO_ACCESSES:
                shadow.reads = {}
            shadow.reads[key] = epoch
            if container is not None:
                if container.item_reads is NO_ACCESSES:
                    container.item_reads = {}
                container.item_reads[key] = epoch
        return conflict

    def _look_at_all(
        self, shadow: Shadow, index: int, place: Place, is_write: bool
    ) -> Conflict | None:
        """Compare an access with all earlier ones that conflict with it, for the last race."""
        container = shadow.container
        shadow.sole = SEVERAL
        if shadow.shared or (container is not None and container.shared):
            # The accesses that it conflicts with may be forgotten already.
            self.shared_places.add(place)
        # A write makes the variable forget the accesses that it is ordered after.
        earlier = [
            (shadow.writes, shadow.reads, is_write),
            (shadow.item_writes, shadow.item_reads, is_write),
        ]
        if container is not None:
            container.sole = SEVERAL
            # A write of one item does not come after what others
            # do to other items, so no access to the whole is forgotten for it.
            earlier.append((container.writes, container.reads, False))
        conflict = None
        for writes, reads, forget in earlier:
            if writes:
                found = self._look(writes, True, is_write, shadow, index, place, forget)
                conflict = found or conflict
            if is_write and reads:
                found = self._look(reads, False, True, shadow, index, place, forget)
                conflict = found or conflict
        return conflict

    def _look(
        self,
        accesses: Accesses,
        first_is_write: bool,
        second_is_write: bool,
        shadow: Shadow,
        index: int,
        place: Place,
        forget: bool,
    ) -> Conflict | None:
        """Compare an access with earlier ones that conflict with it.

        Parameters:
            accesses: the earlier ones.
            forget: whether those that happen before it may be forgotten.
        """
        clock = self._clocks[index]
        known_tasks = len(clock)
        conflict = None
        ordered: list[int] | None = None
        shared = self.shared_places.by_identity
        for key, epoch in accesses.items():
            task = key >> TAG_BITS
            if task == index:
                continue
            shadow.shared = True
            identity = key & _PLACE_MASK
            shared[identity] = self._places[identity]
            shared[id(place)] = place
            if task < known_tasks and epoch <= clock[task]:
                if forget:
                    if ordered is None:
                        ordered = [key]
                    else:
                        ordered.append(key)
            else:
                found = self._race(
                    shadow, task, identity, first_is_write, index, place, second_is_write
                )
                conflict = found or conflict
        if ordered is not None:
            for key in ordered:
                del accesses[key]
        return conflict

    def _race(
        self,
        shadow: Shadow,
        first_task: int,
        first_identity: int,
        first_is_write: bool,
        second_task: int,
        second_place: Place,
        second_is_write: bool,
    ) -> Conflict | None:
        if self.finalizes is not None and self.finalizes(shadow.owner.target(), second_place):
            return None
        second_identity = id(second_place)
        if first_identity < second_identity:
            pair = (first_identity, second_identity)
        else:
            pair = (second_identity, first_identity)
        conflict = self.conflicts.get(pair)
        if conflict is not None:
            conflict.count += 1
            return conflict
        first_place = self._places[first_identity]
        conflict = self.conflicts[pair] = Conflict(
            shadow,
            first_task,
            first_place,
            first_is_write,
            second_task,
            second_place,
            second_is_write,
        )
        self.racy_places.add(first_place)
        self.racy_places.add(second_place)
        if pair not in self.known:
            self.known.add(pair)
            if self.stack is not None:
                conflict.stack = self.stack(second_task)
            if self.locks_held is not None:
                conflict.holding = self.locks_held(second_task)
        return conflict

    # -- results -----------------------------------------------------------------

    def races(self, task_id: Callable[[int], TaskId] = str) -> list[Race]:
        """The races as reported, one for each pair of places, in the order they were found.

        Not those on objects that keep themselves whole, nor of attributes that are computed when
        they are first read: the order matters, but is no race.

        Parameters:
            task_id: the id of the task with an index.
        """
        races = []
        for conflict in self.conflicts.values():
            shadow = conflict.shadow
            if shadow.owner.kind.name in _WHOLE or (
                not shadow.is_item and shadow.key in COMPUTED_BY_C
            ):
                continue
            resource = conflict.shadow.resource_id
            first = Access(
                task_id(conflict.first_task),
                Operation(_kind(conflict.first_is_write), resource, conflict.first_place),
            )
            second = Access(
                task_id(conflict.second_task),
                Operation(_kind(conflict.second_is_write), resource, conflict.second_place),
                conflict.stack,
                conflict.holding,
            )
            races.append(Race(resource, conflict.shadow.label, first, second, conflict.count))
        return races


_WHOLE = frozenset({"_lru_cache_wrapper"})
"""Names of types in C whose objects document that several threads may call them at once."""


def _kind(is_write: bool) -> Kind:
    return WRITE if is_write else READ


if native is not None:
    native.use_detector(
        RaceDetector,
        ResourceState,
        Shadow,
        PlaceSet,
        NO_ACCESSES,
        SEVERAL,
        TAG_BITS,
    )
