"""Deadlocks that did not happen but could have: locks taken in different orders.

Goodlock (Havelund, SPIN 2000) notes, in executions that pass, which task takes which lock while
it holds which others; a cycle in this order means that some schedule may
deadlock.  As in its successors (Bensalem and Havelund, HVC 2005; Agarwal et al.,
2010) a cycle is left out

* within one task: it can't wait for itself;
* if a lock is held at two of its places, a *gate lock*: it keeps the tasks apart;
* if starting and joining tasks orders two of its places: they never run at the same time.

What is left is a prediction, no finding: data may keep it from ever happening.  It is for
a directed execution to say (:mod:`bohrbug.exploration.prediction`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bohrbug.model.history import events_of
from bohrbug.model.operation import (
    ACQUIRE,
    BEGIN,
    END,
    JOIN,
    RELEASE,
    SPAWN,
    TRY_ACQUIRE,
    WAKE,
    Operation,
    Point,
    Resource,
    ResourceId,
    TaskId,
)
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.site import point_of
from bohrbug.model.trace import Trace
from bohrbug.model.vector_clock import VectorClock

LOCKS = frozenset({"Lock", "RLock", "mutex", "spin lock"})
"""Types of resources that one task holds at a time; a semaphore is none of them."""

LONGEST_CYCLE = 8
"""Tasks in a cycle that is looked for."""

MOST_NESTINGS = 300
"""Different nested acquires of one execution that are looked at."""

MOST_STEPS = 20_000
"""Steps of the search for cycles in one execution."""

_LIFE = frozenset({SPAWN, BEGIN, END, JOIN})


@dataclass(frozen=True, slots=True)
class Nesting:
    """A task takes a lock while it holds another one.

    Parameters:
        task: who.
        held: the lock that it holds.
        wanted: the lock that it takes.
        taken: when it took ``held``.
        asked: when it took ``wanted``.
        holding: all locks that it held then.
        clock: what starts and joins of tasks order before it.
        operations: how it took ``held``, and ``wanted``, with their places.
    """

    task: TaskId
    held: Resource
    wanted: Resource
    taken: Event
    asked: Event
    holding: frozenset[ResourceId]
    clock: VectorClock
    operations: tuple[Operation, Operation]

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two nestings of one execution the same to the search for cycles."""
        return (self.task, self.held.id, self.wanted.id, self.taken.site, self.asked.site)

    @property
    def places(self) -> tuple[object, object]:
        """Where it took ``held``, and ``wanted``; the locks where nobody knows that."""
        taken, asked = self.operations
        return (
            self.taken.site or taken.place or taken.resource,
            self.asked.site or asked.place or asked.resource,
        )

    def excludes(self, other: Nesting) -> bool:
        """Whether the two can't happen at the same time."""
        return (
            self.task == other.task
            or not self.holding.isdisjoint(other.holding)
            or other.clock[self.task] >= self.clock[self.task]
            or self.clock[other.task] >= other.clock[other.task]
        )


@dataclass(frozen=True, slots=True)
class LockCycle:
    """Tasks each of which holds the lock that the one before it wants.

    Parameters:
        nestings: the places; ``nestings[i].wanted`` is ``nestings[i + 1].held``, and so round.
    """

    nestings: tuple[Nesting, ...]

    @property
    def orderings(self) -> tuple[Ordering, ...]:
        """What has to be so for the deadlock to happen."""
        following = (*self.nestings[1:], self.nestings[0])
        return tuple(
            Ordering(holder.taken, waiting.asked)
            for waiting, holder in zip(self.nestings, following, strict=True)
        )

    @property
    def key(self) -> frozenset[object]:
        """The same for cycles at the same places of the source, whichever tasks and locks.

        Where these are not looked up yet, what will be looked up stands for them.
        """
        return frozenset(nesting.places for nesting in self.nestings)

    @property
    def tasks(self) -> frozenset[TaskId]:
        """The tasks that would wait for each other."""
        return frozenset(nesting.task for nesting in self.nestings)


class _Holding:
    """Who holds which locks, step by step."""

    def __init__(self) -> None:
        self.by_task: dict[TaskId, dict[ResourceId, int]] = {}
        self._owner: dict[ResourceId, TaskId] = {}
        self._given_back: dict[TaskId, list[ResourceId]] = {}

    def take(self, task: TaskId, lock: ResourceId, step: int) -> None:
        """A lock was taken."""
        # Of a wait that is over it was believed too early, where the lock is taken behind it.
        self.release(lock)
        self._owner[lock] = task
        self.by_task.setdefault(task, {})[lock] = step

    def is_free(self, lock: ResourceId) -> bool:
        """Whether nobody holds a lock."""
        return lock not in self._owner

    def release(self, lock: ResourceId) -> None:
        """A lock was released, by whomever."""
        owner = self._owner.pop(lock, None)
        if owner is not None:
            self.by_task[owner].pop(lock, None)

    def give_back(self, task: TaskId, lock: ResourceId) -> None:
        """A task releases a lock within another operation: a wait, which takes it again."""
        if self._owner.get(lock) == task:
            self.release(lock)
            self._given_back.setdefault(task, []).append(lock)

    def take_again(self, task: TaskId, step: int) -> None:
        """A wait is over."""
        locks = self._given_back.get(task)
        if locks and self.is_free(lock := locks.pop()):
            self.take(task, lock, step)


def _nested_steps(trace: Trace) -> list[tuple[int, dict[ResourceId, int]]]:
    """The steps in which a task takes a lock while it holds others, and when it took those."""
    holding = _Holding()
    found: list[tuple[int, dict[ResourceId, int]]] = []
    effects: dict[int, list[tuple[TaskId, ResourceId]]] = {}
    for step, task, resource, is_write in trace.effects:
        if is_write:
            effects.setdefault(step, []).append((task, resource))
    for step, (task, (kind, resource, _)) in enumerate(
        zip(trace.tasks, trace.operations, strict=True)
    ):
        if kind is ACQUIRE:
            if not trace.has_fired(step):
                held = holding.by_task.get(task)
                if held and resource not in held:
                    found.append((step, dict(held)))
                holding.take(task, resource, step)
        elif kind is RELEASE:
            holding.release(resource)
        elif kind is TRY_ACQUIRE:
            if holding.is_free(resource):
                holding.take(task, resource, step)
        elif kind is WAKE:
            holding.take_again(task, step)
        for actor, touched in effects.get(step, ()):
            holding.give_back(actor, touched)
    return found


def per_task_history_hash(trace: Trace) -> int | None:
    """A number for what each task did in a trace, one operation after the other.

    The nestings of two traces with the same number are the same, in whatever order the tasks ran;
    the number is a hash of 64 bits, so that two others have the same one practically never.
    ``None`` where what a task holds depends on that order, too.
    """
    if trace.effects or any(trace.timed):
        return None
    owners: dict[ResourceId, TaskId] = {}
    deeds: dict[TaskId, list[tuple[object, ResourceId, Point]]] = {}
    for task, operation in zip(trace.tasks, trace.operations, strict=True):
        kind, resource, _ = operation
        if kind is ACQUIRE:
            owners[resource] = task
        elif kind is TRY_ACQUIRE or (kind is RELEASE and owners.pop(resource, None) != task):
            return None
        deeds.setdefault(task, []).append((kind.name, resource, point_of(operation)))
    return hash(frozenset([(task, tuple(done)) for task, done in deeds.items()]))


def _life_clocks(trace: Trace, wanted: set[int]) -> dict[int, VectorClock]:
    """What starts and joins of tasks order before some steps; waits of other kinds are left out.

    ``clocks[j][task of i] >= clocks[i][task of i]`` if and only if step ``i`` comes first
    in every schedule in which tasks are started and joined at these places.
    """
    nothing = VectorClock()
    of_task: dict[TaskId, VectorClock] = {}
    published: dict[ResourceId, VectorClock] = {}
    found: dict[int, VectorClock] = {}
    for step, (task, (kind, resource, _)) in enumerate(
        zip(trace.tasks, trace.operations, strict=True)
    ):
        clock = of_task.get(task)
        if clock is None:
            clock = of_task[task] = published.get(task, nothing).advanced(task)
        if kind in _LIFE:
            if kind is SPAWN or kind is END:
                published[resource] = published.get(resource, nothing).joined_with(clock)
                clock = clock.advanced(task)
            else:
                clock = clock.joined_with(published.get(resource, nothing))
            of_task[task] = clock
        if step in wanted:
            found[step] = clock
    return found


def nestings_of(trace: Trace) -> list[Nesting]:
    """The different nested acquires of locks in an execution, in linear time.

    Parameters:
        trace: the execution.
    """
    steps = _nested_steps(trace)
    if not steps:
        return []
    clocks = _life_clocks(trace, {step for step, _ in steps})
    events = events_of(trace)
    resources = trace.resources
    found: dict[tuple[object, ...], Nesting] = {}
    for step, held in steps:
        wanted = resources.get(trace.operations[step].resource)
        if wanted is None or wanted.type not in LOCKS:
            continue
        locks = {
            lock: taken
            for lock, taken in held.items()
            if (known := resources.get(lock)) is not None and known.type in LOCKS
        }
        for lock, taken in locks.items():
            first, second = events[taken], events[step]
            assert first is not None
            assert second is not None
            nesting = Nesting(
                trace.tasks[step],
                resources[lock],
                wanted,
                first,
                second,
                frozenset(locks),
                clocks[step],
                (trace.operations[taken], trace.operations[step]),
            )
            found.setdefault(nesting.key, nesting)
            if len(found) >= MOST_NESTINGS:
                return list(found.values())
    return list(found.values())


def lock_cycles(nestings: list[Nesting]) -> Iterator[LockCycle]:
    """Cycles of nestings that could happen at the same time, one of those with the same key.

    Parameters:
        nestings: of one execution.
    """
    known: set[frozenset[object]] = set()
    for cycle in _all_lock_cycles(nestings):
        if cycle.key not in known:
            known.add(cycle.key)
            yield cycle


def _all_lock_cycles(nestings: list[Nesting]) -> Iterator[LockCycle]:
    """Cycles of nestings that could happen at the same time, whichever tasks take part.

    Parameters:
        nestings: of one execution.
    """
    by_held: dict[ResourceId, list[int]] = {}
    for number, nesting in enumerate(nestings):
        by_held.setdefault(nesting.held.id, []).append(number)
    steps = 0
    for start, first in enumerate(nestings):
        # A cycle is found from its first nesting; the others have larger numbers.
        paths = [[start]]
        while paths:
            steps += 1
            if steps > MOST_STEPS:
                return
            path = paths.pop()
            last = nestings[path[-1]]
            if len(path) > 1 and last.wanted.id == first.held.id:
                yield LockCycle(tuple(nestings[number] for number in path))
                continue
            if len(path) == LONGEST_CYCLE:
                continue
            paths += [
                [*path, number]
                for number in by_held.get(last.wanted.id, ())
                if number > start
                and not any(nestings[number].excludes(nestings[other]) for other in path)
            ]
