"""The executor of the policy that keeps orderings."""

from __future__ import annotations

from bohrbug.model.operation import TaskId
from bohrbug.model.ordering import Event, Ordering, What
from bohrbug.model.plan import Ordered
from bohrbug.model.site import point_of
from bohrbug.runtime.policies.basic import NonPreemptiveDecider
from bohrbug.runtime.policies.decider import Tasks, TaskView
from bohrbug.runtime.policies.drawing import SplitMix

_STAYING = (0.0, 0.5, 0.8, 0.95)
"""How likely the running task goes on, by seed: samples with many preemptions and with few."""


class OrderedDecider(NonPreemptiveDecider):
    """A task that is about to break an ordering waits as long as another can run.

    Among the others seed 0 goes on without preemptions, other seeds choose at random.
    """

    def __init__(self, policy: Ordered) -> None:
        self._random = SplitMix(policy.seed)
        self._calm = policy.seed == 0
        self._stay = _STAYING[policy.seed % len(_STAYING)]
        self._values = {task: list(reversed(values)) for task, values in policy.values}
        self._chooser: TaskId = "0"
        # What of each kind has to be counted, and how often it happened.
        self._counts: dict[What, int] = {}
        self._tasks: set[TaskId] = set()
        # For each event that has to wait: what it waits for.
        self._before: dict[tuple[What, int], list[Event]] = {}
        for ordering in policy.orderings:
            self._add(ordering)

    def _add(self, ordering: Ordering) -> None:
        for event in (ordering.first, ordering.second):
            self._counts[event.what] = 0
            self._tasks.add(event.task)
        second = ordering.second
        self._before.setdefault((second.what, second.occurrence), []).append(ordering.first)

    def _what(self, task: TaskView, fires: bool) -> What | None:
        """What a task would do next, if it matters for an ordering."""
        if task.id not in self._tasks or task.pending is None:
            return None
        what = (task.id, task.pending.kind, point_of(task.pending), fires)
        return what if what in self._counts else None

    def _must_wait(self, task: TaskView, fires: bool) -> bool:
        what = self._what(task, fires)
        if what is None:
            return False
        first = self._before.get((what, self._counts[what] + 1), ())
        return any(self._counts[event.what] < event.occurrence for event in first)

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`Decider`."""
        free = [task for task in enabled if not self._must_wait(task, fires=False)]
        waiting = [task for task in timed if not self._must_wait(task, fires=True)]
        if not free and not waiting:
            free, waiting = [*enabled], [*timed]
        task = self._one_of(running, free, waiting, yielded, step)
        what = self._what(task, fires=task not in enabled)
        if what is not None:
            self._counts[what] += 1
        self._chooser = task.id
        return task

    def _one_of(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        options = [*enabled, *timed]
        if len(options) == 1:
            return options[0]
        if self._calm:
            return super().choose(running, enabled, timed, yielded, step)
        if not yielded and running in enabled and self._random.fraction() < self._stay:
            return running
        return options[self._random.below(len(options))]

    def value(self, arity: int) -> int:
        """The next value that the policy has for the task that runs, or else a random one."""
        values = self._values.get(self._chooser)
        if values:
            value = values.pop()
            if value < arity:
                return value
        return 0 if self._calm else self._random.below(arity)
