"""Sockets, pipes and ``select`` under control."""

from __future__ import annotations

import os
import select
import selectors
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.result import VerdictKind
from bohrbug.model.conditions import Level
from bohrbug.model.operation import CLOSE, OUTSIDE, RECEIVE, SEND
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, Priorities, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from tests.programs.together import together

PLANS = (
    Plan(),
    *(Plan((), UniformRandom(seed)) for seed in range(10)),
    *(Plan((), Priorities(seed, 3, 50)) for seed in range(3)),
)


def execute(
    function: Callable[[], object],
    plans: tuple[Plan, ...] = PLANS,
    settings: Settings | None = None,
    level: Level = Level.SYNC,
) -> list[Trace]:
    """The traces of some plans."""
    with threads_runtime(function, settings or Settings(), level, Scope()) as runtime:
        return [runtime.execute(plan).trace for plan in plans]


def assert_passes(function: Callable[[], object], plans: tuple[Plan, ...] = PLANS) -> list[Trace]:
    """Every execution passes."""
    traces = execute(function, plans)
    for trace in traces:
        outcome = trace.outcome
        assert outcome.kind is OutcomeKind.PASSED, f"{outcome.message}\n{outcome.traceback}"
    return traces


def test_who_sends_first_depends_on_the_schedule() -> None:
    """Calls on sockets are scheduling points: all orders of two senders are found."""
    orders = set()

    def test() -> None:
        left, right = socket.socketpair()
        together(lambda: left.send(b"a"), lambda: left.send(b"b"))
        orders.add(right.recv(2))
        left.close()
        right.close()

    traces = assert_passes(test)
    assert orders == {b"ab", b"ba"}
    kinds = {operation.kind for operation in traces[0].operations}
    assert {SEND, RECEIVE, CLOSE} <= kinds


def _sendto(sender: socket.socket, data: bytes, address: Any) -> None:
    sender.sendto(data, address)


def _sendmsg(sender: socket.socket, data: bytes, address: Any) -> None:
    sender.sendmsg([data], [], 0, address)


def _send_connected(sender: socket.socket, data: bytes, address: Any) -> None:
    sender.connect(address)
    sender.send(data)


def _send_all_connected(sender: socket.socket, data: bytes, address: Any) -> None:
    sender.connect(address)
    sender.sendall(data)


@pytest.mark.parametrize("send", [_sendto, _sendmsg, _send_connected, _send_all_connected])
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_UNIX])
def test_reduction_finds_both_orders_of_datagrams(
    send: Callable[[socket.socket, bytes, Any], None], family: int, tmp_path: Path
) -> None:
    """Two senders have no socket in common, but the queue of who receives."""
    orders = set()

    def test() -> None:
        receiver = socket.socket(family, socket.SOCK_DGRAM)
        name = tmp_path / "receiver"
        name.unlink(missing_ok=True)
        receiver.bind(str(name) if family == socket.AF_UNIX else ("127.0.0.1", 0))

        def send_it(data: bytes) -> None:
            with socket.socket(family, socket.SOCK_DGRAM) as sender:
                send(sender, data, receiver.getsockname())

        together(lambda: send_it(b"a"), lambda: send_it(b"b"))
        orders.add(receiver.recv(1) + receiver.recv(1))
        receiver.close()

    result = bohrbug.explore(test, strategy="dpor")
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert orders == {b"ab", b"ba"}


@pytest.mark.parametrize("is_connected", [False, True])
def test_a_datagram_may_come_before_somebody_looks_or_behind(is_connected: bool) -> None:
    seen = set()

    def test() -> None:
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for each in (receiver, sender):
            each.bind(("127.0.0.1", 0))
        if is_connected:
            receiver.connect(sender.getsockname())
        receiver.setblocking(False)

        def look() -> None:
            try:
                seen.add(receiver.recv(1))
            except BlockingIOError:
                seen.add(b"")

        together(lambda: sender.sendto(b"a", receiver.getsockname()), look)
        receiver.close()
        sender.close()

    result = bohrbug.explore(test, strategy="dpor")
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert seen == {b"", b"a"}


@pytest.mark.parametrize("timeout", [None, 0.5, 0])
def test_who_connects_may_come_before_somebody_listens_or_behind(timeout: float | None) -> None:
    refused = set()

    def test() -> None:
        server, client = socket.socket(), socket.socket()
        server.bind(("127.0.0.1", 0))
        client.settimeout(timeout)

        def connect() -> None:
            try:
                client.connect(server.getsockname())
            except (ConnectionRefusedError, BlockingIOError):
                pass
            refused.add(client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0)

        def connect_and_wait() -> None:
            try:
                client.connect(server.getsockname())
                refused.add(False)
            except ConnectionRefusedError:
                refused.add(True)

        together(server.listen, connect if timeout == 0 else connect_and_wait)
        server.close()
        client.close()

    result = bohrbug.explore(test, strategy="dpor")
    assert not result.failures
    assert refused == {False, True}


def test_a_datagram_may_be_sent_before_somebody_has_its_address_or_behind() -> None:
    seen = set()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        address = probe.getsockname()

    def test() -> None:
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        together(lambda: receiver.bind(address), lambda: sender.sendto(b"a", address))
        receiver.setblocking(False)
        try:
            seen.add(receiver.recv(1))
        except BlockingIOError:
            seen.add(b"")
        receiver.close()
        sender.close()

    result = bohrbug.explore(test, strategy="dpor")
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert seen == {b"", b"a"}


def test_more_than_fits_is_sent_piece_by_piece() -> None:
    """A blocking send of much data and its receiver take turns."""

    def test() -> None:
        left, right = socket.socketpair()
        size = 2_000_000
        received = [0]

        def receive() -> None:
            while received[0] < size:
                received[0] += len(right.recv(65_536))

        thread = threading.Thread(target=receive)
        thread.start()
        assert left.send(b"x" * 1_000_000) == 1_000_000
        left.sendall(b"x" * 1_000_000)
        thread.join()
        left.close()
        right.close()

    assert_passes(test, PLANS[:4])


def test_same_ids_in_every_schedule() -> None:
    """A connection is one resource, whoever uses it first."""
    made = set()

    def test() -> None:
        left, right = socket.socketpair()
        together(lambda: left.send(b"a"), lambda: right.recv(1))
        left.close()
        right.close()

    for trace in assert_passes(test):
        made.add(frozenset(o.resource for o in trace.operations if o.kind in OUTSIDE))
    assert len(made) == 1


def test_receiving_happens_after_sending() -> None:
    """What is handed over through a socket is no data race."""

    class Box:
        value = 0

    def test() -> None:
        box = Box()
        left, right = socket.socketpair()

        def give() -> None:
            box.value = 1
            left.send(b"!")

        def take() -> None:
            right.recv(1)
            assert box.value == 1

        together(give, take)
        left.close()
        right.close()

    for trace in execute(test, level=Level.RACY):
        assert trace.outcome.kind is OutcomeKind.PASSED
        assert not trace.races


def test_two_tasks_that_wait_for_each_other_are_a_deadlock() -> None:
    """Both ends are within the process: nobody else can send anything."""

    def test() -> None:
        left, right = socket.socketpair()
        with left, right:
            together(lambda: left.recv(1), lambda: right.recv(1))

    for trace in execute(test, PLANS[:3]):
        assert trace.outcome.kind is OutcomeKind.DEADLOCK


def test_waiting_for_another_process_in_vain_is_no_deadlock() -> None:
    """It is outside our control, and said to be."""

    def test() -> None:
        with subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                process.stdout.read()
            finally:
                process.kill()

    [trace] = execute(test, PLANS[:1], Settings(external_patience=0.05))
    assert trace.outcome.kind is OutcomeKind.HANG
    assert "outside our control" in trace.outcome.message


def test_timeouts_of_sockets_are_virtual() -> None:
    """And fire only when nobody can run who might send."""

    def test() -> None:
        left, right = socket.socketpair()
        left.settimeout(10_000)
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            left.recv(1)
        assert time.monotonic() - began >= 10_000
        thread = threading.Thread(target=right.sendall, args=(b"late",))
        thread.start()
        assert left.recv(4) == b"late"
        thread.join()
        left.close()
        right.close()

    assert_passes(test)


def test_connection_within_the_process() -> None:
    """A server and a client as tasks, through the loopback interface."""

    def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]

            def serve() -> None:
                connection, _ = server.accept()
                with connection, connection.makefile("rwb") as stream:
                    stream.write(stream.readline().upper())

            def ask() -> None:
                with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                    connection.sendall(b"hello\n")
                    assert connection.recv(100) == b"HELLO\n"

            together(serve, ask)

    assert_passes(test)


def test_refused_connection() -> None:
    """The error is the one that a real thread gets."""

    def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))

    assert_passes(test, PLANS[:3])


def test_nonblocking_socket_does_not_wait() -> None:
    """And a task that asks again and again lets others run."""

    def test() -> None:
        left, right = socket.socketpair()
        left.setblocking(False)
        received = []

        def poll() -> None:
            while not received:
                try:
                    received.append(left.recv(1))
                except BlockingIOError:
                    continue

        together(poll, lambda: right.send(b"x"))
        left.close()
        right.close()

    assert_passes(test)


def test_pipe() -> None:
    """Reading and writing more than fits, through numbers and file objects."""

    def test() -> None:
        reading, writing = os.pipe()
        received = []

        def read() -> None:
            with os.fdopen(reading, "rb") as stream:
                received.append(stream.read())

        thread = threading.Thread(target=read)
        thread.start()
        assert os.write(writing, b"a" * 150_000) == 150_000
        with os.fdopen(writing, "w") as stream:
            stream.write("end")
        thread.join()
        assert received == [b"a" * 150_000 + b"end"]

    assert_passes(test)


def wait_with_select(files: list[int], timeout: float) -> list[int]:
    """``select.select``."""
    return select.select(files, [], [], timeout)[0]


def wait_with_poll(files: list[int], timeout: float) -> list[int]:
    """``select.poll``."""
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    return [file for file, _ in poll.poll(timeout * 1_000)]


def wait_with_selector(files: list[int], timeout: float) -> list[int]:
    """``selectors``."""
    with selectors.DefaultSelector() as selector:
        for file in files:
            selector.register(file, selectors.EVENT_READ)
        return [key.fd for key, _ in selector.select(timeout)]


def wait_with_epoll(files: list[int], timeout: float) -> list[int]:
    """``select.epoll``."""
    with select.epoll() as epoll:
        for file in files:
            epoll.register(file, select.EPOLLIN)
        return [file for file, _ in epoll.poll(timeout)]


WAITS = [wait_with_select, wait_with_poll, wait_with_selector]
if hasattr(select, "epoll"):
    WAITS.append(wait_with_epoll)


@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: wait.__name__)
def test_waiting_for_several(wait: Callable[[list[int], float], list[int]]) -> None:
    """All of them come, in any order; nothing comes after the (virtual) timeout."""

    def test() -> None:
        pipes = [os.pipe() for _ in range(2)]
        came: list[bytes] = []

        def receive() -> None:
            while len(came) < 2:
                for file in wait([reading for reading, _ in pipes], 1_000):
                    came.append(os.read(file, 1))

        together(receive, lambda: os.write(pipes[0][1], b"0"), lambda: os.write(pipes[1][1], b"1"))
        assert sorted(came) == [b"0", b"1"]
        assert wait([pipes[0][0]], 5_000) == []
        assert wait([pipes[0][0]], 0) == []
        for pipe in pipes:
            for end in pipe:
                os.close(end)

    assert_passes(test)


@pytest.mark.skipif(not hasattr(selectors, "EpollSelector"), reason="Linux only")
def test_a_selector_closed_while_a_task_waits_is_an_error_of_that_task() -> None:
    """The scheduler looks for the task that waits, but whoever runs then has done no wrong."""
    told: list[str] = []

    def test() -> None:
        selector = selectors.EpollSelector()
        pipe = os.pipe()
        selector.register(pipe[0], selectors.EVENT_READ)

        def wait() -> None:
            try:
                selector.select(1_000)
            except ValueError as error:
                told.append(str(error))

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.1)
        selector.close()
        thread.join()
        for end in pipe:
            os.close(end)

    assert_passes(test)
    assert "I/O operation on closed epoll object" in told


def test_a_poller_of_an_earlier_execution_has_no_user_yet() -> None:
    reading, writing = os.pipe()
    kept: list[select.poll] = []

    def test() -> None:
        kept.append(select.poll())
        thread = threading.Thread(target=kept[-1].register, args=(reading,))
        thread.start()
        if len(kept) > 1:
            kept[-2].register(reading)
        thread.join()

    traces = execute(test)
    os.close(reading)
    os.close(writing)
    types = {t.resources[o.resource].type for t in traces for o in t.operations}
    assert "Thread" in types
    assert "poll" not in types, "polling object used by several tasks"


def test_time_waits_for_a_child() -> None:
    """A long virtual sleep of another task does not outrun a child that needs real time."""
    ends = []

    def test() -> None:
        ended: list[str] = []

        def child() -> None:
            subprocess.run(["sleep", "0.05"], check=True, timeout=60)
            ended.append("child")

        def sleeper() -> None:
            time.sleep(0.5)
            ended.append("sleeper")

        together(child, sleeper)
        ends.append(ended)

    assert_passes(test, PLANS[:1])
    assert ends == [["child", "sleeper"]]


def test_everything_is_put_back() -> None:
    """After an exploration the real functions are in place."""
    before = (select.select, select.poll, os.read, os.fork, dict(vars(socket.socket)))
    execute(lambda: None, PLANS[:1])
    assert (select.select, select.poll, os.read, os.fork, dict(vars(socket.socket))) == before


def test_bytes_that_the_kernel_keeps_back_arrive_before_timeouts() -> None:
    """The second of two small pieces goes when the first is acknowledged, after some 40 ms."""

    def test() -> None:
        server = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(10)
                while connection.recv(1):
                    connection.sendall(b"a")
                    connection.sendall(b"b")

        def ask() -> None:
            with socket.create_connection(server.getsockname()) as client:
                client.settimeout(10)
                for _ in range(30):
                    client.sendall(b"x")
                    got = b""
                    while len(got) < 2:
                        got += client.recv(2)

        with server:
            together(serve, ask)

    traces = assert_passes(test, PLANS[:2])
    assert not any(trace.uncontrolled.counts for trace in traces)


def test_a_handshake_that_is_repeated_comes_before_timeouts() -> None:
    """The queue of the listener is full: the kernel asks again after a second."""

    def test() -> None:
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen(0)
            first = socket.create_connection(server.getsockname())

            def connect() -> None:
                with socket.create_connection(server.getsockname(), timeout=10):
                    pass

            def accept() -> None:
                for _ in range(2):
                    server.accept()[0].close()

            with first:
                together(connect, accept)

    assert_passes(test, PLANS[:2])


class Channel:
    """Something to be selected whose number is asked for under a lock, as paramiko's channels."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.asked = 0
        self.reading, self.writing = os.pipe()

    def fileno(self) -> int:
        with self.lock:
            self.asked += 1
            return self.reading

    def write(self) -> None:
        with self.lock:
            os.write(self.writing, b"*")

    def close(self) -> None:
        os.close(self.reading)
        os.close(self.writing)


def test_the_number_of_what_is_selected_is_asked_for_once_and_by_who_selects() -> None:
    def test() -> None:
        channels = [Channel(), Channel()]
        thread = threading.Thread(target=channels[1].write)
        thread.start()
        found = select.select([*channels, channels[1]], [], [])
        assert found == ([channels[1], channels[1]], [], [])
        thread.join()
        assert [channel.asked for channel in channels] == [1, 2]
        for channel in channels:
            channel.close()

    assert_passes(test)
