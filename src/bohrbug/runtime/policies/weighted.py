"""SURW: tasks in proportion to the selected events they have left."""

from __future__ import annotations

from bisect import bisect
from itertools import accumulate

from bohrbug.model.operation import TaskId
from bohrbug.model.plan import WeightedRandom
from bohrbug.model.site import point_of
from bohrbug.runtime.policies.decider import Tasks, TaskView
from bohrbug.runtime.policies.drawing import Drawing
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

    __slots__ = (
        "_below",
        "_existing",
        "_intended",
        "_left",
        "_points",
        "_promised",
        "_selected",
        "_unborn",
    )

    def __init__(self, policy: WeightedRandom) -> None:
        super().__init__(policy.seed)
        self._points = policy.points
        self._selected = policy.selected if policy.selected is not None else policy.points
        self._left = dict(policy.weights)
        self._existing: set[TaskId] = set()
        self._unborn = dict(policy.weights)
        # Events of tasks that do not exist yet, by the task that they count for; and for each task
        # those that it spawns, or that these do.
        self._promised: dict[TaskId, int] = {}
        self._below: dict[TaskId, list[TaskId]] = {}
        for task, events in self._unborn.items():
            self._promise(self._nearest(task), events)
            above = task.rpartition(".")[0]
            while above:
                self._below.setdefault(above, []).append(task)
                above = above.rpartition(".")[0]
        self._intended: TaskId | None = None

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`~bohrbug.runtime.policies.decider.Decider`."""
        options = [*enabled, *timed]
        new = [task for task in options if task.id not in self._existing]
        if new:
            for task in new:
                self._meet(task.id)
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
        selected = [self._is_selected(task) for task in options]
        if self._intended not in [task.id for task in options]:
            # None is drawn yet, or it is blocked: the others must go on.
            drawn = self._one_of(options, self._weights(options, selected))
            self._intended = None if drawn is None else drawn.id
        intended = self._intended
        able = [
            task
            for task, is_selected in zip(options, selected, strict=True)
            if not is_selected or task.id == intended
        ]
        return able[self._random.below(len(able))]

    def _one_of(self, tasks: list[TaskView], weights: list[int]) -> TaskView | None:
        """A task in proportion to the weights; ``None`` if all are 0."""
        sums = list(accumulate(weights))
        if not sums[-1]:
            return None
        return tasks[bisect(sums, self._random.below(sums[-1]))]

    def _is_selected(self, task: TaskView) -> bool:
        operation = task.pending
        if operation is None:
            return False
        return self._selected is None or point_of(operation) in self._selected

    def _weights(self, tasks: list[TaskView], selected: list[bool]) -> list[int]:
        """The events that tasks have left, and those that they will spawn.

        Parameters:
            tasks: the tasks.
            selected: whether the next event of each is a selected one; then at least that one is
                left, for an execution may have more events than the one that was counted.
        """
        left, promised = self._left, self._promised
        weights = [left.get(task.id, 0) + promised.get(task.id, 0) for task in tasks]
        return [
            weight if weight > is_selected else int(is_selected)
            for weight, is_selected in zip(weights, selected, strict=True)
        ]

    def _hand_on(self, new: list[TaskView], options: list[TaskView]) -> None:
        """If it was drawn for what it would spawn, the spawned task takes its part of that."""
        for child in new:
            intended = next((task for task in options if task.id == self._intended), None)
            if intended is None or child.id.rpartition(".")[0] != intended.id:
                continue
            both = [intended, child]
            drawn = self._one_of(
                both, self._weights(both, [self._is_selected(task) for task in both])
            )
            if drawn is not None:
                self._intended = drawn.id

    def _meet(self, task: TaskId) -> None:
        """A task exists now: what it spawns counts for it, and no longer for one above it."""
        before = self._nearest(task)
        self._existing.add(task)
        events = self._unborn.pop(task, 0)
        self._promise(before, -events)
        for other in self._below.get(task, ()):
            if other in self._unborn and self._nearest(other) == task:
                events = self._unborn[other]
                self._promise(before, -events)
                self._promise(task, events)

    def _promise(self, task: TaskId, events: int) -> None:
        if events:
            self._promised[task] = self._promised.get(task, 0) + events

    def _nearest(self, task: TaskId) -> TaskId:
        """The task that one which does not exist counts for: the root, or the last one above it."""
        while "." in task and task not in self._existing:
            task = task.rpartition(".")[0]
        return task
