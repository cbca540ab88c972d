"""Strategies against brute force over all interleavings of made-up programs."""

from __future__ import annotations

import math

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bohrbug.model.happens_before import canonical_hash, clocks, state_hashes
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.search.delay_bounding import DelayBounding
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.pct import PCT, miss_probability
from bohrbug.search.preemption_bounding import PreemptionBounding
from bohrbug.search.strategy import Strategy
from tests.simulated import (
    Final,
    Instruction,
    Program,
    brute_force,
    count_schedules,
    delays_of_schedules,
    execute,
    is_small,
)
from tests.thoroughness import examples

MOST_SCHEDULES = 1500
FEW_SCHEDULES = 300

moderate = settings(
    max_examples=examples(50),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


def _wait(condition: str, timeout: float | None) -> list[Instruction]:
    lock = f"lock of {condition}"
    return [
        Instruction("acquire", lock),
        Instruction("wait", condition),
        Instruction("wake", condition, timeout=timeout),
        Instruction("acquire", lock),
        Instruction("release", lock),
    ]


variables = st.sampled_from(["x", "y"])
locks = st.sampled_from(["k", "l"])
timeouts = st.sampled_from([None, None, 1.0])
pieces = st.one_of(
    variables.map(lambda v: [Instruction("read", v)]),
    st.builds(lambda v, n: [Instruction("write", v, n)], variables, st.integers(1, 2)),
    variables.map(lambda v: [Instruction("read", v), Instruction("write", v, 1)]),
    st.builds(
        lambda k, t, v: [
            Instruction("acquire", k, timeout=t),
            Instruction("write", v, 1),
            Instruction("release", k),
        ],
        locks,
        timeouts,
        variables,
    ),
    st.permutations(["k", "l"]).map(
        lambda both: [
            *[Instruction("acquire", lock) for lock in both],
            *[Instruction("release", lock) for lock in both],
        ]
    ),
    locks.map(lambda k: [Instruction("try", k), Instruction("write", "x", 1)]),
    timeouts.map(lambda t: [Instruction("down", "s", timeout=t)]),
    st.just([Instruction("up", "s")]),
    timeouts.map(lambda t: _wait("c", t)),
    st.just([Instruction("notify", "c")]),
    st.just([Instruction("yield")]),
    st.builds(
        lambda v, n: [Instruction("read", v), Instruction("choose", v, n)],
        variables,
        st.integers(2, 3),
    ),
)


def _program(code: list[list[list[Instruction]]]) -> Program:
    return Program(
        tuple(
            ("0" if number == 0 else f"0.{number}", tuple(i for piece in task for i in piece))
            for number, task in enumerate(code)
        ),
        semaphores=(("s", 0),),
    )


programs = st.lists(st.lists(pieces, min_size=1, max_size=3), min_size=2, max_size=4).map(_program)


def explore(program: Program, strategy: Strategy) -> tuple[set[Final], list[Trace]]:
    """Every outcome that a strategy finds until it is exhausted, and its traces."""
    found = proposed_by(strategy, program)
    assert strategy.exhausted
    return found


def proposed_by(strategy: Strategy, program: Program) -> tuple[set[Final], list[Trace]]:
    """The outcomes and traces of all plans that a strategy proposes."""
    outcomes: set[Final] = set()
    traces: list[Trace] = []
    while (plan := strategy.next_plan()) is not None:
        trace, final = execute(program, plan)
        assert trace.divergence is None
        assert trace.choices[: len(plan.prefix)] == list(plan.prefix)
        strategy.observe(trace)
        outcomes.add(final)
        traces.append(trace)
    return outcomes, traces


@given(programs)
@moderate
def test_depth_first_executes_every_schedule_once(program: Program) -> None:
    schedules = count_schedules(program, MOST_SCHEDULES)
    assume(schedules <= MOST_SCHEDULES)
    strategy = DepthFirst()
    outcomes, traces = explore(program, strategy)
    assert outcomes == set(brute_force(program))
    assert len({tuple(trace.choices) for trace in traces}) == len(traces) == schedules
    assert strategy.complete


@given(programs)
@moderate
def test_preemption_bounding_without_a_bound_executes_every_schedule_once(
    program: Program,
) -> None:
    schedules = count_schedules(program, MOST_SCHEDULES)
    assume(schedules <= MOST_SCHEDULES)
    strategy = PreemptionBounding(None, caching=False)
    outcomes, traces = explore(program, strategy)
    assert outcomes == set(brute_force(program))
    assert len({tuple(trace.choices) for trace in traces}) == len(traces) == schedules
    assert strategy.complete
    preemptions = [len(trace.preemptions()) for trace in traces]
    assert preemptions == sorted(preemptions)


@given(programs, st.sampled_from([0, 1, 2, 3, None]))
@moderate
def test_caching_loses_no_outcome_of_any_bound(program: Program, bound: int | None) -> None:
    assume(is_small(program, MOST_SCHEDULES))
    expected = {
        final
        for final, preemptions in brute_force(program).items()
        if bound is None or preemptions <= bound
    }
    plain, plain_traces = explore(program, PreemptionBounding(bound, caching=False))
    cached, cached_traces = explore(program, PreemptionBounding(bound))
    assert plain == expected
    assert cached == expected
    assert len(cached_traces) <= len(plain_traces)
    assert len({tuple(trace.choices) for trace in cached_traces}) == len(cached_traces)
    graphs = {canonical_hash(trace) for trace in plain_traces}
    assert {canonical_hash(trace) for trace in cached_traces} == graphs
    preemptions = [len(trace.preemptions()) for trace in cached_traces]
    assert preemptions == sorted(preemptions)
    assert all(bound is None or count <= bound for count in preemptions)


@given(programs, st.sampled_from([0, 1, 2, 3, None]))
@settings(moderate, max_examples=examples(20))
def test_delay_bounding_executes_every_schedule_of_a_bound_once(
    program: Program, bound: int | None
) -> None:
    assume(is_small(program, FEW_SCHEDULES))
    schedules = delays_of_schedules(program)
    strategy = DelayBounding(bound, caching=False)
    _, traces = explore(program, strategy)
    executed = [tuple(trace.choices) for trace in traces]
    assert len(set(executed)) == len(executed)
    assert set(executed) == {
        choices for choices, (delays, _) in schedules.items() if bound is None or delays <= bound
    }
    delays = [schedules[choices][0] for choices in executed]
    assert delays == sorted(delays)
    assert strategy.complete == (len(executed) == len(schedules))
    if bound is not None:
        assert strategy.completed_bound is not None
        assert max(delays) <= strategy.completed_bound <= bound


@given(programs, st.sampled_from([0, 1, 2, 3, 5, None]))
@settings(moderate, max_examples=examples(20))
def test_caching_loses_no_outcome_of_any_number_of_delays(
    program: Program, bound: int | None
) -> None:
    assume(is_small(program, FEW_SCHEDULES))
    schedules = delays_of_schedules(program)
    plain, plain_traces = explore(program, DelayBounding(bound, caching=False))
    cached, cached_traces = explore(program, DelayBounding(bound))
    assert cached == plain
    assert cached == {
        final for delays, final in schedules.values() if bound is None or delays <= bound
    }
    assert len(cached_traces) <= len(plain_traces)
    graphs = {canonical_hash(trace) for trace in plain_traces}
    assert {canonical_hash(trace) for trace in cached_traces} == graphs
    delays = [schedules[tuple(trace.choices)][0] for trace in cached_traces]
    assert delays == sorted(delays)


@given(programs, st.integers(0, 20))
@settings(moderate, max_examples=examples(20))
def test_a_full_list_loses_no_claim_about_delays(program: Program, room: int) -> None:
    assume(is_small(program, FEW_SCHEDULES))
    strategy = DelayBounding(None, waiting_limit=room)
    outcomes, _ = proposed_by(strategy, program)
    bound = strategy.completed_bound
    assert bound is not None
    schedules = delays_of_schedules(program).values()
    assert {final for delays, final in schedules if delays <= bound} <= outcomes
    assert strategy.complete <= (outcomes == set(brute_force(program)))


@given(programs, st.integers(0, 20))
@moderate
def test_a_full_cache_or_a_full_list_loses_no_claim(program: Program, room: int) -> None:
    assume(is_small(program, MOST_SCHEDULES))
    everything = brute_force(program)
    full = PreemptionBounding(None, cache_limit=room)
    outcomes, traces = explore(program, full)
    assert outcomes == set(everything)
    # It may be passed by the edges of one execution.
    assert len(full._visited) <= room + max(map(edges_of, traces))

    strategy = PreemptionBounding(None, waiting_limit=room)
    outcomes, _ = proposed_by(strategy, program)
    bound = strategy.completed_bound
    assert bound is not None
    assert {final for final, cost in everything.items() if cost <= bound} <= outcomes
    assert strategy.complete <= (outcomes == set(everything))


def edges_of(trace: Trace) -> int:
    """How many edges an execution can add to a cache."""
    return sum(len(trace.options(step)) for step in range(len(trace)))


def _adjacent_swaps(trace: Trace) -> list[tuple[int, bool]]:
    """Steps that can change places with the next one, and whether they are independent."""
    swaps = []
    for i in range(len(trace) - 1):
        first, second = trace.operations[i], trace.operations[i + 1]
        if trace.tasks[i] == trace.tasks[i + 1] or trace.tasks[i + 1] not in trace.enabled[i]:
            continue
        touched = [{first.resource: first.is_write}, {second.resource: second.is_write}]
        for step, _, resource, is_write in trace.effects:
            if step in (i, i + 1):
                of_step = touched[step - i]
                of_step[resource] = of_step.get(resource, False) or is_write
        conflict = any(
            resource in touched[1] and (is_write or touched[1][resource])
            for resource, is_write in touched[0].items()
        )
        swaps.append((i, not conflict))
    return swaps


@given(programs, st.integers(0, 2**32 - 1))
@moderate
def test_swapping_neighbours_keeps_the_graph_only_if_they_are_independent(
    program: Program, seed: int
) -> None:
    trace, _ = execute(program, Plan((), UniformRandom(seed)))
    states = state_hashes(trace)
    for i, independent in _adjacent_swaps(trace):
        choices = trace.choices[: i + 2]
        choices[i], choices[i + 1] = choices[i + 1], choices[i]
        other, _ = execute(program, Plan(tuple(choices)))
        if other.divergence is not None or other.tasks[: i + 2] != choices:
            continue
        if other.operations[i : i + 2] != trace.operations[i : i + 2][::-1]:
            continue
        if any(
            (t in trace.enabled[at]) != (t in other.enabled[1 - (at - i) + i])
            for at in (i, i + 1)
            for t in [trace.tasks[at]]
        ):
            continue
        assert (state_hashes(other)[i + 2] == states[i + 2]) == independent
        assert state_hashes(other)[: i + 1] == states[: i + 1]


@given(programs, st.integers(0, 2**32 - 1))
@moderate
def test_clocks_are_the_transitive_closure_of_conflicts(program: Program, seed: int) -> None:
    trace, _ = execute(program, Plan((), UniformRandom(seed)))
    size = len(trace)
    touched = [{op.resource: op.is_write} for op in trace.operations]
    for step, _, resource, is_write in trace.effects:
        touched[step][resource] = touched[step].get(resource, False) or is_write
    before = [[False] * size for _ in range(size)]
    for j in range(size):
        for i in range(j):
            before[i][j] = trace.tasks[i] == trace.tasks[j] or any(
                r in touched[j] and (w or touched[j][r]) for r, w in touched[i].items()
            )
    for middle in range(size):
        for i in range(size):
            for j in range(size):
                before[i][j] = before[i][j] or (before[i][middle] and before[middle][j])
    times = clocks(trace)
    for i in range(size):
        for j in range(i + 1, size):
            assert (times[i] <= times[j]) == before[i][j]


@given(programs)
@settings(
    max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.filter_too_much]
)
def test_equal_graphs_have_equal_outcomes(program: Program) -> None:
    assume(is_small(program, MOST_SCHEDULES))
    strategy = DepthFirst()
    outcome_of: dict[int, Final] = {}
    states: dict[int, tuple[str, ...]] = {}
    while (plan := strategy.next_plan()) is not None:
        trace, final = execute(program, plan)
        strategy.observe(trace)
        assert outcome_of.setdefault(canonical_hash(trace), final) == final
        for i, state in enumerate(state_hashes(trace)):
            done = tuple(sorted(trace.tasks[:i]))
            assert states.setdefault(state, done) == done


def test_pct_meets_its_bound() -> None:
    # A bug of depth 2: the second task must read between the first one's two writes.
    program = _program(
        [
            [[Instruction("write", "x", 1)], [Instruction("read", "y")]]
            + [[Instruction("read", "z")]] * 4
            + [[Instruction("write", "x", 2)]],
            [[Instruction("read", "x")]],
        ]
    )
    executions = 1200
    strategy = PCT(depths=(2,), seed=7, executions=executions + 1)
    found = 0
    while (plan := strategy.next_plan()) is not None:
        trace, final = execute(program, plan)
        strategy.observe(trace)
        found += final[2][1] == 1
    bound = 1 - miss_probability(tasks=2, steps=8, depth=2, executions=1)
    assert bound == 1 / 16
    # Three standard deviations below what the guarantee promises.
    slack = 3 * math.sqrt(executions * bound * (1 - bound))
    assert found >= executions * bound - slack
    # Here the bug is as rare as can be but for a factor, so the test is not idle.
    assert found <= executions / 2
