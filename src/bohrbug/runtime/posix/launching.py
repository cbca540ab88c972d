"""Executing plans in one program, whether it is started for each or waits."""

from __future__ import annotations

import os
import select

from bohrbug.runtime.posix.ended import Ended, Printed
from bohrbug.runtime.posix.orders import Orders
from bohrbug.runtime.posix.segment import Segment
from bohrbug.runtime.posix.starting import Starter
from bohrbug.runtime.posix.watching import Watch, kill_all


class Launcher:
    """Executes plans in one program.

    Parameters:
        starter: starts it.
        watch: watches over the executions.
    """

    def __init__(self, starter: Starter, watch: Watch) -> None:
        self._starter = starter
        self._watch = watch
        self.orders = Orders(starter, watch)
        """For when it waits."""

    def close(self) -> None:
        """Give everything back."""
        self.orders.end_server()
        self._starter.close()

    def leave(self) -> None:
        """In a forked process: what this launcher has started belongs to the other one."""
        self.orders.leave()
        self._starter.close()

    def run(self, segment: Segment) -> tuple[Ended, Printed]:
        """Execute the plan in a segment, in a program that is started for it."""
        starter, watch = self._starter, self._watch
        starter.clear()
        pid = starter.start(segment)
        try:
            descriptor = os.pidfd_open(pid)
            try:
                poller = select.poll()
                poller.register(descriptor, select.POLLIN)
                stop = watch.until_ended(poller, [segment])
            finally:
                os.close(descriptor)
            if stop is not None:
                kill_all(pid, segment)
            _, status = os.waitpid(pid, 0)
            ended = watch.ended(status, stop)
        finally:
            kill_all(pid, segment)
        return ended, starter.printed
