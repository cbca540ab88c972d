"""Partial-order reduction on real threads under control."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings

from bohrbug.exploration.subject import threads_subject
from bohrbug.model.outcome import OutcomeKind
from bohrbug.runtime.threads.execution import Settings
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.runtime import Level
from bohrbug.search.bounded_dpor import BoundedReduction
from bohrbug.search.dpor import OptimalReduction
from tests.property.test_threads_against_brute_force import (
    Program,
    brute_force,
    explored,
    programs,
)

few = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@few
@given(programs)
def test_optimal_reduction_finds_exactly_all_outcomes(program: Program) -> None:
    strategy = OptimalReduction()
    outcomes = explored(program, strategy, 4_000)
    assert outcomes == brute_force(program)
    assert strategy.redundant == 0


@few
@given(programs)
def test_bounded_reduction_without_a_bound_finds_exactly_all_outcomes(program: Program) -> None:
    outcomes = explored(program, BoundedReduction(None), 300)
    if outcomes is not None:
        assert outcomes == brute_force(program)


class Counter:
    def __init__(self) -> None:
        self.value = 0

    def add(self) -> None:
        seen = self.value
        self.value = seen + 1


def run_all(*functions: Callable[[], object]) -> None:
    """In threads, at the same time."""
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def outcomes_of(test: Callable[[], object], level: Level) -> tuple[int, set[OutcomeKind]]:
    """Executions to exhaustion once the scheduling points are known, and their outcomes."""
    strategy = OptimalReduction()
    kinds: set[OutcomeKind] = set()
    executions = 0
    with threads_subject(test, Settings(), level, Scope()) as runtime:
        while (plan := strategy.next_plan()) is not None:
            executed = runtime.execute(plan)
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
        run_all(*[counter.add] * threads)
        assert counter.value == threads

    count, kinds = outcomes_of(test, level)
    assert count == executions
    assert kinds == {OutcomeKind.PASSED, OutcomeKind.ASSERTION}


@pytest.mark.parametrize(("threads", "sections", "orders"), [(2, 2, 6), (2, 3, 20), (3, 2, 90)])
def test_each_order_of_critical_sections_takes_one_execution(
    threads: int, sections: int, orders: int
) -> None:
    seen: set[tuple[int, ...]] = set()

    def test() -> None:
        lock = threading.Lock()
        order: list[int] = []

        def run(me: int) -> None:
            for _ in range(sections):
                with lock:
                    order.append(me)

        run_all(*[lambda me=me: run(me) for me in range(threads)])
        seen.add(tuple(order))

    count, _ = outcomes_of(test, Level.RACY)
    assert count == len(seen) == orders


def test_a_lost_update_of_nested_threads_is_found() -> None:
    def test() -> None:
        counter = Counter()
        run_all(lambda: run_all(counter.add, counter.add))
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


def test_conditions_and_timeouts() -> None:
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

        run_all(lambda: wait(0), lambda: wait(1), wake)
        results.add((got[0], got[1]))

    outcomes_of(test, Level.RACY)
    assert results == {(False, False), (True, False), (False, True)}
