"""Waking up at once when something arrives from outside, for a service whose clients wait for that.

Each task that waits for descriptors says for which.  While nobody can go on, the kernel is asked
for all of them together.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Iterable, Sequence

from bohrbug.runtime.threads.task import Task

_real_poll = getattr(select, "poll", None)

Watched = Iterable[tuple[int, int]]
"""File descriptors, each with the events of ``poll`` that it is waited for."""

LONGEST = 0.05
"""Seconds after which signals and those who attach are looked for, at most."""


class Arrivals:
    """What the tasks of one execution wait for."""

    __slots__ = ("_watched",)

    def __init__(self) -> None:
        self._watched: dict[Task, Callable[[], Watched]] = {}

    def watch(self, task: Task, watched: Callable[[], Watched]) -> None:
        """A task is about to wait.

        Parameters:
            task: the task.
            watched: tells for what; asked while it waits.
        """
        self._watched[task] = watched

    def unwatch(self, task: Task) -> None:
        """It waits no longer."""
        self._watched.pop(task, None)

    def wait(self, tasks: Sequence[Task], seconds: float) -> bool | None:
        """Wait in the kernel until something arrives for one of some tasks.

        Parameters:
            tasks: that wait for something outside.
            seconds: at most.

        Returns:
            Whether something has; ``None``: it can't be waited for, as one of them waits for
            something else.
        """
        if _real_poll is None or not tasks:
            return None
        wanted: dict[int, int] = {}
        for task in tasks:
            watched = self._watched.get(task)
            if watched is None:
                return None
            try:
                for descriptor, events in watched():
                    wanted[descriptor] = wanted.get(descriptor, 0) | events
            except (OSError, ValueError):
                # Closed meanwhile.
                return None
        poll = _real_poll()
        for descriptor, events in wanted.items():
            if descriptor < 0:
                return None
            poll.register(descriptor, events)
        return bool(poll.poll(1_000 * min(seconds, LONGEST)))
