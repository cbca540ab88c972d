"""Whether one kernel thread may wear all tasks of a program; ``shim/fiber.h`` is the other side."""

from __future__ import annotations

from bohrbug.runtime.posix import enumerations
from bohrbug.runtime.posix.segment import Segment


class Fibers:
    """What executions have shown so far about whether tasks can be fibers.

    Parameters:
        forbidden_by: why they are not to be used at all; "" if they are, where that makes no
            difference.
    """

    def __init__(self, forbidden_by: str = "") -> None:
        self.in_use = False
        """Whether the next execution may have them."""
        self.forbidden_by = forbidden_by
        """What is right on kernel threads only."""

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
        self.in_use = not self.forbidden_by and bool(header.started)
        return not (header.fibers and (hung or header.ending == enumerations.NOT_ON_FIBERS))

    def forbid(self, why: str) -> None:
        """From now on every task is a kernel thread.

        Parameters:
            why: what the program did, in a few words.
        """
        self.forbidden_by = self.forbidden_by or why
        self.in_use = False
