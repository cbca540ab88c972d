"""Plans: data that determines an execution.

A plan is a prefix of choices and a policy for what comes after it.  The
vocabulary of policies is small and closed, so that the executor of each
runtime stays small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bohrbug.model.operation import TaskId

if TYPE_CHECKING:
    # Orderings are looked for in traces, and a trace has its plan.
    from bohrbug.model.ordering import Ordering

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
class Ordered:
    """Keep orderings as far as that is possible.

    A task that is about to do the second operation of an ordering before the
    first was done waits, unless nothing else can run.  Among the tasks that need
    not wait seed 0 goes on without preemptions, any other seed chooses at random.

    Parameters:
        orderings: what has to come before what.
        seed: determines all other choices.
        values: for each task the values of its data choices in order; beyond
            these they are 0 for seed 0, else random.
    """

    orderings: tuple[Ordering, ...]
    seed: int = 0
    values: tuple[tuple[TaskId, tuple[int, ...]], ...] = ()


Policy = NonPreemptive | UniformRandom | Priorities | Segments | Ordered


@dataclass(frozen=True, slots=True)
class Plan:
    """A prefix of choices, one per step, followed by a policy."""

    prefix: tuple[Choice, ...] = ()
    policy: Policy = NonPreemptive()
