"""What reports say of programs whose tasks talk over connections."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import socketserver
import threading
from collections.abc import Iterator

import pytest

import bohrbug
from bohrbug.model.outcome import OutcomeKind
from bohrbug.report.text import failure_text

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
