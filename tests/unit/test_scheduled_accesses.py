"""Accesses to data: where they are scheduling points, what orders them, and who decides.

As test_scheduling.py, it is run in pure Python, too.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import cast

import pytest

from bohrbug.exploration.learning import Learner
from bohrbug.model.conditions import Conditions, Level
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import (
    PartialOrder,
    Plan,
    Policy,
    Priorities,
    UniformRandom,
    WeightedRandom,
)
from bohrbug.model.trace import Trace
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.policies.in_c import Drawn, reference_decider
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from tests.deciding import View
from tests.programs.together import together
from tests.unit.schedules import (
    Box,
    Program,
    after_start,
    done_by,
    executed,
    find_points,
    trace_of,
)

# -- the GIL ---------------------------------------------------------------------------------------


def of_several() -> None:
    lock, event = threading.Lock(), threading.Event()
    with lock:
        pass
    event.set()
    with lock:
        pass


def test_with_the_gil_what_is_done_in_c_is_no_point_of_its_own() -> None:
    def program() -> None:
        together(of_several, lambda: None)

    assert done_by(trace_of(program), "0.1") == "begin acquire release set acquire release end"
    trace = trace_of(program, gil=True)
    # A thread can be switched where it begins, and where a method in Python does.
    assert done_by(trace, "0.1") == "begin acquire set acquire end"
    # The release belongs to the step of the acquisition.
    lock = trace.operations[3].resource
    assert (3, "0.1", lock, True) in trace.effects


def test_with_the_gil_an_access_is_no_point_of_its_own() -> None:
    def program() -> None:
        box = Box()

        def add() -> None:
            box.x += 1
            box.x += 1

        together(add, add)

    assert done_by(trace_of(program, level=Level.ALL), "0.1") == "begin read write read write end"
    assert done_by(trace_of(program, level=Level.ALL, gil=True), "0.1") == "begin read end"


def test_preemptions_that_need_a_build_without_the_gil_are_told() -> None:
    def program() -> None:
        together(of_several, lambda: None)

    # Between the acquisition and the release, and before the set.
    without = executed(program, after_start(("0.1", 2), ("0.2", 1)), breakers=True)
    assert without.free_threaded_only_steps == (4,)
    within = executed(program, after_start(("0.1", 3), ("0.2", 1)), breakers=True)
    assert within.free_threaded_only_steps == ()


# -- what orders accesses --------------------------------------------------------------------------


def handed_over_by_a_lock(box: Box) -> tuple[Program, Program]:
    lock = threading.Lock()

    def first() -> None:
        with lock:
            box.x = 1

    def second() -> None:
        with lock:
            box.x = 2

    return first, second


def handed_over_by_a_reentrant_lock(box: Box) -> tuple[Program, Program]:
    lock = threading.RLock()

    def work() -> None:
        with lock, lock:
            box.x += 1

    return work, work


def handed_over_by_an_event(box: Box) -> tuple[Program, Program]:
    event = threading.Event()

    def first() -> None:
        box.x = 1
        event.set()

    def second() -> None:
        event.wait()
        box.x = 2

    return first, second


def handed_over_by_a_semaphore(box: Box) -> tuple[Program, Program]:
    semaphore = threading.Semaphore(0)

    def first() -> None:
        box.x = 1
        semaphore.release()

    def second() -> None:
        semaphore.acquire()
        box.x = 2

    return first, second


def handed_over_by_a_queue(box: Box) -> tuple[Program, Program]:
    items: queue.Queue[int] = queue.Queue()

    def first() -> None:
        box.x = 1
        items.put(1)

    def second() -> None:
        items.get()
        box.x = 2

    return first, second


def handed_over_by_a_simple_queue(box: Box) -> tuple[Program, Program]:
    items: queue.SimpleQueue[int] = queue.SimpleQueue()

    def first() -> None:
        box.x = 1
        items.put(1)

    def second() -> None:
        items.get()
        box.x = 2

    return first, second


def handed_over_by_a_notify(box: Box) -> tuple[Program, Program]:
    condition = threading.Condition()
    said: list[int] = []

    def first() -> None:
        with condition:
            box.x = 1
            said.append(1)
            condition.notify()

    def second() -> None:
        with condition:
            while not said:
                condition.wait()
            box.x = 2

    return first, second


def handed_over_by_a_wait(box: Box) -> tuple[Program, Program]:
    """Nothing but the wait gives the lock back before the other takes it."""
    condition = threading.Condition()

    def first() -> None:
        with condition:
            box.x = 1
            condition.wait(1)

    def second() -> None:
        with condition:
            box.x = 2
            condition.notify()

    return first, second


def handed_over_by_a_barrier(box: Box) -> tuple[Program, Program]:
    barrier = threading.Barrier(2)

    def first() -> None:
        box.x = 1
        barrier.wait()

    def second() -> None:
        barrier.wait()
        box.x = 2

    return first, second


def handed_over_by_a_thread(box: Box) -> tuple[Program, Program]:
    def inner() -> None:
        box.x = 2

    def first() -> None:
        box.x = 1
        thread = threading.Thread(target=inner)
        thread.start()
        thread.join()
        box.x = 3

    return first, lambda: None


def handed_over_by_nothing(box: Box) -> tuple[Program, Program]:
    def work() -> None:
        box.x = 1

    return work, work


def handed_over_by_another_lock(box: Box) -> tuple[Program, Program]:
    def work() -> None:
        with threading.Lock():
            box.x = 1

    return work, work


def handed_over_by_a_look(box: Box) -> tuple[Program, Program]:
    """To look at an event orders nothing with what another does before it looks."""
    event = threading.Event()

    def first() -> None:
        box.x = 1
        event.is_set()

    def second() -> None:
        event.is_set()
        box.x = 2

    return first, second


PLANS = [Plan(), *(Plan((), UniformRandom(seed)) for seed in range(6))]


def races(make: Callable[[Box], tuple[Program, Program]]) -> set[bool]:
    """Whether there are races in executions of several plans."""

    def program() -> None:
        together(*make(Box()))

    with threads_runtime(program, Settings(), Level.RACY, Scope()) as runtime:
        learner = Learner(runtime, Conditions())
        find_points(learner)
        traces = [learner.execute(plan).trace for plan in PLANS]
    assert {trace.outcome.kind for trace in traces} == {OutcomeKind.PASSED}
    return {bool(trace.races) for trace in traces}


@pytest.mark.parametrize(
    "make",
    [
        handed_over_by_a_lock,
        handed_over_by_a_reentrant_lock,
        handed_over_by_an_event,
        handed_over_by_a_semaphore,
        handed_over_by_a_queue,
        handed_over_by_a_simple_queue,
        handed_over_by_a_notify,
        handed_over_by_a_wait,
        handed_over_by_a_barrier,
        handed_over_by_a_thread,
    ],
)
def test_what_is_handed_over_is_no_race(make: Callable[[Box], tuple[Program, Program]]) -> None:
    assert races(make) == {False}


@pytest.mark.parametrize(
    "make", [handed_over_by_nothing, handed_over_by_another_lock, handed_over_by_a_look]
)
def test_what_is_not_handed_over_is(make: Callable[[Box], tuple[Program, Program]]) -> None:
    assert races(make) == {True}


# -- policies, with the accelerator as without -----------------------------------------------------


def three_tasks() -> None:
    box, lock = Box(), threading.Lock()

    def add() -> None:
        box.x += 1
        with lock:
            box.x += 1
        box.x

    together(add, add, add)


def chosen_in_python(trace: Trace) -> list[str]:
    """Who runs by the executor of a trace's policy in Python."""
    decider = reference_decider(cast("Drawn", trace.plan.policy))
    ids = sorted({*trace.tasks})
    running = View("0", 0)
    made = []
    for step, enabled in enumerate(trace.enabled):
        assert not trace.timed[step]
        pending = trace.pending(step)
        views = [View(task, ids.index(task), pending[task]) for task in enabled]
        running = decider.choose(running, views, [], trace.yielded[step], step)
        made.append(running.id)
    return made


@pytest.mark.parametrize(
    "policy",
    [
        lambda seed: Priorities(seed, 4, 25),
        lambda seed: PartialOrder(seed, None),
        lambda seed: WeightedRandom(seed, (("0.1", 9), ("0.2", 3), ("0.3", 1))),
        UniformRandom,
    ],
    ids=["pct", "pos", "surw", "random"],
)
def test_policies_choose_in_c_as_they_do_in_python(policy: Callable[[int], Policy]) -> None:
    with threads_runtime(three_tasks, Settings(), Level.ALL, Scope()) as runtime:
        learner = Learner(runtime, Conditions())
        find_points(learner)
        traces = [learner.execute(Plan((), policy(seed))).trace for seed in range(12)]
    for trace in traces:
        assert chosen_in_python(trace) == trace.tasks
    assert len({tuple(trace.tasks) for trace in traces}) > 6
