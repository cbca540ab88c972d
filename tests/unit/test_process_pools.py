"""Pools of processes: their helpers are tasks, their workers run natively and need real time."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import bohrbug

FORK = multiprocessing.get_context("fork")
SPAWN = multiprocessing.get_context("spawn")


def in_a_daemon(function: Callable[[], object]) -> None:
    """Threads that it starts are daemons, too."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join()


def waits_for_an_answer() -> None:
    """The helper that brings the answer is a daemon, as in a background scheduler."""
    answered = threading.Event()
    pools: list[ProcessPoolExecutor] = []

    def use() -> None:
        pools.append(ProcessPoolExecutor(1, FORK))
        pools[0].submit(time.sleep, 0.2).add_done_callback(lambda future: answered.set())

    in_a_daemon(use)
    came = answered.wait(30)
    pools[0].shutdown()
    assert came


def gets_a_result(context: multiprocessing.context.BaseContext) -> None:
    with context.Pool(1) as pool:
        assert pool.apply_async(abs, (-3,)).get(timeout=30) == 3


@pytest.mark.parametrize(
    "test",
    [waits_for_an_answer, lambda: gets_a_result(FORK), lambda: gets_a_result(SPAWN)],
    ids=["executor", "fork", "spawn"],
)
def test_a_timeout_does_not_end_before_a_child_can_answer(test: Callable[[], None]) -> None:
    result = bohrbug.explore(test, executions=1, timeouts="late")
    assert not result.failures, result.failures[0].outcome.message


def test_workers_do_not_outlive_the_helper_that_would_end_them() -> None:
    kept: list[ProcessPoolExecutor] = []

    def leaves_its_pool() -> None:
        def use() -> None:
            kept.append(ProcessPoolExecutor(1, FORK))
            assert kept[-1].submit(abs, -3).result() == 3

        in_a_daemon(use)

    result = bohrbug.explore(leaves_its_pool, executions=1)
    assert not result.failures
    for worker in multiprocessing.active_children():
        worker.join(30)
        assert worker.exitcode is not None


def test_a_pool_that_is_older_than_the_exploration_works_in_each_execution() -> None:
    """With helpers of that execution; it is left as it was, to be used natively after."""
    pool = ProcessPoolExecutor(1, FORK)
    results = []

    def use() -> None:
        results.append(pool.submit(abs, -len(results)).result())

    for _ in range(2):
        result = bohrbug.explore(use, executions=2, strategy="random")
        assert not result.failures, result.failures[0].outcome.message
    assert results == list(range(len(results)))
    assert len(results) >= 4
    with pool:
        assert pool.submit(abs, -3).result() == 3


def test_a_pool_that_is_kept_ends_with_its_execution(tmp_path: Path) -> None:
    """Its workers are sent home, and the interpreter does not wait for its threads at its exit."""
    program = tmp_path / "program.py"
    program.write_text(
        "import multiprocessing, bohrbug\n"
        "kept = []\n"
        "def test():\n"
        "    kept.append(multiprocessing.Pool(1))\n"
        "    assert kept[-1].apply(abs, (-1,)) == 1\n"
        "if __name__ == '__main__':\n"
        "    print(bohrbug.explore(test, executions=3).verdict.kind.name)\n"
        "    print(len(kept) > 2, {worker.is_alive() for pool in kept for worker in pool._pool})\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "NO_FAILURE_FOUND\nTrue {False}\n", done.stdout
