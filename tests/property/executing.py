"""Executes random programs, given line by line, and prints their traces: run as a process.

Two such processes, one with the accelerator and one without, must print the same.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import bohrbug
from bohrbug.exploration.learning import Learner
from bohrbug.model.conditions import Conditions, Level
from bohrbug.model.happens_before import state_hashes
from bohrbug.model.operation import Operation
from bohrbug.model.plan import Plan
from bohrbug.model.serialise import trace_to_json
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from bohrbug.search.registry import Options, strategy_named
from tests.property.loop_actions import LOOP_ACTIONS, loop_program

COUNTER = 0


class Shared:
    def __init__(self) -> None:
        self.x = 0
        self.locks = (threading.Lock(), threading.Lock())
        self.reentrant = threading.RLock()
        self.changed = threading.Condition()
        self.event = threading.Event()
        self.queue: queue.Queue[int] = queue.Queue()
        self.bounded: queue.Queue[int] = queue.Queue(1)
        self.room = threading.Semaphore(1)
        self.items: list[int] = [0, 0]
        self.table: dict[str, int] = {"a": 0}


def add(shared: Shared, value: int) -> None:
    shared.x = shared.x + value


def add_global(shared: Shared, value: int) -> None:
    global COUNTER
    COUNTER += value


def add_item(shared: Shared, value: int) -> None:
    shared.items[value % 2] += 1
    shared.items.append(value)


def add_to_table(shared: Shared, value: int) -> None:
    shared.table["a"] = shared.table["a"] + value
    shared.table[str(value)] = value


def in_closure(shared: Shared, value: int) -> None:
    count = 0

    def increment() -> None:
        nonlocal count
        count += value

    threads = [threading.Thread(target=increment) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def locked(shared: Shared, value: int) -> None:
    with shared.locks[value % 2]:
        shared.x += 1


def nested(shared: Shared, value: int) -> None:
    with shared.locks[value % 2], shared.locks[1 - value % 2]:
        shared.x += 1


def acquired(shared: Shared, value: int) -> None:
    lock = shared.locks[value % 2]
    lock.acquire()
    shared.x += 1
    lock.release()


def tried(shared: Shared, value: int) -> None:
    lock = shared.locks[value % 2]
    if lock.acquire(blocking=False):
        lock.release()
    elif lock.locked():
        shared.x += 1


def timed(shared: Shared, value: int) -> None:
    lock = shared.locks[value % 2]
    if lock.acquire(timeout=0.5):
        shared.x += 1
        lock.release()


def reentrant(shared: Shared, value: int) -> None:
    with shared.reentrant, shared.reentrant:
        shared.x += 1


def waits(shared: Shared, value: int) -> None:
    with shared.changed:
        shared.changed.wait(None if value % 2 else 1.0)


def waits_for_more(shared: Shared, value: int) -> None:
    with shared.changed:
        shared.changed.wait_for(lambda: shared.x > value, 1.0)


def enters_in_time(shared: Shared, value: int) -> None:
    if shared.room.acquire(timeout=1.0 + value):
        shared.x += 1
        shared.room.release()


def notifies(shared: Shared, value: int) -> None:
    with shared.changed:
        shared.changed.notify_all()


def sets(shared: Shared, value: int) -> None:
    shared.event.set()


def waits_for_event(shared: Shared, value: int) -> None:
    shared.event.wait(None if value % 2 else 1.0)


def puts(shared: Shared, value: int) -> None:
    shared.queue.put(value)


def gets(shared: Shared, value: int) -> None:
    shared.x += shared.queue.get()


def puts_into_bounded(shared: Shared, value: int) -> None:
    try:
        shared.bounded.put(value, timeout=1.0 if value % 2 else None)
    except queue.Full:
        shared.x += 1


def gets_from_bounded(shared: Shared, value: int) -> None:
    try:
        shared.bounded.get_nowait()
    except queue.Empty:
        shared.x += 1


def enters(shared: Shared, value: int) -> None:
    with shared.room:
        shared.x += 1


def sleeps(shared: Shared, value: int) -> None:
    time.sleep(value)


def chooses(shared: Shared, value: int) -> None:
    shared.x += bohrbug.choose(2)


def spins(shared: Shared, value: int) -> None:
    for _ in range(60):
        if shared.x:
            return
        time.sleep(0)


def looks(shared: Shared, value: int) -> None:
    for _ in range(120):
        if shared.event.is_set() or shared.x:
            return


def fails(shared: Shared, value: int) -> None:
    if shared.x > 1:
        raise ValueError("x is more than one")


ACTIONS = {
    action.__name__: action
    for action in (
        *(add, add_global, add_item, add_to_table, in_closure, locked, nested, acquired, tried),
        *(timed, reentrant, waits, notifies, sets, waits_for_event, puts, gets, enters, sleeps),
        *(waits_for_more, enters_in_time),
        *(puts_into_bounded, gets_from_bounded, chooses, spins, looks, fails),
    )
}


def work(shared: Shared, actions: list[list[Any]]) -> None:
    for name, value in actions:
        ACTIONS[name](shared, value)


def program(threads: list[list[list[Any]]]) -> None:
    global COUNTER
    COUNTER = 0
    shared = Shared()
    workers = [
        threading.Thread(target=work, args=(shared, actions), daemon=bool(number == 3))
        for number, actions in enumerate(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        if not worker.daemon:
            worker.join()


def _operation(operation: Operation) -> tuple[str, str, str]:
    return operation.kind.name, operation.resource, str(site_of(operation.place))


def described(trace: Trace) -> dict[str, Any]:
    """All fields of a trace but the time it took, and its hashes."""
    hashes = state_hashes(trace)
    data = trace_to_json(trace)
    data["seconds"] = 0
    # Python 3.11 may make a call in either of two instructions of the same site, so that
    # operations are compared by their sites, and not as numbers into a table.
    del data["operation_table"]
    data["operations"] = [_operation(operation) for operation in trace.operations]
    data["final_pending"] = {
        task: _operation(operation) for task, operation in trace.final_pending.items()
    }
    data["races"] = [
        (
            race.label,
            race.count,
            _operation(race.first.operation),
            _operation(race.second.operation),
        )
        for race in trace.races
    ]
    outcome = trace.outcome
    data["outcome"] = [outcome.kind.value, outcome.message, outcome.task, outcome.cycle]
    data["hashes"] = hashes
    data["early timeouts"] = trace.early_timeouts
    data["gates"] = sorted(trace.gates.items())
    data["effects"] = trace.effects
    data["steps"] = len(trace)
    data["tasks in all"] = trace.task_count
    data["preemptions"] = trace.preemptions()
    return data


def function_of(request: dict[str, Any]) -> Callable[[], object]:
    """The program that a request is about: of threads, or of the tasks of an event loop."""
    if "loop" in request:
        return lambda: loop_program(request["loop"])
    return lambda: program(request["threads"])


def traces(request: dict[str, Any]) -> list[dict[str, Any]]:
    """What the executions of an exploration did."""
    strategy = strategy_named(
        request["strategy"], Options(executions=request["executions"], seed=request["seed"])
    )
    conditions = Conditions(late_timeouts=request["late"], max_steps=2_000, gil=request["gil"])
    results = []
    runtime = threads_runtime(function_of(request), Settings(), Level(request["level"]), Scope())
    with runtime:
        learner = Learner(runtime, conditions)
        results += [described(learner.execute(Plan()).trace) for _ in range(3)]
        for _ in range(request["executions"]):
            plan = strategy.next_plan()
            if plan is None:
                break
            executed = learner.execute(plan)
            strategy.observe(executed.trace)
            results.append(described(executed.trace))
            if executed.new_points:
                strategy.restart()
    return results


def know_functions() -> None:
    """Let each action be executed once: what is called for the first time makes a search restart.

    What that is depends on what the accelerator does in C.
    """
    usual = {"strategy": "random", "executions": 5, "seed": 0, "late": True, "gil": False}
    for name in ACTIONS:
        for threads in ([[(name, 0)], [(name, 1)]], [[(name, 0), (name, 1)]]):
            traces({**usual, "level": "racy", "threads": threads})
    for name in LOOP_ACTIONS:
        traces({**usual, "level": "racy", "loop": [[(name, 1)], [(name, 2)]]})


def main() -> None:
    know_functions()
    for line in sys.stdin:
        print(json.dumps(traces(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
