"""Broken programs: files, descriptors and folders that tasks share."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import mmap
import os
import pathlib
import socket
import struct
import tempfile
from multiprocessing import shared_memory

from tests.programs.together import together


def position_in_a_file() -> None:
    """The other reads between ``seek`` and ``read``."""
    wrong: list[str] = []
    with tempfile.TemporaryFile("w+") as file:
        file.write("ab")
        file.flush()

        def read_first() -> None:
            file.seek(0)
            letter = file.read(1)
            if letter != "a":
                wrong.append(letter)

        together(read_first, read_first)
    assert not wrong


def position_behind_a_descriptor() -> None:
    """The other reads between ``lseek`` and ``read``."""
    descriptor = os.open(__file__, os.O_RDONLY)
    got: list[bytes] = []

    def read_first() -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        got.append(os.read(descriptor, 3))

    try:
        together(read_first, read_first)
    finally:
        os.close(descriptor)
    assert got == [b'"""', b'"""']


def closed_before_it_is_written() -> None:
    """ValueError: I/O operation on closed file."""
    with tempfile.NamedTemporaryFile("w") as file:
        together(lambda: file.file.write("a"), file.file.close)


def descriptor_of_a_file_that_another_closes() -> None:
    """OSError: bad file descriptor, or not: it depends on who is first."""
    file = tempfile.TemporaryFile()
    file.write(b"ab")
    file.flush()
    descriptor = file.fileno()
    got: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):
            got.append(os.pread(descriptor, 2, 0))

    together(file.close, read)
    assert not got


def buffer_written_out_by_a_seek() -> None:
    """Who looks at the file by its descriptor sees what a seek has written out."""
    with tempfile.TemporaryFile() as file:
        file.write(b"ab")
        file.seek(0)
        descriptor = file.fileno()
        seen: list[bytes] = []

        def write() -> None:
            file.write(b"x")
            file.seek(0)

        together(write, lambda: seen.append(os.pread(descriptor, 2, 0)))
    assert seen == [b"xb"]


def update_in_a_mapped_file() -> None:
    """One of two increments is lost."""
    with mmap.mmap(-1, 16) as memory:

        def count() -> None:
            memory[0] = memory[0] + 1

        together(count, count)
        assert memory[0] == 2


def update_in_a_file_mapped_twice() -> None:
    """One of two increments is lost."""
    with tempfile.TemporaryFile() as file:
        file.write(bytes(8))
        file.flush()
        with mmap.mmap(file.fileno(), 8) as one, mmap.mmap(file.fileno(), 8) as other:

            def count(memory: mmap.mmap) -> None:
                memory[0] = memory[0] + 1

            together(lambda: count(one), lambda: count(other))
            assert one[0] == 2


def update_in_memory_attached_twice() -> None:
    """One of two increments is lost."""
    one = shared_memory.SharedMemory(create=True, size=8)
    other = shared_memory.SharedMemory(one.name)
    assert one.buf is not None and other.buf is not None
    one.buf[0] = 0

    def count(memory: memoryview) -> None:
        (number,) = struct.unpack_from("b", memory)
        struct.pack_into("b", memory, 0, number + 1)

    try:
        together(lambda: count(one.buf), lambda: count(other.buf))  # type: ignore[arg-type]
        assert one.buf[0] == 2
    finally:
        other.close()
        one.close()
        one.unlink()


def mapped_and_written() -> None:
    """The text is read half written."""
    with tempfile.NamedTemporaryFile(buffering=0) as file:
        file.write(b"ab")
        with mmap.mmap(file.fileno(), 2) as memory:
            seen: list[bytes] = []

            def change() -> None:
                os.pwrite(file.fileno(), b"c", 0)
                os.pwrite(file.fileno(), b"d", 1)

            together(change, lambda: seen.append(memory[:2]))
            assert seen[0] in (b"ab", b"cd")


def position_of_a_duplicate() -> None:
    """The other moves between ``seek`` and ``read``."""
    with open(__file__, "rb", buffering=0) as file:
        duplicate = os.dup(file.fileno())
        got: list[bytes | None] = []

        def read_first() -> None:
            file.seek(0)
            got.append(file.read(3))

        together(read_first, lambda: os.lseek(duplicate, 5, os.SEEK_SET))
        os.close(duplicate)
    assert got == [b'"""']


def position_of_a_duplicate_by_fcntl() -> None:
    """The other reads between ``lseek`` and ``read``."""
    descriptor = os.open(__file__, os.O_RDONLY)
    duplicate = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 100)
    got: list[bytes] = []

    def read_first(number: int) -> None:
        os.lseek(number, 0, os.SEEK_SET)
        got.append(os.read(number, 3))

    together(lambda: read_first(descriptor), lambda: read_first(duplicate))
    os.close(descriptor)
    os.close(duplicate)
    assert got == [b'"""', b'"""']


def flags_of_a_descriptor() -> None:
    """One of two flags is lost."""
    reading, writing = os.pipe()

    def add(flag: int) -> None:
        fcntl.fcntl(reading, fcntl.F_SETFL, fcntl.fcntl(reading, fcntl.F_GETFL) | flag)

    wanted = os.O_NONBLOCK | os.O_APPEND
    try:
        together(lambda: add(os.O_NONBLOCK), lambda: add(os.O_APPEND))
        assert fcntl.fcntl(reading, fcntl.F_GETFL) & wanted == wanted
    finally:
        os.close(reading)
        os.close(writing)


def inherited_by_turns() -> None:
    """Both see what it was before."""
    reading, writing = os.pipe()

    def turn() -> None:
        os.set_inheritable(reading, not os.get_inheritable(reading))

    try:
        together(turn, turn)
        assert not os.get_inheritable(reading)
    finally:
        os.close(reading)
        os.close(writing)


def looked_at_after_it_was_closed() -> None:
    """OSError: bad file descriptor."""
    reading, writing = os.pipe()
    is_open = [True]

    def look() -> None:
        if is_open[0]:
            os.fstat(reading)

    def close() -> None:
        is_open[0] = False
        os.close(reading)

    together(look, close)
    os.close(writing)


def timeout_of_a_socket() -> None:
    """The other sets its own in between."""
    wrong: list[float | None] = []
    with socket.socket() as connection:

        def set_timeout(seconds: float) -> None:
            connection.settimeout(seconds)
            if connection.gettimeout() != seconds:
                wrong.append(connection.gettimeout())

        together(lambda: set_timeout(1), lambda: set_timeout(2))
    assert not wrong


def option_of_a_socket() -> None:
    """Both see what it was before."""
    level, option = socket.SOL_SOCKET, socket.SO_KEEPALIVE
    with socket.socket() as connection:

        def turn() -> None:
            connection.setsockopt(level, option, not connection.getsockopt(level, option))

        together(turn, turn)
        assert not connection.getsockopt(level, option)


def names_in_a_folder() -> None:
    """Only one of two files is listed."""
    seen: list[int] = []
    with tempfile.TemporaryDirectory() as folder:

        def make() -> None:
            for name in "ab":
                pathlib.Path(folder, name).touch()

        together(make, lambda: seen.append(sum(1 for _ in pathlib.Path(folder).iterdir())))
    assert seen[0] in (0, 2)


def names_by_a_pattern() -> None:
    """One of two files is listed that are renamed together."""
    seen: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in "ab":
            with open(f"{folder}/{name}.old", "w"):
                pass

        def rename() -> None:
            for name in "ab":
                os.rename(f"{folder}/{name}.old", f"{folder}/{name}.new")

        together(rename, lambda: seen.append(len(glob.glob(f"{folder}/*.new"))))
    assert seen[0] in (0, 2)


def folder_filled_while_it_is_removed() -> None:
    """OSError: directory not empty, or there is none to write to."""
    with tempfile.TemporaryDirectory() as outer:
        folder = os.path.join(outer, "folder")
        os.mkdir(folder)

        def remove_if_empty() -> None:
            if not os.listdir(folder):
                os.rmdir(folder)

        def fill() -> None:
            if os.path.isdir(folder):
                with contextlib.suppress(FileNotFoundError):
                    os.mkdir(os.path.join(folder, "inner"))

        together(remove_if_empty, fill)
