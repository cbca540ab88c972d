"""What executions read from standard input, and where what they print goes."""

from __future__ import annotations

import os
import stat


class Input:
    """Standard input that every execution reads from its beginning.

    A file is opened anew each time; what comes through a pipe is read to its end first; a terminal
    is replaced by an empty input, as nobody could type the same a thousand times.
    """

    def __init__(self) -> None:
        self._kept: int | None = None
        self._path = os.devnull
        self._own = f"/proc/{os.getpid()}/fd"
        try:
            mode = os.fstat(0).st_mode
        except OSError:
            return
        if stat.S_ISREG(mode):
            self._path = f"{self._own}/0"
        elif stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            self._kept = os.memfd_create("bohrbug-stdin")
            while chunk := os.read(0, 1 << 16):
                os.write(self._kept, chunk)
            self._path = f"{self._own}/{self._kept}"

    @property
    def path(self) -> str:
        """Where another process finds the input."""
        return self._path

    def open(self) -> int:
        """A descriptor at the beginning of the input."""
        return os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Give the memory back."""
        if self._kept is not None:
            os.close(self._kept)


class Capture:
    """A file in memory that gets what an execution prints.

    Parameters:
        name: for people who look into ``/proc``.
    """

    def __init__(self, name: str) -> None:
        self.file = os.memfd_create(name)
        # Every write goes to the end, whoever holds a descriptor of it.
        self.writer = os.open(f"/proc/self/fd/{self.file}", os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)

    def clear(self) -> None:
        """Forget what the last execution printed, and what it did to the descriptor."""
        if os.lseek(self.file, 0, os.SEEK_END):
            os.ftruncate(self.file, 0)
        os.lseek(self.writer, 0, os.SEEK_SET)
        import fcntl  # not on Windows, where this module is loaded as well

        fcntl.fcntl(self.writer, fcntl.F_SETFL, os.O_APPEND)

    def read(self) -> bytes:
        """What was printed."""
        size = os.lseek(self.file, 0, os.SEEK_END)
        return os.pread(self.file, size, 0) if size else b""

    def close(self) -> None:
        """Give the memory back."""
        os.close(self.file)
        os.close(self.writer)
