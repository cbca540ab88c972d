"""A yield forbids no schedule, and where fairness leaves some out the verdict says so."""

from __future__ import annotations

import threading
import time
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bohrbug
from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.dpor import OptimalReduction
from bohrbug.search.preemption_bounding import PreemptionBounding
from tests.property.test_partial_order_reduction import ALL, program
from tests.property.test_search_properties import explore
from tests.simulated import Instruction, Program, brute_force, is_small
from tests.thoroughness import examples

Reads = tuple[tuple[int, ...], ...]
Code = list[list[str]]
"""For each task: what it does with the variable, and where it yields how often."""

_STEPS = ("read", "read", "write", "yield", "yields")


def outcomes_of(code: Code, strategy: str) -> tuple[set[Reads], Result]:
    """What the tasks read in all executions, and the result."""
    seen: set[Reads] = set()

    def test() -> None:
        box = [0]
        reads: list[list[int]] = [[] for _ in code]

        def work(number: int) -> None:
            for position, step in enumerate(code[number]):
                if step == "read":
                    reads[number].append(box[0])
                elif step == "write":
                    box[0] = 10 * number + position + 1
                elif step == "yield":
                    time.sleep(0)
                else:
                    for _ in range(5):
                        time.sleep(0)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(len(code))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seen.add(tuple(map(tuple, reads)))

    result = bohrbug.explore(test, strategy=strategy, executions=20_000, bound=None, seconds=None)
    return seen, result


def all_interleavings(code: Code) -> set[Reads]:
    """What the tasks can read, by trying every order; a yield is nothing there."""
    found: set[Reads] = set()

    def visit(at: tuple[int, ...], value: int, reads: Reads) -> None:
        if all(place == len(steps) for place, steps in zip(at, code, strict=True)):
            found.add(reads)
        for number, steps in enumerate(code):
            if at[number] == len(steps):
                continue
            after = (*at[:number], at[number] + 1, *at[number + 1 :])
            step = steps[at[number]]
            if step == "read":
                own = (*reads[number], value)
                visit(after, value, (*reads[:number], own, *reads[number + 1 :]))
            else:
                written = 10 * number + at[number] + 1
                visit(after, written if step == "write" else value, reads)

    visit((0,) * len(code), 0, ((),) * len(code))
    return found


codes = st.lists(st.lists(st.sampled_from(_STEPS), min_size=1, max_size=4), min_size=2, max_size=2)


@pytest.mark.parametrize("strategy", ["dpor", "dfs"])
@given(code=codes)
@settings(max_examples=examples(12), deadline=None)
def test_what_a_yield_forbids_is_a_condition(strategy: str, code: Code) -> None:
    seen, result = outcomes_of(code, strategy)
    assert seen <= all_interleavings(code)
    if result.verdict.kind is VerdictKind.HOLDS:
        conditions = result.verdict.conditions
        assert conditions is not None
        assert seen == all_interleavings(code) or conditions.taking


@pytest.mark.parametrize("strategy", ["dpor", "ipb"])
@given(code=codes)
@settings(max_examples=examples(12), deadline=None)
def test_a_few_yields_forbid_nothing(strategy: str, code: Code) -> None:
    assume(all(sum(step.startswith("yield") for step in steps) <= 2 for steps in code))
    seen, result = outcomes_of(code, strategy)
    conditions = result.verdict.conditions
    assert conditions is not None
    assert not conditions.taking
    if result.verdict.kind is VerdictKind.HOLDS:
        assert seen == all_interleavings(code)


LOST_BY_A_CACHE = Program(
    (
        (
            "0",
            (
                Instruction("read", "x"),
                Instruction("choose", "", 2),
                Instruction("try", "k"),
                Instruction("write", "x", 1),
            ),
        ),
        (
            "0.1",
            (
                Instruction("acquire", "l"),
                Instruction("yield"),
                Instruction("write", "x", 1),
                Instruction("release", "l"),
                Instruction("acquire", "k"),
                Instruction("acquire", "l"),
                Instruction("yield"),
                Instruction("release", "k"),
                Instruction("yield"),
                Instruction("release", "l"),
            ),
        ),
    )
)
"""Who has run since a yield is told by no graph, but says what fairness allows at the next."""


@pytest.mark.parametrize("strategy", [PreemptionBounding(None), OptimalReduction(), DepthFirst()])
def test_what_fairness_remembers_is_part_of_a_state(
    strategy: PreemptionBounding | OptimalReduction | DepthFirst,
) -> None:
    outcomes, _ = explore(LOST_BY_A_CACHE, strategy)
    assert outcomes == set(brute_force(LOST_BY_A_CACHE))


@given(st.integers(0, 2**32 - 1).map(Random))
@settings(max_examples=examples(60), deadline=None)
def test_no_outcome_of_the_fair_scheduler_is_lost(random: Random) -> None:
    made = program(random, ALL if random.random() < 0.5 else frozenset({"yields"}))
    assume(is_small(made, 400))
    expected = set(brute_force(made))
    for strategy in (OptimalReduction(), PreemptionBounding(None)):
        outcomes, _ = explore(made, strategy)
        assert outcomes == expected
