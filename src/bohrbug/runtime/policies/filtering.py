"""Which pending operations are decisions at all."""

from __future__ import annotations

from collections.abc import Container

from bohrbug.model.operation import Point, ResourceId
from bohrbug.model.site import point_of
from bohrbug.runtime.policies.decider import Tasks, TaskView


def runs_at_once(
    points: frozenset[Point] | None,
    running: TaskView,
    enabled: Tasks,
    yielded: bool,
    named: Container[ResourceId] = (),
) -> TaskView | None:
    """A task whose pending operation is no decision, the running one if possible.

    Morpheus (Yuan and Yang, ASPLOS 2020): most operations never conflict with another
    task's, and to decide when they run is to spend the randomness on nothing.
    A task that yields is not kept running, or a loop that waits would never end.

    Parameters:
        points: where operations are decisions; ``None``: everywhere.
        running: the task that ran until now.
        enabled: those that can run, oldest first.
        yielded: ``running`` gives control away.
        named: resources on which every operation is a decision.
    """
    if points is None:
        return None
    if not yielded and _is_no_decision(running, points, named) and running in enabled:
        return running
    for task in enabled:
        if task is not running and _is_no_decision(task, points, named):
            return task
    return None


def _is_no_decision(task: TaskView, points: frozenset[Point], named: Container[ResourceId]) -> bool:
    operation = task.pending
    return (
        operation is not None
        and not operation.kind.is_yield
        and point_of(operation) not in points
        and operation.resource not in named
    )
