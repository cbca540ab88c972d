"""``pytest --bohrbug`` with async tests of asyncio."""

from __future__ import annotations

import re

import pytest

from .async_programs import RACE, AsyncFolder, async_folder, needs
from .conftest import Folder

__all__ = ["async_folder"]


def test_without_a_plugin_they_end_as_natively(folder: Folder) -> None:
    folder.write("test_it.py", "async def test_coroutine(): pass")
    plain, explored = folder.pytest(), folder.pytest("--bohrbug")
    assert plain.lines[-1].split(" in ")[0] == explored.lines[-1].split(" in ")[0]
    assert "1 failed" in explored.out
    assert "not natively supported" in explored.out


@needs("pytest_asyncio")
def test_pytest_asyncio(async_folder: AsyncFolder) -> None:
    async_folder.write(
        "test_it.py",
        f"""
import asyncio, threading, pytest, pytest_asyncio

log = []

@pytest_asyncio.fixture
async def loop():
    await asyncio.sleep(1)
    log.append("set up")
    yield asyncio.get_running_loop()
    await asyncio.sleep(1)
    log.append("torn down")

@pytest_asyncio.fixture
async def task(loop):
    return asyncio.create_task(asyncio.sleep(3_600))

@pytest.mark.asyncio
async def test_race(loop, task):
    {RACE.strip()}

class TestMore:
    @pytest.mark.asyncio
    @pytest.mark.parametrize("number", [1, 2])
    async def test_locked(self, loop, number):
        assert loop is asyncio.get_running_loop()
        lock = threading.Lock()
        def add():
            with lock:
                log.append("added")
        await asyncio.gather(asyncio.to_thread(add), asyncio.to_thread(add))

    @pytest.mark.asyncio
    async def test_deadlock(self, task):
        await asyncio.get_running_loop().create_future()

    @pytest.mark.asyncio
    async def test_skipped(self, task):
        pytest.skip("now")

    @pytest.mark.asyncio
    @pytest.mark.xfail(raises=ZeroDivisionError)
    async def test_expected(self, loop):
        1 / 0

    @pytest.mark.asyncio
    async def test_fails(self):
        assert [1, 2] == [1, 3]

def test_afresh():
    assert log.count("set up") == log.count("torn down") > 10
    assert log.count("added") > 4
""",
    )
    done = async_folder.explore("--bohrbug-executions=100", plugin="asyncio")
    assert "3 failed, 3 passed, 1 skipped, 1 xfailed" in done.out, done.out
    assert "not explored" not in done.out
    assert "AssertionError: assert 1 == 2" in done.out
    assert "waits for ever" in done.out
    # A test without a second task fails as pytest shows it.
    assert "E       assert [1, 2] == [1, 3]" in done.out
    race = re.search(r"bohrbug replay (\S*test_race\S*)", done.out)
    assert race is not None, done.out
    replay = async_folder.bohrbug("replay", race[1])
    assert "reproduced in 1 of 1 replay" in replay.out, replay.out


@needs("pytest_asyncio")
def test_auto_mode(async_folder: AsyncFolder) -> None:
    async_folder.write(
        "test_it.py",
        f"""
import asyncio, pytest

@pytest.fixture
async def number():
    await asyncio.sleep(1)
    return 2

async def test_race(number):
    {RACE.strip()}
""",
    )
    done = async_folder.explore("--asyncio-mode=auto", plugin="asyncio")
    assert "1 failed" in done.out, done.out
    assert "AssertionError: assert 1 == 2" in done.out


@needs("pytest_asyncio")
@pytest.mark.parametrize("scope", ["class", "module", "package", "session"])
def test_executions_have_loops_of_their_own_in_place_of_wider_ones(
    async_folder: AsyncFolder, scope: str
) -> None:
    async_folder.write(
        "test_it.py",
        f"""
import asyncio, pytest, pytest_asyncio

loop, loops, log = None, set(), []

@pytest_asyncio.fixture(loop_scope={scope!r})
async def fixture():
    log.append("set up")
    yield asyncio.get_running_loop()
    log.append("torn down")

@pytest.mark.asyncio(loop_scope={scope!r})
class TestIt:
    async def test_first(self, fixture):
        global loop
        loop = asyncio.get_running_loop()
        assert loop is fixture
        loops.add(id(loop))
        # The pool of threads of a loop would last from one execution to the next.
        await asyncio.gather(asyncio.to_thread(int), asyncio.to_thread(int))

    async def test_same_loop(self):
        assert loop is asyncio.get_running_loop()

    async def test_race(self):
        {RACE.strip().replace(chr(10), chr(10) + "    ")}

    async def test_in_loop_of_all(self):
        assert loop is asyncio.get_running_loop()
        assert log.count("set up") == log.count("torn down") > 1
""",
    )
    done = async_folder.explore("--bohrbug-executions=100", "-v", plugin="asyncio")
    assert "1 failed, 3 passed" in done.out, done.out
    assert "test_race - AssertionError: assert 1 == 2" in done.out
    assert "2 tests explored" in done.out
    why = "in event loops of their own they fail at once"
    assert f"not explored: 2 tests, {why}" in done.out
    assert "diverged" not in done.out


@needs("pytest_asyncio")
def test_async_fixtures_of_wider_scopes(async_folder: AsyncFolder) -> None:
    async_folder.write(
        "test_it.py",
        """
        import asyncio, pytest, pytest_asyncio

        calls = []

        @pytest_asyncio.fixture(scope="module", loop_scope="module")
        async def server():
            calls.append("server")
            task = asyncio.create_task(asyncio.sleep(3_600))
            yield asyncio.get_running_loop()
            task.cancel()

        @pytest.mark.asyncio(loop_scope="module")
        async def test_first(server):
            calls.append("test")
            await asyncio.to_thread(int)
            assert server is asyncio.get_running_loop()

        @pytest.fixture(scope="module")
        def event_loop():
            loop = asyncio.new_event_loop()
            yield loop
            loop.close()

        @pytest.mark.asyncio
        async def test_with_event_loop(event_loop):
            assert not event_loop.is_closed()

        @pytest.mark.asyncio(loop_scope="module")
        async def test_own_loop():
            await asyncio.to_thread(int)

        @pytest.mark.asyncio(loop_scope="module")
        async def test_second(server):
            calls.append("test")
            assert server is asyncio.get_running_loop()
            assert calls == ["server", "test", "test"]

        @pytest.mark.asyncio(loop_scope="module")
        async def test_fails(server):
            assert [1, 2] == [1, 3]
        """,
    )
    done = async_folder.explore(plugin="asyncio")
    assert "1 failed, 4 passed" in done.out, done.out
    assert "1 test explored" in done.out
    assert "not explored: 1 test, the fixture event_loop keeps one event loop" in done.out
    why = "async fixtures of wider scopes keep their event loop"
    assert f"not explored: 3 tests, {why}" in done.out


@needs("pytest_asyncio")
def test_wide_loops_of_old_releases_of_pytest_asyncio(async_folder: AsyncFolder) -> None:
    async_folder.write(
        "conftest.py",
        """
        import pytest, pytest_asyncio

        pytest_asyncio.__version__ = "1.1.0"

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(item):
            yield
            # As those before 1.0 do.
            item.obj = lambda: None
        """,
    )
    async_folder.write(
        "test_it.py",
        """
        import pytest

        @pytest.mark.asyncio(loop_scope="module")
        async def test_wide(): pass

        @pytest.mark.asyncio
        async def test_own(): pass
        """,
    )
    done = async_folder.explore(plugin="asyncio")
    assert "2 passed" in done.out, done.out
    assert "1 test explored" in done.out
    assert "not explored: 1 test, this release of pytest-asyncio keeps one" in done.out


FOREIGN = """
import asyncio, contextvars

class Loop(asyncio.SelectorEventLoop):
    def run_forever(self):
        "As the loop of a toolkit might."
        asyncio._set_running_loop(self)
        try:
            while not self._stopping:
                self._run_once()
        finally:
            self._stopping = False
            asyncio._set_running_loop(None)

runs = 0

async def main():
    global runs
    runs += 1
    await asyncio.sleep(0.01)

def test_passes():
    loop = Loop()
    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    assert runs == 1

depth = contextvars.ContextVar("depth", default=0)

def test_fails():
    token = depth.set(1)
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(main())
    depth.reset(token)
    assert [1, 2] == [1, 3]

def test_skips():
    import pytest
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(main())
        pytest.skip("now")

def test_other():
    asyncio.run(main())
    assert not depth.get()
"""


def test_loops_of_others_run_as_always(folder: Folder) -> None:
    folder.write("test_it.py", FOREIGN)
    done = folder.pytest("--bohrbug")
    assert "1 failed, 2 passed, 1 skipped" in done.out, done.out
    # What the attempt to explore leaves behind makes no noise.
    assert "never awaited" not in done.out + done.err
    assert "assert [1, 2] == [1, 3]" in done.out
    assert "1 test explored" in done.out
    why = "test_it.Loop is not an event loop of asyncio's own"
    assert f"not explored: 3 tests, {why}" in done.out


@needs("uvloop")
def test_uvloop(folder: Folder) -> None:
    folder.write(
        "test_it.py",
        """
        import asyncio, pytest, uvloop

        made = uvloop.new_event_loop()

        async def main():
            assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
            await asyncio.sleep(0.01)

        def test_run():
            uvloop.run(main())

        def test_made_before():
            made.run_until_complete(main())

        def test_other():
            asyncio.run(asyncio.sleep(0.01))
        """,
    )
    done = folder.pytest("--bohrbug", "-p", "no:warnings")
    assert "3 passed" in done.out, done.out
    why = "uvloop.Loop is not an event loop of asyncio's own"
    assert f"not explored: 2 tests, {why}" in done.out


@needs("uvloop")
def test_uvloop_that_the_test_imports(folder: Folder) -> None:
    folder.write(
        "test_it.py",
        """
        import asyncio

        def test_run():
            import uvloop
            loop = uvloop.new_event_loop()
            loop.run_until_complete(asyncio.sleep(0.01))
            loop.close()
        """,
    )
    done = folder.pytest("--bohrbug", "-p", "no:warnings")
    assert "1 passed" in done.out, done.out
    assert "not explored: 1 test, uvloop.Loop" in done.out


def test_isolated_test_cases_of_unittest(folder: Folder) -> None:
    folder.write(
        "test_it.py",
        f"""
import asyncio, unittest

log = []

class TestIt(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        log.append("set up")

    async def asyncSetUp(self):
        await asyncio.sleep(1)
        self.loop = asyncio.get_running_loop()
        self.addAsyncCleanup(self.clean_up)

    async def clean_up(self):
        log.append("cleaned up")

    async def asyncTearDown(self):
        await asyncio.sleep(1)
        log.append("torn down")

    async def test_race(self):
        self.assertIs(self.loop, asyncio.get_running_loop())
        {RACE.strip().replace(chr(10), chr(10) + "    ")}

    async def test_skipped(self):
        self.skipTest("now")

    async def test_wrong(self):
        self.assertEqual(1, 2)

    def test_without_a_loop(self):
        pass

def test_afresh():
    assert log.count("set up") == log.count("torn down") == log.count("cleaned up") > 10
""",
    )
    done = folder.pytest("--bohrbug", "--bohrbug-causes=0", "-W", "error")
    assert "2 failed, 2 passed, 1 skipped" in done.out, done.out
    assert "test_race - AssertionError: assert 1 == 2" in done.out
    assert "test_wrong - AssertionError: 1 != 2" in done.out
    assert "not explored" not in done.out


def test_the_summary_tells_what_failed_in_a_group(folder: Folder) -> None:
    folder.write(
        "test_group.py",
        """
        import asyncio
        import unittest

        class TestGroup(unittest.IsolatedAsyncioTestCase):
            async def test_order(self):
                seen = []

                async def look(number):
                    await asyncio.sleep(0)
                    seen.append(number)
                    if seen[0]:
                        raise KeyError("the inner one")

                async with asyncio.TaskGroup() as group:
                    for number in range(2):
                        group.create_task(look(number))
        """,
    )
    done = folder.pytest("--bohrbug", "--junit-xml=junit.xml")
    assert "FAILED test_group.py::TestGroup::test_order - KeyError: 'the inner one'" in done.out
    assert "✗ KeyError: 'the inner one', in ExceptionGroup: unhandled errors" in done.out
    assert 'message="KeyError: ' in (folder.path / "junit.xml").read_text()


def test_an_async_test_without_a_choice_is_not_counted_among_those_that_have_one(
    folder: Folder,
) -> None:
    folder.write(
        "test_one.py",
        """
        import asyncio
        import unittest

        class TestOne(unittest.IsolatedAsyncioTestCase):
            async def test_gathered(self):
                async def nothing(): pass
                await asyncio.gather(nothing(), nothing())
        """,
    )
    done = folder.pytest("--bohrbug", "-v")
    assert "never has a choice between tasks" in done.out
    assert "1 test explored, none of them with a choice between tasks" in done.out
