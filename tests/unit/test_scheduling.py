"""The rules of scheduling, by small programs whose schedules are written down.

They hold with the accelerator and without: test_in_python.py runs them in pure Python, too.
"""

from __future__ import annotations

import queue
import sys
import threading
import time

import pytest

import bohrbug
from bohrbug.model.conditions import Level
from bohrbug.model.operation import ACQUIRE, GET, PUT, RELEASE
from bohrbug.model.outcome import REPEATED_YIELDS, TAKING, OutcomeKind
from bohrbug.model.plan import (
    Plan,
    Segments,
    UniformRandom,
)
from bohrbug.model.trace import Gate
from bohrbug.runtime.threads.control import current
from bohrbug.runtime.threads.pace import LONELY_STEPS, SPIN_READS, TIME_SLICE
from bohrbug.runtime.threads.synchronizers import place_of
from bohrbug.runtime.threads.task import TimeoutPolicy
from tests.programs.together import together
from tests.unit.schedules import (
    Box,
    Program,
    after_start,
    done_by,
    stretches,
    trace_of,
)

# -- scheduling points -----------------------------------------------------------------------------


def of_a_lock() -> None:
    lock = threading.Lock()
    with lock:
        pass
    lock.acquire()
    lock.locked()
    lock.release()


def of_a_reentrant_lock() -> None:
    lock = threading.RLock()
    with lock, lock:
        pass


def of_a_semaphore() -> None:
    semaphore = threading.Semaphore(1)
    with semaphore:
        pass
    semaphore.acquire(blocking=False)


def of_a_condition() -> None:
    condition = threading.Condition()
    with condition:
        pass
    with condition:
        condition.notify()
        condition.notify_all()


def of_an_event() -> None:
    event = threading.Event()
    event.set()
    event.wait()
    event.is_set()
    event.clear()


def of_a_queue() -> None:
    items: queue.Queue[int] = queue.Queue()
    items.put(1)
    items.put_nowait(2)
    items.get()
    items.get_nowait()
    items.task_done()
    items.empty()


def of_a_simple_queue() -> None:
    items: queue.SimpleQueue[int] = queue.SimpleQueue()
    items.put(1)
    items.get()
    items.empty()


def of_a_thread() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join(timeout=1)
    thread.is_alive()


def of_a_barrier() -> None:
    threading.Barrier(1).wait()


def of_the_clock() -> None:
    time.sleep(0)
    time.sleep(1)


@pytest.mark.parametrize(
    ("program", "operations"),
    [
        (of_a_lock, "acquire release acquire locked release"),
        (of_a_reentrant_lock, "acquire release"),
        (of_a_semaphore, "acquire release try_acquire"),
        (of_a_condition, "acquire release acquire notify notify release"),
        (of_an_event, "set wait is_set clear"),
        (of_a_queue, "put put get get task_done inspect"),
        (of_a_simple_queue, "put get inspect"),
        (of_a_thread, "spawn join is_alive"),
        (of_a_barrier, "wait"),
        (of_the_clock, "yield sleep"),
    ],
)
def test_what_is_a_scheduling_point(program: Program, operations: str) -> None:
    trace = trace_of(lambda: together(program, lambda: None))
    assert trace.outcome.kind is OutcomeKind.PASSED
    assert done_by(trace, "0.1") == f"begin {operations} end"
    assert done_by(trace, "0") == "spawn spawn join join"


def test_at_each_of_them_control_can_pass() -> None:
    def program() -> None:
        lock = threading.Lock()

        def take() -> None:
            with lock:
                pass

        together(take, lambda: None)

    # The release was announced, and is not done yet, when the other task runs.
    trace = trace_of(program, after_start(("0.1", 2), ("0.2", 2), ("0.1", 2)))
    assert stretches(trace)[1:4] == [("0.1", 2), ("0.2", 2), ("0.1", 2)]
    assert trace.operations[6].kind is RELEASE


# -- who can run -----------------------------------------------------------------------------------


def two_of_one_semaphore() -> None:
    semaphore = threading.Semaphore(1)

    def take() -> None:
        semaphore.acquire()
        semaphore.release()

    together(take, take)


def test_who_acquires_a_semaphore_of_no_value_waits_for_its_release() -> None:
    trace = trace_of(two_of_one_semaphore, after_start(("0.1", 2), ("0.2", 9)))
    assert trace.outcome.kind is OutcomeKind.PASSED
    # It begins, and can't go on; the non-preemptive policy lets the other go on to its end.
    assert stretches(trace)[:4] == [("0", 2), ("0.1", 2), ("0.2", 1), ("0.1", 2)]
    assert trace.enabled[5:7] == [("0.1",), ("0.1", "0.2")]


def test_a_gate_says_what_a_semaphore_or_a_queue_would_have_let_through() -> None:
    def program() -> None:
        semaphore = threading.Semaphore(0)
        items: queue.Queue[int] = queue.Queue(1)

        def take() -> None:
            semaphore.acquire(timeout=1)
            items.put_nowait(1)
            items.get_nowait()

        together(take, lambda: None)

    trace = trace_of(program, late_timeouts=True)
    gates = {trace.operations[step].kind: gate for step, gate in trace.gates.items()}
    assert gates[ACQUIRE] == Gate(False, True, True)
    assert gates[PUT] == Gate(False, True, False)
    assert gates[GET] == Gate(True, False, False)


def waiters_and_who_wakes_them() -> None:
    condition = threading.Condition()

    def wait() -> None:
        with condition:
            condition.wait()

    def wake() -> None:
        with condition:
            condition.notify()
        with condition:
            condition.notify()

    together(wait, wait, wake)


def test_a_condition_wakes_those_first_that_wait_the_longest() -> None:
    trace = trace_of(waiters_and_who_wakes_them)
    assert trace.outcome.kind is OutcomeKind.PASSED
    releases = [
        step
        for step, (task, operation) in enumerate(zip(trace.tasks, trace.operations, strict=True))
        if task == "0.3" and operation.kind is RELEASE
    ]
    # Behind each release one more can go on; before, as the lock is held, none.
    assert [trace.enabled[step] for step in releases] == [("0.3",), ("0.3",)]
    assert [trace.enabled[step + 1] for step in releases] == [
        ("0.1", "0.3"),
        ("0.1", "0.2", "0.3"),
    ]


def test_the_non_preemptive_policy_goes_round_robin() -> None:
    def program() -> None:
        lock, gate = threading.Lock(), threading.Event()

        def wait() -> None:
            gate.wait()

        def work() -> None:
            with lock:
                pass
            gate.set()

        together(wait, work, work)

    # The first waits; those created after it go on, and then it begins again with the oldest.
    order = [task for task, _ in stretches(trace_of(program))]
    assert order == ["0", "0.1", "0.2", "0.3", "0.1", "0"]


# -- yields ----------------------------------------------------------------------------------------


def one_waits_for_another(counts: bool) -> Program:
    def program() -> None:
        done: list[int] = []
        lock = threading.Lock()

        def wait() -> None:
            tries = 0
            while not done:
                time.sleep(0)
                tries += counts

        def work() -> None:
            with lock:
                pass
            with lock:
                pass
            done.append(1)

        together(wait, work)

    return program


def test_who_yields_where_it_stood_is_held_back_until_the_other_has_run() -> None:
    trace = trace_of(one_waits_for_another(counts=False), after_start(("0.2", 1), ("0.1", 500)))
    assert trace.outcome.kind is OutcomeKind.PASSED
    assert list(zip(trace.tasks, trace.enabled, trace.yielded, strict=True))[2:10] == [
        ("0.2", ("0.1", "0.2"), False),
        ("0.1", ("0.1", "0.2"), False),
        # The first yield: for all that is known, it may make progress.
        ("0.1", ("0.1", "0.2"), True),
        # It comes back to where it was.  The other had run before, but not since.
        ("0.2", ("0.2",), True),
        # One step of the other sets it free.
        *[("0.2", ("0.1", "0.2"), False)] * 4,
    ]


def test_who_is_held_back_waits_for_all_that_it_kept_waiting() -> None:
    def program() -> None:
        done: list[int] = []

        def wait() -> None:
            while len(done) < 2:
                time.sleep(0)

        def work() -> None:
            lock = threading.Lock()
            for _ in range(2):
                with lock:
                    pass
            done.append(1)

        together(wait, work, work)

    steps = (("0", 3), ("0.2", 1), ("0.3", 1), ("0.1", 2), ("0.2", 3), ("0.3", 1), ("0.1", 500))
    trace = trace_of(program, Plan((), Segments(steps)))
    assert list(zip(trace.tasks, trace.enabled, strict=True))[6:12] == [
        ("0.1", ("0.1", "0.2", "0.3")),
        *[("0.2", ("0.2", "0.3"))] * 3,
        ("0.3", ("0.2", "0.3")),
        ("0.1", ("0.1", "0.2", "0.3")),
    ]


def test_who_makes_progress_may_yield_a_few_times() -> None:
    trace = trace_of(one_waits_for_another(counts=True), after_start(("0.2", 1), ("0.1", 500)))
    assert trace.outcome.kind is OutcomeKind.PASSED
    assert stretches(trace)[1:4] == [("0.2", 1), ("0.1", 4), ("0.2", 5)]
    # The last time it is held back all the same, which is an assumption.
    assert [what.removeprefix(TAKING) for what in trace.uncontrolled.counts] == [REPEATED_YIELDS]
    assert trace.yielded[4:9] == [True, True, True, True, False]
    assert trace.enabled[7] == ("0.2",)


def test_a_yield_passes_control_where_nothing_is_preempted() -> None:
    def program() -> None:
        together(lambda: time.sleep(0), lambda: None)

    trace = trace_of(program)
    assert stretches(trace) == [("0", 2), ("0.1", 1), ("0.2", 2), ("0.1", 2), ("0", 2)]
    assert trace.preemptions() == []
    # Also where fairness holds nobody back.
    trace = trace_of(one_waits_for_another(counts=True), Plan(("0", "0", "0.2", "0.1")))
    assert (trace.enabled[4], trace.yielded[4]) == (("0.1", "0.2"), True)
    assert trace.tasks[4] == "0.2"


def test_yields_without_progress_let_time_pass() -> None:
    def program() -> None:
        done: list[int] = []

        def wait() -> None:
            while not done:
                time.sleep(0)

        def sleep() -> None:
            time.sleep(1)
            done.append(1)

        together(wait, sleep)

    trace = trace_of(program, late_timeouts=True)
    assert trace.outcome.kind is OutcomeKind.PASSED
    assert len(trace) < 100
    assert trace.virtual_time == 1.0


# -- time slices, spinning -------------------------------------------------------------------------


def test_who_has_had_a_time_slice_yields() -> None:
    def program() -> None:
        lock = threading.Lock()

        def work() -> None:
            for _ in range(TIME_SLICE):
                with lock:
                    pass

        together(work, lambda: None)

    trace = trace_of(program)
    lengths = stretches(trace)
    assert lengths[:3] == [("0", 2), ("0.1", TIME_SLICE), ("0.2", 2)]
    assert trace.yielded.index(True) == TIME_SLICE + 2


def test_a_time_slice_begins_with_each_change_of_control() -> None:
    def program() -> None:
        lock = threading.Lock()

        def work() -> None:
            for _ in range(TIME_SLICE // 2):
                with lock:
                    pass

        together(work, work)

    trace = trace_of(program, Plan((), UniformRandom(1)))
    assert len(trace) > TIME_SLICE
    # Stretches are short as long as both are there.
    ends = [max(s for s, task in enumerate(trace.tasks) if task == each) for each in ("0.1", "0.2")]
    assert min(ends) > TIME_SLICE
    assert True not in trace.yielded[: min(ends)]


def test_who_looks_again_and_again_yields() -> None:
    def program() -> None:
        event = threading.Event()

        def look() -> None:
            for _ in range(2 * SPIN_READS + 1):
                event.is_set()

        together(look, lambda: None)

    trace = trace_of(program)
    assert stretches(trace)[:3] == [("0", 2), ("0.1", 1 + 2 * SPIN_READS), ("0.2", 2)]
    assert trace.yielded[3 + 2 * SPIN_READS]


def test_who_makes_a_change_between_its_looks_does_not() -> None:
    def program() -> None:
        event, lock = threading.Event(), threading.Lock()

        def look() -> None:
            for number in range(4 * SPIN_READS):
                event.is_set()
                if number % 10 == 0:
                    with lock:
                        pass

        together(look, lambda: None)

    assert True not in trace_of(program).yielded


def test_who_reads_again_and_again_yields() -> None:
    def program() -> None:
        box = Box()

        def read() -> None:
            for _ in range(2 * SPIN_READS + 5):
                box.x

        def write() -> None:
            box.x = 1

        together(read, write)

    trace = trace_of(program, level=Level.ALL)
    assert stretches(trace)[1] == ("0.1", 1 + 2 * SPIN_READS)
    assert trace.yielded[3 + 2 * SPIN_READS]


def test_time_passes_for_a_task_that_is_alone_for_long() -> None:
    def program() -> None:
        done: list[int] = []
        lock = threading.Lock()

        def work() -> None:
            while not done:
                with lock:
                    pass

        def sleep() -> None:
            time.sleep(1)
            done.append(1)

        together(sleep, work)

    trace = trace_of(program, late_timeouts=True)
    assert trace.outcome.kind is OutcomeKind.PASSED
    assert LONELY_STEPS < len(trace) < LONELY_STEPS + 100
    assert trace.virtual_time == 1.0


# -- timeouts --------------------------------------------------------------------------------------


def two_sleep() -> None:
    def work() -> None:
        with threading.Lock():
            pass

    together(lambda: time.sleep(2), lambda: time.sleep(1), work)


def test_a_timeout_can_fire_at_any_time() -> None:
    trace = trace_of(two_sleep)
    assert ("0.1",) in trace.timed
    # Who begins to sleep gives control away.
    assert trace.yielded[trace.tasks.index("0.1") + 1]
    assert trace.preemptions() == []
    slept = [step for step, timed in enumerate(trace.timed) if trace.tasks[step] in timed]
    assert trace.early_timeouts == slept
    # Where nothing is enabled, the earliest one comes first, and moves the clock.
    assert [trace.tasks[step] for step in slept] == ["0.2", "0.1"]
    assert [trace.timed[step] for step in slept] == [("0.1", "0.2"), ("0.1",)]
    assert trace.virtual_time == 2.0


def test_a_late_timeout_fires_only_where_nothing_is_enabled() -> None:
    trace = trace_of(two_sleep, Plan((), UniformRandom(3)), late_timeouts=True)
    assert not any(
        timed for enabled, timed in zip(trace.enabled, trace.timed, strict=True) if enabled
    )
    fired = [timed for timed in trace.timed if timed]
    assert fired[0] == ("0.2",)
    assert trace.early_timeouts == []
    assert trace.virtual_time == 2.0


@pytest.mark.parametrize(("seconds", "is_late"), [(3, False), (1, True)])
def test_a_timeout_that_is_a_safety_net_does_not_fire_early(seconds: int, is_late: bool) -> None:
    """Nor beside others once it is due."""

    def program() -> None:
        def wait() -> None:
            execution = current.execution
            assert execution is not None
            state = execution.resources.state_named("net", "a safety net", "net")
            here = place_of(sys._getframe())
            execution.perform(ACQUIRE, state, here, lambda: False, 1.0, firing=TimeoutPolicy.LATE)

        together(wait, lambda: time.sleep(seconds))

    for seed in range(5):
        trace = trace_of(program, Plan((), UniformRandom(seed)), late_timeouts=is_late)
        assert trace.outcome.kind is OutcomeKind.PASSED
        fired = [step for step, task in enumerate(trace.tasks) if task in trace.timed[step]]
        assert all("0.1" not in trace.timed[s] for s in range(len(trace)) if trace.enabled[s])
        assert "0.1" in [trace.tasks[step] for step in fired]


@pytest.mark.parametrize("seed", range(5))
def test_a_plan_lets_the_same_timeouts_fire(seed: int) -> None:
    first = trace_of(two_sleep, Plan((), UniformRandom(seed)))
    second = trace_of(two_sleep, Plan(tuple(first.choices)))
    assert second.divergence is None
    assert second.choices == first.choices
    assert second.timed == first.timed


# -- plans -----------------------------------------------------------------------------------------


def test_a_plan_that_can_not_be_followed_is_given_up() -> None:
    trace = trace_of(
        lambda: together(lambda: None, lambda: None), Plan(("0", "0", "0.3", "0.2", "0.1"))
    )
    assert trace.divergence is not None
    assert (trace.divergence.step, trace.divergence.expected) == (2, "0.3")
    # From there on it is non-preemptive, whatever the plan had to say.
    assert stretches(trace) == [("0", 2), ("0.1", 2), ("0.2", 2), ("0", 2)]


@pytest.mark.parametrize("value", [2, 7, "0"])
def test_a_value_that_is_none_of_a_choice_is_given_up(value: int | str) -> None:
    seen: list[int] = []
    trace = trace_of(
        lambda: together(lambda: seen.append(bohrbug.choose(2)), lambda: None),
        Plan(("0", "0", "0.1", value)),
    )
    assert trace.divergence is not None
    assert trace.divergence.step == 3
    assert seen == [0]


def test_a_value_of_a_choice_is_followed() -> None:
    seen: list[int] = []
    trace = trace_of(
        lambda: together(lambda: seen.append(bohrbug.choose(3)), lambda: None),
        Plan(("0", "0", "0.1", 2)),
    )
    assert trace.divergence is None
    assert seen == [2]
