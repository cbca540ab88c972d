"""Sampling strategies and their policies against brute force over all interleavings."""

from __future__ import annotations

import json
from itertools import islice

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bohrbug.model.operation import Operation
from bohrbug.model.plan import (
    Constraint,
    NonPreemptive,
    PartialOrder,
    Plan,
    Policy,
    ReadsFrom,
    UniformRandom,
    WeightedRandom,
)
from bohrbug.model.reads_from import dependences
from bohrbug.model.serialise import plan_from_json, plan_to_json
from bohrbug.model.site import point_of
from bohrbug.model.trace import Trace
from bohrbug.search.conflicts import Conflicts
from bohrbug.search.registry import Options, strategy_named
from bohrbug.search.uniform import UniformSampling
from tests.property.test_search_properties import explore, programs
from tests.simulated import (
    Final,
    Machine,
    Program,
    State,
    brute_force,
    count_schedules,
    execute,
    is_small,
)
from tests.thoroughness import examples

MOST_SCHEDULES = 150

few = settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
seeds = st.integers(0, 2**32 - 1)


@given(programs, seeds)
@few
def test_uniform_sampling_executes_every_schedule_once(program: Program, seed: int) -> None:
    schedules = count_schedules(program, MOST_SCHEDULES)
    assume(schedules <= MOST_SCHEDULES)
    strategy = UniformSampling(seed)
    outcomes, traces = explore(program, strategy)
    assert outcomes == set(brute_force(program))
    assert len({tuple(trace.choices) for trace in traces}) == len(traces) == schedules
    assert strategy.complete


@given(programs, seeds, st.integers(0, 60))
@few
def test_little_room_makes_uniform_sampling_repeat_itself_and_claim_nothing_wrong(
    program: Program, seed: int, room: int
) -> None:
    schedules = count_schedules(program, MOST_SCHEDULES)
    assume(schedules <= MOST_SCHEDULES)
    strategy = UniformSampling(seed, executions=200, room=room)
    seen = set()
    while (plan := strategy.next_plan()) is not None:
        trace, _ = execute(program, plan)
        strategy.observe(trace)
        seen.add(tuple(trace.choices))
    assert strategy.complete <= (len(seen) == schedules)


@given(programs, seeds)
@few
def test_the_estimated_number_of_schedules_is_exact_once_all_leaves_are_equal(
    program: Program, seed: int
) -> None:
    schedules = count_schedules(program, MOST_SCHEDULES)
    assume(1 < schedules <= MOST_SCHEDULES)
    strategy = UniformSampling(seed)
    _, traces = explore(program, strategy)
    degrees = {
        tuple(sorted(len(trace.options(i)) for i in range(len(trace)) if len(trace.options(i)) > 1))
        for trace in traces
    }
    if len(degrees) == 1:
        assert abs(strategy.estimated_schedules - schedules) < 1e-6 * schedules
    # Each estimate counts what was seen before, so the mean can't be below half of all.
    assert strategy.estimated_schedules >= schedules / 2


def some_policies(program: Program, seed: int) -> list[Policy]:
    """Policies of every kind that fit a program."""
    trace, _ = execute(program, Plan((), UniformRandom(seed)))
    conflicts = Conflicts()
    conflicts.learn(trace)
    points = conflicts.points
    events = [each for each in dependences(trace, 1_000) if each.reads]
    constraints = tuple(
        Constraint(each.source, each.event, number % 2 == 0)
        for number, each in enumerate(events[:4])
    )
    weights = tuple((task, trace.tasks.count(task)) for task in sorted(set(trace.tasks)))
    return [
        NonPreemptive(),
        UniformRandom(seed),
        PartialOrder(seed),
        PartialOrder(seed, points),
        WeightedRandom(seed, weights),
        WeightedRandom(seed, weights, points, points),
        WeightedRandom(seed, weights, frozenset(sorted(map(str, points))[:1])),
        ReadsFrom(seed),
        ReadsFrom(seed, constraints),
        ReadsFrom(seed, constraints, points),
    ]


def columns(trace: Trace) -> list[object]:
    return [
        trace.choices,
        trace.tasks,
        trace.operations,
        trace.enabled,
        trace.timed,
        trace.yielded,
        trace.effects,
        trace.outcome,
    ]


@given(programs, seeds)
@few
def test_the_choices_of_any_execution_replay_it(program: Program, seed: int) -> None:
    for policy in some_policies(program, seed):
        trace, final = execute(program, Plan((), policy))
        assert trace.divergence is None
        for plan in (Plan((), policy), Plan(tuple(trace.choices))):
            again, same = execute(program, plan)
            assert columns(again) == columns(trace)
            assert same == final


@given(programs, seeds)
@few
def test_policies_survive_json(program: Program, seed: int) -> None:
    for policy in some_policies(program, seed):
        plan = Plan((), policy)
        again = plan_from_json(json.loads(json.dumps(plan_to_json(plan))))
        assert again == plan
        assert columns(execute(program, again)[0]) == columns(execute(program, plan)[0])


def filtered_outcomes(
    program: Program, points: frozenset[object], conflicts: Conflicts
) -> set[Final]:
    """All outcomes if only operations at the points are decisions; learns from all executions.

    Without yields: in the model a task that yields lets another one step first, at once, while it
    is enough for the runtime that the others have stepped since its last yield, be it by steps
    that are no decisions.
    """
    machine = Machine(program)
    outcomes: set[Final] = set()

    def is_decision(operation: Operation) -> bool:
        return point_of(operation) in points

    def visit(state: State, previous: int | None, choices: tuple[str | int, ...]) -> None:
        arity = machine.choosing(state, previous)
        if arity:
            assert previous is not None
            for value in range(arity):
                visit(machine.choose(state, previous, value), previous, (*choices, value))
            return
        enabled, timed, yielded = machine.options(state, previous)
        if not enabled and not timed:
            outcomes.add(machine.final(state))
            conflicts.learn(execute(program, Plan(choices))[0])
            return
        quiet = [task for task in enabled if not is_decision(machine.pending(state, task))]
        if quiet:
            going_on = previous in quiet and not yielded
            enabled = (previous,) if going_on else (quiet[0],)  # type: ignore[assignment]
            timed = ()
        for task in enabled + timed:
            after, _ = machine.step(state, task, task not in enabled)
            visit(after, task, (*choices, machine.ids[task]))

    visit(machine.start(), None, ())
    return outcomes


@given(programs)
@few
def test_what_never_conflicts_need_not_be_a_decision(program: Program) -> None:
    assume(not any(step.name == "yield" for _, steps in program.tasks for step in steps))
    assume(is_small(program, MOST_SCHEDULES))
    conflicts = Conflicts()
    known = None
    while known != conflicts.points:
        known = conflicts.points
        outcomes = filtered_outcomes(program, known, conflicts)
    assert outcomes == set(brute_force(program))


@given(programs, seeds)
@few
def test_sampling_depends_on_nothing_but_the_seed(program: Program, seed: int) -> None:
    for name in ("pos", "surw", "uniform", "rff"):
        made = []
        for _ in range(2):
            strategy = strategy_named(name, Options(seed=seed))
            plans = []
            for plan in islice(iter(strategy.next_plan, None), 25):
                assert plan is not None
                plans.append(plan)
                trace, _ = execute(program, plan)
                assert trace.divergence is None
                strategy.observe(trace)
            made.append(plans)
        assert made[0] == made[1]
