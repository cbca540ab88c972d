"""Correct programs: files, descriptors and folders."""

from __future__ import annotations

import mmap
import os
import pathlib
import socket
import tempfile
import threading

from tests.programs.together import together


def update_in_a_file_mapped_twice_with_a_lock() -> None:
    """No increment is lost."""
    lock = threading.Lock()
    with tempfile.TemporaryFile() as file:
        file.write(bytes(8))
        file.flush()
        with mmap.mmap(file.fileno(), 8) as one, mmap.mmap(file.fileno(), 8) as other:

            def count(memory: mmap.mmap) -> None:
                with lock:
                    memory[0] = memory[0] + 1

            together(lambda: count(one), lambda: count(other))
            assert one[0] == 2


def private_memory_of_one_file() -> None:
    """Neither sees what the other writes."""
    with tempfile.TemporaryFile() as file:
        file.write(bytes(8))
        file.flush()
        both = [mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_COPY) for _ in range(2)]

        def count(memory: mmap.mmap) -> None:
            memory[0] = memory[0] + 1

        together(*(lambda memory=memory: count(memory) for memory in both))  # type: ignore[misc]
        assert [memory[0] for memory in both] == [1, 1]
        for memory in both:
            memory.close()


def descriptors_of_their_own() -> None:
    """Each has opened the file for itself."""
    got: list[bytes] = []

    def read_first() -> None:
        descriptor = os.open(__file__, os.O_RDONLY)
        os.lseek(descriptor, 0, os.SEEK_SET)
        got.append(os.read(descriptor, 3))
        os.close(descriptor)

    together(read_first, read_first)
    assert got == [b'"""', b'"""']


def sockets_of_their_own() -> None:
    """Each sets the timeout of its own."""
    wrong: list[float | None] = []

    def set_timeout(seconds: float) -> None:
        with socket.socket() as connection:
            connection.settimeout(seconds)
            if connection.gettimeout() != seconds:
                wrong.append(connection.gettimeout())

    together(lambda: set_timeout(1), lambda: set_timeout(2))
    assert not wrong


def files_of_their_own_in_one_folder() -> None:
    """Both are there in the end, in whichever order they came."""
    with tempfile.TemporaryDirectory() as folder:
        together(*(pathlib.Path(folder, name).touch for name in "ab"))
        assert sorted(os.listdir(folder)) == ["a", "b"]


def names_in_a_folder_with_a_lock() -> None:
    """Both files are listed, or none."""
    lock = threading.Lock()
    seen: list[int] = []
    with tempfile.TemporaryDirectory() as folder:

        def make() -> None:
            with lock:
                for name in "ab":
                    pathlib.Path(folder, name).touch()

        def look() -> None:
            with lock:
                seen.append(len(os.listdir(folder)))

        together(make, look)
    assert seen[0] in (0, 2)
