"""What is told of event loops in threads that are ended with the execution: nothing."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

import bohrbug

PROJECT = Path(__file__).parents[2]


def _in_a_daemon_thread() -> None:
    """A program that ends wherever the loop of its daemon thread may be by then."""

    async def main() -> None:
        await asyncio.sleep(0.01)

    gc.collect()  # What the execution before has left dies now.
    threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()


def _stopped_in_a_daemon_thread() -> None:
    stop = threading.Event()

    async def main() -> None:
        while not stop.is_set():
            await asyncio.sleep(0.01)

    threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
    stop.set()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("test", [_in_a_daemon_thread, _stopped_in_a_daemon_thread])
def test_loops_that_are_ended_leave_no_complaints(
    test: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(str(unraisable)))
    result = bohrbug.explore(test, executions=100, seconds=None)
    gc.collect()
    assert not result.failures
    assert not told


def test_what_a_coroutine_raises_as_it_is_closed_is_nothing_for_the_program() -> None:
    closed: list[str] = []

    def program() -> None:
        async def main() -> None:
            try:
                await asyncio.sleep(0.01)
            except GeneratorExit:
                closed.append("main")
                raise SystemExit(3) from None

        def run() -> None:
            loop = asyncio.new_event_loop()
            try:
                loop.run_until_complete(main())
            except SystemExit:
                closed.append("loop")
            finally:
                loop.close()

        threading.Thread(target=run, daemon=True).start()

    bohrbug.explore(program, executions=60, seconds=None)
    assert set(closed) == {"main"}


@pytest.mark.parametrize("strategy", ["dpor", "auto"])
def test_loops_that_are_ended_take_no_steps_in_later_executions(strategy: str) -> None:
    result = bohrbug.explore(
        _stopped_in_a_daemon_thread, executions=300, seconds=None, strategy=strategy
    )
    assert not result.failures
    assert result.verdict.caveats == ()


def test_a_coroutine_that_was_forgotten_is_still_told_of() -> None:
    async def main() -> None:
        asyncio.sleep(0)  # type: ignore[unused-coroutine]
        await asyncio.sleep(0)

    with pytest.warns(RuntimeWarning, match="'sleep' was never awaited"):
        bohrbug.explore(lambda: asyncio.run(main()), executions=2, seconds=None)


def test_a_loop_dies_with_its_execution_and_not_with_a_later_collection() -> None:
    class Part:
        def __del__(self) -> None:
            died.append(1)

    made: list[int] = []
    died: list[int] = []
    alive: list[int] = []

    def program() -> None:
        async def main() -> None:
            vars(asyncio.get_running_loop())["part"] = Part()
            made.append(1)
            await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0.01))

        alive.append(len(made) - len(died))
        asyncio.run(main())

    bohrbug.explore(program, level="sync", strategy="random", executions=20, keep_going=True)
    assert len(alive) >= 20
    assert not any(alive)


def test_a_loop_that_the_program_lets_go_of_dies_in_the_execution() -> None:
    class Part:
        """Something that the loop has."""

    died: list[bool] = []

    def program() -> None:
        loop = asyncio.new_event_loop()
        vars(loop)["part"] = part = Part()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        reference = weakref.ref(part)
        del loop, part
        gc.collect()
        died.append(reference() is None)

    bohrbug.explore(program, executions=3, seconds=None)
    assert died
    assert all(died)


ENDED = """
import gc
import bohrbug
from tests.unit.test_unwound_loops import _in_a_daemon_thread, _stopped_in_a_daemon_thread

for test in (_in_a_daemon_thread, _stopped_in_a_daemon_thread):
    bohrbug.explore(test, executions=100, seconds=None)
    gc.collect()
bohrbug.explore(_stopped_in_a_daemon_thread, executions=300, seconds=None)
"""


def test_a_process_ends_without_a_word_of_loops_that_were_ended() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDED], capture_output=True, text=True, check=True, cwd=PROJECT
    )
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_an_older_lock_that_a_task_of_a_loop_keeps_is_free_in_the_next_execution(
    make: Callable[[], threading.Lock],
) -> None:
    lock = make()

    async def keep() -> None:
        assert lock.acquire(blocking=False)
        await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(keep(), asyncio.sleep(0), asyncio.sleep(0))

    def test() -> None:
        asyncio.run(main())
        # Another thread, as the one that holds a re-entrant lock could take it again.
        free: list[bool] = []
        thread = threading.Thread(target=lambda: free.append(lock.acquire(blocking=False)))
        thread.start()
        thread.join()
        assert free == [False]

    def again() -> None:
        thread = threading.Thread(target=lambda: lock.release() if lock.acquire() else None)
        thread.start()
        thread.join()
        test()

    result = bohrbug.explore(again, executions=20, seconds=None)
    assert result.executions > 1
    assert not result.failures
    assert not result.verdict.caveats
