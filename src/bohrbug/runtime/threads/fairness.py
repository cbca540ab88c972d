"""Fair scheduling, so that loops which wait for another task come to an end.

Musuvathi and Qadeer, *Fair stateless model checking*, PLDI 2008: a task that
yields gets lower priority than those that could have run since its last yield
and did not, until they have run.  Under the condition that a task yields only
when it can make no progress, no safety error is missed.
"""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.accelerator.plain import plain
from bohrbug.runtime.threads.task import Task


@plain
class Fairness:
    """The priority relation of one execution; empty until the first yield."""

    __slots__ = ("_below", "active")

    def __init__(self) -> None:
        self.active = False
        # For each task that yielded: the tasks that go before it.
        self._below: dict[Task, set[Task]] = {}

    def yielded(
        self, task: Task, enabled: Sequence[Task], rows: Sequence[tuple[object, ...]]
    ) -> None:
        """``task`` yields: those that it kept waiting since its last yield go first now.

        Parameters:
            task: the task.
            enabled: the tasks that could run now.
            rows: the steps so far; the second element of each is the id of who ran.
        """
        ran = {row[1] for row in rows[max(task.last_yield, 0) :]}
        waiting = {other for other in enabled if other is not task and other.id not in ran}
        task.last_yield = len(rows)
        if waiting:
            self._below.setdefault(task, set()).update(waiting)
            self.active = True

    def filter(self, enabled: list[Task], timed: list[Task]) -> tuple[list[Task], list[Task]]:
        """The options without the tasks that must wait for another enabled one."""
        below = self._below
        if not below:
            return enabled, timed
        allowed = [
            task
            for task in enabled
            if task not in below or not any(other in enabled for other in below[task])
        ]
        return (allowed or enabled), timed

    def scheduled(self, task: Task) -> None:
        """``task`` runs: nobody waits for it any more."""
        empty = []
        for yielder, others in self._below.items():
            others.discard(task)
            if not others:
                empty.append(yielder)
        for yielder in empty:
            del self._below[yielder]
        self.active = bool(self._below)
