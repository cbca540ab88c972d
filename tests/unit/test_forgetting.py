"""An execution that forgets its first steps goes on as it would have."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from bohrbug.exploration.options import ExploreOptions
from bohrbug.model.outcome import Outcome
from bohrbug.model.plan import Plan
from bohrbug.platforms.threads.platform import live_runtime_of
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.forgetting import forget_steps
from bohrbug.runtime.threads.growing import Regrowing
from bohrbug.runtime.threads.task import Task


class _Forgetting(Regrowing):
    """Forgets all but the last steps, again and again."""

    def __init__(self, kept: int) -> None:
        super().__init__(())
        self._kept = kept
        self.forgotten = 0
        self.outcomes: list[Outcome] = []

    def visit(self, execution: Execution, step: int, enabled: Sequence[Task]) -> int:
        if self._kept and step >= 2 * self._kept:
            self.forgotten += step - self._kept
            forget_steps(execution, step - self._kept)
            step = execution.steps
        return step + 7


def _executed(program: Any, done: list[Any], kept: int) -> tuple[_Forgetting, list[Any]]:
    visitor = _Forgetting(kept)
    options = ExploreOptions(max_steps=10**9, timeouts="late", hang_seconds=0.0)
    runtime = live_runtime_of(lambda: program(done), options, visitor)
    visitor.growing.runtime = runtime
    with runtime:
        runtime.rewrite_first([program.__code__])
        trace = runtime.execute(Plan(conditions=options.conditions()), learn=False).trace
        assert not trace.outcome.is_failure, trace.outcome
        return visitor, list(trace.choices)


def _same(program: Any, kept: int) -> None:
    """What a program does, and its last steps, are the same whether or not it forgets."""
    whole: list[Any] = []
    short: list[Any] = []
    _, all_choices = _executed(program, whole, 0)
    visitor, last_choices = _executed(program, short, kept)
    assert short == whole
    assert visitor.forgotten
    assert visitor.forgotten + len(last_choices) == len(all_choices)
    assert all_choices[visitor.forgotten :] == last_choices


def _run(*works: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_time_slices_end_when_they_would() -> None:
    def program(done: list[Any]) -> None:
        lock = threading.Lock()

        def work(own: int) -> None:
            for number in range(4_000):
                with lock:
                    if number % 100 == 0:
                        done.append(own)

        _run(lambda: work(1), lambda: work(2))

    _same(program, 700)


def test_sleeps_end_when_they_would() -> None:
    def program(done: list[Any]) -> None:
        lock = threading.Lock()

        def work() -> None:
            for number in range(40_000):
                with lock:
                    if number % 1_000 == 0:
                        done.append(number)

        def sleep() -> None:
            for _ in range(4):
                time.sleep(0.15)
                done.append("awake")

        _run(work, sleep)

    _same(program, 900)


def test_who_has_ended_is_known() -> None:
    """Nobody has waited for these threads: what the only task that is left asks may come before."""

    def program(done: list[Any]) -> None:
        numbers: queue.Queue[int] = queue.Queue()

        def work() -> None:
            for number in range(100):
                numbers.put(number)

        for _ in range(3):
            threading.Thread(target=work).start()
            time.sleep(1.0)
            for _ in range(100):
                # A step, unless nobody can have changed it by then.
                done.append(numbers.unfinished_tasks)

    _same(program, 50)
