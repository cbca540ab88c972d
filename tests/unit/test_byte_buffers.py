"""Buffers, slices and iterators that code in C reads or fills while another task uses them."""

from __future__ import annotations

import array
import contextlib
import io
import mmap
import multiprocessing
import operator
import os
import socket
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

import pytest

import bohrbug
from bohrbug import VerdictKind
from tests.programs.together import together

Use = Callable[[Any], object]


def to_stream(data: Any) -> bytes:
    stream = io.BytesIO()
    stream.write(data)
    return stream.getvalue()


def lines_to_stream(data: Any) -> bytes:
    stream = io.BytesIO()
    stream.writelines([data])
    return stream.getvalue()


def through_buffer(data: Any) -> bytes:
    raw = io.BytesIO()
    stream = io.BufferedWriter(raw)
    stream.write(data)
    stream.flush()
    return raw.getvalue()


def to_file(write: Callable[[Any, Any], object]) -> Use:
    def use(data: Any) -> bytes:
        with tempfile.TemporaryFile(buffering=0) as file:
            write(file, data)
            return os.pread(file.fileno(), 9, 0)

    return use


def to_socket(send: Callable[[socket.socket, Any], object]) -> Use:
    def use(data: Any) -> bytes:
        one, other = socket.socketpair()
        with one, other:
            send(one, data)
            return other.recv(9)

    return use


def to_pipe(data: Any) -> bytes:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", 0) as source:
        with os.fdopen(writing, "wb", 0) as target:
            target.write(data)
        return source.read(9)


def to_mapping(data: Any) -> bytes:
    with mmap.mmap(-1, 4) as mapping:
        mapping.write(data)
        return mapping[:]


def to_array(data: Any) -> list[int]:
    numbers = array.array("B")
    numbers.frombytes(data)
    return numbers.tolist()


def to_database(data: Any) -> object:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        return connection.execute("SELECT ?", (data,)).fetchone()


def by_name(data: Any) -> bytes:
    target = bytearray(4)
    target.__setitem__(slice(None), data)
    return bytes(target)


def by_operator(data: Any) -> bytes:
    target = bytearray(4)
    operator.setitem(target, slice(None), data)
    return bytes(target)


READING: dict[str, Use] = {
    "BytesIO": lambda data: io.BytesIO(data).getvalue(),
    "write": to_stream,
    "writelines": lines_to_stream,
    "buffered": through_buffer,
    "FileIO": to_file(lambda file, data: file.write(data)),
    "os.write": to_file(lambda file, data: os.write(file.fileno(), data)),
    "os.writev": to_file(lambda file, data: os.writev(file.fileno(), [data])),
    "os.pwrite": to_file(lambda file, data: os.pwrite(file.fileno(), data, 0)),
    "os.pwritev": to_file(lambda file, data: os.pwritev(file.fileno(), [data], 0)),
    "send": to_socket(lambda one, data: one.send(data)),
    "sendall": to_socket(lambda one, data: one.sendall(data)),
    "sendmsg": to_socket(lambda one, data: one.sendmsg([data])),
    "pipe": to_pipe,
    "mmap": to_mapping,
    "frombytes": to_array,
    "sqlite3": to_database,
    "find": lambda data: b"abcd".find(data),
    "startswith": lambda data: b"abcd".startswith(data),
    "replace": lambda data: b"abcde".replace(b"e", data),
    "translate": lambda data: b"abcd".translate(None, data),
    "in": lambda data: data in b"abcd",
    "slice": by_name,
    "setitem": by_operator,
    "reversed": lambda data: list(reversed(data)),
    "reversed array": lambda data: list(reversed(memoryview(data))),
}
"""What reads a buffer, and gives back what depends on its first byte."""


def fill_from_file(fill: Callable[[Any, Any], object], buffering: int = 0) -> Use:
    def use(data: Any) -> None:
        with tempfile.TemporaryFile(buffering=buffering) as file:
            file.write(b"wxyz")
            file.seek(0)
            fill(file, data)

    return use


def fill_from_socket(receive: Callable[[socket.socket, Any], object]) -> Use:
    def use(data: Any) -> None:
        one, other = socket.socketpair()
        with one, other:
            one.send(b"wxyz")
            receive(other, data)

    return use


def fill_from_pipe(data: Any) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", 0) as source:
        with os.fdopen(writing, "wb", 0) as target:
            target.write(b"wxyz")
        source.readinto(data)


FILLING: dict[str, Use] = {
    "BytesIO": lambda data: io.BytesIO(b"wxyz").readinto(data),
    "readinto1": lambda data: io.BufferedReader(io.BytesIO(b"wxyz")).readinto1(data),
    "FileIO": fill_from_file(lambda file, data: file.readinto(data)),
    "buffered": fill_from_file(lambda file, data: file.readinto(data), -1),
    "os.readv": fill_from_file(lambda file, data: os.readv(file.fileno(), [data])),
    "os.preadv": fill_from_file(lambda file, data: os.preadv(file.fileno(), [data], 0)),
    "recv_into": fill_from_socket(lambda other, data: other.recv_into(data)),
    "recvfrom_into": fill_from_socket(lambda other, data: other.recvfrom_into(data)),
    "recvmsg_into": fill_from_socket(lambda other, data: other.recvmsg_into([data])),
    "pipe": fill_from_pipe,
}
"""What puts ``wxyz`` into a buffer."""


def kind(program: Callable[[Any], None], guard: Any) -> VerdictKind:
    return bohrbug.explore(lambda: program(guard), executions=200, seconds=10).verdict.kind


def is_seen(program: Callable[[Any], None]) -> bool:
    """Whether a program that only a lock makes right fails without one, and never with it."""
    guarded = kind(lambda _: program(threading.Lock()), None)
    assert guarded is not VerdictKind.FAILED
    return kind(program, contextlib.nullcontext()) is VerdictKind.FAILED


@pytest.mark.skipif(sys.platform == "win32", reason="needs descriptors of POSIX")
@pytest.mark.parametrize("use", READING.values(), ids=READING)
def test_what_reads_a_buffer_is_seen(use: Use) -> None:
    def program(guard: Any) -> None:
        data = bytearray(b"abcd")
        wanted = use(data)
        looked: list[object] = []

        def look() -> None:
            with guard:
                looked.extend((data[0] == 97, use(data)))

        def change() -> None:
            with guard:
                data[0] = 51

        together(look, change)
        assert looked[0] is False or looked[1] == wanted

    assert is_seen(program)


@pytest.mark.skipif(sys.platform == "win32", reason="needs descriptors of POSIX")
@pytest.mark.parametrize("fill", FILLING.values(), ids=FILLING)
def test_what_fills_a_buffer_is_seen(fill: Use) -> None:
    def program(guard: Any) -> None:
        data = bytearray(4)
        looked: list[bytes] = []

        def put() -> None:
            with guard:
                fill(data)

        def look() -> None:
            with guard:
                looked.extend((bytes(data), bytes(data)))

        together(put, look)
        assert looked[0] == looked[1]

    assert is_seen(program)


def test_an_answer_into_a_buffer_comes_after_what_was_asked() -> None:
    """Who waits for bytes has not yet touched the buffer that they will be in."""

    def test() -> None:
        one, other = socket.socketpair()
        data = bytearray(b"ab")
        with one, other:

            def receive() -> None:
                other.recv_into(data)

            thread = threading.Thread(target=receive)
            thread.start()
            assert data == b"ab"
            one.send(b"cd")
            thread.join()
            assert data == b"cd"

    result = bohrbug.explore(test, races="fail", executions=200)
    assert result.verdict.kind is VerdictKind.HOLDS


def test_a_connection_reads_what_it_sends() -> None:
    def program(guard: Any) -> None:
        one, other = multiprocessing.Pipe()
        data = bytearray(b"ab")

        def send() -> None:
            with guard:
                one.send_bytes(data)
                one.send_bytes(data)

        def change() -> None:
            with guard:
                data[0] += 1

        with one, other:
            together(send, change)
            assert other.recv_bytes() == other.recv_bytes()

    assert is_seen(program)


def test_a_connection_fills_what_it_receives_into() -> None:
    def program(guard: Any) -> None:
        one, other = multiprocessing.Pipe()
        data = bytearray(b"ab")
        looked: list[bytes] = []

        def receive() -> None:
            with guard:
                other.recv_bytes_into(data)

        def look() -> None:
            with guard:
                looked.extend((bytes(data), bytes(data)))

        with one, other:
            one.send_bytes(b"cd")
            together(receive, look)
        assert looked[0] == looked[1]

    assert is_seen(program)


@pytest.mark.parametrize(
    "join",
    [
        lambda late: {1}.union([], late),
        lambda late: {1}.union([], [], [], [], late),
        lambda late: {1}.union(*[[], [], [], [], late]),
    ],
)
def test_all_that_a_method_of_sets_is_given_is_read(join: Callable[[set[int]], set[int]]) -> None:
    def program(guard: Any) -> None:
        late = {2}
        found: list[object] = []

        def look() -> None:
            with guard:
                found.extend((len(late), len(join(late))))

        def change() -> None:
            with guard:
                late.add(3)

        together(look, change)
        assert found in ([1, 2], [2, 3])

    assert is_seen(program)


@pytest.mark.parametrize(
    "ask",
    [operator.length_hint, lambda numbers: numbers.__length_hint__()],
)
def test_how_much_is_still_to_come_is_read(ask: Callable[[Any], int]) -> None:
    def program(guard: Any) -> None:
        numbers = iter([1, 2])
        found: list[int] = []

        def look() -> None:
            with guard:
                found.extend((ask(numbers), ask(numbers)))

        def step() -> None:
            with guard:
                next(numbers)

        together(look, step)
        assert found[0] == found[1]

    assert is_seen(program)


def test_how_long_a_list_is_that_is_reversed_is_read() -> None:
    def program(guard: Any) -> None:
        numbers = [1, 2]
        found: list[int] = []

        def look() -> None:
            with guard:
                found.extend((len(numbers), len(list(reversed(numbers)))))

        def add() -> None:
            with guard:
                numbers.append(3)

        together(look, add)
        assert found[0] == found[1]

    assert is_seen(program)


@pytest.mark.parametrize("backwards", [array.array("B", b"ab"), bytearray(b"ab")])
def test_what_goes_backwards_reads_what_it_goes_through(backwards: Any) -> None:
    def program(guard: Any) -> None:
        data = backwards[:]
        waiting = reversed(data)
        found: list[int] = []

        def look() -> None:
            with guard:
                found.append(data[0])
                found.append([*waiting][-1])

        def change() -> None:
            with guard:
                data[0] = 51

        together(look, change)
        assert found[0] == found[1]

    assert is_seen(program)


@pytest.mark.skipif(not hasattr(os, "umask"), reason="needs a umask")
@pytest.mark.parametrize(
    "make",
    [
        lambda path: os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666)),
        lambda path: open(path, "w").close(),
        lambda path: os.mkdir(path, 0o666),
    ],
)
def test_what_makes_a_file_reads_the_umask(make: Callable[[str], None]) -> None:
    def program(guard: Any) -> None:
        before = os.umask(0o22)
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "file")

                def restrict() -> None:
                    with guard:
                        os.umask(os.umask(0o77))

                def create() -> None:
                    with guard:
                        make(path)

                together(restrict, create)
                assert os.stat(path).st_mode & 0o777 == 0o644
        finally:
            os.umask(before)

    assert is_seen(program)
