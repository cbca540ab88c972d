"""Sockets, pipes, ``select`` and locks of files: a call that would block waits as a task.

A task that would block in the kernel is enabled when a poll of the file
descriptor without waiting says so.  Timeouts are virtual.  How long it is worth
waiting when nobody else can run depends on where the other end is, see :mod:`.channels`.

Not covered: C libraries that poll by themselves (uvloop, other database drivers than
``sqlite3``),
opening a FIFO, ``os.sendfile`` on blocking sockets, ``os.readv``, terminals.
"""

from bohrbug.runtime.threads.io import in_flight, own_connections

# They replace nothing, and nobody else asks for them.
__all__ = ["in_flight", "own_connections"]
