"""asyncio's event loops: what comes to one from outside comes in the recorded order."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

import bohrbug
from bohrbug.runtime.channels.bisection import Verdict, decide
from bohrbug.runtime.channels.codec import encode
from bohrbug.runtime.channels.events import LOOP, READINESS, TIMER, WRAPPED, Log
from bohrbug.runtime.channels.reading import read_log
from tests.unit.message_programs import pause, steady

pytestmark = pytest.mark.usefixtures("channels_in_place")

WORST = 0.003


async def sleep(seconds: float = WORST) -> None:
    await asyncio.sleep(random.random() * seconds)


async def talk(port: int, name: int, got: list[object]) -> None:
    """A client: what it hears depends on how much the server reads at once."""
    await sleep()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in range(4):
        writer.write(b"%d-%d " % (name, number))
        await sleep()
        got.append(await reader.read(100))
    writer.close()
    await writer.wait_closed()
    got.append(name)


def test_streams(tmp_path: Path) -> None:
    async def main() -> list[object]:
        seen: list[object] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(100):
                seen.append(data)
                writer.write(data.upper())
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        await asyncio.gather(*(talk(port, name, seen) for name in range(5)))
        server.close()
        await server.wait_closed()
        return seen

    log = steady(tmp_path, lambda: asyncio.run(main()), 5)
    (loop,) = (task for task in log.tasks if LOOP in task)
    assert loop == "0.0.1"
    assert {READINESS, TIMER} <= {event.flavour for event in log.tasks[loop]}


def test_threads_that_connect_to_a_loop_and_call_it(tmp_path: Path) -> None:
    def program() -> list[object]:
        seen: list[object] = []
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(50):
                seen.append(data)
            writer.close()

        async def add(number: int) -> None:
            seen.append(number)
            await sleep()
            seen.append(-number)

        def connect(name: int) -> None:
            with socket.create_connection(("127.0.0.1", port)) as client:
                for number in range(3):
                    pause()
                    client.sendall(b"%d:%d " % (name, number))
                client.shutdown(socket.SHUT_WR)
                client.recv(1)

        def call(number: int) -> None:
            for _ in range(3):
                asyncio.run_coroutine_threadsafe(add(number), loop).result()

        async def begin() -> asyncio.Server:
            return await asyncio.start_server(serve, "127.0.0.1", 0)

        server = asyncio.run_coroutine_threadsafe(begin(), loop).result()
        port = server.sockets[0].getsockname()[1]
        threads = [
            *(threading.Thread(target=connect, args=(n,)) for n in range(3)),
            *(threading.Thread(target=call, args=(n,)) for n in range(1, 4)),
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        return seen

    steady(tmp_path, program)


def test_side_effects_of_tasks_that_are_gathered(tmp_path: Path) -> None:
    def work(number: int) -> int:
        pause()
        return number

    async def main() -> list[object]:
        seen: list[object] = []

        async def act(number: int) -> None:
            await sleep()
            seen.append(number)
            seen.append(await asyncio.to_thread(work, -number))

        async def endless(number: int) -> None:
            try:
                await asyncio.sleep(60)
            finally:
                seen.append(number)

        async def fail() -> None:
            await sleep()
            raise ValueError

        async def grouped() -> None:
            with pytest.raises(ExceptionGroup):
                async with asyncio.TaskGroup() as group:
                    for number in range(10, 15):
                        group.create_task(endless(number))
                    group.create_task(fail())

        await asyncio.gather(*(act(n) for n in range(6)))
        # In a task of its own: up to Python 3.11.2 it counts as being cancelled from then on, and
        # timeouts of such a task are no TimeoutError.
        await asyncio.create_task(grouped())
        deadline = asyncio.get_running_loop().time() + WORST / 2
        for number in range(20, 25):
            try:
                # Whether its time is over before it begins is up to chance.
                async with asyncio.timeout_at(deadline):
                    await sleep()
                    seen.append(number)
            except TimeoutError:
                seen.append("late")
        done, _ = await asyncio.wait([asyncio.create_task(asyncio.sleep(0, n)) for n in range(9)])
        seen += [task.result() for task in done]
        assert done.pop().result() == 0
        return seen

    steady(tmp_path, lambda: asyncio.run(main()))


def test_other_descriptors_and_signals(tmp_path: Path) -> None:
    async def main() -> list[object]:
        seen: list[object] = []
        loop = asyncio.get_running_loop()
        near, far = socket.socketpair()
        near.setblocking(False)
        far.setblocking(False)

        async def send() -> None:
            for _ in range(6):
                await sleep()
                await loop.sock_sendall(far, b"abc")
            far.close()

        async def receive() -> None:
            while data := await loop.sock_recv(near, 4):
                seen.append(data)

        async def hear(name: int) -> None:
            child = await asyncio.create_subprocess_exec(
                *("sh", "-c", "echo 1; sleep 0.002; echo 2"), stdout=asyncio.subprocess.PIPE
            )
            assert child.stdout is not None
            async for line in child.stdout:
                seen.append((name, line))
            seen.append((name, await child.wait()))

        await asyncio.gather(send(), receive(), hear(1), hear(2))
        near.close()
        hit = asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, hit.set)
        os.kill(os.getpid(), signal.SIGUSR1)
        await hit.wait()
        return seen

    steady(tmp_path, lambda: asyncio.run(main(), debug=True))


def test_a_loop_that_does_not_wait_for_what_the_log_says(tmp_path: Path) -> None:
    async def main(times: int) -> int:
        for _ in range(times):
            await asyncio.sleep(0.001)
        await asyncio.to_thread(pause)
        return times

    path = tmp_path / "log"
    with bohrbug.record(path):
        asyncio.run(main(2))
    with (
        pytest.raises(bohrbug.DesynchronisationError, match="does not wait for that"),
        bohrbug.replay_messages(path),
    ):
        asyncio.run(main(1))
    with bohrbug.replay_messages(path, keep_going=True) as replay:
        assert asyncio.run(main(1)) == 1
    assert replay.desynchronisation is not None


def test_the_arrival_that_decides_is_found(tmp_path: Path) -> None:
    async def main(first: float, second: float) -> list[int]:
        seen: list[int] = []

        async def act(number: int, seconds: float) -> None:
            await asyncio.sleep(0.001)
            await asyncio.sleep(seconds)
            seen.append(number)

        await asyncio.gather(act(1, first), act(2, second))
        return seen

    logs = {}
    for name, wanted in (("pass", [1, 2]), ("fail", [2, 1])):
        seen: list[int] = []
        while seen != wanted:
            # On a busy machine both may be due at the same time.
            with bohrbug.record(tmp_path / name):
                seen = asyncio.run(
                    main(*(0.001 if number == wanted[0] else 0.02 for number in (1, 2)))
                )
        logs[name] = read_log(tmp_path / name)

    def attempt(log: Log) -> Verdict:
        path = tmp_path / "hybrid"
        path.write_bytes(encode(log))
        with bohrbug.replay_messages(path, keep_going=True, patience=5.0):
            seen = asyncio.run(main(0.001, 0.001))
        return Verdict.PASSED if seen == [1, 2] else Verdict.FAILED

    decision = decide(logs["pass"], logs["fail"], attempt)
    assert decision.step.task == "0.0.1"
    assert "asyncio.timer" in decision.step.event.words


def test_programs_that_poll_the_time_go_on(tmp_path: Path) -> None:
    async def main() -> str:
        end = time.monotonic() + 0.01
        while time.monotonic() < end:
            await asyncio.sleep(0)
        return "over"

    steady(tmp_path, lambda: asyncio.run(main()))


def test_a_result_that_is_there_before_it_is_asked_for_comes_to_the_loop_all_the_same(
    tmp_path: Path,
) -> None:
    async def main(late: bool) -> list[object]:
        seen: list[object] = []
        loop = asyncio.get_running_loop()
        done: Future[int] = Future()

        async def beside() -> None:
            for number in range(4):
                seen.append(number)
                await asyncio.sleep(0)

        other = asyncio.create_task(beside())
        thread = threading.Thread(target=lambda: (time.sleep(0.05 * late), done.set_result(9)))
        thread.start()
        if not late:
            thread.join()
        seen.append(await asyncio.wrap_future(done, loop=loop))
        await other
        thread.join()
        return seen

    path = tmp_path / "log"
    with bohrbug.record(path):
        expected = asyncio.run(main(late=False))
    assert sum(event.flavour == WRAPPED for event in read_log(path).tasks["0.0.1"]) == 1
    with bohrbug.replay_messages(path) as replay:
        assert asyncio.run(main(late=True)) == expected
    assert replay.desynchronisation is None


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no eager tasks")
def test_what_a_task_does_eagerly_is_its_own(tmp_path: Path) -> None:
    async def main() -> list[object]:
        channel: asyncio.Queue[object] = asyncio.Queue()
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]

        async def act(number: int) -> None:
            await channel.put(number)
            await sleep()
            await channel.put(-number)

        async def nothing_more() -> None:
            await channel.put("eager")

        tasks = [asyncio.create_task(act(number)) for number in range(1, 5)]
        tasks.append(asyncio.create_task(nothing_more()))
        got = [await channel.get() for _ in range(9)]
        await asyncio.gather(*tasks)
        return got

    log = steady(tmp_path, lambda: asyncio.run(main()))
    assert [len(log.tasks[f"0.1.{n}"]) for n in range(1, 6)] == [2, 2, 2, 2, 1]
    assert "0.1.5" in log.ended
