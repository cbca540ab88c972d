"""Each family of channels, recorded and replayed within this process."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import queue
import random
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import bohrbug
from bohrbug.runtime.channels.events import Kind, MessageId, Status
from bohrbug.runtime.channels.reading import read_log
from tests.programs.together import together
from tests.unit.message_programs import pause, steady

pytestmark = pytest.mark.usefixtures("channels_in_place")

SENDERS, MESSAGES = 4, 25


def jitter() -> None:
    pause(0.0005)


# -- queues ----------------------------------------------------------------------------------


def exchange(make: Callable[[], object], rank: bool = False) -> list[list[object]]:
    """Senders and receivers on one queue; what each receiver got."""
    channel = make()
    got: list[list[object]] = [[] for _ in range(SENDERS)]

    def send(sender: int) -> None:
        for number in range(MESSAGES):
            if number % 7 == 0:
                jitter()
            channel.put((number, sender))

    def receive(receiver: int) -> None:
        for _ in range(MESSAGES):
            got[receiver].append(channel.get())

    together(
        *(functools.partial(send, n) for n in range(SENDERS)),
        *(functools.partial(receive, n) for n in range(SENDERS)),
    )
    return got


@pytest.mark.parametrize(
    "make",
    [
        lambda: queue.Queue(),
        lambda: queue.Queue(3),
        lambda: queue.LifoQueue(),
        lambda: queue.PriorityQueue(),
        lambda: queue.PriorityQueue(2),
        lambda: queue.SimpleQueue(),
    ],
    ids=["fifo", "bounded", "lifo", "priority", "bounded priority", "simple"],
)
def test_queues(tmp_path: Path, make: Callable[[], object]) -> None:
    log = steady(tmp_path, lambda: exchange(make))
    assert log.events == 2 * SENDERS * MESSAGES
    assert set(log.tasks) == {f"0.{n + 1}" for n in range(2 * SENDERS)}
    assert log.ended >= set(log.tasks)


def test_a_subclass_with_an_order_of_its_own(tmp_path: Path) -> None:
    class Newest(queue.Queue):
        def _init(self, maxsize):
            self.queue = []

        def _put(self, item):
            self.queue.insert(0, item)

        def _get(self):
            return self.queue.pop(0)

        def _qsize(self):
            return len(self.queue)

    steady(tmp_path, lambda: exchange(Newest))


def test_outcomes_of_impatient_receivers(tmp_path: Path) -> None:
    def program() -> list[object]:
        channel: queue.Queue[int] = queue.Queue()
        seen: list[object] = []

        def send() -> None:
            for number in range(10):
                jitter()
                channel.put(number)

        def receive() -> None:
            while len([one for one in seen if isinstance(one, int)]) < 10:
                for get in (channel.get_nowait, lambda: channel.get(timeout=0.0002)):
                    try:
                        seen.append(get())
                    except queue.Empty:
                        seen.append("empty")
                seen.append((channel.empty(), channel.qsize()))

        together(send, receive)
        return seen

    log = steady(tmp_path, program)
    kinds = {event.kind for event in log.tasks["0.2"]}
    assert kinds == {Kind.TRY_RECV, Kind.TIMED_RECV, Kind.LOOK}


def test_a_queue_that_serves_as_a_lock_still_excludes(tmp_path: Path) -> None:
    def program() -> list[int]:
        lock: queue.Queue[None] = queue.Queue(1)
        inside = []
        order = []

        def enter(number: int) -> None:
            for _ in range(10):
                lock.put(None)
                inside.append(number)
                assert len(inside) == 1
                order.append(number)
                jitter()
                inside.remove(number)
                lock.get()

        together(*(functools.partial(enter, n) for n in range(3)))
        return sorted(order)

    steady(tmp_path, program)


def test_full_queues(tmp_path: Path) -> None:
    def program() -> list[bool]:
        channel: queue.Queue[int] = queue.Queue(2)
        sent = []

        def send() -> None:
            for number in range(20):
                try:
                    channel.put(number, timeout=0.0003)
                    sent.append(True)
                except queue.Full:
                    sent.append(False)
            channel.put(-1)

        def receive() -> None:
            while channel.get() >= 0:
                jitter()

        together(send, receive)
        return sent

    steady(tmp_path, program)


def test_join_and_task_done(tmp_path: Path) -> None:
    def program() -> int:
        channel: queue.Queue[int] = queue.Queue()
        done = []

        def work() -> None:
            while (number := channel.get()) >= 0:
                done.append(number)
                channel.task_done()
            channel.task_done()

        worker = threading.Thread(target=work)
        worker.start()
        for number in range(30):
            channel.put(number)
        channel.join()
        count = len(done)
        channel.put(-1)
        worker.join()
        return count

    steady(tmp_path, program)


def test_the_idiom_that_clears_a_queue(tmp_path: Path) -> None:
    def program() -> object:
        channel: queue.Queue[int] = queue.Queue()
        for number in range(3):
            channel.put(number)
        with channel.mutex:
            channel.queue.clear()
        channel.put(7)
        return channel.get()

    with bohrbug.record(tmp_path / "log"):
        assert program() == 7
    (event,) = read_log(tmp_path / "log").tasks["0"][-1:]
    assert event.outcome.message == MessageId("0", 3)


def test_threads_of_threads_and_bare_threads_have_their_path(tmp_path: Path) -> None:
    import _thread

    def program() -> list[object]:
        channel: queue.Queue[object] = queue.Queue()

        def child() -> None:
            grandchild = threading.Thread(target=channel.put, args=("grandchild",))
            grandchild.start()
            grandchild.join()
            channel.put("child")

        threading.Thread(target=child).start()
        _thread.start_new_thread(channel.put, ("bare",))
        return [channel.get() for _ in range(3)]

    log = steady(tmp_path, program)
    senders = {event.outcome.message.sender for event in log.tasks["0"] if event.outcome.message}
    assert senders == {"0.1", "0.1.1", "0.2"}


# -- futures and asyncio ---------------------------------------------------------------------


def slow(number: int) -> int:
    time.sleep(random.random() * 0.003)
    return number


def test_futures(tmp_path: Path) -> None:
    def program() -> list[object]:
        seen: list[object] = []
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            futures = [pool.submit(slow, n) for n in range(8)]
            seen += [f.result() for f in concurrent.futures.as_completed(futures)]
            pending = {pool.submit(slow, n) for n in range(8)}
            while pending:
                done, pending = concurrent.futures.wait(
                    pending, return_when=concurrent.futures.FIRST_COMPLETED
                )
                seen.append(sorted(f.result() for f in done))
            future = pool.submit(slow, 1)
            seen.append(future.done())
            try:
                seen.append(future.result(timeout=0.001))
            except TimeoutError:
                seen.append("late")
        return seen

    steady(tmp_path, program)


@pytest.mark.parametrize("loops", [True, False])
def test_asyncio(tmp_path: Path, loops: bool) -> None:
    async def pause() -> None:
        await asyncio.sleep(random.random() * 0.002)

    async def number(n: int) -> int:
        await pause()
        return n

    async def main() -> list[object]:
        channel: asyncio.Queue[tuple[int, int]] = asyncio.Queue(2)
        got: list[list[object]] = [[], []]

        async def send(sender: int) -> None:
            for n in range(5):
                await pause()
                await channel.put((sender, n))

        async def receive(receiver: int) -> None:
            while True:
                got[receiver].append(await channel.get())
                channel.task_done()

        receivers = [asyncio.create_task(receive(n)) for n in range(2)]
        await asyncio.gather(*(send(n) for n in range(3)))
        await channel.join()
        for receiver in receivers:
            receiver.cancel()
        await asyncio.gather(*receivers, return_exceptions=True)
        seen: list[object] = [got]
        seen += [await one for one in asyncio.as_completed([number(n) for n in range(5)])]
        pending = {asyncio.create_task(number(n)) for n in range(5)}
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            seen.append(sorted(task.result() for task in done))
        return seen

    log = steady(tmp_path, lambda: asyncio.run(main()), loops=loops)
    cancelled = [
        task for task, events in log.tasks.items() if events[-1].outcome.status is Status.CANCELLED
    ]
    assert len(cancelled) == 2


# -- sockets ---------------------------------------------------------------------------------


def test_sockets(tmp_path: Path) -> None:
    def program() -> list[bytes]:
        heard: list[bytes] = []
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]

            def call(name: int) -> None:
                jitter()
                with socket.create_connection(("127.0.0.1", port)) as client:
                    client.sendall(b"%d" % name)

            def serve() -> None:
                for _ in range(SENDERS):
                    peer, _address = server.accept()
                    with peer:
                        while data := peer.recv(10):
                            heard.append(data)

            together(serve, *(functools.partial(call, n) for n in range(SENDERS)))
        return heard

    log = steady(tmp_path, program)
    accepted = [event for event in log.tasks["0.1"] if event.flavour == "socket.accept"]
    assert len(accepted) == SENDERS
    assert None not in {event.outcome.message.sender for event in accepted}


def test_how_often_a_task_polls_in_vain_does_not_matter(tmp_path: Path) -> None:
    """Polls until a flag is set: the flag is no message, and replayed timeouts take no time."""

    def program() -> list[object]:
        stop = threading.Event()
        channel: queue.Queue[object] = queue.Queue()
        results: queue.Queue[object] = queue.Queue()
        got: list[object] = []

        def work() -> None:
            while not stop.is_set():
                try:
                    got.append(channel.get(timeout=0.001))
                except queue.Empty:
                    channel.empty()
            results.put("end")

        worker = threading.Thread(target=work)
        worker.start()
        for number in range(3):
            time.sleep(random.random() * 0.01)
            channel.put(number)
        while len(got) < 3:
            time.sleep(0.001)
        time.sleep(random.random() * 0.02)
        stop.set()
        worker.join()
        return [got, results.get()]

    path = tmp_path / "log"
    with bohrbug.record(path):
        expected = program()
    for _ in range(8):
        with bohrbug.replay_messages(path, patience=5) as replay:
            assert program() == expected
        assert replay.desynchronisation is None


def test_a_server_that_is_shut_down(tmp_path: Path) -> None:
    import socketserver
    import urllib.request
    from http.server import BaseHTTPRequestHandler

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True

    def program() -> list[str]:
        seen: queue.Queue[str] = queue.Queue()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                seen.put(self.path)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *words: object) -> None:
                pass

        with Server(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.01,))
            thread.start()
            address = f"http://127.0.0.1:{server.server_address[1]}"
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

            def visit(name: str) -> None:
                jitter()
                opener.open(f"{address}/{name}", timeout=30).read()

            together(*(functools.partial(visit, name) for name in "abc"))
            server.shutdown()
            thread.join()
        return [seen.get() for _ in range(3)]

    steady(tmp_path, program)


# -- desynchronisation -----------------------------------------------------------------------


def one_message(sends: int, receives: int, kind: str = "block") -> list[int]:
    channel: queue.Queue[int] = queue.Queue()
    sender = threading.Thread(target=lambda: [channel.put(n) for n in range(sends)])
    sender.start()
    sender.join()
    get = channel.get if kind == "block" else channel.get_nowait
    return [get() for _ in range(receives)]


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    with bohrbug.record(path):
        one_message(2, 2)
    return path


def test_another_kind_of_event_is_a_desynchronisation(two: Path) -> None:
    with pytest.raises(bohrbug.DesynchronisationError, match="came to try_recv") as raised:
        with bohrbug.replay_messages(two):
            one_message(2, 2, "try")
    found = raised.value.desynchronisation
    assert (found.task, found.number) == ("0", 0)
    assert found.place.startswith("test_message_channels.py:")


def test_keep_going_runs_on_natively(two: Path) -> None:
    with bohrbug.replay_messages(two, keep_going=True) as replay:
        assert one_message(2, 2, "try") == [0, 1]
    assert replay.desynchronisation is not None


def test_a_message_that_never_comes_does_not_hang(two: Path) -> None:
    with bohrbug.replay_messages(two, keep_going=True, patience=0.3) as replay:
        assert one_message(3, 3) == [0, 1, 2]
    assert replay.desynchronisation is not None

    def swapped() -> None:
        channel: queue.Queue[int] = queue.Queue()
        channel.put(1)
        channel.get()

    with pytest.raises(bohrbug.DesynchronisationError):
        with bohrbug.replay_messages(two, patience=0.3):
            swapped()


def test_a_task_that_does_less_is_a_desynchronisation(two: Path) -> None:
    with bohrbug.replay_messages(two, keep_going=True, patience=0.3) as replay:
        assert one_message(1, 1) == [0]
    assert "came to its end" in str(replay.desynchronisation)


def test_past_the_end_of_the_log_all_goes_natively(tmp_path: Path, two: Path) -> None:
    def longer() -> list[int]:
        result = one_message(2, 2)
        channel: queue.Queue[int] = queue.Queue()
        threading.Thread(target=channel.put, args=(9,)).start()
        return [*result, channel.get()]

    with bohrbug.replay_messages(two, patience=5) as replay:
        assert longer() == [0, 1, 9]
    assert replay.desynchronisation is None


def test_digests_notice_another_value(tmp_path: Path) -> None:
    path = tmp_path / "log"

    def send(value: object) -> None:
        channel: queue.Queue[object] = queue.Queue()
        channel.put(value)
        channel.get()

    with bohrbug.record(path, digests=True):
        send({"a": [1, 2.5, "x"]})
    with bohrbug.replay_messages(path) as replay:
        send({"a": [1, 2.5, "x"]})
    assert replay.desynchronisation is None
    with pytest.raises(bohrbug.DesynchronisationError, match="digest"):
        with bohrbug.replay_messages(path):
            send({"a": [1, 2.5, "y"]})


def test_two_unseen_threads_that_write_to_one_channel_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = threading.Event()
    box: list[queue.Queue[int]] = []

    def outside(number: int) -> None:
        gate.wait()
        box[0].put(number)

    threads = [threading.Thread(target=outside, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    with bohrbug.record(tmp_path / "log"):
        box.append(queue.Queue())
        gate.set()
        for thread in threads:
            thread.join()
        box[0].get()
        box[0].get()
    assert "can't be told apart" in capsys.readouterr().err
    senders = [e.outcome.message.sender for e in read_log(tmp_path / "log").tasks["0"]]
    assert senders == [None, None]


def test_one_recording_at_a_time(tmp_path: Path) -> None:
    with bohrbug.record(tmp_path / "one"):
        with pytest.raises(RuntimeError, match="already"):
            with bohrbug.record(tmp_path / "two"):
                raise AssertionError


def test_afterwards_all_is_as_before(tmp_path: Path) -> None:
    before = queue.Queue.put, threading.Thread.start, queue.SimpleQueue
    with bohrbug.record(tmp_path / "log"):
        channel: queue.SimpleQueue[int] = queue.SimpleQueue()
        channel.put(1)
    assert channel.get() == 1
    assert (queue.Queue.put, threading.Thread.start, queue.SimpleQueue) == before
