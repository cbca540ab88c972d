"""The executor of the policy that keeps orderings."""

from __future__ import annotations

from random import Random

from bohrbug.model.operation import TaskId
from bohrbug.model.ordering import Event, Ordering, What
from bohrbug.model.plan import Ordered
from bohrbug.model.site import point_of
from bohrbug.runtime.policies.decider import Tasks, TaskView

_STAYING = (0.0, 0.5, 0.8, 0.95)
"""How likely the running task goes on, by seed: samples with many preemptions and with few."""


class OrderedDecider:
    """A task that is about to break an ordering waits as long as another can run.

    Among the others seed 0 goes on without preemptions, other seeds choose at random.
    """

    def __init__(self, policy: Ordered) -> None:
        self._random = Random(policy.seed)
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
        options = [(task, False) for task in enabled] + [(task, True) for task in timed]
        free = [option for option in options if not self._must_wait(*option)] or options
        task, fires = self._one_of(free, running, yielded)
        what = self._what(task, fires)
        if what is not None:
            self._counts[what] += 1
        self._chooser = task.id
        return task

    def _one_of(
        self, options: list[tuple[TaskView, bool]], running: TaskView, yielded: bool
    ) -> tuple[TaskView, bool]:
        if len(options) == 1:
            return options[0]
        going_on = (running, False)
        if self._calm:
            if not yielded and going_on in options:
                return going_on
            enabled = [option for option in options if not option[1]]
            if not enabled:
                return min(options, key=_when)
            later = (option for option in enabled if option[0].index > running.index)
            return next(later, enabled[0])
        may_stay = not yielded and going_on in options
        if may_stay and self._random.random() < self._stay:
            return going_on
        return options[int(self._random.random() * len(options))]

    def value(self, arity: int) -> int:
        """The next value that the policy has for the task that runs, or else a random one."""
        values = self._values.get(self._chooser)
        if values:
            value = values.pop()
            if value < arity:
                return value
        return 0 if self._calm else self._random.randrange(arity)


def _when(option: tuple[TaskView, bool]) -> tuple[float, int]:
    deadline = option[0].deadline
    return (float("inf") if deadline is None else deadline, option[0].index)
