"""Plans: data that determines an execution.

A plan is a prefix of choices, a policy for what comes after it, and the conditions under which
both are executed.  The vocabulary of policies is small and closed, so that the executor of each
runtime stays small.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from bohrbug.accelerator.plain import plain
from bohrbug.model.conditions import ORDINARY, Conditions
from bohrbug.model.operation import Point, ResourceId, Site, TaskId
from bohrbug.model.ordering import Ordering

Choice = TaskId | int
"""One element of the choice sequence: a task to run, or the value of a data choice."""


@dataclass(frozen=True, slots=True)
class NonPreemptive:
    """Keep running the task; when it blocks, ends or yields, go round robin. Fair."""


@plain
@dataclass(frozen=True, slots=True)
class UniformRandom:
    """At each scheduling point any option with equal probability."""

    seed: int


@dataclass(frozen=True, slots=True)
class Ask:
    """Non-preemptive up to a decision that somebody else is to make, and the execution ends there.

    A decision is a step with more than one option; all others make themselves.

    Parameters:
        passed: how many decisions to pass, without preemption, before the one that is asked.
    """

    passed: int = 0


@plain
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


TaskValues = tuple[tuple[TaskId, tuple[int, ...]], ...]
"""For tasks the values of their data choices, in order."""


@dataclass(frozen=True, slots=True)
class Segments:
    """Run given stretches of given tasks in turn, as far as that is possible.

    A task that can't run is passed over; after the last stretch non-preemptive.
    Lenient where a prefix is strict: it is how a schedule is varied.

    Parameters:
        segments: pairs of a task and the number of its steps, data choices not counted.
        values: for each task the values of its data choices behind the prefix, in order; beyond
            these they are 0.
    """

    segments: tuple[tuple[TaskId, int], ...]
    values: TaskValues = ()


@dataclass(frozen=True, slots=True)
class Switch:
    """Where control passes from one task to another.

    Parameters:
        task: who has made the last step; empty before the first one.
        steps: how many it has made by then, data choices not counted.
        target: who makes the next one.
        held: who is to wait from then on until nobody else can run.
    """

    task: TaskId
    steps: int
    target: TaskId
    held: TaskId | None = None


@dataclass(frozen=True, slots=True)
class Switches:
    """Without preemptions but for some; a schedule as CHESS has it (OSDI 2008, section 4.4).

    Lenient: a switch to a task that can't run is left out.  It is for whole executions, without a
    prefix.

    Parameters:
        switches: each at another step.
        values: for each task the values of its data choices in order; beyond these they are 0.
    """

    switches: tuple[Switch, ...]
    values: TaskValues = ()


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
    values: TaskValues = ()


@dataclass(frozen=True, slots=True)
class PartialOrder:
    """POS (Yuan, Yang and Gu, CAV 2018): a random priority for each event.

    Parameters:
        seed: determines the priorities.
        points: an operation elsewhere is no decision and runs at once;
            ``None``: every operation is a decision.
    """

    seed: int
    points: frozenset[Point] | None = None


@dataclass(frozen=True, slots=True)
class WeightedRandom:
    """SURW (Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025): uniform over some events.

    Parameters:
        seed: determines all choices.
        weights: pairs of a task and the number of its selected events that are expected.
        selected: the points whose operations are the selected events;
            ``None``: all that are decisions.
        points: see :class:`PartialOrder`.
    """

    seed: int
    weights: tuple[tuple[TaskId, int], ...]
    selected: frozenset[Point] | None = None
    points: frozenset[Point] | None = None


class ResourceEvent(NamedTuple):
    """One operation on a resource, told apart from all others without step numbers.

    It counts what a task does to one resource, as constraints are about what a resource goes
    through; an :class:`~bohrbug.model.ordering.Event` counts what it does at one place,
    whatever to.

    Parameters:
        task: who does it.
        kind: the name of the kind of operation.
        resource: what it acts on.
        site: where, if that is known.
        occurrence: 1-based, among the operations of this kind that the task does to it there.
    """

    task: TaskId
    kind: str
    resource: ResourceId
    site: Site | None
    occurrence: int


class Constraint(NamedTuple):
    """That one event reads what another wrote, or that it does not.

    For a lock: that it gets the lock from a certain release.

    Parameters:
        source: the last event before ``reader`` that changed the resource;
            ``None`` if nothing changed it yet.
        reader: the event that depends on it.
        holds: whether it is wanted or to be avoided.
    """

    source: ResourceEvent | None
    reader: ResourceEvent
    holds: bool = True


@dataclass(frozen=True, slots=True)
class ReadsFrom:
    """RFF (Wolff, Shi, Duck, Mathur and Roychoudhury, ASPLOS 2024): meet constraints if possible.

    Parameters:
        seed: determines what the constraints leave open, as :class:`PartialOrder`.
        constraints: what to aim at.
        points: see :class:`PartialOrder`.
    """

    seed: int
    constraints: tuple[Constraint, ...] = ()
    points: frozenset[Point] | None = None


@plain
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


@plain
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


@dataclass(frozen=True, slots=True)
class Mark:
    """One step of a recorded execution, as it is to be found in the program of today.

    Parameters:
        task: who did it, by its id in the recorded execution.
        kind: the name of the kind of operation.
        site: where it stands now; ``None`` where no place is known, so that any is taken
            for it.  Function and column are told for people and do not count.
        fired: it ended because its timeout fired.
    """

    task: TaskId
    kind: str
    site: Site | None
    fired: bool = False


@dataclass(frozen=True, slots=True)
class Aligned:
    """Follow the steps of an execution of another version of the program, as far as it can be done.

    Lenient: an operation that no mark stands for was put in, a mark that no operation
    comes for was taken out.  What comes after the last mark is non-preemptive.

    Parameters:
        marks: the recorded steps in their order, data choices left out.
        tasks: the recorded tasks in the order of their creation, each with the place that
            started it, as it is now; the root is left out.
        values: for each recorded task the values of its data choices in order.
        window: how many marks of a task are looked at for its next operation, at least 1.
        eager: what was put in runs on without a switch; else when its task's next mark is due.
    """

    marks: tuple[Mark, ...]
    tasks: tuple[tuple[TaskId, Site | None], ...] = ()
    values: tuple[tuple[TaskId, tuple[int, ...]], ...] = ()
    window: int = 64
    eager: bool = True


Policy = (
    NonPreemptive
    | Ask
    | UniformRandom
    | Priorities
    | Segments
    | Switches
    | Ordered
    | PartialOrder
    | WeightedRandom
    | ReadsFrom
    | Sleeping
    | Aligned
)


@plain
@dataclass(frozen=True, slots=True)
class Plan:
    """A prefix of choices, one per step, followed by a policy.

    A strategy proposes choices and policy, for whichever conditions hold: two plans are equal
    if these are.

    Parameters:
        prefix: the choices.
        policy: what comes after them.
        foreseen: the choices from this index on were inferred, not seen to be possible, so that
            a divergence there says nothing of the test.  Not kept in files.
        conditions: what the execution runs under.
    """

    prefix: tuple[Choice, ...] = ()
    policy: Policy = NonPreemptive()
    foreseen: int | None = field(default=None, compare=False)
    conditions: Conditions = field(default=ORDINARY, compare=False, repr=False)

    def under(self, conditions: Conditions) -> Plan:
        """The same choices and policy, under these conditions."""
        if self.conditions is conditions:
            return self
        return Plan(self.prefix, self.policy, self.foreseen, conditions)

    def foresaw(self, step: int) -> bool:
        """Whether the choice at a step was inferred."""
        return self.foreseen is not None and step >= self.foreseen
