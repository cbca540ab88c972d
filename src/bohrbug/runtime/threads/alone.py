"""Whether the running task is alone for good: nothing that it does can be reordered with others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bohrbug.model.operation import END, IS_ALIVE, JOIN, ResourceId, TaskId

Row = tuple[Any, ...]


class Ends:
    """Which of the tasks that have ended did so before the root task goes on.

    It is not enough that all others have ended: they may have been faster by chance. Only what was
    joined, by the root task or by one that it has joined, must have come before.

    Parameters:
        root: the root task.
        rows: those of the execution, see :class:`.deciding.Deciding`; they grow.
    """

    __slots__ = ("_joined_by", "_root", "_rows", "_seen", "_unordered")

    def __init__(self, root: TaskId, rows: Sequence[Row]) -> None:
        self._root = root
        self._rows = rows
        self._seen = 0
        # By the resource that stands for a task: the task, until it is known to have come before.
        self._unordered: dict[ResourceId, TaskId] = {}
        self._joined_by: dict[TaskId, list[ResourceId]] = {}

    def all_come_before(self) -> bool:
        """Whether all tasks that have ended did so before what the root task does now."""
        rows = self._rows
        for number in range(self._seen, len(rows)):
            _, task, operation = rows[number][:3]
            if operation is None:
                continue
            kind, resource = operation.kind, operation.resource
            if kind is END:
                self._unordered[resource] = task
            elif (kind is JOIN or kind is IS_ALIVE) and resource in self._unordered:
                if task == self._root:
                    self._order(resource)
                else:
                    self._joined_by.setdefault(task, []).append(resource)
        self._seen = len(rows)
        return not self._unordered

    def forget_ended(self) -> None:
        """Tasks that have ended are no more: what comes next is not compared with what they did."""
        self._unordered.clear()
        self._joined_by.clear()

    def forget(self, steps: int) -> None:
        """The first so many rows are about to be removed."""
        self.all_come_before()
        self._seen -= steps

    def _order(self, resource: ResourceId) -> None:
        task = self._unordered.pop(resource, None)
        if task is not None:
            for joined in self._joined_by.pop(task, ()):
                self._order(joined)
