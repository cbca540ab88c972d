"""Events that are not in the file yet, in memory that outlives the process.

A task's codes are stored into a page of a file that is mapped into memory and shared, beside what
is needed to make a block of them.  If the process is killed, with SIGKILL even, the pages are still
there: whoever started the recording writes what is in them to the log when it is over.

A page is a head (checksum and length of the preamble, the place of the first code that is not in
the log yet), the preamble (of the block that those codes would make) and the codes, 16 bits each,
plus 1: 0 stands where no code is.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from bohrbug.runtime.channels.codec import block_of, task_and_first
from bohrbug.runtime.channels.reading import read_coded
from bohrbug.runtime.channels.streams import real_lock

NAME = "pending"

_HEAD = struct.Struct("<IHH")
_PREAMBLE = 1024
"""Bytes for the head and the preamble."""
_PAGE = 4096
_PAGES = 32
"""In one file; it takes no more memory than the pages that are used."""

LARGEST = (1 << 16) - 2

NO_ROOM = memoryview(bytearray())
"""In the place of the codes of a page, of a task that has none any more."""


class Page:
    """Where the codes of one task are kept until they are in the log.

    Parameters:
        memory: of the page.
    """

    __slots__ = ("_head", "codes", "memory")

    def __init__(self, memory: memoryview) -> None:
        self.memory = memory
        self._head = memory[:_PREAMBLE]
        self.codes = memory[_PREAMBLE:].cast("H")
        """Codes plus 1; assigning past the end raises ``IndexError``."""

    def describe(self, preamble: bytes, start: int) -> bool:
        """Say what the codes from a place on are.

        Returns:
            False if it does not fit.
        """
        if len(preamble) > _PREAMBLE - _HEAD.size:
            return False
        # Without a length nothing is read, if it ends here.
        _HEAD.pack_into(self._head, 0, 0, 0, 0)
        self._head[_HEAD.size : _HEAD.size + len(preamble)] = preamble
        _HEAD.pack_into(self._head, 0, zlib.crc32(preamble), len(preamble), start)
        return True

    def clear(self) -> None:
        """Forget everything."""
        _HEAD.pack_into(self._head, 0, 0, 0, 0)
        self.memory[_PREAMBLE:] = bytes(_PAGE - _PREAMBLE)


class Pages:
    """The pages of one process.

    Parameters:
        folder: of the session.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._free: list[Page] = []
        self._fresh = memoryview(b"")
        self._files = 0
        self._lock = real_lock()

    def take(self) -> Page:
        """A page that is empty."""
        with self._lock:
            if self._free:
                return self._free.pop()
            if len(self._fresh) == 0:
                self._fresh = self._more()
            page, self._fresh = self._fresh[:_PAGE], self._fresh[_PAGE:]
        return Page(page)

    def give_back(self, page: Page) -> None:
        """The task has ended, and all is in the log."""
        page.clear()
        with self._lock:
            self._free.append(page)

    def _more(self) -> memoryview:
        size = _PAGE * _PAGES
        path = self._folder / f"{NAME}-{os.getpid()}-{self._files}"
        self._files += 1
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                os.ftruncate(descriptor, size)
                memory = mmap.mmap(descriptor, size)
            finally:
                os.close(descriptor)
        except (OSError, ValueError, AttributeError):
            # The recording goes on; it is only that nothing outlives the process.
            memory = mmap.mmap(-1, size)
        return memoryview(memory)


def left_over(folder: Path) -> Iterator[tuple[bytes, list[int]]]:
    """Preambles and codes of the events that processes which have died had not written."""
    for path in sorted(folder.glob(f"{NAME}-*")):
        if is_alive(int(path.name.split("-")[1])):
            continue
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            for at in range(0, len(data), _PAGE):
                checksum, length, start = _HEAD.unpack_from(data, at)
                preamble = data[at + _HEAD.size : at + _HEAD.size + length]
                if length and zlib.crc32(preamble) == checksum:
                    view = memoryview(data)[at + _PREAMBLE : at + _PAGE].cast("H")
                    codes = view[start:].tolist()
                    end = [*codes, 0].index(0)
                    yield preamble, [code - 1 for code in codes[:end]]


def recover(folder: Path, log: Path) -> bytes:
    """The blocks that are missing in a log because processes were killed.

    Parameters:
        folder: of the session.
        log: as far as it was written.
    """
    found = [(preamble, codes) for preamble, codes in left_over(folder) if codes]
    if not found:
        return b""
    tasks = read_coded(log).tasks
    blocks = []
    for preamble, codes in found:
        task, first = task_and_first(preamble)
        there = len(tasks[task].codes) if task in tasks else 0
        # If it was killed between writing a block and noting that, the block is there.
        if there == first:
            blocks.append(block_of(preamble, codes))
    return b"".join(blocks)


def is_alive(process: int) -> bool:
    """Whether a process runs, by its number."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        try:
            os.kill(process, 0)
        except OSError:
            return False
        return not Path("/proc/self").exists()
    return state != "Z"
