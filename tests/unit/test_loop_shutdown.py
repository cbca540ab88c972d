"""The ends of loops: run in the loop only if there is something to wait for, or to be seen."""

from __future__ import annotations

import asyncio
import threading
import unittest.mock
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads.loops.turns import LoopTurns


def holds(program: Any) -> bool:
    return bohrbug.explore(program).verdict.kind is VerdictKind.HOLDS


def test_an_idle_loop_does_not_run_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    run = LoopTurns.run

    def counted(self: LoopTurns, place: Any) -> None:
        runs.append(1)
        run(self, place)

    monkeypatch.setattr(LoopTurns, "run", counted)

    def program() -> None:
        runs.clear()
        loop: Any = asyncio.new_event_loop()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        assert loop._asyncgens_shutdown_called
        assert loop._executor_shutdown_called
        loop.close()

    assert holds(program)
    assert len(runs) == 1


def test_what_was_called_for_is_run_first() -> None:
    def program() -> None:
        ran: list[int] = []
        loop = asyncio.new_event_loop()
        loop.call_soon(ran.append, 1)
        loop.run_until_complete(loop.shutdown_asyncgens())
        assert ran == [1]
        loop.close()

    assert holds(program)


def test_a_timer_that_is_over_may_be_run_first() -> None:
    outcomes = set()

    def program() -> None:
        ran: list[int] = []
        loop = asyncio.new_event_loop()
        loop.call_later(-1, ran.append, 1)
        loop.run_until_complete(loop.shutdown_asyncgens())
        outcomes.add(len(ran))
        loop.close()

    assert holds(program)
    assert outcomes == {0, 1}


def test_another_thread_may_see_the_loop_run_to_its_end() -> None:
    outcomes = set()

    def program() -> None:
        phase = ["main"]
        loop = asyncio.new_event_loop()
        seen: list[tuple[str, bool]] = []
        other = threading.Thread(target=lambda: seen.append((phase[0], loop.is_running())))
        loop.run_until_complete(asyncio.sleep(0))
        other.start()
        phase[0] = "end"
        loop.run_until_complete(loop.shutdown_asyncgens())
        other.join()
        loop.close()
        outcomes.update(seen)

    assert not bohrbug.explore(program, executions=2_000).failures
    assert outcomes >= {("end", False), ("end", True)}


def test_a_generator_that_is_left_is_closed() -> None:
    def program() -> None:
        closed: list[int] = []

        async def count() -> Any:
            try:
                yield 1
            finally:
                await asyncio.sleep(0)
                closed.append(1)

        kept: list[Any] = []

        async def main() -> None:
            generator = count()
            kept.append(generator)
            await anext(generator)

        asyncio.run(main())
        assert closed == [1]

    assert holds(program)


def test_the_threads_of_an_executor_are_waited_for() -> None:
    def program() -> None:
        done: list[int] = []

        async def main() -> None:
            loop = asyncio.get_running_loop()
            loop.run_in_executor(None, done.append, 1)

        asyncio.run(main())
        assert done == [1]

    assert not bohrbug.explore(program, executions=50).failures


def test_who_makes_tasks_makes_those_of_the_end() -> None:
    def program() -> None:
        made: list[str] = []

        def factory(loop: Any, coroutine: Any, **options: Any) -> Any:
            made.append(coroutine.__name__)
            return asyncio.Task(coroutine, loop=loop, **options)

        async def main() -> None:
            asyncio.get_running_loop().set_task_factory(factory)

        asyncio.run(main())
        assert made == ["shutdown_asyncgens", "shutdown_default_executor"]

    assert holds(program)


def test_to_end_twice_by_one_coroutine_is_an_error_as_ever() -> None:
    def program() -> None:
        loop = asyncio.new_event_loop()
        ends = loop.shutdown_asyncgens()
        loop.run_until_complete(ends)
        with pytest.raises(RuntimeError, match="already awaited"):
            loop.run_until_complete(ends)
        loop.close()

    assert holds(program)


def test_a_loop_with_a_mock_for_a_selector_ends_as_ever() -> None:
    def program() -> None:
        loop: Any = asyncio.base_events.BaseEventLoop()
        loop._process_events = loop._write_to_self = unittest.mock.Mock()
        loop._selector = unittest.mock.Mock()
        loop._selector.select.return_value = ()
        loop.run_until_complete(loop.shutdown_default_executor())
        assert loop._executor_shutdown_called
        loop.close()

    assert not bohrbug.explore(program).failures


def test_within_a_running_loop_it_is_an_error_as_ever() -> None:
    def program() -> None:
        other = asyncio.new_event_loop()

        async def main() -> None:
            ends = other.shutdown_asyncgens()
            try:
                other.run_until_complete(ends)
            except RuntimeError as error:
                assert "another loop is running" in str(error)
            else:
                raise AssertionError("it ran")
            ends.close()

        asyncio.run(main())
        other.close()

    assert holds(program)
