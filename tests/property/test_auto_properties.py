"""``auto`` against brute force: what it calls complete is complete, whoever had the turns."""

from __future__ import annotations

from hypothesis import assume, given

from bohrbug.search.auto import BEGINNING, BEGINNING_SHARES, SYSTEMATIC_SHARE
from bohrbug.search.estimates import TreeProbes
from bohrbug.search.random_walk import RandomWalk
from bohrbug.search.registry import Options, strategy_named
from tests.property.test_search_properties import MOST_SCHEDULES, moderate, programs
from tests.simulated import Final, Program, brute_force, count_schedules, execute, is_small


@moderate
@given(program=programs)
def test_complete_means_that_every_outcome_was_seen(program: Program) -> None:
    assume(is_small(program, MOST_SCHEDULES))
    strategy = strategy_named("auto", Options(executions=5_000, seed=1))
    outcomes: set[Final] = set()
    executed = 0
    while (plan := strategy.next_plan()) is not None:
        trace, final = execute(program, plan)
        assert trace.divergence is None
        strategy.observe(trace)
        outcomes.add(final)
        executed += 1
        assert executed <= 5_000
    assert strategy.complete
    assert outcomes == set(brute_force(program))


@moderate
@given(program=programs)
def test_a_proof_takes_not_much_longer_than_reduction_alone(program: Program) -> None:
    assume(is_small(program, MOST_SCHEDULES))
    lengths = []
    for name in ("dpor", "auto"):
        strategy = strategy_named(name, Options(executions=5_000))
        executed = 0
        while (plan := strategy.next_plan()) is not None:
            strategy.observe(execute(program, plan)[0])
            executed += 1
        assert strategy.complete
        lengths.append(executed)
    smallest = min(share for _, share in BEGINNING_SHARES)
    assert lengths[1] <= min(lengths[0] / smallest, lengths[0] / SYSTEMATIC_SHARE + BEGINNING) + 2


@moderate
@given(program=programs)
def test_random_walks_do_not_overestimate_what_has_one_schedule(program: Program) -> None:
    total = count_schedules(program, MOST_SCHEDULES)
    assume(total <= MOST_SCHEDULES)
    walk = RandomWalk(2)
    probes = TreeProbes()
    for _ in range(200):
        plan = walk.next_plan()
        assert plan is not None
        trace, _ = execute(program, plan)
        walk.observe(trace)
        assert probes.add(trace)
    estimate = probes.estimate()
    assert estimate is not None
    # Each weight is at least 1; with 200 samples the mean is of the right order.
    assert 1 <= estimate.size
    assert estimate.size <= 20 * total
