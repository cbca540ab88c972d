"""A process that outlives the program, and tells of its crash what the program could not.

The program is run in a child of the process that was started: when it crashes there is nobody left
in it to say which delays were in force, so that these are noted in memory that the two share.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import sys
from collections.abc import Callable, Iterable

CRASHES = frozenset(
    getattr(signal, name)
    for name in ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGSYS", "SIGTRAP")
    if hasattr(signal, name)
)
"""Signals that end a program because of what it has done."""

_PASSED_ON = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)

_SENT_BY_PROCESS = 0
"""``si_code`` up to which a signal was sent to one process; Ctrl-C goes to all of them itself."""


class Note:
    """A few lines that outlive the process which has written them.

    Parameters:
        size: bytes that it may take.
    """

    def __init__(self, size: int = 8192) -> None:
        self._memory = mmap.mmap(-1, size)

    def write(self, lines: Iterable[str]) -> None:
        """Replace what it says."""
        text = "\n".join(lines).encode()[: len(self._memory) - 1] + b"\0"
        self._memory[: len(text)] = text

    def read(self) -> list[str]:
        """What it says."""
        text = bytes(self._memory).partition(b"\0")[0]
        return text.decode("utf-8", "replace").splitlines()


def can_guard() -> bool:
    """Whether this system has what it takes."""
    return hasattr(os, "fork") and hasattr(signal, "sigwaitinfo")


def run_in_child(on_crash: Callable[[int], int]) -> None:
    """Go on in a child; returns there. This process ends as the child does.

    Parameters:
        on_crash: called in this process with the number of the signal when the child has crashed;
            gives the exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    waited_for = {*_PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    status = None
    while status is None:
        told = signal.sigwaitinfo(waited_for)
        if told.si_signo != signal.SIGCHLD:
            if told.si_code <= _SENT_BY_PROCESS:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, told.si_signo)
            continue
        ended, found = os.waitpid(child, os.WNOHANG)
        status = found if ended else None
    code = os.waitstatus_to_exitcode(status)
    if -code in CRASHES:
        code = on_crash(-code)
    os._exit(code if code >= 0 else 128 - code)
