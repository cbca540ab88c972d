"""POS: a random priority for each event."""

from __future__ import annotations

from collections.abc import Container

from bohrbug.model.operation import Operation, Point, ResourceId, TaskId
from bohrbug.runtime.policies.decider import Tasks, TaskView
from bohrbug.runtime.policies.drawing import Drawing
from bohrbug.runtime.policies.filtering import runs_at_once


class PartialOrderDecider(Drawing):
    """The pending event with the highest priority runs; those that conflict with it draw anew.

    Yuan, Yang and Gu, *Partial order aware concurrency sampling*, CAV 2018, section 4.
    Without the second draw an event that lost against one would be likely to lose
    against the next too; with it each order of conflicting events is decided afresh.

    Parameters:
        seed: determines the priorities.
        points: see :class:`~bohrbug.model.plan.PartialOrder`.
        named: resources on which every operation is a decision.
    """

    __slots__ = ("_named", "_pending", "_points", "_priorities")

    def __init__(
        self, seed: int, points: frozenset[Point] | None, named: Container[ResourceId] = ()
    ) -> None:
        super().__init__(seed)
        self._points = points
        self._named = named
        # By task: the priority of the event that is pending, and what it is.
        self._priorities: dict[TaskId, int] = {}
        self._pending: dict[TaskId, Operation | None] = {}

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`~bohrbug.runtime.policies.decider.Decider`."""
        chosen = self.runs_at_once(running, enabled, yielded)
        if chosen is None:
            chosen = self.highest([*enabled, *timed])
        self.executed(chosen)
        return chosen

    def runs_at_once(self, running: TaskView, enabled: Tasks, yielded: bool) -> TaskView | None:
        """A task whose pending operation is no decision; see :func:`.filtering.runs_at_once`."""
        return runs_at_once(self._points, running, enabled, yielded, self._named)

    def highest(self, options: Tasks) -> TaskView:
        """The task whose event has the highest priority; one that has none yet draws it."""
        return max(options, key=self._priority)

    def _priority(self, task: TaskView) -> int:
        priority = self._priorities.get(task.id)
        # What was executed is forgotten, so that this is still the same event.
        if priority is None:
            priority = self._priorities[task.id] = self._random.priority()
            self._pending[task.id] = task.pending
        return priority

    def executed(self, task: TaskView) -> None:
        """An event is no longer pending; those that conflict with it draw new priorities."""
        self._priorities.pop(task.id, None)
        self._pending.pop(task.id, None)
        if task.pending is None:
            return
        for other, operation in self._pending.items():
            if operation is not None and task.pending.conflicts_with(operation):
                self._priorities[other] = self._random.priority()
