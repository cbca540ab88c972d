"""``dfs`` and ``ipb``, as far as their properties are not in the property tests."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from bohrbug.model.happens_before import canonical_hash, state_hashes
from bohrbug.model.operation import WRITE, Operation
from bohrbug.model.outcome import Divergence, Outcome, OutcomeKind
from bohrbug.model.plan import NonPreemptive, Plan
from bohrbug.model.trace import Trace
from bohrbug.search.branching import alternatives, last_branching_step
from bohrbug.search.delay_bounding import DelayBounding
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.preemption_bounding import PreemptionBounding
from tests.simulated import Final, Instruction, Program, count_schedules, execute


def writers(tasks: int, writes: int = 1) -> Program:
    """Tasks that each write the same variable some times."""
    return Program(
        tuple(
            ("0" if number == 0 else f"0.{number}", (Instruction("write", "x", number),) * writes)
            for number in range(tasks)
        )
    )


def run(
    strategy: DepthFirst | PreemptionBounding, program: Program, limit: int = 10_000
) -> list[tuple[Trace, Final]]:
    """At most ``limit`` executions."""
    seen: list[tuple[Trace, Final]] = []
    while len(seen) < limit and (plan := strategy.next_plan()) is not None:
        trace, final = execute(program, plan)
        assert trace.divergence is None
        strategy.observe(trace)
        seen.append((trace, final))
    return seen


def test_the_first_plan_is_the_empty_one() -> None:
    for strategy in (DepthFirst(), PreemptionBounding()):
        assert strategy.next_plan() == Plan((), NonPreemptive())
        assert strategy.next_plan() == Plan((), NonPreemptive())
        assert not strategy.exhausted
        assert not strategy.complete


def test_one_task_has_one_schedule() -> None:
    for strategy in (DepthFirst(), PreemptionBounding(0)):
        assert len(run(strategy, writers(1, 3))) == 1
        assert strategy.exhausted
        assert strategy.complete
        assert strategy.covered() == "all schedules (1 execution), at up to 3 scheduling points"


def test_spawned_tasks_are_explored() -> None:
    children = tuple(f"0.{number}" for number in (1, 2))
    root = tuple(Instruction("spawn", child) for child in children) + tuple(
        Instruction("join", child) for child in children
    )
    body = (
        Instruction("begin"),
        Instruction("read", "x"),
        Instruction("write", "x", 1),
        Instruction("end"),
    )
    program = Program(
        (("0", root), *((child, body) for child in children)), spawned=frozenset(children)
    )
    outcomes = {dict(final[1])["x"] for _, final in run(PreemptionBounding(1), program)}
    assert outcomes == {1, 2}
    assert {dict(final[1])["x"] for _, final in run(PreemptionBounding(0), program)} == {2}


def test_depth_first_can_stop_branching_at_a_step() -> None:
    strategy = DepthFirst(steps=1)
    assert [trace.choices[0] for trace, _ in run(strategy, writers(3))] == ["0", "0.1", "0.2"]
    assert strategy.exhausted
    assert not strategy.complete
    assert "only varied in their first 1 steps" in strategy.covered()


def test_bounds_are_completed_in_order_and_said() -> None:
    program = writers(2, 3)
    strategy = PreemptionBounding(2, caching=False)
    assert strategy.completed_bound is None
    assert strategy.covered().startswith("some schedules without preemptions (0 executions)")
    run(strategy, program, 2)
    assert strategy.completed_bound == 0
    assert strategy.covered().startswith("all schedules without preemptions (2 executions)")
    run(strategy, program, 1)
    assert strategy.covered().startswith(
        "all schedules without preemptions and some with 1 (3 executions)"
    )
    run(strategy, program)
    assert strategy.exhausted
    assert not strategy.complete
    assert strategy.covered().startswith("all schedules with at most 2 preemptions (")
    assert strategy.covered().endswith("at up to 6 scheduling points")


def test_a_bound_that_cuts_nothing_off_is_no_bound() -> None:
    strategy = PreemptionBounding(9)
    run(strategy, writers(2, 2))
    assert strategy.complete
    assert strategy.covered().startswith("all schedules (")


def test_caching_executes_independent_tasks_far_less_often() -> None:
    program = Program(
        tuple((task, (Instruction("write", task, 1),) * 3) for task in ("0", "0.1", "0.2"))
    )
    cached = run(PreemptionBounding(None), program)
    assert count_schedules(program) == 1680
    assert len(cached) < 170


@pytest.mark.parametrize("seed", range(60))
def test_caching_loses_no_graph_of_a_bound(seed: int) -> None:
    # Larger than hypothesis makes them, and of nothing but accesses: here each graph counts.
    random = Random(seed)
    names = ("0", "0.1", "0.2")
    code = [
        tuple(
            Instruction(random.choice(("read", "write")), random.choice("xyz"), 1)
            for _ in range(random.randint(2, 4))
        )
        for _ in names
    ]
    program = Program(tuple(zip(names, code, strict=True)))
    bound = random.choice((1, 2))
    plain = run(PreemptionBounding(bound, caching=False), program)
    cached = run(PreemptionBounding(bound), program)
    assert {canonical_hash(trace) for trace, _ in cached} == {
        canonical_hash(trace) for trace, _ in plain
    }
    edges = [
        (state_hashes(trace)[len(trace.plan.prefix) - 1], trace.plan.prefix[-1])
        for trace, _ in cached[1:]
    ]
    assert len(set(edges)) == len(edges)


def test_a_data_choice_costs_no_preemption() -> None:
    program = Program((("0", (Instruction("read", "x"), Instruction("choose", "", 3))),))
    seen = run(PreemptionBounding(0), program)
    assert sorted(final[2][0] for _, final in seen) == [0, 1, 2]


def test_an_early_timeout_costs_a_preemption_and_a_late_one_none() -> None:
    code = (Instruction("acquire", "k", timeout=1.0), Instruction("release", "k"))
    program = Program((("0", code), ("0.1", code)))
    registers = [
        {final[2] for _, final in run(PreemptionBounding(bound), program)} for bound in (0, 1)
    ]
    assert registers[0] == {(0, 0)}
    assert registers[1] == {(0, 0), (0, 100), (100, 0)}

    holder = (Instruction("acquire", "k"),)
    late = Program((("0", holder), ("0.1", code)))
    assert (0, 100) in {final[2] for _, final in run(PreemptionBounding(0), late)}


def test_a_diverged_trace_is_not_extended() -> None:
    for strategy in (DepthFirst(), PreemptionBounding(None, caching=False)):
        program = writers(2, 2)
        run(strategy, program, 1)
        plan = strategy.next_plan()
        assert plan is not None
        trace, _ = execute(program, Plan())
        trace.plan = plan
        trace.divergence = Divergence(len(plan.prefix) - 1, "0.1", "0")
        strategy.observe(trace)
        rest = run(strategy, program)
        assert all(seen.choices[: len(plan.prefix)] != list(plan.prefix) for seen, _ in rest)
        assert strategy.exhausted
        assert not strategy.complete
        assert "1 schedule was given up because it diverged" in strategy.covered()


def test_nothing_is_branched_behind_a_divergence() -> None:
    trace, _ = execute(writers(2, 3), Plan())
    assert last_branching_step(trace, 100) == len(trace)
    assert last_branching_step(trace, 4) == 4
    trace.divergence = Divergence(2, "0.1", "0")
    assert last_branching_step(trace, 100) == 2
    assert last_branching_step(trace, 1) == 1
    # What was executed up to there could have gone on in another way; what came then is unknown.
    for strategy in (DepthFirst(), PreemptionBounding(None, caching=False), DelayBounding(None)):
        strategy.next_plan()
        strategy.observe(trace)
        prefixes = []
        while (plan := strategy.next_plan()) is not None:
            prefixes.append(plan.prefix)
            strategy.observe(replace(trace, plan=plan, divergence=Divergence(0, "0.1", "0")))
        assert sorted(prefixes) == [("0", "0.1"), ("0.1",)]


def test_long_executions_are_branched_in_their_beginning_only() -> None:
    program = writers(2, 500)
    for strategy in (DepthFirst(steps=10), PreemptionBounding(1, steps=10)):
        seen = run(strategy, program, 50)
        assert all(len(trace.plan.prefix) <= 10 for trace, _ in seen)
        assert "only varied in their first 10 steps" in strategy.covered()


def test_the_step_limit_is_said() -> None:
    strategy = PreemptionBounding(0)
    plan = strategy.next_plan()
    assert plan is not None
    trace, _ = execute(writers(1, 20), plan, step_limit=5)
    assert trace.outcome.kind is OutcomeKind.STEP_LIMIT
    strategy.observe(trace)
    assert not strategy.complete


def test_restart_begins_again() -> None:
    program = writers(3, 2)
    for strategy in (DepthFirst(), PreemptionBounding(1)):
        first = [trace.choices for trace, _ in run(strategy, program, 20)]
        strategy.restart()
        assert [trace.choices for trace, _ in run(strategy, program, 20)] == first


def test_alternatives_agree_with_the_definition_of_a_preemption() -> None:
    trace = Trace(
        choices=["0", "0", "0.1", 1, "0.2"],
        tasks=["0", "0", "0.1", "0.1", "0.2"],
        enabled=[("0", "0.1"), ("0", "0.1"), ("0", "0.1", "0.2"), (), ()],
        timed=[("0.2",), ("0.2",), (), (), ("0.2", "0.3")],
        yielded=[False, False, True, False, False],
        arities={3: 2},
        outcome=Outcome(OutcomeKind.PASSED),
    )
    for step in range(5):
        free, costly = alternatives(trace, step)
        assert {*free, *costly, trace.choices[step]} == set(trace.options(step))
        assert trace.choices[step] not in free + costly
        for choice in free + costly:
            costs = isinstance(choice, str) and trace.is_preemption(step, choice)
            assert costs == (choice in costly)


def test_to_skip_several_tasks_costs_as_many_delays() -> None:
    def trace(task: str, enabled: tuple[str, ...], timed: tuple[str, ...] = ()) -> Trace:
        step = [Operation(WRITE, "x")]
        return Trace(
            choices=[task],
            tasks=[task],
            operations=step,
            enabled=[enabled],
            timed=[timed],
            yielded=[False],
        )

    options = DelayBounding().options
    three = ("0", "0.1", "0.2")
    assert options(trace("0", three), 0, 2) == ([], [("0.1", 1), ("0.2", 2)])
    assert options(trace("0.1", three), 0, 2) == ([], [("0.2", 1), ("0", 2)])
    assert options(trace("0", three[:2], ("0.2",)), 0, 2) == ([], [("0.1", 1), ("0.2", 1)])
    # Among timeouts alone any is free.
    assert options(trace("0", (), three), 0, 2) == (["0.1", "0.2"], [])


@pytest.mark.parametrize("make", [lambda: DepthFirst(-1), lambda: PreemptionBounding(-1)])
def test_senseless_options_are_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match="0 or more"):
        make()


def test_many_choices_are_encoded() -> None:
    program = Program((("0", (Instruction("read", "x"), Instruction("choose", "", 300))),))
    assert len(run(PreemptionBounding(0), program)) == 300

    after = (Instruction("read", "x"), Instruction("choose", "", 300), Instruction("write", "x"))
    two = Program((("0", after), ("0.1", (Instruction("read", "x"),))))
    preempted = [
        trace.choices[1]
        for trace, _ in run(PreemptionBounding(1), two)
        if trace.choices[2:3] == ["0.1"]
    ]
    assert sorted(map(str, preempted)) == sorted(map(str, range(300)))


def waiting_for_others(
    enabled: tuple[str, ...], timed: tuple[str, ...] = (), *, yields: bool = True
) -> Trace:
    """Two steps, and a third of which fairness says who may make it; no other graph than theirs."""
    return Trace(
        choices=["0"] * 3,
        tasks=["0"] * 3,
        operations=[Operation(WRITE, "x")] * 3,
        enabled=[("0", "0.1"), ("0", "0.1"), enabled],
        timed=[(), (), timed],
        yielded=[False, yields, False],
    )


def test_a_state_behind_a_yield_is_another_where_others_may_go_on() -> None:
    known = PreemptionBounding()._states
    both, one = waiting_for_others(("0", "0.1")), waiting_for_others(("0",))
    timed = waiting_for_others(("0",), ("0.1",))
    states = [known(trace, 3) for trace in (both, one, timed)]
    assert len({each[2] for each in states}) == 3
    # Up to the yield all is the same.
    assert len({each[1] for each in states}) == len({each[0] for each in states}) == 1
    # The step that yields is the first at which fairness says something.
    assert states[0][1] != state_hashes(both)[1]
    assert states[0][0] == state_hashes(both)[0]


def test_a_state_behind_a_yield_is_another_where_fairness_remembers_something_else() -> None:
    """The graphs and the options are alike; whether the other has run since the yield is not."""

    def trace(tasks: list[str], yields_before: int) -> Trace:
        return Trace(
            choices=list(tasks),
            tasks=list(tasks),
            operations=[Operation(WRITE, task) for task in tasks],
            enabled=[("0", "0.1")] * 3,
            timed=[()] * 3,
            yielded=[step == yields_before for step in range(3)],
        )

    known = PreemptionBounding()._states
    since, before = trace(["0", "0.1", "0"], 1), trace(["0.1", "0", "0"], 2)
    assert state_hashes(since)[2] == state_hashes(before)[2]
    assert known(since, 3)[2] != known(before, 3)[2]


def test_without_a_yield_the_graph_is_all_of_a_state() -> None:
    known = PreemptionBounding()._states
    both = waiting_for_others(("0", "0.1"), yields=False)
    one = waiting_for_others(("0",), yields=False)
    assert known(both, 3) == known(one, 3) == state_hashes(both, 3)
