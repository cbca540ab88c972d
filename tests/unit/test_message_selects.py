"""Selects over sockets and processes, timeouts of asyncio, and workers that are terminated."""

from __future__ import annotations

import asyncio
import functools
import multiprocessing
import multiprocessing.connection
import multiprocessing.queues
import queue
import random
import select
import selectors
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import bohrbug
from bohrbug.runtime.channels.codec import encode
from bohrbug.runtime.channels.events import Kind, Status
from bohrbug.runtime.channels.reading import read_coded, read_log
from tests.unit.message_programs import pause, steady

pytestmark = pytest.mark.usefixtures("channels_in_place")

# -- sockets ---------------------------------------------------------------------------------


def by_select(sockets: list[socket.socket]) -> list[socket.socket]:
    return select.select(sockets, [], [])[0]


def by_polling(make: Callable[[], object], sockets: list[socket.socket]) -> list[socket.socket]:
    poller = make()
    by_descriptor = {one.fileno(): one for one in sockets}
    for descriptor in by_descriptor:
        poller.register(descriptor, select.POLLIN)
    return [by_descriptor[descriptor] for descriptor, _ in poller.poll()]


def by_selector(cls: type, sockets: list[socket.socket]) -> list[socket.socket]:
    with cls() as selector:
        for one in sockets:
            selector.register(one, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select()]


WAYS = {
    "select.select": by_select,
    "select.poll": functools.partial(by_polling, lambda: select.poll()),
    "select.epoll": functools.partial(by_polling, lambda: select.epoll()),
    "SelectSelector": functools.partial(by_selector, selectors.SelectSelector),
    "PollSelector": functools.partial(by_selector, selectors.PollSelector),
    "DefaultSelector": functools.partial(by_selector, selectors.DefaultSelector),
}


@pytest.mark.parametrize("way", WAYS)
def test_which_sockets_are_ready(tmp_path: Path, way: str) -> None:
    def program() -> list[bytes]:
        heard: list[bytes] = []
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]

            def call(name: int) -> None:
                pause()
                with socket.create_connection(("127.0.0.1", port)) as client:
                    for number in range(3):
                        client.sendall(b"%d%d" % (name, number))
                        pause(0.001)

            clients = [threading.Thread(target=call, args=(n,)) for n in range(3)]
            for client in clients:
                client.start()
            watched, left = [server], len(clients)
            while left:
                for ready in WAYS[way](watched):
                    if ready is server:
                        watched.append(server.accept()[0])
                    elif data := ready.recv(2):
                        heard.append(data)
                    else:
                        watched.remove(ready)
                        ready.close()
                        left -= 1
            for client in clients:
                client.join()
        return heard

    log = steady(tmp_path, program)
    assert any(event.kind is Kind.SELECT for event in log.tasks["0"])


def test_polling_objects_look_like_the_real_ones(tmp_path: Path) -> None:
    with bohrbug.record(tmp_path / "log"):
        with select.epoll() as poller:
            assert isinstance(poller, select.epoll)
            assert poller.fileno() > 0
            assert not poller.closed
        assert poller.closed
        with pytest.raises(KeyError):
            select.poll().unregister(0)
    assert type(select.epoll()).__module__ == "select"


# -- processes -------------------------------------------------------------------------------


def work(name: int, jobs: object, results: object) -> None:
    while True:
        results.put((name, jobs.get()))
        jobs.task_done()


def let_go(jobs: multiprocessing.queues.Queue[object]) -> None:
    """Leave no thread behind: a deadlock in a later test would have to wait for what it does."""
    jobs.close()
    jobs.join_thread()


@pytest.mark.parametrize("how", ["terminate", "kill"])
def test_workers_that_are_ended_leave_their_events(tmp_path: Path, how: str) -> None:
    context = multiprocessing.get_context("fork")

    def program() -> list[object]:
        jobs, results = context.JoinableQueue(), context.SimpleQueue()
        workers = [
            context.Process(target=work, args=(n, jobs, results), daemon=True) for n in range(3)
        ]
        for worker in workers:
            worker.start()
        for number in range(12):
            jobs.put(number)
        jobs.join()
        got = [results.get() for _ in range(12)]
        for worker in workers:
            getattr(worker, how)()
            worker.join()
        assert {worker.exitcode for worker in workers} == {-15 if how == "terminate" else -9}
        let_go(jobs)
        return got

    log = steady(tmp_path, program, 2)
    received = [e for n in (1, 2, 3) for e in log.tasks.get(f"0.{n}", ()) if e.outcome.message]
    assert len(received) == 12


def test_who_is_past_the_end_of_its_log_takes_nothing_of_others(tmp_path: Path) -> None:
    """As after a process that was killed: what it received was not written."""
    context = multiprocessing.get_context("fork")

    def receive(name: int, jobs: object, results: object) -> None:
        while (job := jobs.get()) is not None:
            results.put((name, job))

    def program() -> list[object]:
        jobs, results = context.Queue(), context.SimpleQueue()
        workers = [context.Process(target=receive, args=(n, jobs, results)) for n in range(2)]
        for worker in workers:
            worker.start()
        for number in range(10):
            jobs.put(number)
        got = [results.get() for _ in range(10)]
        jobs.put(None)
        jobs.put(None)
        for worker in workers:
            worker.join()
        let_go(jobs)
        return got

    path = tmp_path / "log"
    with bohrbug.record(path):
        expected = program()
    whole = read_coded(path)
    busiest = max(("0.1", "0.2"), key=lambda task: len(whole.tasks[task].codes))
    other = "0.1" if busiest == "0.2" else "0.2"
    # The log without what one of them did, and without what came from it.
    log = read_log(path)
    log.tasks[other] = []
    log.ended.discard(other)
    log.tasks["0"] = [
        event
        for event in log.tasks["0"]
        if event.outcome.message is None or event.outcome.message.sender != other
    ]
    path.write_bytes(encode(log))
    with bohrbug.replay_messages(path, keep_going=True, patience=5) as replay:
        got = program()
    assert sorted(job for _, job in got) == list(range(10))
    mine = [job for name, job in expected if name == int(busiest[-1]) - 1]
    assert [job for name, job in got if name == int(busiest[-1]) - 1][: len(mine)] == mine
    assert replay.warnings == []


def test_which_process_ends_first(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")

    def program() -> list[int]:
        processes = [context.Process(target=pause, args=(0.02,)) for _ in range(3)]
        for process in processes:
            process.start()
        names = {process.sentinel: n for n, process in enumerate(processes)}
        order = []
        while names:
            for ended in multiprocessing.connection.wait(list(names)):
                order.append(names.pop(ended))
        for process in processes:
            process.join(5)
        return order

    log = steady(tmp_path, program, 4)
    # Joining is no select.
    assert all(event.outcome.status is Status.READY for event in log.tasks["0"])


# -- asyncio ---------------------------------------------------------------------------------


@pytest.mark.parametrize("loops", [True, False])
def test_timeouts_of_asyncio(tmp_path: Path, loops: bool) -> None:
    async def late(channel: asyncio.Queue[str]) -> None:
        await asyncio.sleep(random.random() * 0.004)
        await channel.put("came")

    async def number(n: int) -> int:
        await asyncio.sleep(random.random() * 0.004)
        return n

    async def main() -> list[object]:
        seen: list[object] = []
        for n in range(8):
            channel: asyncio.Queue[str] = asyncio.Queue()
            sender = asyncio.create_task(late(channel))
            try:
                seen.append(await asyncio.wait_for(channel.get(), 0.002))
            except TimeoutError:
                seen.append("late")
            await sender
            try:
                async with asyncio.timeout(1), asyncio.timeout(0.002):
                    seen.append(await number(n))
            except TimeoutError:
                seen.append("too late")
        return seen

    log = steady(tmp_path, lambda: asyncio.run(main()), 4, loops=loops)
    (events,) = (e for task, e in log.tasks.items() if task == "0.1")
    assert sum(event.flavour == "asyncio.timeout" for event in events) == 24


def test_timeouts_fire_as_always_once_all_is_native(tmp_path: Path) -> None:
    async def main(wait: float) -> str:
        try:
            await asyncio.wait_for(asyncio.sleep(wait), 0.05)
        except TimeoutError:
            return "late"
        channel: queue.Queue[int] = queue.Queue()
        channel.put(1)
        return "in time"

    path = tmp_path / "log"
    with bohrbug.record(path):
        assert asyncio.run(main(0)) == "in time"
    with bohrbug.replay_messages(path, keep_going=True, patience=0.2) as replay:
        threading.Timer(0.1, replay_differs).start()
        assert asyncio.run(main(20)) == "late"
    assert replay.desynchronisation is not None


def replay_differs() -> None:
    """A task that the log does not know does something."""
    queue.Queue().put(1)
