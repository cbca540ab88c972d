"""Executors of the plan's policies: who runs next, once the prefix is used up.

They see tasks only through ``id``, ``index``, ``deadline`` and ``pending``, so
that they serve every runtime written in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol

from bohrbug.accelerator import native
from bohrbug.model.operation import Operation, ResourceId, TaskId
from bohrbug.model.plan import (
    NonPreemptive,
    Policy,
    Priorities,
    Segments,
    Sleeping,
    UniformRandom,
)

Effect = tuple[int, TaskId, ResourceId, bool]
"""See :attr:`bohrbug.model.trace.Trace.effects`."""


class TaskView(Protocol):
    """What a policy may know of a task."""

    id: str
    index: int
    deadline: float | None
    pending: Operation | None


class Decider(Protocol):
    """Chooses among the options of a step; at least one of the sequences is not empty."""

    def choose(
        self,
        running: TaskView,
        enabled: Sequence[TaskView],
        timed: Sequence[TaskView],
        yielded: bool,
        step: int,
    ) -> TaskView:
        """The task that runs next.

        Parameters:
            running: the task that ran until now, whether or not it can go on.
            enabled: tasks whose next operation would not block, oldest first.
            timed: blocked tasks whose timeout could fire, oldest first.
            yielded: ``running`` gives control away of its own will.
            step: the number of choices made so far.
        """
        ...

    def value(self, arity: int) -> int:
        """The value of a data choice among ``range(arity)``."""
        ...


def next_in_turn(running: TaskView, enabled: Sequence[TaskView]) -> TaskView:
    """Round robin: the first enabled task created after the running one, else the oldest."""
    for task in enabled:
        if task.index > running.index:
            return task
    return enabled[0]


def earliest(timed: Sequence[TaskView]) -> TaskView:
    """The task whose timeout fires first; among equals the oldest."""
    return min(timed, key=_deadline_then_age)


def _deadline_then_age(task: TaskView) -> tuple[float, int]:
    return (task.deadline if task.deadline is not None else float("inf"), task.index)


class NonPreemptiveDecider:
    """Keep running; on blocking, ending or yielding go round robin; time moves last."""

    def choose(
        self,
        running: TaskView,
        enabled: Sequence[TaskView],
        timed: Sequence[TaskView],
        yielded: bool,
        step: int,
    ) -> TaskView:
        """See :class:`Decider`."""
        if not enabled:
            return earliest(timed)
        if running in enabled and not yielded:
            return running
        return next_in_turn(running, enabled)

    def value(self, arity: int) -> int:
        """Always the first value, the simplest one."""
        return 0


class UniformRandomDecider:
    """Every option with the same probability."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._uniform = self._random.random

    def choose(
        self,
        running: TaskView,
        enabled: Sequence[TaskView],
        timed: Sequence[TaskView],
        yielded: bool,
        step: int,
    ) -> TaskView:
        """See :class:`Decider`."""
        if timed:
            options = [*enabled, *timed]
            return options[int(self._uniform() * len(options))]
        number = len(enabled)
        return enabled[int(self._uniform() * number)] if number > 1 else enabled[0]

    def value(self, arity: int) -> int:
        """See :class:`Decider`."""
        return self._random.randrange(arity)


class PriorityDecider:
    """PCT: the highest priority runs; at ``depth - 1`` random steps it drops.

    Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010, section 3.  A task
    that yields drops below all others too, or a spinning task would starve the
    one that it waits for (section 4.1 there).
    """

    __slots__ = ("_changes", "_lowest", "_priorities", "_random")

    def __init__(self, policy: Priorities) -> None:
        self._random = Random(policy.seed)
        length = max(policy.length, 1)
        self._changes: dict[int, int] = {}
        for priority in range(1, policy.depth):
            self._changes[self._random.randrange(length)] = -priority
        self._priorities: dict[str, float] = {}
        self._lowest = float(-policy.depth)

    def _priority(self, task: TaskView) -> float:
        priority = self._priorities.get(task.id)
        if priority is None:
            priority = self._priorities[task.id] = self._random.random()
        return priority

    def choose(
        self,
        running: TaskView,
        enabled: Sequence[TaskView],
        timed: Sequence[TaskView],
        yielded: bool,
        step: int,
    ) -> TaskView:
        """See :class:`Decider`."""
        if yielded:
            self._drop(running)
        options = [*enabled, *timed] if timed else enabled
        best = options[0]
        if len(options) > 1:
            best = max(options, key=self._priority)
        change = self._changes.get(step)
        if change is not None:
            self._priorities[best.id] = change
            if len(options) > 1:
                best = max(options, key=self._priority)
        if best.deadline is not None and best not in enabled:
            # A fired timeout is a yield: a loop that sleeps must not starve the rest.
            self._drop(best)
        return best

    def _drop(self, task: TaskView) -> None:
        self._lowest -= 1.0
        self._priorities[task.id] = self._lowest

    def value(self, arity: int) -> int:
        """See :class:`Decider`."""
        return self._random.randrange(arity)


class SegmentsDecider(NonPreemptiveDecider):
    """Follows the stretches of a :class:`Segments` policy leniently."""

    def __init__(self, policy: Segments) -> None:
        self._segments = policy.segments
        self._position = 0
        self._left = policy.segments[0][1] if policy.segments else 0

    def choose(
        self,
        running: TaskView,
        enabled: Sequence[TaskView],
        timed: Sequence[TaskView],
        yielded: bool,
        step: int,
    ) -> TaskView:
        """See :class:`Decider`."""
        segments = self._segments
        while self._position < len(segments):
            if self._left > 0:
                wanted = segments[self._position][0]
                for task in (*enabled, *timed):
                    if task.id == wanted:
                        self._left -= 1
                        return task
            self._position += 1
            if self._position < len(segments):
                self._left = segments[self._position][1]
        return super().choose(running, enabled, timed, yielded, step)


class SleepingDecider(NonPreemptiveDecider):
    """Passes sleeping tasks over until something conflicts with what they are about to do.

    Parameters:
        policy: who sleeps.
        effects: of the execution; grows.
    """

    def __init__(self, policy: Sleeping, effects: Sequence[Effect]) -> None:
        self._asleep = {sleeper.task: sleeper for sleeper in policy.asleep}
        self._first = policy.first
        self._effects = effects
        self._seen: int | None = None
        self._done: Operation | None = None

    def choose(
        self,
        running: TaskView,
        enabled: Sequence[TaskView],
        timed: Sequence[TaskView],
        yielded: bool,
        step: int,
    ) -> TaskView:
        """See :class:`Decider`."""
        if self._asleep:
            self._wake()
            if yielded:
                # Fairness makes the order of everything matter.
                self._asleep.clear()
        chosen = self._wanted(running, enabled, timed, yielded, step)
        self._asleep.pop(chosen.id, None)
        self._done = chosen.pending
        return chosen

    def _wanted(
        self,
        running: TaskView,
        enabled: Sequence[TaskView],
        timed: Sequence[TaskView],
        yielded: bool,
        step: int,
    ) -> TaskView:
        if self._first is not None:
            wanted, self._first = self._first, None
            for task in (*enabled, *timed):
                if task.id == wanted:
                    return task
        asleep = self._asleep
        if asleep:
            awake = [task for task in enabled if task.id not in asleep]
            waiting = [task for task in timed if task.id not in asleep]
            if awake or waiting:
                return super().choose(running, awake, waiting, yielded, step)
        return super().choose(running, enabled, timed, yielded, step)

    def _wake(self) -> None:
        """Wake whom the last step conflicts with."""
        seen = len(self._effects)
        if self._done is not None:
            self._touch(self._done.resource, self._done.kind.is_write)
            for _, _, resource, is_write in self._effects[self._seen : seen]:
                self._touch(resource, is_write)
        self._seen = seen

    def _touch(self, resource: ResourceId, is_write: bool) -> None:
        asleep = self._asleep
        for task, sleeper in list(asleep.items()):
            if (
                sleeper.wakes_at_once
                or resource in sleeper.writes
                or (is_write and resource in sleeper.reads)
            ):
                del asleep[task]


def decider_for(policy: Policy, effects: Sequence[Effect] = ()) -> Decider:
    """The executor of a policy, fresh for one execution.

    Parameters:
        policy: what to execute.
        effects: those of the execution, to which it will add.
    """
    match policy:
        case NonPreemptive():
            return NonPreemptiveDecider()
        case UniformRandom(seed):
            return UniformRandomDecider(seed)
        case Priorities():
            return PriorityDecider(policy)
        case Segments():
            return SegmentsDecider(policy)
        case Sleeping():
            return SleepingDecider(policy, effects)


if native is not None:
    native.use_policies(PriorityDecider)
