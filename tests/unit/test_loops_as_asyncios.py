"""What event loops do under control as they do without."""

from __future__ import annotations

import asyncio
import logging
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
import unittest.mock
from asyncio import base_events
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.result import Result
from bohrbug.exploration.verdicts import VerdictKind


def explored(main: Any, **options: Any) -> Result:
    return bohrbug.explore(lambda: asyncio.run(main()), timeouts="late", **options)


def test_of_nested_timeouts_with_one_deadline_both_expire() -> None:
    async def main() -> None:
        deadline = asyncio.get_running_loop().time() + 1
        with pytest.raises(TimeoutError):
            async with asyncio.timeout_at(deadline) as outer, asyncio.timeout_at(deadline) as inner:
                await asyncio.sleep(2)
        assert outer.expired()
        assert inner.expired()

    assert explored(main).verdict.kind is VerdictKind.HOLDS


def test_a_signal_that_the_test_sends_is_handled_by_the_loop() -> None:
    async def main() -> None:
        came = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, came.set)
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        await came.wait()
        loop.remove_signal_handler(signal.SIGUSR1)

    assert explored(main, executions=20).verdict.kind is VerdictKind.HOLDS


def test_an_alarm_wakes_a_loop_before_a_virtual_minute_is_over() -> None:
    async def main() -> None:
        came = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGALRM, came.set)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        async with asyncio.timeout(60):
            await came.wait()
        loop.remove_signal_handler(signal.SIGALRM)

    assert not explored(main, executions=3).failures


def test_a_child_that_ends_wakes_a_loop_that_waits_for_its_signal() -> None:
    async def main() -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCHLD, ended.set)
        child = subprocess.Popen([sys.executable, "-c", ""])
        await ended.wait()
        child.wait()
        loop.remove_signal_handler(signal.SIGCHLD)

    assert not explored(main, executions=2).failures


def test_a_loop_of_selectors_needs_no_signals() -> None:
    """Those of other systems have none."""

    def test() -> None:
        loop = asyncio.selector_events.BaseSelectorEventLoop(selectors.SelectSelector())
        assert not hasattr(loop, "_signal_handlers")
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


@pytest.mark.parametrize("debug", [False, True])
def test_a_task_that_fails_and_that_nobody_has_is_gone_with_its_step(debug: bool) -> None:
    def test() -> None:
        told: list[str] = []

        async def fail() -> None:
            raise ValueError

        async def main() -> None:
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(lambda _, context: told.append(context["message"]))
            asyncio.create_task(fail())  # noqa: RUF006
            await asyncio.sleep(0)
            assert told == ["Task exception was never retrieved"]

        asyncio.run(main(), debug=debug)

    result = bohrbug.explore(test, timeouts="late", executions=20)
    assert not result.failures, result.failures


def told_by_debug_mode(caplog: pytest.LogCaptureFixture) -> list[str]:
    def test() -> None:
        async def main() -> None:
            asyncio.get_running_loop().slow_callback_duration = 10
            threading.Event().wait(20)

        asyncio.run(main(), debug=True)

    with caplog.at_level(logging.WARNING, "asyncio"):
        assert not bohrbug.explore(test, timeouts="late", executions=1).failures
    return [record.getMessage() for record in caplog.records]


def test_debug_mode_tells_of_callbacks_that_take_long(caplog: pytest.LogCaptureFixture) -> None:
    (message,) = told_by_debug_mode(caplog)
    assert message.startswith("Executing ")
    assert message.endswith(" took 20.000 seconds")


def test_debug_mode_names_who_has_called_for_something() -> None:
    def test() -> None:
        loop = asyncio.new_event_loop()
        loop.set_debug(True)
        handles = [loop.call_soon(int), loop.call_later(1, int), loop.call_soon_threadsafe(int)]
        loop.close()
        for handle in handles:
            stack = handle._source_traceback  # type: ignore[attr-defined]
            assert stack[-1].filename == __file__
            assert stack[-1].name == "test"

    result = bohrbug.explore(test)
    assert not result.failures, result.failures


def test_a_running_loop_that_code_in_python_keeps_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some programs put the functions in Python in the place of those in C."""
    for name in ("_get_running_loop", "_set_running_loop", "get_running_loop"):
        in_python = getattr(asyncio.events, f"_py_{name}")
        monkeypatch.setattr(asyncio.events, name, in_python)
        monkeypatch.setattr(asyncio, name, in_python)
    tasks: Any = asyncio.tasks
    monkeypatch.setattr(tasks, "Task", tasks._PyTask)

    def test() -> None:
        async def main() -> None:
            other = threading.Thread(target=int)
            other.start()
            other.join()

        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
        loop.close()

    result = bohrbug.explore(test, executions=20)
    assert not result.failures, result.failures


class Counting(asyncio.SelectorEventLoop):
    """A loop with turns of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = 0

    def _run_once(self) -> None:
        self.turns += 1
        super()._run_once()  # type: ignore[misc]


class Waiting(selectors.SelectSelector):
    """A selector with a clock that runs as fast as it waits."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        self.now += timeout or 0
        return super().select(0)


class Timeless(asyncio.SelectorEventLoop):
    """A loop with a clock of its own."""

    def __init__(self) -> None:
        super().__init__(Waiting())

    def time(self) -> float:
        return self._selector.now  # type: ignore[attr-defined, no-any-return]


class Mocked(asyncio.SelectorEventLoop):
    """A loop whose selector is none."""

    def run_forever(self) -> None:
        real, self._selector = self._selector, unittest.mock.Mock()
        self._selector.select.return_value = []
        super().run_forever()
        self._selector = real


class Timed(asyncio.SelectorEventLoop):
    """A loop whose clock is replaced, by objects that are functions."""

    def __init__(self) -> None:
        super().__init__(Waiting())
        self.time = lambda: self._selector.now  # type: ignore[attr-defined, method-assign]


@pytest.mark.parametrize("cls", [Counting, Timeless, Timed, Mocked])
def test_a_loop_with_turns_of_its_own_has_them_and_a_caveat(
    cls: type[asyncio.SelectorEventLoop],
) -> None:
    def test() -> None:
        loop = cls()
        loop.run_until_complete(asyncio.sleep(1 if cls in (Timeless, Timed) else 0))
        loop.close()
        assert getattr(loop, "turns", 3) > 2

    result = bohrbug.explore(test, executions=5)
    assert not result.failures
    (caveat,) = result.verdict.caveats
    assert "was not varied" in caveat


class Never(selectors.SelectSelector):
    """A selector that does not wait."""

    def select(self, timeout: float | None = None) -> list[Any]:
        return []


class Polling(base_events.BaseEventLoop):
    """A loop that is nobody's, and turns without waiting."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = Never()

    def _process_events(self, event_list: Any) -> None:
        pass

    def _write_to_self(self) -> None:
        pass


def test_a_loop_that_only_polls_lets_threads_in() -> None:
    def test() -> None:
        loop = Polling()
        loop.run_until_complete(loop.run_in_executor(None, int))
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    result = bohrbug.explore(test, executions=20, level="sync", hang_seconds=1)
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND, result.verdict


class FastClock:
    """A clock of a test's own that a running loop gets: it jumps to where the loop waits for."""

    def __init__(self) -> None:
        self.now = 0.0

    def of(self, loop: Any) -> Any:
        selector = loop._selector
        select = selector.select

        def wait(timeout: float | None) -> Any:
            self.now += timeout or 0
            return select(0)

        return unittest.mock.patch.multiple(
            loop, time=lambda: self.now
        ), unittest.mock.patch.object(selector, "select", wait)


def test_a_loop_that_gets_a_clock_of_its_own_while_it_runs_waits_by_that() -> None:
    async def main() -> None:
        clock = FastClock()
        began = time.monotonic()
        time_patched, select_patched = clock.of(asyncio.get_running_loop())
        with time_patched, select_patched:
            await asyncio.gather(asyncio.sleep(0.1), asyncio.sleep(1000))
        assert clock.now >= 1000
        assert time.monotonic() - began < 1
        await asyncio.sleep(0)

    result = explored(main, executions=20)
    assert not result.failures
    assert any("asyncio" in caveat for caveat in result.verdict.caveats)


def test_a_thread_wakes_a_loop_whose_select_was_replaced() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        selector: Any = loop._selector  # type: ignore[attr-defined]
        select = selector.select
        came = asyncio.Event()

        def wait(timeout: float | None) -> Any:
            return select(timeout)

        with unittest.mock.patch.object(selector, "select", wait):
            await asyncio.sleep(0)
            thread = threading.Thread(target=loop.call_soon_threadsafe, args=(came.set,))
            thread.start()
            await came.wait()
            thread.join()

    result = explored(main, executions=50)
    assert not result.failures, result.failures
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND
