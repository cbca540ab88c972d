"""Plans: data that determines an execution.

A plan is a prefix of choices and a policy for what comes after it.  The
vocabulary of policies is small and closed, so that the executor of each
runtime stays small.
"""

from __future__ import annotations

from dataclasses import dataclass

from bohrbug.model.operation import ResourceId, TaskId

Choice = TaskId | int
"""One element of the choice sequence: a task to run, or the value of a data choice."""


@dataclass(frozen=True, slots=True)
class NonPreemptive:
    """Keep running the task; when it blocks, ends or yields, go round robin. Fair."""


@dataclass(frozen=True, slots=True)
class UniformRandom:
    """At each scheduling point any option with equal probability."""

    seed: int


@dataclass(frozen=True, slots=True)
class Priorities:
    """PCT (Burckhardt et al., ASPLOS 2010): random priorities, ``depth - 1`` change points.

    Parameters:
        seed: determines the priorities and the change points.
        depth: the depth of the bugs aimed at, at least 1.
        length: the number of steps over which change points are spread.
    """

    seed: int
    depth: int
    length: int


@dataclass(frozen=True, slots=True)
class Segments:
    """Run given stretches of given tasks in turn, as far as that is possible.

    A task that can't run is passed over; after the last stretch non-preemptive.
    Lenient where a prefix is strict: it is how a schedule is varied.

    Parameters:
        segments: pairs of a task and the number of its steps.
    """

    segments: tuple[tuple[TaskId, int], ...]


@dataclass(frozen=True, slots=True)
class Sleeper:
    """A task that need not run before something conflicts with what it is about to do.

    Parameters:
        task: the task.
        reads: the resources that its next step reads.
        writes: the resources that its next step changes.
        wakes_at_once: any step of another task conflicts with it.
    """

    task: TaskId
    reads: tuple[ResourceId, ...] = ()
    writes: tuple[ResourceId, ...] = ()
    wakes_at_once: bool = False


@dataclass(frozen=True, slots=True)
class Sleeping:
    """Non-preemptive, but a sleeping task is passed over as long as there is another one.

    It wakes up when a step touches what its own next step touches, one of the two
    writing.  Sleep sets: Godefroid, *Partial-order methods*, 1996, chapter 5.

    Parameters:
        asleep: the tasks that sleep when the prefix ends.
        first: the task that runs first, if it can; ``None`` for no wish.
    """

    asleep: tuple[Sleeper, ...]
    first: TaskId | None = None


Policy = NonPreemptive | UniformRandom | Priorities | Segments | Sleeping


@dataclass(frozen=True, slots=True)
class Plan:
    """A prefix of choices, one per step, followed by a policy."""

    prefix: tuple[Choice, ...] = ()
    policy: Policy = NonPreemptive()
