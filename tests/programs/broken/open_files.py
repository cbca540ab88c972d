"""Broken programs: where one is in an open file, and whether it is open still."""

from __future__ import annotations

import mmap
import os
import tempfile

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


def update_in_a_mapped_file() -> None:
    """One of two increments is lost."""
    with mmap.mmap(-1, 16) as memory:

        def count() -> None:
            memory[0] = memory[0] + 1

        together(count, count)
        assert memory[0] == 2
