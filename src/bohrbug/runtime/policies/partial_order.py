"""POS: a random priority for each event."""

from __future__ import annotations

from random import Random

from bohrbug.accelerator import native
from bohrbug.model.operation import Operation, Point, ResourceId, TaskId
from bohrbug.runtime.policies.decider import Drawing, Tasks, TaskView
from bohrbug.runtime.policies.filtering import runs_at_once


class PartialOrderDecider(Drawing):
    """The pending event with the highest priority runs; those that conflict with it draw anew.

    Yuan, Yang and Gu, *Partial order aware concurrency sampling*, CAV 2018, section 4.
    Without the second draw an event that lost against one would be likely to lose
    against the next too; with it each order of conflicting events is decided afresh.

    Parameters:
        seed: determines the priorities.
        points: see :class:`~bohrbug.model.plan.PartialOrder`.
    """

    __slots__ = ("_pending", "_points", "_priorities", "_waiting")

    def __init__(self, seed: int, points: frozenset[Point] | None) -> None:
        self._random = Random(seed)
        self._points = points
        # By task: the priority of the event that is pending, and what it is.
        self._priorities: dict[TaskId, float] = {}
        self._pending: dict[TaskId, Operation] = {}
        # By resource: the tasks that such an event is of.
        self._waiting: dict[ResourceId, dict[TaskId, None]] = {}

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`~bohrbug.runtime.policies.decider.Decider`."""
        chosen = runs_at_once(self._points, running, enabled, yielded)
        if chosen is None:
            chosen = self._highest([*enabled, *timed] if timed else enabled)
        self._executed(chosen)
        return chosen

    def _highest(self, options: Tasks) -> TaskView:
        return max(options, key=self._priority)

    def _priority(self, task: TaskView) -> float:
        priority = self._priorities.get(task.id)
        # What was executed is forgotten, so that this is still the same event.
        if priority is None:
            priority = self._priorities[task.id] = self._random.random()
            operation = task.pending
            if operation is not None:
                self._pending[task.id] = operation
                self._waiting.setdefault(operation.resource, {})[task.id] = None
        return priority

    def _executed(self, task: TaskView) -> None:
        """An event is no longer pending; those that conflict with it get new priorities."""
        pending = self._pending
        self._priorities.pop(task.id, None)
        known = pending.pop(task.id, None)
        if known is not None:
            del self._waiting[known.resource][task.id]
        executed = task.pending
        if executed is None:
            return
        is_write = executed.kind.is_write
        for other in self._waiting.get(executed.resource, ()):
            if is_write or pending[other].kind.is_write:
                self._priorities[other] = self._random.random()


if native is not None:
    native.use_partial_order(PartialOrderDecider)
