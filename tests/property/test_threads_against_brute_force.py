"""Real threads under control: the outcomes found equal those of all interleavings.

Programs are random: two to four threads that read and write attributes of one
object, take two locks and wait on a condition.  A model executes every
interleaving of the same program; what the strategies find on the real program
must be exactly that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, partial
from typing import Any

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
from bohrbug.search.delay_bounding import DelayBounding
from bohrbug.search.dfs import DepthFirst
from bohrbug.search.pos import PartialOrderSampling
from bohrbug.search.preemption_bounding import PreemptionBounding
from bohrbug.search.reads_from import ReadsFromFuzzing
from bohrbug.search.surw import SelectivelyUniform
from bohrbug.search.uniform import UniformSampling
from tests.programs.together import together
from tests.thoroughness import examples

Operation = tuple[str, int]
Program = tuple[tuple[Operation, ...], ...]


class Shared:
    def __init__(self) -> None:
        self.x = 0
        self.y = 0
        self.locks = (threading.Lock(), threading.Lock())


def write_x(shared: Shared, local: int, value: int) -> int:
    shared.x = value
    return local


def add_x(shared: Shared, local: int, value: int) -> int:
    shared.x = shared.x + value
    return local


def copy_x_to_y(shared: Shared, local: int, value: int) -> int:
    shared.y = shared.x
    return local


def locked_add(shared: Shared, local: int, value: int) -> int:
    with shared.locks[value % 2]:
        shared.y = shared.y + 1
    return local


def nested_locks(shared: Shared, local: int, value: int) -> int:
    with shared.locks[value % 2], shared.locks[1 - value % 2]:
        shared.y = shared.y + 1
    return local


def try_lock(shared: Shared, local: int, value: int) -> int:
    if shared.locks[value % 2].acquire(blocking=False):
        shared.locks[value % 2].release()
        return local
    return local + 1


REAL: dict[str, Callable[[Shared, int, int], int]] = {
    "write x": write_x,
    "add x": add_x,
    "copy": copy_x_to_y,
    "locked": locked_add,
    "nested": nested_locks,
    "try": try_lock,
}

# The same operations as atomic steps of a model: each is (action, argument).
STEPS: dict[str, Callable[[int], tuple[tuple[str, Any], ...]]] = {
    "write x": lambda v: (("store", ("x", v)),),
    "add x": lambda v: (("load", "x"), ("store sum", ("x", v))),
    "copy": lambda v: (("load", "x"), ("store sum", ("y", 0))),
    "locked": lambda v: (
        ("lock", v % 2),
        ("load", "y"),
        ("store sum", ("y", 1)),
        ("unlock", v % 2),
    ),
    "nested": lambda v: (
        ("lock", v % 2),
        ("lock", 1 - v % 2),
        ("load", "y"),
        ("store sum", ("y", 1)),
        ("unlock", 1 - v % 2),
        ("unlock", v % 2),
    ),
    "try": lambda v: (("try", v % 2), ("unlock if", v % 2)),
}


def brute_force(program: Program) -> set[Any]:
    """Final states of all interleavings; ``"deadlock"`` stands for those that get stuck."""
    threads = [
        [step for name, value in thread for step in STEPS[name](value)] for thread in program
    ]
    outcomes: set[Any] = set()

    @cache
    def visit(
        positions: tuple[int, ...],
        variables: tuple[int, int],
        locks: tuple[int, int],
        loaded: tuple[int, ...],
        failed: tuple[int, ...],
    ) -> None:
        moved = False
        for thread, steps in enumerate(threads):
            if positions[thread] == len(steps):
                continue
            action, argument = steps[positions[thread]]
            x_y, held, values, misses = list(variables), list(locks), list(loaded), list(failed)
            if action == "lock":
                if held[argument]:
                    continue
                held[argument] = thread + 1
            elif action == "unlock":
                held[argument] = 0
            elif action == "try":
                if held[argument]:
                    misses[thread] += 1
                else:
                    held[argument] = thread + 1
            elif action == "unlock if":
                if held[argument] == thread + 1:
                    held[argument] = 0
            elif action == "load":
                values[thread] = x_y["xy".index(argument)]
            elif action == "store":
                x_y["xy".index(argument[0])] = argument[1]
            elif action == "store sum":
                x_y["xy".index(argument[0])] = values[thread] + argument[1]
            moved = True
            after = list(positions)
            after[thread] += 1
            visit(tuple(after), (x_y[0], x_y[1]), (held[0], held[1]), tuple(values), tuple(misses))
        if not moved:
            if all(p == len(steps) for p, steps in zip(positions, threads, strict=True)):
                outcomes.add((variables, failed))
            else:
                outcomes.add("deadlock")

    number = len(threads)
    visit((0,) * number, (0, 0), (0, 0), (0,) * number, (0,) * number)
    return outcomes


def explored(program: Program, strategy: Any, most: int) -> tuple[set[Any], bool]:
    """Outcomes that a strategy finds on real threads, and whether it came to its end."""
    found: list[Any] = []

    def test() -> None:
        shared = Shared()
        failed = [0] * len(program)

        def run(thread: int) -> None:
            local = 0
            for name, value in program[thread]:
                local = REAL[name](shared, local, value)
            failed[thread] = local

        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(program))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found.append(((shared.x, shared.y), tuple(failed)))

    outcomes: set[Any] = set()
    with threads_runtime(test, Settings(), Level.ALL, Scope()) as runtime:
        learner = Learner(runtime, Conditions())
        executions = 0
        quiet = 0
        while quiet < 2:
            quiet = 0 if learner.execute(Plan()).new_points else quiet + 1
        while True:
            plan = strategy.next_plan()
            if plan is None:
                return outcomes, True
            found.clear()
            executed = learner.execute(plan)
            trace = executed.trace
            assert trace.divergence is None
            if executed.new_points:
                strategy.restart()
                continue
            if trace.outcome.kind is OutcomeKind.DEADLOCK:
                outcomes.add("deadlock")
            else:
                assert trace.outcome.kind is OutcomeKind.PASSED, trace.outcome
                outcomes.add(found[0])
            strategy.observe(trace)
            executions += 1
            if executions > most:
                return outcomes, False


def check(program: Program, strategy: Any, most: int = 2_000) -> None:
    """That a strategy finds all outcomes and nothing else, the former if it comes to its end."""
    outcomes, is_done = explored(program, strategy, most)
    expected = brute_force(program)
    assert outcomes <= expected
    assert outcomes == expected or not is_done


operations = st.tuples(st.sampled_from(sorted(REAL)), st.integers(0, 2))
# Few enough schedules that a search which executes each of them comes to its end.
short = st.tuples(st.sampled_from(["write x", "add x", "copy"]), st.integers(0, 2))
small_programs = st.one_of(
    st.tuples(st.tuples(operations), st.tuples(operations)),
    st.tuples(st.lists(short, min_size=2, max_size=2).map(tuple), st.tuples(short)),
)
programs = st.one_of(
    st.tuples(
        st.lists(operations, min_size=1, max_size=2).map(tuple),
        st.lists(operations, min_size=1, max_size=2).map(tuple),
    ),
    st.tuples(*[st.lists(operations, min_size=1, max_size=1).map(tuple)] * 3),
)


@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
@given(small_programs)
def test_depth_first_search_finds_exactly_all_outcomes(program: Program) -> None:
    check(program, DepthFirst())


@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_preemption_bounding_with_caching_finds_exactly_all_outcomes(program: Program) -> None:
    check(program, PreemptionBounding(None))


@settings(max_examples=examples(5), deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_delay_bounding_with_caching_finds_exactly_all_outcomes(program: Program) -> None:
    check(program, DelayBounding(None))


@settings(max_examples=examples(5), deadline=None, suppress_health_check=list(HealthCheck))
@given(small_programs)
def test_uniform_sampling_finds_exactly_all_outcomes(program: Program) -> None:
    check(program, UniformSampling(1))


@pytest.mark.parametrize("strategy", [PartialOrderSampling, SelectivelyUniform, ReadsFromFuzzing])
def test_samplers_find_exactly_all_outcomes_of_small_programs(strategy: Any) -> None:
    # With a fixed seed and many more executions than there are outcomes.
    for program in (
        ((("add x", 1),), (("add x", 2),), (("add x", 1),)),
        ((("add x", 1), ("copy", 0)), (("write x", 2), ("locked", 1))),
        ((("nested", 0),), (("nested", 1),)),
        ((("try", 0), ("copy", 0)), (("try", 0), ("add x", 1))),
    ):
        outcomes, is_done = explored(program, strategy(2, executions=300), 4_000)
        assert is_done
        assert outcomes == brute_force(program)


def critical_sections(threads: int, sections: int) -> tuple[int, ...]:
    """The order in which some threads enter critical sections of one lock, a few times each."""
    lock = threading.Lock()
    order: list[int] = []

    def run(me: int) -> None:
        for _ in range(sections):
            with lock:
                order.append(me)

    together(*[partial(run, me) for me in range(threads)])
    return tuple(order)


@pytest.mark.parametrize(("threads", "sections", "orders"), [(2, 2, 6), (2, 3, 20), (3, 2, 90)])
def test_all_orders_of_critical_sections_are_reached(
    threads: int, sections: int, orders: int
) -> None:
    seen: set[tuple[int, ...]] = set()

    def test() -> None:
        seen.add(critical_sections(threads, sections))

    strategy = PreemptionBounding(None)
    with threads_runtime(test, Settings(), Level.RACY, Scope()) as runtime:
        learner = Learner(runtime, Conditions())
        for _ in range(3):
            learner.execute(Plan())
        while (plan := strategy.next_plan()) is not None:
            strategy.observe(learner.execute(plan).trace)
    assert len(seen) == orders
