"""``random``, ``pct``, ``replay``, portfolios and the registry."""

from __future__ import annotations

import itertools

import pytest

from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.plan import NonPreemptive, Plan, Priorities, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.search.pct import PCT, miss_probability
from bohrbug.search.random_walk import RandomWalk
from bohrbug.search.registry import STRATEGIES, Options, strategy_named
from bohrbug.search.strategy import Strategy
from tests.simulated import Instruction, Program, execute

PROGRAM = Program(
    tuple((task, (Instruction("write", "x", 1),) * 4) for task in ("0", "0.1", "0.2"))
)
SMALL = Program((("0", (Instruction("read", "x"),)), ("0.1", (Instruction("read", "x"),))))


def plans(strategy: Strategy, limit: int, program: Program = PROGRAM) -> list[Plan]:
    """The plans of at most ``limit`` executions."""
    made = []
    for plan in itertools.islice(iter(strategy.next_plan, None), limit):
        assert plan is not None
        made.append(plan)
        strategy.observe(execute(program, plan)[0])
    return made


def test_random_plans_differ_and_depend_on_the_seed_alone() -> None:
    made = plans(RandomWalk(3), 50)
    assert all(isinstance(plan.policy, UniformRandom) and not plan.prefix for plan in made)
    assert len(set(made)) == 50
    assert made == plans(RandomWalk(3), 50)
    assert made != plans(RandomWalk(4), 50)


def test_random_stops_at_its_budget() -> None:
    strategy = RandomWalk(0, executions=5)
    assert len(plans(strategy, 100)) == 5
    assert strategy.covered() == "5 random executions, at up to 12 scheduling points"
    strategy.restart()
    assert strategy.next_plan() is None
    assert not strategy.exhausted


def test_pct_learns_the_numbers_of_tasks_and_steps() -> None:
    strategy = PCT((2,), seed=1)
    first, *rest = plans(strategy, 20)
    assert first.policy == NonPreemptive()
    assert {type(plan.policy) for plan in rest} == {Priorities}
    assert {plan.policy.length for plan in rest if isinstance(plan.policy, Priorities)} == {12}
    assert "(n = 3 tasks, k = 12 steps)" in strategy.covered()


def test_pct_takes_its_depths_in_turn() -> None:
    depths = [
        plan.policy.depth
        for plan in plans(PCT((1, 2, 3)), 8)
        if isinstance(plan.policy, Priorities)
    ]
    assert depths == [1, 2, 3, 1, 2, 3, 1]


def test_the_guarantee_is_that_of_the_paper() -> None:
    assert miss_probability(3, 10, 1, 1) == pytest.approx(2 / 3)
    assert miss_probability(3, 10, 3, 5000) == pytest.approx((1 - 1 / 300) ** 5000)
    assert miss_probability(1, 10, 1, 1) == 0.0
    assert miss_probability(2, 10, 2, 0) == 1.0


def test_pct_states_its_guarantee() -> None:
    strategy = PCT((3,), executions=5001)
    trace = Trace(choices=["0"] * 10, tasks=["0", "0.1", "0.2"] + ["0"] * 7)
    while strategy.next_plan() is not None:
        strategy.observe(trace)
    assert strategy.covered() == (
        "5,000 PCT executions: a bug of depth 3 would be missed with probability at most"
        " 0.000000057 (n = 3 tasks, k = 10 steps)"
    )


def test_pct_states_it_for_each_depth() -> None:
    strategy = PCT((1, 2))
    for _ in range(3):
        strategy.next_plan()
        strategy.observe(Trace(choices=["0"] * 8, tasks=["0", "0.1"] * 4))
    assert strategy.covered() == (
        "2 PCT executions: a bug of depth 1 would be missed with probability at most 0.5,"
        " of depth 2 at most 0.94 (n = 2 tasks, k = 8 steps)"
    )


def test_executions_with_too_few_steps_in_mind_do_not_count() -> None:
    strategy = PCT((1,))
    short = Trace(choices=["0"] * 2, tasks=["0", "0.1"])
    long = Trace(choices=["0"] * 9, tasks=["0", "0.1"] + ["0"] * 7)
    for trace in (short, short, short, long):
        strategy.next_plan()
        strategy.observe(trace)
    assert strategy.miss_probabilities() == {1: 1.0}
    # What was learned takes effect with the next generation, at the fifth PCT execution.
    strategy.next_plan()
    strategy.observe(long)
    assert strategy.miss_probabilities() == {1: 1.0}
    strategy.next_plan()
    strategy.observe(long)
    assert strategy.miss_probabilities() == {1: 0.5}


def test_a_livelock_says_nothing_of_the_number_of_steps() -> None:
    strategy = PCT((2,))
    strategy.next_plan()
    strategy.observe(
        Trace(tasks=["0"] * 1000, choices=["0"] * 1000, outcome=Outcome(OutcomeKind.LIVELOCK))
    )
    plan = strategy.next_plan()
    assert plan is not None
    assert isinstance(plan.policy, Priorities)
    assert plan.policy.length == 1


@pytest.mark.parametrize("depths", [(), (0,), (1, -2)])
def test_a_depth_is_at_least_one(depths: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        PCT(depths)


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_strategies_by_name(name: str) -> None:
    options = Options(executions=30)
    strategy = strategy_named(name, options)
    assert strategy.name == name
    made = plans(strategy, 30)
    assert made == plans(strategy_named(name, options), 30)
    assert strategy.covered()
    assert strategy.progress()


def test_the_default_has_a_name() -> None:
    assert strategy_named("auto").name == "auto"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(
        ValueError,
        match="auto, bpor, dfs, dpor, idb, ipb, pct, pos, random, rff, surw, uniform",
    ):
        strategy_named("magic")


def test_the_depth_option_is_for_pct() -> None:
    made = plans(strategy_named("pct", Options(depth=4)), 5)
    assert {plan.policy.depth for plan in made if isinstance(plan.policy, Priorities)} == {4}
