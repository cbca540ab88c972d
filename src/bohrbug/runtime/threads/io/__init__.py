"""Sockets, pipes, ``select`` and locks of files: a call that would block waits as a task.

A task that would block in the kernel is enabled when a poll of the file
descriptor without waiting says so.  Timeouts are virtual.  How long it is worth
waiting when nobody else can run depends on where the other end is, see :mod:`.channels`.

Not covered: C libraries that poll by themselves (uvloop, other database drivers than
``sqlite3``),
opening a FIFO, ``os.sendfile`` on blocking sockets, ``os.readv``, terminals.
"""

from __future__ import annotations

from bohrbug.runtime.threads.io import (
    buffers,
    file_locks,
    handing_on,
    in_flight,
    loop_shutdown,
    optional,
    pipes,
    selecting,
    sockets,
    sqlite,
    trio_runs,
)
from bohrbug.runtime.threads.io.patches import patches

__all__ = [
    "buffers",
    "file_locks",
    "handing_on",
    "in_flight",
    "loop_shutdown",
    "optional",
    "patches",
    "pipes",
    "selecting",
    "sockets",
    "sqlite",
    "trio_runs",
]
