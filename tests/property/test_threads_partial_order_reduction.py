"""Partial-order reduction on real threads under control."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bohrbug.exploration.learning import Learner
from bohrbug.model.conditions import Conditions, Level
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from bohrbug.search.bounded_dpor import BoundedReduction
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.dpor import OptimalReduction
from bohrbug.search.random_walk import RandomWalk
from bohrbug.search.strategy import Strategy
from tests.programs.counter import Counter
from tests.programs.together import together
from tests.property.test_threads_against_brute_force import (
    Program,
    brute_force,
    check,
    critical_sections,
    explored,
    programs,
)
from tests.thoroughness import examples

few = settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))


@few
@given(programs)
def test_optimal_reduction_finds_exactly_all_outcomes(program: Program) -> None:
    strategy = OptimalReduction()
    outcomes, is_done = explored(program, strategy, 4_000)
    assert is_done
    assert outcomes == brute_force(program)
    assert strategy.redundant == 0


@few
@given(programs)
def test_bounded_reduction_without_a_bound_finds_exactly_all_outcomes(program: Program) -> None:
    check(program, BoundedReduction(None), 300)


def outcomes_of(test: Callable[[], object], level: Level) -> tuple[int, set[OutcomeKind]]:
    """Executions to exhaustion once the scheduling points are known, and their outcomes."""
    strategy = OptimalReduction()
    kinds: set[OutcomeKind] = set()
    executions = 0
    with threads_runtime(test, Settings(), level, Scope()) as runtime:
        learner = Learner(runtime, Conditions())
        quiet = 0
        while quiet < 2:
            quiet = 0 if learner.execute(Plan()).new_points else quiet + 1
        while (plan := strategy.next_plan()) is not None:
            executed = learner.execute(plan)
            assert executed.trace.divergence is None
            if executed.new_points:
                strategy.restart()
                executions = 0
                kinds.clear()
                continue
            strategy.observe(executed.trace)
            executions += 1
            kinds.add(executed.trace.outcome.kind)
    assert strategy.complete
    assert strategy.redundant == 0
    return executions, kinds


@pytest.mark.parametrize("level", [Level.ALL, Level.RACY])
@pytest.mark.parametrize(("threads", "executions"), [(2, 4), (3, 36), (4, 576)])
def test_the_lost_update_takes_as_many_executions_as_it_has_graphs(
    threads: int, executions: int, level: Level
) -> None:
    def test() -> None:
        counter = Counter()
        together(*[counter.increment] * threads)
        assert counter.value == threads

    count, kinds = outcomes_of(test, level)
    assert count == executions
    assert kinds == {OutcomeKind.PASSED, OutcomeKind.ASSERTION}


@pytest.mark.parametrize(("threads", "sections", "orders"), [(2, 2, 6), (2, 3, 20), (3, 2, 90)])
def test_each_order_of_critical_sections_takes_one_execution(
    threads: int, sections: int, orders: int
) -> None:
    seen: set[tuple[int, ...]] = set()
    count, _ = outcomes_of(lambda: seen.add(critical_sections(threads, sections)), Level.RACY)
    assert count == len(seen) == orders


def test_a_lost_update_of_nested_threads_is_found() -> None:
    def test() -> None:
        counter = Counter()
        together(lambda: together(counter.increment, counter.increment))
        assert counter.value == 2

    assert outcomes_of(test, Level.RACY) == (4, {OutcomeKind.PASSED, OutcomeKind.ASSERTION})


def test_a_daemon_thread_may_be_cut_off_anywhere() -> None:
    def test() -> None:
        counter = Counter()

        def count() -> None:
            for _ in range(2):
                counter.value += 1
            reached.add("the end")

        threading.Thread(target=count, daemon=True).start()
        values.add(counter.value)

    values: set[int] = set()
    reached: set[str] = set()
    outcomes_of(test, Level.ALL)
    assert values == {0, 1, 2}
    assert reached == {"the end"}


def test_conditions() -> None:
    def test() -> None:
        condition = threading.Condition()
        items: list[int] = []

        def take() -> None:
            with condition:
                while not items:
                    condition.wait()
                items.pop()

        def give() -> None:
            with condition:
                items.append(1)
                condition.notify()

        together(take, take, give, give)

    assert outcomes_of(test, Level.RACY)[1] == {OutcomeKind.PASSED}


def test_timeouts_of_conditions() -> None:
    results: set[tuple[bool, ...]] = set()

    def test() -> None:
        condition = threading.Condition()
        got: dict[int, bool] = {}

        def wait(me: int) -> None:
            with condition:
                got[me] = condition.wait(1.0)

        def wake() -> None:
            with condition:
                condition.notify()

        together(lambda: wait(0), lambda: wait(1), wake)
        results.add((got[0], got[1]))

    outcomes_of(test, Level.RACY)
    assert results == {(False, False), (True, False), (False, True)}


def test_a_timeout_while_the_lock_is_held_is_not_one_while_it_is_free() -> None:
    # Woken by its timeout, a task that waits for a condition goes on at once or has to wait
    # for the lock: what the others did before matters.
    def test() -> None:
        condition = threading.Condition()

        def look() -> None:
            with condition:
                pass

        def wait() -> None:
            with condition:
                condition.wait(1.0)

        def wake_and_wait() -> None:
            with condition:
                condition.notify()
            wait()

        together(look, wait, wake_and_wait)

    assert outcomes_of(test, Level.ALL)[1] == {OutcomeKind.PASSED}


WAITS: dict[str, Callable[[threading.Condition, list[int]], object]] = {
    "wait": lambda condition, _: condition.wait(1.0),
    "wait for": lambda condition, given: condition.wait_for(lambda: bool(given), 1.0),
    "wait for ever": lambda condition, given: given or condition.wait(),
    "give": lambda condition, given: (given.append(1), condition.notify()),
    "give to all": lambda condition, given: (given.append(1), condition.notify_all()),
    "look": lambda _, given: len(given),
}


def results_of_waits(
    program: tuple[tuple[str, ...], ...], strategy: Strategy, most: int
) -> tuple[set[str], bool]:
    """What the tasks see of a condition in ``most`` executions, and whether that was all."""
    seen: list[str] = []

    def test() -> None:
        condition = threading.Condition()
        given: list[int] = []
        order: list[tuple[int, str, bool]] = []

        def run(me: int) -> None:
            for name in program[me]:
                with condition:
                    order.append((me, name, bool(WAITS[name](condition, given))))

        together(*[lambda me=me: run(me) for me in range(len(program))])
        seen.append(repr(order))

    results: set[str] = set()
    with threads_runtime(test, Settings(), Level.SYNC, Scope()) as runtime:
        for _ in range(most):
            plan = strategy.next_plan()
            if plan is None:
                return results, True
            seen.clear()
            trace = runtime.execute(plan).trace
            assert trace.divergence is None
            results.add(seen[0] if seen else trace.outcome.kind.name)
            strategy.observe(trace)
    return results, strategy.next_plan() is None


@few
@given(
    st.lists(
        st.lists(st.sampled_from(sorted(WAITS)), min_size=1, max_size=2).map(tuple),
        min_size=2,
        max_size=3,
    ).map(tuple)
)
def test_waits_with_timeouts_have_all_their_results(program: tuple[tuple[str, ...], ...]) -> None:
    reduced, is_all = results_of_waits(program, OptimalReduction(), 600)
    if not is_all:
        return
    sampled, _ = results_of_waits(program, RandomWalk(1), 150)
    assert sampled <= reduced
    every, is_all = results_of_waits(program, DepthFirst(), 300)
    assert every == reduced if is_all else every <= reduced


def test_what_follows_a_sleep_is_reduced_again() -> None:
    values: set[int] = set()

    def test() -> None:
        counter = Counter()

        def sleep_and_add() -> None:
            time.sleep(0.1)
            counter.increment()

        together(sleep_and_add, sleep_and_add)
        values.add(counter.value)

    executions, _ = outcomes_of(test, Level.RACY)
    assert values == {1, 2}
    # Every order of all steps from the first sleep on takes more than 800.
    assert executions < 100
