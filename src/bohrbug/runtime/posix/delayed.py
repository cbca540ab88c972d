"""A program that runs once with its real threads, and the record by which these are delayed."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import select
import signal
from collections.abc import Mapping as Environment
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from bohrbug.runtime.posix import build
from bohrbug.runtime.posix.accesses import SONAMES, HooksFolder
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.commands import command_of
from bohrbug.runtime.posix.delays_layout import DelaysRecord
from bohrbug.runtime.posix.ended import Ended
from bohrbug.runtime.posix.mapped import mapping_of
from bohrbug.runtime.posix.passing_on import PassingOn
from bohrbug.runtime.posix.starting import preloading, spawned, supported_here
from bohrbug.runtime.posix.symbols import Mapping, Place, Symbols


class DelayedProgram:
    """A program that runs once, with its own input and output; a context manager.

    Parameters:
        command: the program and its arguments.

    Attributes:
        record: what it shares with us.
        interrupted: the user has pressed Ctrl-C.

    Raises:
        UnsupportedError: the command or this system is not one for native programs.
    """

    def __init__(self, command: Sequence[str]) -> None:
        if not supported_here():
            raise UnsupportedError("native programs can be run live on Linux 5.3 and newer only")
        self.command = command_of(command)
        self._library = build.delays()
        self._folder = HooksFolder(self._library)
        # No name in any folder: it is gone with the last process that has it, however that ends.
        self._file = os.memfd_create("bohrbug-delays")
        os.ftruncate(self._file, ctypes.sizeof(DelaysRecord))
        self.record: Any = DelaysRecord.from_buffer(mmap.mmap(self._file, 0))
        self._pid, self._descriptor = 0, -1
        self._signals = PassingOn(self._note)
        self._symbols = Symbols()
        self._first_maps = b""
        self._mappings: list[Mapping] = []
        self.interrupted = False

    def __enter__(self) -> Self:
        self._signals.__enter__()
        try:
            self._pid = spawned(self.command, self._environment(os.environ))
        except BaseException:
            self.__exit__()
            raise
        self._descriptor = os.pidfd_open(self._pid)
        self._signals.go_to(self._pid)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._descriptor >= 0:
            # It has not ended, and we have failed.
            self.kill()
        self._signals.__exit__()
        self._folder.close()
        os.close(self._file)

    @property
    def pid(self) -> int:
        """Its process."""
        return self._pid

    def has_ended(self, seconds: float) -> bool:
        """Whether it has, after at most so many seconds."""
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        return bool(poller.poll(seconds * 1000))

    def ended(self) -> Ended:
        """How it has ended; called once, when it has.

        Raises:
            UnsupportedError: it did not take part.
        """
        _, status = os.waitpid(self._pid, 0)
        os.close(self._descriptor)
        self._descriptor = -1
        code = os.waitstatus_to_exitcode(status)
        if not self.record.pid:
            raise UnsupportedError(
                f"{self.command[0]} did not take part: the library of delays was not loaded, or "
                f"the program ended before it (exit code {code})"
            )
        return Ended(code, interrupted=self.interrupted and code == -signal.SIGINT)

    def kill(self) -> None:
        """End it, with the children that are in its group, and wait for that."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._descriptor)
        self._descriptor = -1

    # -- what is asked while it runs -------------------------------------------------------

    def memory(self, address: int, size: int) -> bytes | None:
        """What is in its memory now; ``None`` if that can't be read.

        Parameters:
            address: where.
            size: in bytes.
        """
        try:
            with open(f"/proc/{self._pid}/mem", "rb", buffering=0) as memory:
                found = os.pread(memory.fileno(), size, address)
        except (OSError, OverflowError, ValueError):
            return None
        return found if len(found) == size else None

    def look_at_modules(self) -> None:
        """See which modules it has loaded by now.

        Raises:
            UnsupportedError: the sanitizer's own runtime is among them.
        """
        first = self.record.maps[: self.record.maps_length]
        if first != self._first_maps:
            # It has just begun, or become another program.
            self._first_maps = first
            self._mappings = [mapping_of(os.fsdecode(first), self._symbols)]
            self._refuse_sanitizer(os.fsdecode(first))
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{self._pid}/maps").read_bytes()
            if text and first:
                self._mappings[:-1] = [mapping_of(os.fsdecode(text), self._symbols)]

    def _refuse_sanitizer(self, maps: str) -> None:
        for line in maps.splitlines():
            path = Path(line.partition("/")[1] + line.partition("/")[2])
            if path.name.startswith(SONAMES):
                raise UnsupportedError(
                    f"the program has loaded the runtime of the thread sanitizer itself ({path}), "
                    "which Bohrbug has to stand in for: it has a path built into it"
                )

    # -- what addresses are ----------------------------------------------------------------

    def place(self, address: int) -> Place | None:
        """The place of a return address, if it lies in a module that is known and not ours."""
        for mapping in self._mappings:
            place = mapping.place(address)
            if place is not None:
                return None if place.module.path == str(self._library) else place
        return None

    def variable(self, address: int) -> str | None:
        """The name of a global variable at an address."""
        for mapping in self._mappings:
            located = mapping.locate(address)
            if located is not None:
                return located[0].variable(located[1])
        return None

    def function(self, address: int) -> str:
        """The name of the function that begins at an address, as the linker knows it; or ""."""
        for mapping in self._mappings:
            located = mapping.locate(address)
            if located is not None:
                symbol = located[0].elf.functions.at(located[1])
                return symbol.name if symbol is not None else ""
        return ""

    def _note(self, number: int) -> None:
        self.interrupted |= number == signal.SIGINT

    def _environment(self, base: Environment[str, str]) -> dict[str, str]:
        found = preloading(str(self._library), self._folder.environment(base))
        found["BOHRBUG_DELAYS"] = f"/proc/{os.getpid()}/fd/{self._file}"
        return found
