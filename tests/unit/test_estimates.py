"""Estimates of the size of the space, against spaces whose size is known."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bohrbug import explore
from bohrbug.model.plan import NonPreemptive, Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.search.bounded import BoundedSearch
from bohrbug.search.delay_bounding import DelayBounding
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.dpor import OptimalReduction
from bohrbug.search.estimates import (
    ClassCounts,
    Estimate,
    TreeProbes,
    in_words,
    seen_in_words,
    share_in_words,
    share_of_tree,
    size_from_share,
    size_of_bounded_tree,
    size_of_growing_tree,
)
from bohrbug.search.preemption_bounding import PreemptionBounding
from tests.simulated import Instruction, Program, count_schedules
from tests.simulated import execute as execute_with_state


def program_of(*tasks: list[str]) -> Program:
    """A program from instructions such as ``write x`` and ``choose 3``."""

    def instruction(text: str) -> Instruction:
        name, what = text.split()
        return Instruction(name, value=int(what)) if name == "choose" else Instruction(name, what)

    return Program(
        tuple(
            ("0" if number == 0 else f"0.{number}", tuple(map(instruction, texts)))
            for number, texts in enumerate(tasks)
        )
    )


def execute(program: Program, plan: Plan) -> Trace:
    return execute_with_state(program, plan)[0]


SMALL = program_of(["write x", "write y"], ["write x", "write y", "write x"])
"""Two tasks with two and three steps: ten schedules."""


# -- Knuth ---------------------------------------------------------------------------


def test_the_mean_of_the_weights_is_the_number_of_schedules() -> None:
    probes = TreeProbes()
    for seed in range(4_000):
        assert probes.add(execute(SMALL, Plan((), UniformRandom(seed))))
    estimate = probes.estimate()
    assert estimate is not None
    assert estimate.samples == 4_000
    assert estimate.low <= count_schedules(SMALL) <= estimate.high
    assert estimate.size == pytest.approx(count_schedules(SMALL), rel=0.05)
    assert estimate.high - estimate.low < 1


def test_only_random_walks_are_samples() -> None:
    probes = TreeProbes()
    assert not probes.add(execute(SMALL, Plan()))
    assert not probes.add(execute(SMALL, Plan(("0",), UniformRandom(1))))
    assert not probes.add(Trace(plan=Plan((), NonPreemptive())))
    assert probes.estimate() is None
    assert len(probes) == 0


def test_one_sample_has_no_upper_end() -> None:
    probes = TreeProbes()
    probes.add_weight(math.log(8))
    estimate = probes.estimate()
    assert estimate is not None
    assert estimate.size == pytest.approx(8)
    assert math.isinf(estimate.high)
    assert "at least" in str(estimate)


def test_data_choices_count_with_their_arity() -> None:
    program = program_of(["write x", "choose 3", "choose 2"])
    probes = TreeProbes()
    probes.add(execute(program, Plan((), UniformRandom(0))))
    estimate = probes.estimate()
    assert estimate is not None
    assert estimate.size == pytest.approx(6)


def test_more_schedules_than_a_float_can_hold() -> None:
    probes = TreeProbes()
    for weight in (5_000.0, 5_001.0, 5_000.5):
        probes.add_weight(weight)
    estimate = probes.estimate()
    assert estimate is not None
    assert math.isinf(estimate.size)
    assert 5_000 < estimate.log_size < 5_001
    assert "10^217" in str(estimate)


# -- classes -------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [1, 20, 300])
def test_classes_drawn_evenly(classes: int) -> None:
    random = Random(classes)
    counts = ClassCounts()
    for _ in range(2 * classes + 10):
        counts.add(random.randrange(classes))
    estimate = counts.estimate()
    assert estimate is not None
    assert counts.distinct <= estimate.size
    assert estimate.low <= classes * 1.02
    assert classes <= estimate.high * 1.02
    unseen = (classes - counts.distinct) / classes
    chance, error = counts.chance_of_new()
    assert abs(chance - unseen) <= error + 1e-9


def test_adding_says_whether_it_is_new() -> None:
    counts = ClassCounts()
    assert counts.chance_of_new() == (1.0, 1.0)
    assert counts.estimate() is None
    assert [counts.add(number) for number in (1, 2, 1, 1, 3)] == [True, True, False, False, True]
    assert counts.distinct == 3
    assert counts.samples == 5
    assert counts.chance_of_new()[0] == pytest.approx(2 / 5)


def test_when_nothing_was_seen_twice_there_is_no_upper_end() -> None:
    counts = ClassCounts()
    for number in range(10):
        counts.add(number)
    estimate = counts.estimate()
    assert estimate is not None
    assert estimate.size > 10
    assert math.isinf(estimate.high)


def test_a_lower_bound_is_called_one() -> None:
    # Of a million that are equally likely.
    random = Random(1)
    counts = ClassCounts()
    for _ in range(800):
        counts.add(random.randrange(1_000_000))
    estimate = counts.estimate()
    assert estimate is not None
    assert str(estimate).startswith("at least about ")
    assert " to " not in str(estimate)
    assert seen_in_words(estimate).startswith("at most ")
    for _ in range(3):
        for number in counts.to_json()[0]:
            counts.add(number)
    whole = counts.estimate()
    assert whole is not None
    assert str(whole) == f"about {counts.distinct} different behaviours"
    assert seen_in_words(whole) == "100%"


@given(st.lists(st.integers(0, 30), min_size=1, max_size=200))
def test_estimates_of_classes_are_in_order(numbers: list[int]) -> None:
    counts = ClassCounts()
    for number in numbers:
        counts.add(number)
    estimate = counts.estimate()
    assert estimate is not None
    assert estimate.seen == len(set(numbers))
    assert estimate.seen <= estimate.low + 1e-6
    assert estimate.low <= estimate.size + 1e-6
    assert estimate.size <= estimate.high + 1e-6
    assert 0 < estimate.share <= 1


# -- the explored part of a tree --------------------------------------------------------


def test_share_of_a_tree() -> None:
    assert share_of_tree([]) == 0.0
    assert share_of_tree([(1, 2)]) == 0.5
    assert share_of_tree([(1, 2), (1, 2)]) == 0.75
    assert share_of_tree([(0, 4), (3, 4)]) == pytest.approx(3 / 16)
    assert share_of_tree([(0, 2)] * 2_000) == 0.0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 3), min_size=2, max_size=3))
def test_the_share_of_a_depth_first_search_grows_to_the_whole(lengths: list[int]) -> None:
    program = program_of(*[["write x"] * length for length in lengths])
    strategy = DepthFirst()
    shares = [0.0]
    executed = 0
    while (plan := strategy.next_plan()) is not None:
        strategy.observe(execute(program, plan))
        executed += 1
        shares.append(share_of_tree(strategy._subtrees.levels()))
    assert shares == sorted(shares)
    # All but the last leaf are done, and with it the tree is.
    assert strategy.exhausted
    assert strategy.estimate is None
    total = count_schedules(program)
    assert executed == total


def test_the_estimate_of_a_depth_first_search_ends_near_the_size() -> None:
    program = program_of(["write x"] * 3, ["write x"] * 3, ["write x"] * 2)
    total = count_schedules(program)
    strategy = DepthFirst()
    estimates: list[Estimate] = []
    while (plan := strategy.next_plan()) is not None:
        strategy.observe(execute(program, plan))
        if strategy.estimate is not None:
            estimates.append(strategy.estimate)
    assert estimates[-1].size == pytest.approx(total, rel=0.1)
    within = [each.low <= total <= each.high for each in estimates]
    assert sum(within) > 0.9 * len(within)
    assert estimates[len(estimates) // 2].comes_to_end


def test_size_from_share() -> None:
    assert size_from_share(0, 0.5, "schedules") is None
    assert size_from_share(10, 0.0, "schedules") is None
    half = size_from_share(10, 0.5, "schedules")
    assert half is not None
    assert half.size == pytest.approx(20)
    assert (half.low, half.high) == (pytest.approx(10), pytest.approx(40))
    assert half.seconds_left(3.0) == pytest.approx(3.0)
    assert half.share == pytest.approx(0.5)


def test_a_tree_whose_branches_are_found_later_is_larger() -> None:
    assert size_of_growing_tree(0, 0.5, "executions") is None
    assert size_of_growing_tree(10, 0.0, "executions") is None
    quarter = size_of_growing_tree(10, 0.25, "executions")
    assert quarter is not None
    assert (quarter.low, quarter.high) == (pytest.approx(10), pytest.approx(640))
    fixed = size_from_share(10, 0.25, "executions")
    assert fixed is not None
    assert fixed.size < quarter.size < quarter.high
    whole = size_of_growing_tree(10, 1.0, "executions")
    assert whole is not None
    assert whole.low == whole.size == whole.high == pytest.approx(10)


@pytest.mark.parametrize(
    "program",
    [
        program_of(*[["read x", "write x"]] * 4),
        program_of(*[["acquire l", "release l"] * 2] * 3),
        program_of(["write x"] * 3, ["read x", "write y"] * 2, ["read y", "write x"]),
        program_of(*[["acquire l", "release l"] * 6] * 2),
        program_of(*[["acquire l", "read x", "write x", "release l"] * 3] * 3),
    ],
)
@pytest.mark.parametrize(
    "make",
    [
        OptimalReduction,
        lambda: PreemptionBounding(2),
        lambda: PreemptionBounding(2, caching=False),
        lambda: DelayBounding(2),
    ],
    ids=["dpor", "ipb", "ipb without a cache", "idb"],
)
def test_the_estimate_of_a_search_that_finds_its_branches_holds_the_truth(
    make: Callable[[], OptimalReduction | BoundedSearch], program: Program
) -> None:
    strategy = make()
    estimates = []
    executed = 0
    while (plan := strategy.next_plan()) is not None:
        strategy.observe(execute(program, plan))
        executed += 1
        if executed >= 8 and strategy.estimate is not None:
            estimates.append(strategy.estimate)
    assert executed > 12
    within = [each.low <= executed <= each.high for each in estimates]
    assert sum(within) > 0.9 * len(within)


def test_dpor_foresees_the_branches_of_a_loop_that_takes_a_lock() -> None:
    strategy = OptimalReduction()
    program = program_of(*[["acquire l", "release l"] * 4] * 3)
    whole = math.factorial(12) / math.factorial(4) ** 3
    for executed in range(1, 100):
        plan = strategy.next_plan()
        assert plan is not None
        strategy.observe(execute(program, plan))
        estimate = strategy.estimate
        if executed >= 8:
            assert estimate is not None
            assert whole / 4 < estimate.size < whole * 4
            assert estimate.low < whole < estimate.high


@pytest.mark.parametrize("writer_first", [False, True])
def test_a_single_write_among_many_reads_has_few_places(writer_first: bool) -> None:
    reads, writes = [["read x"] * 12] * 2, [["write x"]]
    program = program_of(*(writes + reads if writer_first else reads + writes))
    strategy = OptimalReduction()
    estimates = []
    while (plan := strategy.next_plan()) is not None:
        strategy.observe(execute(program, plan))
        if strategy.estimate is not None:
            estimates.append(strategy.estimate)
    whole = 13**2
    assert estimates[-1].samples < whole <= estimates[-1].samples + 1
    for estimate in estimates[8:]:
        assert whole / 10 < estimate.size < whole * 5
        assert estimate.low <= whole <= estimate.high


def test_dpor_foresees_branches_of_threads_that_have_not_begun() -> None:
    lock = threading.Lock()

    def take() -> None:
        for _ in range(4):
            with lock:
                pass

    def test() -> None:
        threads = [threading.Thread(target=take) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    estimate = explore(test, strategy="dpor", executions=30).verdict.estimate
    assert estimate is not None
    whole = math.factorial(12) / math.factorial(4) ** 3
    assert whole / 4 < estimate.size < whole * 4


def test_what_is_put_off_leads_to_more_that_is() -> None:
    # One schedule without preemptions, and 10 branches with one: C(10, 2) and C(10, 3) follow.
    whole = size_of_bounded_tree(1, 1, 0, 0.0, {1: 10}, 0, 3, reduced=False)
    assert whole.size == pytest.approx(1 + 10 + 10 * 10 / 2 + 10 * 10 * 10 / 6)
    less = size_of_bounded_tree(1, 1, 0, 0.0, {1: 10}, 0, 3, reduced=True)
    assert 11 < less.size < whole.size
    without_bound = size_of_bounded_tree(1, 1, 0, 0.0, {1: 10}, 0, None, reduced=False)
    assert without_bound.size == pytest.approx(math.exp(10), rel=0.01)
    done = size_of_bounded_tree(11, 10, 0, 0.0, {}, 1, 1, reduced=True)
    assert done.low == done.size == done.high == pytest.approx(11)


# -- words ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, "1"),
        (12, "12"),
        (1_244, "1,240"),
        (99_999, "100,000"),
        (123_456, "123 thousand"),
        (3_140_000, "3.1 million"),
        (214e6, "214 million"),
        (1e13, "10^13"),
    ],
)
def test_numbers_in_words(number: float, words: str) -> None:
    assert in_words(math.log(number)) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0%"), (0.42, "42%"), (0.034, "3.4%"), (0.0004, "0.04%"), (1e-9, "less than 0.01%")],
)
def test_shares_in_words(share: float, words: str) -> None:
    assert share_in_words(share) == words


def test_an_exact_number_has_no_interval() -> None:
    exact = Estimate("schedules", math.log(6), math.log(6), math.log(6), 3, "counted")
    assert str(exact) == "about 6 schedules"
