"""``idb``, ``pos``, ``surw``, ``uniform``, ``rff``, as far as it is not in the property tests."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import mean, median

import pytest

from bohrbug.model.operation import ACQUIRE, BEGIN, END, JOIN, READ, SPAWN, WRITE, Operation
from bohrbug.model.outcome import Divergence, Outcome, OutcomeKind
from bohrbug.model.plan import (
    Constraint,
    PartialOrder,
    Plan,
    ReadsFrom,
    ResourceEvent,
    WeightedRandom,
)
from bohrbug.model.reads_from import dependences
from bohrbug.model.trace import Trace
from bohrbug.search import conflicts as conflicts_module
from bohrbug.search.conflicts import Conflicts
from bohrbug.search.delay_bounding import DelayBounding
from bohrbug.search.estimates import rounded_up
from bohrbug.search.pos import PartialOrderSampling
from bohrbug.search.reads_from import ReadsFromFuzzing
from bohrbug.search.registry import Options, strategy_named
from bohrbug.search.sampling import unseen_probability
from bohrbug.search.strategy import Strategy
from bohrbug.search.surw import SelectivelyUniform
from bohrbug.search.uniform import UniformSampling
from tests.simulated import (
    Final,
    Instruction,
    Program,
    count_schedules,
    execute,
    tasks,
    writes,
)

ROOT = Path(__file__).parent.parent.parent


def run(strategy: Strategy, program: Program, limit: int) -> list[tuple[Trace, Final]]:
    seen: list[tuple[Trace, Final]] = []
    while len(seen) < limit and (plan := strategy.next_plan()) is not None:
        trace, final = execute(program, plan)
        strategy.observe(trace)
        seen.append((trace, final))
    return seen


REORDER = tasks(
    *[[Instruction("write", "a", 1), Instruction("write", "b", 1)]] * 6,
    [
        Instruction("read", "a"),
        Instruction("write", "ra"),
        Instruction("read", "b"),
        Instruction("write", "rb"),
    ],
)
"""Fails if the last task reads ``a`` after some other wrote it and ``b`` before any did."""


def is_reordered(final: Final) -> bool:
    values = dict(final[1])
    return bool(values.get("ra")) and not values.get("rb")


# -------------------------------------------------------------------------- idb


def test_a_delay_is_a_task_that_is_skipped() -> None:
    program = tasks(writes(1), writes(1), writes(1), writes(1))
    seen = run(DelayBounding(3, caching=False), program, 100)
    firsts: dict[object, int] = {}
    for number, (trace, _) in enumerate(seen):
        firsts.setdefault(trace.choices[0], number)
    assert list(firsts) == ["0", "0.1", "0.2", "0.3"]
    # With one delay each of the three decisions can go one task further.
    assert sorted(trace.choices for trace, _ in seen[1:4]) == [
        ["0", "0.1", "0.3", "0.2"],
        ["0", "0.2", "0.3", "0.1"],
        ["0.1", "0.2", "0.3", "0"],
    ]


def test_who_goes_on_after_a_task_ends_is_free_for_preemptions_and_not_for_delays() -> None:
    program = tasks(*[writes(1)] * 6)
    assert len(run(strategy_named("ipb", Options(bound=0)), program, 10_000)) == 6 * 5 * 4 * 3 * 2
    assert len(run(DelayBounding(0), program, 10_000)) == 1


def test_bounds_of_delays_are_said() -> None:
    strategy = DelayBounding(2)
    assert strategy.covered().startswith("some schedules without delays (0 executions)")
    run(strategy, tasks(writes(3), writes(3)), 1000)
    assert strategy.completed_bound == 2
    assert strategy.exhausted
    assert not strategy.complete
    assert strategy.covered().startswith("all schedules with at most 2 delays (")
    strategy.restart()
    assert not strategy.exhausted
    assert strategy.next_plan() == Plan()


def test_a_bound_of_delays_is_not_negative() -> None:
    with pytest.raises(ValueError, match="delay bound"):
        DelayBounding(-1)


# -------------------------------------------------------------------- conflicts


def trace_of(*steps: tuple[str, Operation]) -> Trace:
    return Trace(tasks=[task for task, _ in steps], operations=[step for _, step in steps])


def test_a_conflict_needs_two_tasks_one_resource_and_a_write() -> None:
    conflicts = Conflicts()
    for quiet in (
        trace_of(("0", Operation(READ, "r")), ("0.1", Operation(READ, "r"))),
        trace_of(("0", Operation(WRITE, "own")), ("0", Operation(READ, "own"))),
        trace_of(("0", Operation(WRITE, "one")), ("0.1", Operation(WRITE, "two"))),
    ):
        assert not conflicts.learn(quiet)
    assert conflicts.points == frozenset()
    assert conflicts.learn(trace_of(("0", Operation(WRITE, "x")), ("0.1", Operation(READ, "x"))))
    assert conflicts.points == {"x"}
    assert conflicts.resources == ["x"]


def test_a_conflict_may_be_between_executions_or_with_an_effect_or_with_a_blocked_task() -> None:
    conflicts = Conflicts()
    conflicts.learn(trace_of(("0", Operation(READ, "x"))))
    assert conflicts.learn(trace_of(("0.1", Operation(WRITE, "x"))))
    effect = trace_of(("0", Operation(READ, "z")), ("0.1", Operation(READ, "y")))
    effect.effects.append((0, "0", "y", True))
    assert conflicts.learn(effect)
    assert conflicts.points == {"x", "y", "z"}
    blocked = trace_of(("0", Operation(ACQUIRE, "k")))
    blocked.final_pending["0.1"] = Operation(ACQUIRE, "k")
    assert conflicts.learn(blocked)


def test_the_life_of_a_thread_is_no_conflict() -> None:
    conflicts = Conflicts()
    assert not conflicts.learn(
        trace_of(
            ("0", Operation(SPAWN, "t")),
            ("0.1", Operation(BEGIN, "t")),
            ("0.1", Operation(END, "t")),
            ("0", Operation(JOIN, "t")),
        )
    )
    assert conflicts.learn(trace_of(("0.2", Operation(READ, "t"))))


def test_when_memory_runs_out_everything_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conflicts_module, "RESOURCES", 1)
    conflicts = Conflicts()
    conflicts.learn(trace_of(("0", Operation(READ, "x")), ("0", Operation(READ, "y"))))
    assert conflicts.points == {"y"}
    monkeypatch.setattr(conflicts_module, "TOUCHES", 1)
    conflicts.learn(trace_of(("0.1", Operation(READ, "x"))))
    assert conflicts.points == {"x", "y"}


# ------------------------------------------------------------------- POS, SURW


def test_what_was_not_seen_is_bounded() -> None:
    assert unseen_probability(0) == 1.0
    assert (1 - unseen_probability(200)) ** 200 == pytest.approx(0.05)
    for probability in (0.0, 1e-12, 0.0149999, 0.0151, 0.999, 1.0):
        assert float(rounded_up(probability)) >= probability * (1 - 1e-12)
    assert rounded_up(0.0141) == "0.015"
    assert rounded_up(1.0) == "1"


@pytest.mark.parametrize("strategy", [PartialOrderSampling(3), SelectivelyUniform(3)])
def test_samplers_learn_where_tasks_conflict(strategy: Strategy) -> None:
    program = tasks([*writes(1, "own"), *writes(2)], writes(2))
    first, *rest = run(strategy, program, 200)
    assert first[0].plan == Plan()
    policies = [trace.plan.policy for trace, _ in rest]
    assert all(isinstance(policy, PartialOrder | WeightedRandom) for policy in policies)
    points = Counter(
        policy.points for policy in policies if isinstance(policy, PartialOrder | WeightedRandom)
    )
    assert set(points) == {None, frozenset({"0:x"})}
    assert 5 <= points[None] <= 40
    assert "199" in strategy.covered()
    assert "with probability 0.015 or more" in strategy.covered()
    assert "1 conflicting place" in strategy.progress()
    strategy.restart()
    assert strategy.next_plan() == Plan()
    assert not strategy.exhausted


def test_a_sampler_stops_at_its_budget() -> None:
    for name in ("pos", "surw", "rff", "uniform"):
        strategy = strategy_named(name, Options(executions=7))
        assert len(run(strategy, REORDER, 100)) == 7
        assert strategy.covered()


def test_a_new_conflict_makes_the_bound_begin_anew() -> None:
    strategy = PartialOrderSampling(0)
    run(strategy, tasks(writes(2), writes(2)), 50)
    assert strategy.unseen_probability == pytest.approx(unseen_probability(49))
    strategy.learn(trace_of(("0", Operation(WRITE, "new")), ("0.1", Operation(WRITE, "new"))))
    assert strategy.unseen_probability == 1.0
    assert "of them since" not in strategy.covered()


def test_surw_takes_its_weights_from_the_profile() -> None:
    strategy = SelectivelyUniform(1)
    program = tasks([*writes(3), *writes(2, "y")], [*writes(1), *writes(4, "y")])
    selections = {
        (policy.selected, policy.weights)
        for trace, _ in run(strategy, program, 100)
        if isinstance(policy := trace.plan.policy, WeightedRandom)
    }
    assert selections == {
        (frozenset({"0:x", "0:y"}), (("0", 5), ("0.1", 5))),
        (frozenset({"0:x"}), (("0", 3), ("0.1", 1))),
        (frozenset({"0:y"}), (("0", 2), ("0.1", 4))),
    }


def test_surw_takes_no_profile_from_a_livelock() -> None:
    strategy = SelectivelyUniform(1)
    run(strategy, tasks(writes(2), writes(1)), 1)
    long = trace_of(*[("0", Operation(WRITE, "0:n"))] * 500, ("0.1", Operation(READ, "0:n")))
    long.outcome = Outcome(OutcomeKind.LIVELOCK)
    strategy.learn(long)
    plan = strategy.next_plan()
    assert plan is not None
    policy = plan.policy
    assert isinstance(policy, WeightedRandom)
    assert sum(events for _, events in policy.weights) <= 3


# ---------------------------------------------------------------------- uniform


def test_uniform_draws_as_a_random_walk_without_repeats() -> None:
    # Walked to with probabilities 1/2 (the single step first), 1/4 and 1/4.
    program = tasks(writes(2), writes(1))
    shares = {"B": 0.5, "AB": 0.25, "AAB": 0.25}
    number = 2000
    seen: Counter[tuple[str, str]] = Counter()
    for seed in range(number):
        names = [
            "A" * trace.tasks.index("0.1") + "B"
            for trace, _ in run(UniformSampling(seed), program, 10)
        ]
        assert sorted(names) == ["AAB", "AB", "B"]
        seen[names[0], names[1]] += 1
    for (first, second), count in seen.items():
        expected = shares[first] * shares[second] / (1 - shares[first])
        deviation = math.sqrt(number * expected * (1 - expected))
        assert abs(count - number * expected) < 4 * deviation
    assert len(seen) == 6


def test_uniform_misses_a_share_as_seldom_as_it_says() -> None:
    # One schedule of six steps each way: the second task first.
    program = tasks(writes(5), writes(1))
    draws = 4
    missed = 0
    for seed in range(1000):
        traces = run(UniformSampling(seed), program, draws)
        missed += all(trace.tasks.index("0.1") != 2 for trace, _ in traces)
    share = 1 / 8
    assert missed / 1000 <= (1 - share) ** draws + 0.03


def test_uniform_estimates_the_number_of_schedules_without_bias() -> None:
    program = tasks(writes(4), writes(2), writes(1))
    schedules = count_schedules(program)
    estimates = []
    for seed in range(400):
        strategy = UniformSampling(seed)
        run(strategy, program, 5)
        estimates.append(strategy.estimated_schedules)
    assert mean(estimates) == pytest.approx(schedules, rel=0.08)


def test_uniform_says_what_it_covered() -> None:
    strategy = UniformSampling(1)
    assert strategy.covered() == "0 random schedules"
    assert strategy.progress() == "0 schedules"
    assert strategy.unseen_share == 1.0
    run(strategy, REORDER, 60)
    assert strategy.covered().startswith("60 random schedules, none twice, of about ")
    assert strategy.covered().endswith(
        "failing ones with a share of 0.049 or more would have been hit (95% confidence)"
    )
    assert not strategy.exhausted
    small = UniformSampling(1)
    run(small, tasks(writes(1), writes(1)), 1)
    assert small.unseen_share == 0.5
    run(small, tasks(writes(1), writes(1)), 5)
    assert small.covered() == "all schedules (2 executions), at up to 2 scheduling points"
    assert small.complete
    small.restart()
    assert not small.complete
    assert len(run(small, tasks(writes(1), writes(1)), 5)) == 2


def test_uniform_exhausts_a_program_of_one_task() -> None:
    strategy = UniformSampling()
    assert len(run(strategy, tasks(writes(3)), 10)) == 1
    assert strategy.complete


def test_uniform_tells_long_executions_apart_by_their_beginning() -> None:
    strategy = UniformSampling(0, steps=4)
    assert len(run(strategy, tasks(writes(300), writes(300)), 100)) == 16
    assert strategy.exhausted
    assert not strategy.complete
    with pytest.raises(ValueError, match="give 0 or more"):
        UniformSampling(steps=-1)


def test_uniform_without_room_repeats_itself_and_says_so() -> None:
    strategy = UniformSampling(0, room=0)
    run(strategy, tasks(writes(1), writes(1)), 20)
    assert not strategy.exhausted
    assert "none twice" not in strategy.covered()
    # A whole tree of 4,000 steps would not fit; the estimate is beyond all numbers.
    long = UniformSampling(0)
    run(long, tasks(writes(2000), writes(2000)), 2)
    assert "more than 1e+300" in long.covered()


def test_uniform_gives_up_what_diverges() -> None:
    strategy = UniformSampling(0)
    program = tasks(writes(2), writes(2))
    run(strategy, program, 1)
    plan = strategy.next_plan()
    assert plan is not None
    diverged = Trace(plan, divergence=Divergence(len(plan.prefix) - 1, "0.1", "0"))
    strategy.observe(diverged)
    rest = run(strategy, program, 100)
    assert all(trace.choices[: len(plan.prefix)] != list(plan.prefix) for trace, _ in rest)
    assert strategy.exhausted
    assert not strategy.complete


def test_uniform_copes_with_many_values_of_a_data_choice() -> None:
    program = tasks([Instruction("read", "x"), Instruction("choose", "", 300)])
    seen = run(UniformSampling(0), program, 1000)
    assert sorted(final[2][0] for _, final in seen) == list(range(300))


# -------------------------------------------------------------------------- rff


def test_dependences_name_who_reads_from_whom() -> None:
    trace = trace_of(
        ("0", Operation(READ, "x")),
        ("0", Operation(WRITE, "x")),
        ("0.1", Operation(READ, "x")),
        ("0", Operation(WRITE, "x")),
        ("0", Operation(READ, "x")),
    )
    first, _, second, _, third = dependences(trace, 100)
    assert first.source is None
    assert second.source == ResourceEvent("0", "write", "x", None, 1)
    assert third.source == ResourceEvent("0", "write", "x", None, 2)
    assert third.event == ResourceEvent("0", "read", "x", None, 2)
    assert [each.reads for each in dependences(trace, 2)] == [True, False]


def test_rff_mutates_constraints_on_conflicts() -> None:
    strategy = ReadsFromFuzzing(3)
    seen = run(strategy, REORDER, 150)
    assert seen[0][0].plan == Plan()
    policies = [trace.plan.policy for trace, _ in seen[1:]]
    assert all(isinstance(policy, ReadsFrom) for policy in policies)
    constraints = [policy.constraints for policy in policies if isinstance(policy, ReadsFrom)]
    assert max(map(len, constraints)) >= 3
    assert any(not each for each in constraints)
    every = [each for some in constraints for each in some]
    assert {each.reader.resource for each in every} == {"0:a", "0:b"}
    assert {each.holds for each in every} == {True, False}
    assert all(each.source is None or each.source != each.reader for each in every)
    # What has to hold at the same time speaks of different readers.
    for some in constraints:
        wanted = [each.reader for each in some if each.holds]
        assert len(set(wanted)) == len(wanted)


def test_rff_finds_what_needs_one_pair_of_many() -> None:
    def executions_to_find(strategy: Strategy) -> int:
        seen = 0
        while seen < 300:
            seen += 1
            if is_reordered(run(strategy, REORDER, 1)[0][1]):
                break
        return seen

    guided = median(executions_to_find(ReadsFromFuzzing(seed)) for seed in range(15))
    walked = median(
        executions_to_find(strategy_named("random", Options(seed=seed))) for seed in range(15)
    )
    assert guided * 2 < walked


def test_rff_says_that_it_bounds_nothing() -> None:
    strategy = ReadsFromFuzzing(0)
    assert strategy.covered() == "0 executions guided by reads-from"
    run(strategy, tasks(writes(1), [Instruction("read", "x")]), 40)
    assert strategy.covered() == (
        "40 executions guided by reads-from, with 2 combinations of reads-from, none of them new"
        f" in the last {strategy._since_new}; there is no bound on what they missed"
    )
    assert strategy.progress() == "2 combinations of reads-from"
    strategy.restart()
    assert strategy.next_plan() == Plan()


def test_rff_goes_on_from_executions_of_others() -> None:
    strategy = ReadsFromFuzzing(0)
    strategy.learn(execute(REORDER, Plan())[0])
    plan = strategy.next_plan()
    assert plan is not None
    assert isinstance(plan.policy, ReadsFrom)


def test_a_constraint_does_not_starve_a_loop() -> None:
    # The timeout of the first task fires again and again while the second one is held back.
    spin = [Instruction("wake", "c", timeout=1.0)] * 200
    program = tasks([*spin, Instruction("read", "x")], writes(1))
    reader = ResourceEvent("0.1", "write", "0:x", None, 1)
    never = Constraint(ResourceEvent("0.7", "write", "0:x", None, 1), reader)
    trace, _ = execute(program, Plan((), ReadsFrom(0, (never,))))
    assert trace.tasks.index("0.1") <= 40


_CHILD = """
import sys
from tests.unit.test_search_sampling import REORDER, run
from bohrbug.search.registry import Options, strategy_named
from bohrbug.model.serialise import plan_to_json
import json, hashlib
for name in sys.argv[1:]:
    plans = [t.plan for t, _ in run(strategy_named(name, Options(seed=4)), REORDER, 60)]
    text = json.dumps([plan_to_json(plan) for plan in plans])
    print(name, hashlib.sha256(text.encode()).hexdigest())
"""


def test_no_strategy_depends_on_the_hash_seed() -> None:
    seen = set()
    for hash_seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        }
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, "idb", "pos", "surw", "uniform", "rff"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        seen.add(child.stdout)
    assert len(seen) == 1
    assert len(seen.pop().splitlines()) == 5
