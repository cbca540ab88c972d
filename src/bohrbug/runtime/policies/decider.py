"""What a policy's executor sees and does.

It sees tasks only through ``id``, ``index``, ``deadline`` and ``pending``, so
that the executors serve every runtime written in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from bohrbug.model.operation import Operation


class TaskView(Protocol):
    """What a policy may know of a task."""

    id: str
    index: int
    deadline: float | None
    pending: Operation | None


Tasks = Sequence[TaskView]
"""Tasks that can be chosen, oldest first."""

AnyTask = TypeVar("AnyTask", bound=TaskView)
"""The tasks of one runtime."""


class Decider(Protocol):
    """Chooses among the options of a step; at least one of the sequences is not empty."""

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """The task that runs next.

        Parameters:
            running: the task that ran until now, whether or not it can go on.
            enabled: tasks whose next operation would not block.
            timed: blocked tasks whose timeout could fire.
            yielded: ``running`` gives control away of its own will.
            step: the number of choices made so far.
        """
        ...

    def value(self, arity: int) -> int:
        """The value of a data choice among ``range(arity)``."""
        ...


VARIED_AFTER = 20_000
"""Steps after which a task that yields passes control to any other, and no longer in turn."""

_GOLDEN = 2654435761
"""2**32 divided by the golden ratio: multiples of it are spread evenly."""


def next_in_turn(running: AnyTask, enabled: Sequence[AnyTask], yielded: bool, step: int) -> AnyTask:
    """Round robin: the first enabled task created after the running one, else the oldest.

    A loop that comes further only if one task has run and another has not since may never do so
    if they always run in the same order.  So in a long execution the order varies.
    """
    if yielded and step >= VARIED_AFTER:
        return enabled[(step * _GOLDEN >> 16) % len(enabled)]
    for task in enabled:
        if task.index > running.index:
            return task
    return enabled[0]


def earliest(timed: Sequence[AnyTask]) -> AnyTask:
    """The task whose timeout fires first; among equals the oldest."""
    return min(timed, key=_deadline_then_age)


def _deadline_then_age(task: TaskView) -> tuple[float, int]:
    return (task.deadline if task.deadline is not None else float("inf"), task.index)
