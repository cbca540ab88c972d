"""Data races that did not happen but could have: accesses ordered only by who took a lock first.

Happens-before orders two critical sections of one lock by the order in which they
happened to run, and with them all that lies around them.  A weaker order leaves
these hand-overs out: two conflicting accesses that it does not order, and that no
common lock protects, may race in another schedule (the hybrid of O'Callahan and Choi, PPoPP
2003; weak orders that are sound, such as WCP, keep some of the hand-overs).  What it finds is a
prediction, no finding: the lock may hand over what makes one access wait for the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bohrbug.model.history import events_of
from bohrbug.model.operation import ACQUIRE, RELEASE, ResourceId, Site, TaskId
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.monitors.clocks import Clocks
from bohrbug.monitors.lock_order import LOCKS
from bohrbug.runtime.threads.data.places import Place
from bohrbug.runtime.threads.data.shadows import Shadow
from bohrbug.runtime.threads.monitoring import ClockHolder

MOST_ACCESSES = 40
"""Different accesses to one variable that are remembered."""

MOST_PAIRS = 50
"""Pairs of accesses that are taken for possible races in one execution."""


@dataclass(frozen=True, slots=True)
class SeenAccess:
    """One access, as the weak order sees it.

    Parameters:
        task: index of the task.
        place: where.
        is_write: whether it writes.
        locks: identities of the locks held.
        epoch: of the task, see :class:`~bohrbug.monitors.clocks.Clocks`.
        step: the number of steps made before it.
    """

    task: int
    place: Place
    is_write: bool
    locks: frozenset[int]
    epoch: int
    step: int


@dataclass(frozen=True, slots=True)
class PossibleRace:
    """Two accesses that may race in another schedule.

    Parameters:
        label: the variable.
        first, second: in the order in which they happened.
        orderings: the critical sections that came between them, the other way round.
    """

    label: str
    first: tuple[TaskId, Site | None, bool]
    second: tuple[TaskId, Site | None, bool]
    orderings: tuple[Ordering, ...]

    @property
    def key(self) -> frozenset[object]:
        """The two places."""
        return frozenset((self.first[1], self.second[1]))


class WeakDetector(Clocks):
    """Watches one execution; its order has no edges from one holder of a lock to the next.

    Parameters:
        locks_of: the identities of the locks that a task holds.
        steps: the number of steps made so far.
    """

    def __init__(self, locks_of: Callable[[int], frozenset[int]], steps: Callable[[], int]) -> None:
        super().__init__()
        self._locks_of = locks_of
        self._steps = steps
        self._accesses: dict[int, tuple[Shadow, list[SeenAccess]]] = {}
        self._seen: set[tuple[object, ...]] = set()
        self._pairs: dict[frozenset[int], tuple[Shadow, SeenAccess, SeenAccess]] = {}

    def synchronise(self, task_index: int, clock_holder: ClockHolder, is_write: bool) -> None:
        """See :class:`~bohrbug.monitors.clocks.Clocks`; operations on locks order nothing."""
        if getattr(clock_holder, "type", "") not in LOCKS:
            super().synchronise(task_index, clock_holder, is_write)

    def read(self, shadow: Shadow, task_index: int, place: Place) -> None:
        """A task reads a variable."""
        self._access(shadow, task_index, place, False)

    def write(self, shadow: Shadow, task_index: int, place: Place) -> None:
        """A task writes a variable."""
        self._access(shadow, task_index, place, True)

    def _access(self, shadow: Shadow, task: int, place: Place, is_write: bool) -> None:
        if task >= len(self.epochs):
            self.add_tasks(task + 1)
        locks = self._locks_of(task)
        epoch = self.epochs[task]
        same = (id(shadow), task, id(place), is_write, locks, epoch)
        if same in self._seen:
            return
        self._seen.add(same)
        # The shadow is kept, so that its identity stays its own.
        known = self._accesses.setdefault(id(shadow), (shadow, []))[1]
        access = SeenAccess(task, place, is_write, locks, epoch, self._steps())
        for other in known:
            if (
                other.task != task
                and (is_write or other.is_write)
                and not locks & other.locks
                and len(self._pairs) < MOST_PAIRS
                and not self.is_after(task, other.task, other.epoch)
            ):
                pair = frozenset((id(other.place), id(place)))
                self._pairs.setdefault(pair, (shadow, other, access))
        if len(known) < MOST_ACCESSES:
            known.append(access)

    def possible_races(self, trace: Trace, task_id: Callable[[int], TaskId]) -> list[PossibleRace]:
        """The pairs that may race, with what to turn round to see it.

        Those without a critical section between them are left out: they race as it is.

        Parameters:
            trace: the execution that was watched.
            task_id: the id of the task with an index.
        """
        found = []
        sections = _Sections(trace) if self._pairs else None
        for shadow, first, second in self._pairs.values():
            assert sections is not None
            one, other = task_id(first.task), task_id(second.task)
            orderings = sections.between(one, first.step, other, second.step)
            if orderings:
                found.append(
                    PossibleRace(
                        shadow.label,
                        (one, site_of(first.place), first.is_write),
                        (other, site_of(second.place), second.is_write),
                        orderings,
                    )
                )
        return found


class _Sections:
    """The critical sections of an execution: for each task and lock its acquires and releases."""

    def __init__(self, trace: Trace) -> None:
        self._events = events_of(trace)
        self._acquires: dict[tuple[TaskId, ResourceId], list[int]] = {}
        self._releases: dict[tuple[TaskId, ResourceId], list[int]] = {}
        for step, operation in enumerate(trace.operations):
            key = (trace.tasks[step], operation.resource)
            if operation.kind is ACQUIRE:
                self._acquires.setdefault(key, []).append(step)
            elif operation.kind is RELEASE:
                self._releases.setdefault(key, []).append(step)

    def _event(self, step: int) -> Event:
        event = self._events[step]
        assert event is not None
        return event

    def between(
        self, first: TaskId, since: int, second: TaskId, until: int
    ) -> tuple[Ordering, ...]:
        """The hand-overs of locks from one access to another, turned round.

        A section of the first task that ends after its access, and the last section of the second
        task that begins before its own access: the latter is to come first.
        """
        orderings = []
        for (task, lock), releases in self._releases.items():
            if task != first:
                continue
            end = next((step for step in releases if step >= since), None)
            if end is None:
                continue
            begins = [s for s in self._acquires.get((first, lock), ()) if s < end]
            theirs = [s for s in self._acquires.get((second, lock), ()) if end < s < until]
            if begins and theirs:
                orderings.append(Ordering(self._event(theirs[-1]), self._event(begins[-1])))
        return tuple(orderings)
