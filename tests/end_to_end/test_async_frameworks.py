"""``pytest --bohrbug`` with test classes and plugins of anyio, trio, tornado and aiohttp."""

from __future__ import annotations

from .async_programs import AsyncFolder, async_folder, needs
from .conftest import Folder

__all__ = ["async_folder"]


@needs("anyio", "trio")
def test_anyio(async_folder: AsyncFolder) -> None:
    async_folder.write(
        "test_it.py",
        """
        import anyio, pytest

        log = []

        @pytest.fixture
        async def number():
            await anyio.sleep(1)
            log.append("set up")
            yield 1
            await anyio.sleep(1)
            log.append("torn down")

        @pytest.mark.anyio
        async def test_race(number):
            count = 0
            def add():
                nonlocal count
                count += number
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.to_thread.run_sync, add)
                group.start_soon(anyio.to_thread.run_sync, add)
            assert count == 2

        @pytest.mark.anyio
        async def test_stream(number):
            sender, receiver = anyio.create_memory_object_stream()
            async with sender, receiver, anyio.create_task_group() as group:
                group.start_soon(sender.send, number)
                assert await receiver.receive() == 1

        def test_afresh():
            assert log.count("set up") == log.count("torn down") > 20
        """,
    )
    done = async_folder.explore("--bohrbug-executions=100", "--bohrbug-seconds=30", plugin="anyio")
    assert "2 failed, 3 passed" in done.out, done.out
    for backend in ("asyncio", "trio"):
        assert f"test_race[{backend}] - AssertionError: assert 1 == 2" in done.out
    assert "not explored" not in done.out
    assert "deterministic" not in done.out


@needs("anyio", "trio")
def test_a_deadlock_with_anyio_on_trio(async_folder: AsyncFolder) -> None:
    """It names the tasks of trio, and the next test begins with a run of its own."""
    async_folder.write(
        "test_it.py",
        """
        import anyio, pytest

        pytestmark = pytest.mark.anyio

        @pytest.fixture
        def anyio_backend():
            return "trio"

        async def both(one, other):
            async with one:
                await anyio.sleep(0)
                async with other:
                    pass

        async def test_locks():
            first, second = anyio.Lock(), anyio.Lock()
            async with anyio.create_task_group() as group:
                group.start_soon(both, first, second, name="there")
                group.start_soon(both, second, first, name="back")

        async def test_after_it():
            await anyio.sleep(1)
        """,
    )
    done = async_folder.explore("--bohrbug-seconds=2", plugin="anyio")
    assert "1 failed, 1 passed" in done.out, done.out
    assert "test_locks - Deadlock: 2 tasks wait for each other" in done.out
    said = " ".join(done.out.split())
    assert "Task 0.1.1 (there) holds Lock #2 (taken at test_it.py:" in said, said
    assert ", held by task 0.1.2 (back; taken at test_it.py:" in said
    assert "_run.py" not in said.partition("Schedule")[2].partition("Who waits")[0]


@needs("anyio", "trio")
def test_anyio_fixtures_of_wider_scopes(async_folder: AsyncFolder) -> None:
    async_folder.write(
        "test_it.py",
        """
        import anyio, pytest

        @pytest.fixture(scope="module")
        async def server():
            yield 1

        @pytest.mark.anyio
        async def test_it(server):
            await anyio.to_thread.run_sync(int)
        """,
    )
    done = async_folder.explore(plugin="anyio")
    assert "2 passed" in done.out, done.out
    why = "async fixtures of wider scopes keep their event loop"
    assert f"not explored: 2 tests, {why}" in done.out


@needs("pytest_trio")
def test_pytest_trio(async_folder: AsyncFolder) -> None:
    async_folder.write(
        "test_it.py",
        """
        import pytest, trio

        @pytest.fixture
        async def number():
            await trio.sleep(1)
            yield 1
            await trio.sleep(1)

        @pytest.mark.trio
        async def test_order(number, nursery):
            order = []
            async def append(number):
                order.append(number)
            nursery.start_soon(append, 1)
            nursery.start_soon(append, 2)
            await trio.testing.wait_all_tasks_blocked()
            assert order == [1, 2]

        @pytest.mark.trio
        async def test_clock(autojump_clock):
            await trio.sleep(1_000)
            await trio.to_thread.run_sync(int)

        @pytest.mark.trio
        async def test_waits(number):
            await trio.Event().wait()

        @pytest.mark.trio
        async def test_after_it(number):
            await trio.lowlevel.checkpoint()
        """,
    )
    done = async_folder.explore("-v", "--bohrbug-seconds=4", plugin="trio")
    assert "2 failed, 2 passed" in done.out, done.out
    assert "AssertionError: assert [2, 1] == [1, 2]" in done.out
    assert "(append) is late, and task" in " ".join(done.out.split())
    assert "waits for Event #1 (test_it.py:27); nobody is left who could set it" in " ".join(
        done.out.split()
    )
    assert "test_after_it PASSED (holds, taking timers of trio as firing only" in done.out


@needs("tornado")
def test_tornado(folder: Folder) -> None:
    folder.write(
        "test_it.py",
        """
        import tornado.gen, tornado.testing, tornado.web

        class Handler(tornado.web.RequestHandler):
            def get(self):
                self.write("hello")

        class TestServer(tornado.testing.AsyncHTTPTestCase):
            def get_app(self):
                return tornado.web.Application([("/", Handler)])

            def test_get(self):
                assert self.fetch("/").body == b"hello"

        class TestLoop(tornado.testing.AsyncTestCase):
            @tornado.testing.gen_test
            async def test_async(self):
                await tornado.gen.sleep(1)

            @tornado.testing.gen_test
            def test_generator(self):
                yield tornado.gen.sleep(1)

            @tornado.testing.gen_test
            async def test_fails(self):
                await tornado.gen.sleep(1)
                assert [1, 2] == [1, 3]
        """,
    )
    done = folder.pytest(
        "--bohrbug", "--bohrbug-causes=0", "--bohrbug-executions=30", "-W", "error"
    )
    assert "1 failed, 3 passed" in done.out, done.out
    assert "test_fails - " in done.out
    assert "4 tests explored" in done.out
    assert "not explored" not in done.out


@needs("aiohttp", "pytest_aiohttp")
def test_aiohttp(async_folder: AsyncFolder) -> None:
    async_folder.write(
        "test_it.py",
        """
        import asyncio, pytest
        from aiohttp import web
        from aiohttp.test_utils import AioHTTPTestCase

        async def hello(request):
            return web.Response(text=await asyncio.to_thread(str, 1))

        def application():
            app = web.Application()
            app.router.add_get("/", hello)
            return app

        class TestServer(AioHTTPTestCase):
            async def get_application(self):
                return application()

            async def test_get(self):
                async with self.client.request("GET", "/") as response:
                    assert await response.text() == "1"

        @pytest.mark.asyncio
        async def test_client(aiohttp_client):
            client = await aiohttp_client(application())
            response = await client.get("/")
            assert await response.text() == "1"
        """,
    )
    done = async_folder.explore("--bohrbug-executions=30", plugin="asyncio aiohttp")
    assert "2 passed" in done.out, done.out
    assert "2 tests explored" in done.out
