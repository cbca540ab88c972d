"""Partial-order reduction against brute force over all interleavings of made-up programs."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bohrbug.model.happens_before import canonical_hash
from bohrbug.search.bounded_dpor import BoundedReduction
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.dpor import OptimalReduction
from tests.property.test_search_properties import explore
from tests.simulated import Instruction, Program, brute_force, execute, is_small
from tests.thoroughness import examples

MOST_SCHEDULES = 400

moderate = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


def piece(random: Random, features: frozenset[str]) -> list[Instruction]:
    """Some instructions that belong together."""
    variable = random.choice("xy")
    lock = random.choice("kl")
    timeout = random.choice([None, None, 1.0]) if "timeouts" in features else None
    both = random.sample("kl", 2)
    guard = "lock of c"
    pieces = [
        [Instruction("read", variable)],
        [Instruction("write", variable, random.randint(1, 2))],
        [Instruction("read", variable), Instruction("write", variable, 1)],
        [
            Instruction("acquire", lock, timeout=timeout),
            Instruction("write", variable, 1),
            Instruction("release", lock),
        ],
        [Instruction("acquire", each) for each in both]
        + [Instruction("release", each) for each in both],
        [Instruction("try", lock), Instruction("write", "x", 1)],
        [Instruction("set", "e")],
        [Instruction("clear", "e")],
        [Instruction("await", "e", timeout=timeout)],
        [Instruction("down", "s", timeout=timeout)],
        [Instruction("up", "s")],
        [
            Instruction("acquire", guard),
            Instruction("wait", "c"),
            Instruction("wake", "c", timeout=timeout),
            Instruction("acquire", guard),
            Instruction("release", guard),
        ],
        [Instruction("notify", "c")],
    ]
    if "choices" in features:
        pieces.append([Instruction("read", variable), Instruction("choose", "", 2)])
    if "failures" in features:
        pieces += [[Instruction("check", variable, random.randint(0, 2))]] * 2
    if "yields" in features:
        pieces += [[Instruction("yield")]] * 2
    return random.choice(pieces)


def program(random: Random, features: frozenset[str]) -> Program:
    """Two to four tasks, some of them spawned and joined by the first."""
    number = random.randint(2, 4)
    code = [
        [each for _ in range(random.randint(1, 3)) for each in piece(random, features)]
        for _ in range(number)
    ]
    spawned = set()
    for child in range(1, number):
        if random.random() < 0.25:
            name = f"0.{child}"
            spawned.add(name)
            code[child] = [Instruction("begin"), *code[child], Instruction("end")]
            code[0].insert(random.randint(0, len(code[0])), Instruction("spawn", name))
            if random.random() < 0.6:
                code[0].append(Instruction("join", name))
    # A data choice follows a step of its task at once, and nothing can be put in between.
    code[0] = [*_choices_first(code[0])]
    return Program(
        tuple(("0" if n == 0 else f"0.{n}", tuple(each)) for n, each in enumerate(code)),
        semaphores=(("s", random.randint(0, 1)),),
        spawned=frozenset(spawned),
        unheeded=random.randint(0, 2) if "yields" in features else 0,
    )


def _choices_first(code: list[Instruction]) -> list[Instruction]:
    for index in range(1, len(code)):
        if code[index].name == "choose" and code[index - 1].name == "spawn":
            code[index - 1], code[index] = code[index], code[index - 1]
    return code


randoms = st.integers(0, 2**32 - 1).map(Random)
ALL = frozenset({"timeouts", "choices", "failures", "yields"})


@given(randoms, st.sets(st.sampled_from(["timeouts", "choices"])))
@moderate
def test_each_happens_before_graph_is_executed_once(random: Random, features: set[str]) -> None:
    made = program(random, frozenset(features))
    assume(is_small(made, MOST_SCHEDULES))
    strategy = OptimalReduction()
    outcomes, traces = explore(made, strategy)
    everything, all_traces = explore(made, DepthFirst())
    assert outcomes == everything == set(brute_force(made))
    graphs = {canonical_hash(trace) for trace in all_traces}
    assert {canonical_hash(trace) for trace in traces} == graphs
    assert len(traces) == len(graphs)
    assert strategy.redundant == 0
    assert strategy.complete


@given(randoms)
@moderate
def test_no_graph_is_lost_when_executions_fail(random: Random) -> None:
    made = program(random, ALL - {"yields"})
    assume(is_small(made, MOST_SCHEDULES))
    outcomes, traces = explore(made, OptimalReduction())
    everything, all_traces = explore(made, DepthFirst())
    assert outcomes == everything
    graphs = {canonical_hash(trace) for trace in all_traces}
    assert {canonical_hash(trace) for trace in traces} == graphs
    assert len(traces) <= len(all_traces)


@given(randoms)
@moderate
def test_no_outcome_is_lost_when_tasks_yield(random: Random) -> None:
    made = program(random, ALL)
    assume(is_small(made, MOST_SCHEDULES))
    strategy = OptimalReduction()
    outcomes, _ = explore(made, strategy)
    assert outcomes == set(brute_force(made))
    assert strategy.complete


BLOCKED_FOR_EVER = Program(
    (
        (
            "0",
            (
                Instruction("read", "y"),
                Instruction("yield"),
                Instruction("spawn", "0.1"),
                Instruction("try", "k"),
                Instruction("write", "x", 1),
                Instruction("join", "0.1"),
            ),
        ),
        (
            "0.1",
            (
                Instruction("begin"),
                Instruction("acquire", "k"),
                Instruction("release", "k"),
                Instruction("end"),
            ),
        ),
    ),
    spawned=frozenset({"0.1"}),
)
"""The last step before the end can be the blocked task's own: it races with an earlier one."""

SPAWNED_BEFORE = Program(
    (
        ("0", (Instruction("write", "y", 1), Instruction("spawn", "0.1"))),
        (
            "0.1",
            (
                Instruction("begin"),
                Instruction("yield"),
                Instruction("check", "x", 0),
                Instruction("end"),
            ),
        ),
        ("0.2", (Instruction("write", "y", 2), Instruction("try", "k"), Instruction("write", "x"))),
    ),
    spawned=frozenset({"0.1"}),
)
"""A task that comes to a yield with its first step can be spawned earlier for it."""

CHOSEN_THEN_FAILED = Program(
    (
        ("0", (Instruction("check", "x", 1),)),
        ("0.1", (Instruction("check", "x", 0),)),
        ("0.2", (Instruction("write", "x", 1), Instruction("check", "y", 0))),
        ("0.3", (Instruction("read", "y"), Instruction("choose", "", 2))),
    )
)
"""An execution can fail after a data choice and before a task moves that was explored first."""


HIDDEN_CHOICE = Program(
    (
        ("0", (Instruction("check", "x", 0), Instruction("check", "x", 2))),
        ("0.1", (Instruction("read", "y"), Instruction("choose", "", 2))),
        ("0.2", (Instruction("write", "x", 1), Instruction("up", "s"))),
    ),
    semaphores=(("s", 0),),
)
"""Who fails at once hides that a data choice follows the first step of another."""

OPENED_BESIDE = Program(
    (
        ("0", (Instruction("write", "x", 1), Instruction("await", "e"))),
        ("0.1", (Instruction("down", "s"), Instruction("yield"), Instruction("check", "x", 0))),
        ("0.2", (Instruction("read", "y"), Instruction("up", "s"))),
    ),
    semaphores=(("s", 0),),
    unheeded=2,
)
"""What a task waits for before it yields need not come after the step that the yield races with."""


@pytest.mark.parametrize(
    "made", [BLOCKED_FOR_EVER, SPAWNED_BEFORE, CHOSEN_THEN_FAILED, HIDDEN_CHOICE, OPENED_BESIDE]
)
def test_no_outcome_of_these_is_lost(made: Program) -> None:
    outcomes, _ = explore(made, OptimalReduction())
    assert outcomes == set(brute_force(made))
    assert len(outcomes) > 1


@given(randoms, st.sampled_from([0, 1, 2, None]))
@moderate
def test_nothing_within_the_bound_is_lost(random: Random, bound: int | None) -> None:
    made = program(random, ALL)
    assume(is_small(made, MOST_SCHEDULES))
    outcomes, traces = explore(made, BoundedReduction(bound))
    assert outcomes == {
        final
        for final, preemptions in brute_force(made).items()
        if bound is None or preemptions <= bound
    }
    assert len({tuple(trace.choices) for trace in traces}) == len(traces)
    assert all(bound is None or len(trace.preemptions()) <= bound for trace in traces)


@given(randoms, st.integers(0, 20))
@moderate
def test_what_is_dropped_to_save_memory_is_said(random: Random, room: int) -> None:
    made = program(random, ALL)
    assume(is_small(made, MOST_SCHEDULES))
    strategy = OptimalReduction(waiting_limit=room)
    outcomes = set()
    while (plan := strategy.next_plan()) is not None:
        trace, final = execute(made, plan)
        strategy.observe(trace)
        outcomes.add(final)
    assert outcomes <= set(brute_force(made))
    assert strategy.complete <= (outcomes == set(brute_force(made)))
    assert strategy.complete or "dropped to save memory" in strategy.covered()


@pytest.mark.parametrize("seed", [13, 71])
def test_what_is_executed_although_it_sleeps_is_counted(seed: int) -> None:
    strategy = OptimalReduction()
    _, traces = explore(program(Random(seed), frozenset({"yields"})), strategy)
    repeated = len(traces) - len({canonical_hash(trace) for trace in traces})
    assert 0 < strategy.redundant <= repeated
    assert f"{strategy.redundant} of them repeated another" in strategy.covered()


@pytest.mark.parametrize("seed", range(12))
def test_long_sequences_may_be_shortened(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bohrbug.search.dpor_path.LONG", 0)
    made = program(Random(seed), frozenset({"timeouts"}))
    if not is_small(made, 2_000):
        made = program(Random(seed + 100), frozenset())
    outcomes, _ = explore(made, OptimalReduction())
    assert outcomes == set(brute_force(made))
