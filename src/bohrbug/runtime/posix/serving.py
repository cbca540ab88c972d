"""A program that waits before its main function, and is forked or restored for each execution."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
from collections.abc import Callable, Sequence

from bohrbug.runtime.posix.engines import Engine

SERVER_FD = 900
"""Where the program finds its orders; as in ``shim/server.h``."""

ANSWER_FD = 901
"""Where it puts its answers."""

HIGHEST_FD = ANSWER_FD + 8
"""The highest that it may open for itself."""

PATIENCE = 10.0
"""Seconds that a program may take to get to its main function."""

_ORDER = struct.Struct("=Q64Q")
"""``struct order``."""

Spawn = Callable[[dict[str, str], list[tuple[int, int]]], int]
"""Starts the program with more in its environment, and descriptors with their numbers there."""


class Server:
    """A program that waits before its main function.

    Parameters:
        engine: what it does for each execution.
        spawn: starts it.
        input: path of its standard input.
        looks_up_early: whether it would look up the functions that it calls at once by itself.
        stacks: of the threads that it is expected to start in each execution, see
            :attr:`~bohrbug.runtime.posix.engines.Choice.stacks`.
        is_safe: its forks are to leave nothing behind, so that it can execute several plans at one
            order.
    """

    def __init__(
        self,
        engine: Engine,
        spawn: Spawn,
        input: str,
        looks_up_early: bool,
        stacks: Sequence[int],
        is_safe: bool = False,
    ) -> None:
        self.engine = engine
        self.is_safe = is_safe
        self.executions = 0
        self._answers = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._socket, its = socket.socketpair()
        environment = {"BOHRBUG_SERVER": "", "BOHRBUG_INPUT": input}
        environment["BOHRBUG_STACKS"] = ",".join(map(str, stacks))
        if engine is Engine.SNAPSHOT:
            environment["BOHRBUG_SNAPSHOT"] = ""
        elif is_safe:
            environment["BOHRBUG_SAFE"] = ""
        if not looks_up_early:
            # Else each execution looks up what it calls.  The program is not to see it.
            environment |= {"LD_BIND_NOW": "1", "BOHRBUG_SERVER": "LD_BIND_NOW"}
        with its:
            self.pid: int | None = spawn(
                environment, [(its.fileno(), SERVER_FD), (self._answers, ANSWER_FD)]
            )
        self.poller = select.poll()
        """What there is to wait for: an answer, or the end of the server."""
        self.poller.register(self._answers, select.POLLIN)
        self.poller.register(self._socket, select.POLLIN)
        self.is_ready = bool(self.poller.poll(PATIENCE * 1000) and self.answer()[0])
        """Whether it can be used."""

    @property
    def has_ended(self) -> bool:
        """Whether it is known to be gone."""
        return self.pid is None

    def order(self, starts: Sequence[int]) -> None:
        """Let it execute what segments say; if it has gone, :attr:`poller` tells.

        Parameters:
            starts: where they begin in their file; at most 64, and one if its forks may leave
                something behind.
        """
        with contextlib.suppress(OSError):
            self._socket.send(_ORDER.pack(len(starts), *starts, *[0] * (64 - len(starts))))

    def answer(self) -> tuple[int, int]:
        """The process that has ended, or 0 if there is none, and its status as of ``waitpid``."""
        try:
            answer = os.eventfd_read(self._answers)
        except BlockingIOError:
            return 0, 0
        return answer >> 32, answer & 0xFFFFFFFF

    def wait(self) -> int:
        """Its own status as of ``waitpid``, when it has ended."""
        assert self.pid is not None
        _, status = os.waitpid(self.pid, 0)
        self.pid = None
        return status

    def kill(self) -> None:
        """Kill it."""
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def leave(self) -> None:
        """In a forked process: it belongs to the other one."""
        self.pid = None
        self.close()

    def close(self) -> None:
        """Let it go."""
        self._socket.close()
        os.close(self._answers)
        if self.pid is not None:
            self.kill()
            self.wait()
