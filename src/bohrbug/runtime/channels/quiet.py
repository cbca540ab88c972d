"""Whether anything goes on in a replay."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

_OFTEN = 0.15
_BUSY_SHARE = 0.1
_POLLING = 0.02
"""Seconds of processor time that waiting takes meanwhile.

The kernel counts in hundredths: one of these, of a process that looks whether something came, is no
computation.
"""


class Quiet:
    """For how long nothing has gone on, in this process and in those beside it.

    Parameters:
        folder: of the session.
        events: says how many there were in this process.
    """

    def __init__(self, folder: Path, events: Callable[[], int]) -> None:
        self._folder = folder
        self._count = events
        self._since = self._looked = time.monotonic()
        self._events = -1
        self._busy = 0.0

    def seconds(self) -> float:
        """Seconds since the last event, or since processors were last kept busy."""
        now = time.monotonic()
        events = self._count()
        busy = self._processor_seconds()
        if now - self._looked > _OFTEN:
            computing = busy - self._busy > (now - self._looked) * _BUSY_SHARE + _POLLING
            if computing or events != self._events:
                self._since = now
            self._events, self._busy, self._looked = events, busy, now
        return now - self._since

    def _processor_seconds(self) -> float:
        """Of all processes that take part; elsewhere than on Linux, of this one."""
        total = time.process_time()
        for path in self._folder.glob("process-*"):
            number = path.name.partition("-")[2]
            if number == str(os.getpid()):
                continue
            with contextlib.suppress(OSError, ValueError, IndexError):
                words = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
                total += (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        return total
