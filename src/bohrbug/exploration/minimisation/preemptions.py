"""Reducing a failing schedule to the fewest preemptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from dataclasses import replace
from itertools import chain, groupby

from bohrbug.exploration.minimisation.budget import Budget
from bohrbug.exploration.minimisation.needed_orderings import drop_orderings
from bohrbug.model.operation import ROOT, TaskId
from bohrbug.model.plan import (
    NonPreemptive,
    Ordered,
    Plan,
    Policy,
    Segments,
    Switch,
    Switches,
    TaskValues,
)
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.paths import is_library_file

Execute = Callable[[Plan], Trace]
Segment = tuple[TaskId, int]

NOBODY = ""
"""Who has made the last step before there is one."""

MOST = 200
"""Executions in which one failure is minimised."""

AS_LONG_AS_IT_CAN = 1 << 20
"""More steps than any task does in a schedule that is minimised."""

FEW = 4
"""Preemptions of which each can be looked at by itself."""

MOST_ALONE = 16
"""Preemptions of which each is tried alone."""

MOST_IN_VAIN = 60
"""Executions in a row that come to nothing where only a single preemption is left."""

LONG = 500
"""Steps of a schedule with too many stretches for each of them to be looked at."""

MOST_IN_VAIN_WHERE_LONG = 20
"""Executions in a row that take away no preemption of such a schedule, where few are left."""

MANY = 5
"""Tasks of which some are left out; of fewer every two stretches are soon joined."""


def segments_of(trace: Trace) -> list[Segment]:
    """The schedule as stretches: ``[(task, number of its steps), ...]``.

    Data choices do not count: they are made within steps.
    """
    tasks = [task for step, task in enumerate(trace.tasks) if step not in trace.arities]
    return [(task, len(list(steps))) for task, steps in groupby(tasks)]


def _values(
    trace: Trace, start: int = 0, dropped: Collection[int] = (), left_out: int | None = None
) -> TaskValues:
    """The values of data choices from a step on; 0 for the dropped ones, none for one left out."""
    values: dict[TaskId, list[int]] = {}
    for step in sorted(trace.arities):
        value = trace.choices[step]
        if step >= start and step != left_out and isinstance(value, int):
            made = 0 if step in dropped else value
            values.setdefault(trace.tasks[step], []).append(made)
    return tuple((task, tuple(made)) for task, made in values.items())


def variations(segments: list[Segment]) -> Iterator[list[Segment]]:
    """Schedules with fewer switches: two stretches of one task put together.

    Each pair of neighbouring stretches of a task is joined at the place of the
    first one, and at that of the second one; the last pairs come first, because
    what comes after a preemption that does not matter is often not needed either.
    """
    for first in range(len(segments) - 1, -1, -1):
        task, steps = segments[first]
        for second in range(first + 1, len(segments)):
            if segments[second][0] != task:
                continue
            between = segments[first + 1 : second]
            joined = (task, steps + segments[second][1])
            yield _merged([*segments[:first], joined, *between, *segments[second + 1 :]])
            yield _merged([*segments[:first], *between, joined, *segments[second + 1 :]])
            break


def lengthened(segments: list[Segment]) -> Iterator[list[Segment]]:
    """Schedules in which one stretch, but for the last, goes on until its task has to wait."""
    for number in range(len(segments) - 2, -1, -1):
        longer = (segments[number][0], AS_LONG_AS_IT_CAN)
        yield [*segments[:number], longer, *segments[number + 1 :]]


def switches_of(trace: Trace) -> dict[int, Switch]:
    """The schedule as switches between tasks, by the steps that begin with them."""
    made: Counter[TaskId] = Counter()
    found: dict[int, Switch] = {}
    last = NOBODY
    for step, task in enumerate(trace.tasks):
        if step in trace.arities:
            continue
        # Who yields may be the one that goes on; who waits may, by a timeout.
        is_usual = step and task == trace.goes_on(step) and task in trace.enabled[step]
        if not is_usual or trace.yielded[step]:
            found[step] = Switch(last, made[last], task)
        made[task] += 1
        last = task
    return found


def _without(segments: list[Segment], tasks: Collection[TaskId]) -> list[Segment]:
    """A schedule that says nothing of some tasks: they run when no other one can."""
    return _merged([segment for segment in segments if segment[0] not in tasks])


def _merged(segments: list[Segment]) -> list[Segment]:
    result: list[Segment] = []
    for task, steps in segments:
        if result and result[-1][0] == task:
            result[-1] = (task, result[-1][1] + steps)
        else:
            result.append((task, steps))
    return result


def cost(trace: Trace) -> tuple[int, int, int, int]:
    """What is made small: faults, then preemptions, switches between tasks, and steps."""
    switches = sum(1 for a, b in zip(trace.tasks, trace.tasks[1:], strict=False) if a != b)
    return (len(trace.faults()), len(trace.preemptions()), switches, len(trace))


def minimise(
    trace: Trace,
    execute: Execute,
    budget: Budget | None = None,
    policies: Container[type[Policy]] = (),
) -> Trace:
    """The failing execution with the fewest preemptions that could be found.

    Greedy: each candidate is executed, and kept if it fails in the same way at
    a lower cost; in the end no single preemption can be taken away by joining
    two stretches of a task, nor by going on without preemptions after it.

    Parameters:
        trace: a failing execution.
        execute: executes a plan.
        budget: what may be spent; :data:`MOST` executions if it is not given.
        policies: those of :class:`Ordered` and :class:`Switches` that can be executed.
    """
    signature = trace.outcome.signature()
    best, best_cost = trace, cost(trace)
    left = Budget(MOST) if budget is None else budget

    def fails_alike(plan: Plan) -> bool:
        nonlocal best, best_cost
        left.executions -= 1
        candidate = execute(plan)
        if candidate.outcome.signature() != signature or candidate.divergence is not None:
            return False
        candidate_cost = cost(candidate)
        if candidate_cost < best_cost:
            best, best_cost = candidate, candidate_cost
        return True

    def better(plan: Plan) -> bool:
        before = best_cost
        return fails_alike(plan) and best_cost < before

    if best.faults():
        _drop_faults(lambda: best, better, left)
    has_many = best_cost[1] > FEW
    if Ordered in policies and has_many:
        values = _values(best)
        drop_orderings(
            best,
            lambda orderings: fails_alike(Plan((), Ordered(orderings, 0, values))),
            lambda: left.is_spent() or best_cost[1] <= FEW,
        )
    if Switches in policies and has_many:
        _drop_many(lambda: best, better, left)
    # Most of many tasks have nothing to do with it: leave out halves of them, quarters, ...
    number = len({*best.tasks, ROOT})
    size = number // 2 if number >= MANY else 0
    is_long = len(best) > LONG
    while size and best_cost[1] > (FEW if is_long else 0):
        tasks = [task for task in dict.fromkeys(best.tasks) if task != ROOT]
        for begin in range(0, len(tasks), size):
            if left.is_spent():
                break
            segments = _without(segments_of(best), tasks[begin : begin + size])
            better(Plan((), Segments(tuple(segments), _values(best))))
        size //= 2
    # No preemptions after the k-th one, for ever larger k.
    first = best
    for index in [0] * bool(first.arities) + first.preemptions():
        rest = Segments((), _values(first, index)) if first.arities else NonPreemptive()
        if left.is_spent() or better(Plan(tuple(first.choices[:index]), rest)):
            break
    improved, in_vain = True, 0
    few, most_in_vain = (FEW, MOST_IN_VAIN_WHERE_LONG) if is_long else (1, MOST_IN_VAIN)
    while improved and best_cost[1] and not left.is_spent():
        improved = False
        known, preemptions = segments_of(best), best_cost[1]
        for segments in chain(variations(known), lengthened(known)):
            if left.is_spent() or (preemptions <= few and in_vain > most_in_vain):
                break
            in_vain += 1
            if better(Plan((), Segments(tuple(segments), _values(best)))):
                improved = True
                # In a long one, that a task goes on for longer explains little.
                in_vain = in_vain if is_long and best_cost[1] == preemptions else 0
                break
    return best


def _drop_faults(best: Callable[[], Trace], better: Callable[[Plan], bool], left: Budget) -> None:
    """Take away the faults that the failure does not need: all of them, else one after the other.

    Parameters:
        best: the failing execution with the fewest faults so far.
        better: executes a plan, and tells whether that gave a better one.
        left: what may be spent.
    """

    def works(values: TaskValues) -> bool:
        return better(Plan((), Segments(tuple(segments_of(best())), values)))

    if works(_values(best(), dropped=best().faults())):
        return
    needed = 0
    while 1 < len(best().faults()) > needed and not left.is_spent():
        # The last ones first: what comes before a fault is as it was with it.
        fault = best().faults()[-1 - needed]
        # Without it there may be one choice less: a loop that waits for a value ends.
        if not works(_values(best(), dropped=[fault])) and not works(
            _values(best(), left_out=fault)
        ):
            needed += 1


def _drop_many(best: Callable[[], Trace], better: Callable[[Plan], bool], left: Budget) -> None:
    """Take away many preemptions at once, and with few executions most of those of no account.

    Those that matter are more often in the program than in a library that it uses.  What remains
    is halved, quartered, ...: Zeller and Hildebrandt, *Simplifying and isolating failure-inducing
    input*, 2002.

    Parameters:
        best: the failing execution with the fewest preemptions so far.
        better: executes a plan, and tells whether that gave a better one.
        left: what may be spent.
    """

    def follow(switches: Iterable[Switch]) -> bool:
        return better(Plan((), Switches(tuple(switches), _values(best()))))

    def drop(preemptions: Collection[int]) -> bool:
        switches = switches_of(best())
        return follow(each for step, each in switches.items() if step not in preemptions)

    trace = best()
    in_libraries = {step for step in trace.preemptions() if _is_in_library(trace, step)}
    if in_libraries and not left.is_spent():
        drop(in_libraries)
    # Perhaps one is enough, if whoever is preempted waits for all others.
    trace = best()
    switches = switches_of(trace)
    candidates = sorted(trace.preemptions(), key=lambda step: (_is_in_library(trace, step), -step))
    for step in candidates[:MOST_ALONE]:
        if left.is_spent() or follow([replace(switches[step], held=trace.goes_on(step))]):
            break
    size = len(best().preemptions()) // 2
    while size:
        # The last ones first: what comes after the failure is decided is never needed.
        end = len(best().preemptions())
        while end > 0 and not left.is_spent():
            preemptions = best().preemptions()
            if drop({*preemptions[max(end - size, 0) : end]}):
                end = min(end, len(best().preemptions()))
            else:
                end -= size
        if left.is_spent():
            break
        size //= 2


def _is_in_library(trace: Trace, step: int) -> bool:
    """Whether the task that is preempted before a step stands in a library."""
    pending = trace.pending(step).get(trace.goes_on(step))
    site = None if pending is None else site_of(pending.place)
    return site is None or is_library_file(site.filename)
