"""What reports say of programs whose tasks talk over connections."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.report.text import failure_text
from tests.end_to_end.conftest import Folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sockets and pipes are controlled on POSIX")


class _OnePiece(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.wfile.write(self.request.recv(100))


@contextlib.contextmanager
def _serving(handler: type) -> Iterator[tuple[str, int]]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address  # type: ignore[misc]
        finally:
            server.shutdown()
            thread.join()


def _sends_in_two_pieces() -> None:
    with _serving(_OnePiece) as address:
        client = socket.create_connection(address)
        client.sendall(b"he")
        client.sendall(b"llo\n")
        with client.makefile("rb") as file:
            got = file.readline()
        client.close()
    assert got == b"hello\n"


def test_stream_that_is_taken_for_messages() -> None:
    result = bohrbug.explore(_sends_in_two_pieces, timeouts="late")
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION
    report = failure_text(failure, width=200)
    here = os.path.basename(__file__)
    sends = _sends_in_two_pieces.__code__.co_firstlineno + 4
    cause = " ".join(report.split("Schedule")[0].split())
    assert f"the receive from connection client ({here}:" in cause
    assert f"comes before the send ({here}:{sends})" in cause
    assert f"between its send on connection client ({here}:{sends - 1})" in cause
    assert "socket.py" not in report
    # Where the private name of an attribute is told, it is as the source has it.
    assert "_BaseServer__" not in report
    assert "BaseServer.__shutdown_request" in report


def test_streams_of_asyncio_are_used_where_the_program_does() -> None:
    """What a loop reads by itself is read by the loop, not by who runs it."""

    async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(100))
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answers, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"he")
        await writer.drain()
        await asyncio.sleep(0)
        writer.write(b"llo")
        got = await reader.read(100)
        writer.close()
        server.close()
        assert got == b"hello"

    (failure,) = bohrbug.explore(lambda: asyncio.run(main())).failures
    report = failure_text(failure, width=300)
    first = main.__code__.co_firstlineno + 3
    lines = [line for line in report.splitlines() if "writer.write(b" in line]
    assert any(f":{first} " in line for line in lines), report
    assert "send on connection" in report
    assert "connection 0:" not in report
    rows = report.split("Schedule", 1)[1].splitlines()
    assert not [row for row in rows if "asyncio.run(main())" in row and "receive" in row]


def test_server_that_looks_now_and_then_whether_to_stop_does_not_spin() -> None:
    result = bohrbug.explore(_sends_in_two_pieces, keep_going=True, executions=300)
    assert not [notice for notice in result.notices if "spins" in notice]


def test_deadlock_of_two_who_wait_for_the_other_to_speak() -> None:
    def test() -> None:
        left, right = socket.socketpair()

        def answer() -> None:
            right.recv(1)
            right.send(b"b")

        with left, right:
            thread = threading.Thread(target=answer)
            thread.start()
            left.recv(1)
            left.send(b"a")
            thread.join()

    (failure,) = bohrbug.explore(test).failures
    report = failure_text(failure, width=200)
    assert "Task 0.1 (Thread-1, answer) waits for socket pair (left, right)" in report


def test_method_that_is_what_a_thread_runs() -> None:
    """There is nobody else to name than the thread itself."""

    def test() -> None:
        left, right = socket.socketpair()
        threads = [threading.Thread(target=left.sendall, args=(data,)) for data in (b"a", b"b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        got = right.recv(2)
        left.close()
        right.close()
        assert got == b"ab"

    (failure,) = bohrbug.explore(test).failures
    schedule = failure_text(failure, width=200).split("Schedule", 1)[1]
    assert schedule.count("send on socket pair (left, right)") == 2


def test_client_and_server_that_both_wait_for_the_other_are_a_deadlock() -> None:
    """Over the loopback, of which nobody else has an end: not something outside our control."""

    def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:

            def serve() -> None:
                accepted, _ = listening.accept()
                with accepted, accepted.makefile("rb") as file:
                    accepted.sendall(file.readline())

            thread = threading.Thread(target=serve)
            thread.start()
            with socket.create_connection(listening.getsockname()) as client:
                client.sendall(b"no newline")
                client.recv(10)
            thread.join()

    began = time.monotonic()
    (failure,) = bohrbug.explore(test, causes=0).failures
    assert time.monotonic() - began < 5
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert {blocked.task for blocked in failure.outcome.blocked} == {"0", "0.1"}
    assert failure_text(failure, width=200).count("waits for connection client (") >= 2


STREAMS = """
import asyncio

async def answers(reader, writer):
    writer.write(await reader.readline())
    writer.close()

async def main():
    server = await asyncio.start_server(answers, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"no newline")
    await reader.readline()
"""


def test_streams_of_asyncio_that_wait_for_each_other_are_a_deadlock(folder: Folder) -> None:
    folder.write("streams.py", STREAMS)
    done = folder.bohrbug("run", "streams.py:main")
    assert done.code == 1
    assert "Deadlock: 2 tasks wait" in done.out
    assert "Task 0.1 (main) waits for StreamReader" in done.out
    assert "(answers) waits for StreamReader" in done.out


ECHO = """
import socket
import socketserver
import threading

class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(self.rfile.readline())

def main():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        with socket.create_connection(server.server_address) as client:
            client.sendall(b"no newline")
            client.recv(1)
        server.shutdown()
        thread.join()
"""


def test_client_and_handler_beside_a_server_that_polls_are_a_deadlock(folder: Folder) -> None:
    folder.write("echo.py", ECHO)
    done = folder.bohrbug("run", "--causes", "0", "echo.py:main")
    assert done.code == 1
    assert "Deadlock: 2 tasks wait and nobody is left to wake them" in done.out
    words = " ".join(done.out.split())
    assert "Task 0 (MainThread, test) waits for connection client" in words
    assert "only repeats its steps and wakes nobody" in words


def test_server_for_whom_nobody_comes_is_no_deadlock() -> None:
    """Somebody outside may come, if not here."""

    def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            thread = threading.Thread(target=listening.accept)
            thread.start()
            thread.join()

    result = bohrbug.explore(test, hang_seconds=1)
    assert not result.failures
    assert result.verdict.kind is VerdictKind.INCONCLUSIVE


def test_waiting_beside_a_server_whose_clients_are_tasks_is_a_deadlock() -> None:
    """Its port has been told to nobody else: who waits for something else is not helped by it."""

    async def main() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()
            served.set()

        served = asyncio.Event()
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.close()
        await served.wait()
        await asyncio.Event().wait()

    began = time.monotonic()
    (failure,) = bohrbug.explore(lambda: asyncio.run(main()), causes=0).failures
    assert time.monotonic() - began < 10
    assert failure.outcome.kind is OutcomeKind.DEADLOCK


def test_connection_to_another_process_is_waited_for() -> None:
    answers_late = (
        "import socket, sys, time\n"
        "with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as peer:\n"
        "    time.sleep(0.5)\n"
        "    peer.sendall(b'x')\n"
    )

    def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = str(listening.getsockname()[1])
            command = [sys.executable, "-c", answers_late, port]
            with subprocess.Popen(command):
                accepted, _ = listening.accept()
                with accepted:
                    assert accepted.recv(1) == b"x"

    assert not bohrbug.explore(test, executions=2).failures


def test_peer_in_a_real_thread_is_waited_for() -> None:
    """One that was started before the exploration, and has the other end in this process."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        # Until nobody listens any more.
        with contextlib.suppress(OSError):
            while True:
                accepted, _ = listening.accept()
                with accepted:
                    time.sleep(0.3)
                    accepted.sendall(b"x")

    server = threading.Thread(target=serve, daemon=True)
    server.start()

    def test() -> None:
        with socket.create_connection(listening.getsockname()) as client:
            assert client.recv(1) == b"x"

    result = bohrbug.explore(test, executions=2)
    listening.shutdown(socket.SHUT_RDWR)
    server.join()
    listening.close()
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND
