"""What asyncio only logs: noted, or a failure, as the user wants."""

from __future__ import annotations

import re

from .conftest import Folder

ERRORS = """
import asyncio, threading

def test_task():
    async def fails():
        raise ValueError("lost")

    async def main():
        order = []
        await asyncio.gather(
            asyncio.to_thread(order.append, 1), asyncio.to_thread(lambda: order.append(len(order)))
        )
        task = asyncio.ensure_future(fails())
        await asyncio.sleep(0.1)
        if order == [1, 1]:
            task.exception()

    asyncio.run(main())

def test_callback():
    async def main():
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(0.1)

    asyncio.run(main())

def test_destroyed():
    loop = asyncio.new_event_loop()

    async def waits():
        await loop.create_future()

    async def main():
        # A cycle, which only the collector finds.
        loop.task = asyncio.ensure_future(waits())
        await asyncio.sleep(0)

    loop.run_until_complete(main())
    loop.close()

def test_handled():
    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(0.1)

    asyncio.run(main())
"""


def test_what_asyncio_only_logs_is_noted(folder: Folder) -> None:
    folder.write("test_it.py", ERRORS)
    done = folder.pytest("--bohrbug", "--bohrbug-executions=100", "-W", "error")
    assert "4 passed" in done.out, done.out
    notes = done.out.partition("notes:")[2].replace("\n", " ")
    assert (
        "Task exception was never retrieved (test_task.<locals>.fails): ValueError: lost" in notes
    )
    assert "Exception in callback test_callback.<locals>.main.<locals>.<lambda>()" in notes
    assert "asyncio has logged, in 1 of 1 execution: Task was destroyed but it is pending" in notes
    assert "test_handled" not in notes


def test_what_asyncio_only_logs_is_a_failure_on_request(folder: Folder) -> None:
    folder.write("test_it.py", ERRORS)
    folder.write("pytest.ini", "[pytest]\nbohrbug_asyncio_errors = fail\n")
    done = folder.pytest("--bohrbug", "--bohrbug-causes=0", "--bohrbug-executions=100")
    assert "3 failed, 1 passed" in done.out, done.out
    assert "AsyncioError: Task was destroyed but it is pending" in done.out
    assert "asyncio has logged" not in done.out
    race = re.search(r"bohrbug replay (\S*test_task\S*)", done.out)
    assert race is not None
    folder.write("pytest.ini", "[pytest]\n")
    replay = folder.bohrbug("replay", race[1])
    assert "reproduced in 1 of 1 replay: AsyncioError: Task exception was never" in replay.out
    folder.write("pytest.ini", "[pytest]\nbohrbug_asyncio_errors = perhaps\n")
    wrong = folder.pytest("--bohrbug")
    assert wrong.code == 4
    assert "bohrbug_asyncio_errors must be note or fail" in wrong.err
