"""SURW: tasks in proportion to the selected events they have left."""

from __future__ import annotations

from random import Random

from bohrbug.model.operation import TaskId
from bohrbug.model.plan import WeightedRandom
from bohrbug.model.site import point_of
from bohrbug.runtime.policies.decider import Drawing, Tasks, TaskView
from bohrbug.runtime.policies.filtering import runs_at_once


class WeightedRandomDecider(Drawing):
    """Who does the next selected event is drawn in proportion to the events left.

    Zhao, Wolff, Mathur and Roychoudhury, *Selectively uniform concurrency testing*, ASPLOS
    2025.  Of two tasks with ``a`` and ``b`` events left, ``a / (a + b)`` of the interleavings
    begin with the first; to choose so in every step is to draw each
    interleaving of the selected events with the same probability, as long as nothing blocks
    and each task does as many as expected.  A task that does not exist yet counts
    for the one that will spawn it.  What is not selected runs in a random order, and
    a selected event waits until its task is the one that was drawn.
    """

    def __init__(self, policy: WeightedRandom) -> None:
        self._random = Random(policy.seed)
        self._selected = policy.selected
        self._points = policy.points
        self._left = dict(policy.weights)
        self._existing: set[TaskId] = set()
        # Events of tasks that do not exist yet, by the task that they count for.
        self._promised: dict[TaskId, int] = {}
        self._intended: TaskId | None = None

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`~bohrbug.runtime.policies.decider.Decider`."""
        options = [*enabled, *timed]
        new = [task for task in options if task.id not in self._existing]
        if new:
            self._existing.update([task.id for task in new])
            self._promise()
            self._hand_on(new, options)
        chosen = runs_at_once(self._points, running, enabled, yielded)
        if chosen is None:
            chosen = self._drawn(options)
        if yielded or chosen not in enabled:
            # Whoever was drawn may be waiting in a loop for one that waits for its turn.
            self._intended = None
        if self._is_selected(chosen):
            self._left[chosen.id] = self._left.get(chosen.id, 0) - 1
            self._intended = None
        return chosen

    def _drawn(self, options: list[TaskView]) -> TaskView:
        if all(task.id != self._intended for task in options):
            # None is drawn yet, or it is blocked: the others must go on.
            weights = [self._weight(task) for task in options]
            if any(weights):
                self._intended = self._random.choices(options, weights)[0].id
            else:
                self._intended = None
        able = [
            task for task in options if task.id == self._intended or not self._is_selected(task)
        ]
        return able[int(self._random.random() * len(able))]

    def _is_selected(self, task: TaskView) -> bool:
        operation = task.pending
        if operation is None:
            return False
        selected = self._selected if self._selected is not None else self._points
        return selected is None or point_of(operation) in selected

    def _weight(self, task: TaskView) -> int:
        # An execution may have more events than the one that was counted.
        least = 1 if self._is_selected(task) else 0
        return max(self._left.get(task.id, 0) + self._promised.get(task.id, 0), least)

    def _hand_on(self, new: list[TaskView], options: list[TaskView]) -> None:
        """If it was drawn for what it would spawn, the spawned task takes its part of that."""
        for child in new:
            intended = next((task for task in options if task.id == self._intended), None)
            if intended is None or child.id.rpartition(".")[0] != intended.id:
                continue
            both = [self._weight(intended), self._weight(child)]
            if any(both):
                self._intended = self._random.choices([intended.id, child.id], both)[0]

    def _promise(self) -> None:
        self._promised.clear()
        for task, events in self._left.items():
            if task in self._existing:
                continue
            ancestor = task
            while "." in ancestor and ancestor not in self._existing:
                ancestor = ancestor.rpartition(".")[0]
            self._promised[ancestor] = self._promised.get(ancestor, 0) + events
