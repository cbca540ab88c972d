"""Whether one kernel thread may wear all tasks of a program; ``shim/fiber.h`` is the other side."""

from __future__ import annotations

from bohrbug.runtime.posix import layout
from bohrbug.runtime.posix.segment import Segment

AUTO = "auto"
KERNEL_THREADS = "kernel-threads"
ENGINES = (AUTO, KERNEL_THREADS)
"""What a user can say: the fastest engine that is safe, or a kernel thread for each task."""


class Fibers:
    """What executions have shown so far about whether tasks can be fibers.

    Parameters:
        engine: one of :data:`ENGINES`.
    """

    def __init__(self, engine: str) -> None:
        if engine not in ENGINES:
            raise ValueError(f"no engine {engine!r}: one of {', '.join(ENGINES)}")
        self.in_use = False
        """Whether the next execution may have them."""
        self._are_safe = engine == AUTO
        self.forbidden_by = ""
        """What the program did that is right on kernel threads only."""

    def learn(self, segment: Segment, hung: bool) -> bool:
        """Take an execution into account.

        Parameters:
            segment: of the execution.
            hung: it made no progress and was killed.

        Returns:
            False if it does not count, as it should have been one on kernel threads.
        """
        header = segment.header
        found = header.needs_kernel_threads.decode("ascii", "replace")
        if found or hung:
            self.forbid(found or "a hang")
        self.in_use = self._are_safe and bool(header.reached_main)
        return not (header.fibers and (hung or header.ending == layout.NOT_ON_FIBERS))

    def forbid(self, why: str) -> None:
        """From now on every task is a kernel thread."""
        self.forbidden_by = self.forbidden_by or why
        self._are_safe = self.in_use = False
