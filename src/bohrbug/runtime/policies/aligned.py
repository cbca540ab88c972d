"""Following the steps of an execution of another version of the program."""

from __future__ import annotations

from operator import itemgetter

from bohrbug.model.following import Follower
from bohrbug.model.operation import ROOT, TaskId
from bohrbug.model.plan import Aligned
from bohrbug.model.site import site_of
from bohrbug.runtime.policies.basic import NonPreemptiveDecider
from bohrbug.runtime.policies.decider import Tasks, TaskView


class AlignedDecider(NonPreemptiveDecider):
    """The task whose next mark was recorded first runs.

    An operation that is no mark has to be done before its task comes to its next mark, so it
    runs when that is due, or, if the policy is eager, at once.  A task that is blocked when its
    mark is due is passed over, and comes to it as soon as it can.

    Parameters:
        policy: the marks.
    """

    def __init__(self, policy: Aligned) -> None:
        self._follower = Follower(policy)
        self._eager = policy.eager
        self._values = {task: list(values) for task, values in policy.values}
        self._last: TaskId = ROOT

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`Decider`."""
        follower = self._follower
        for task in (*enabled, *timed):
            if task.pending is not None and not follower.has_met(task.id):
                # What a task does first is to begin, and that is where it was started.
                follower.meet(task.id, site_of(task.pending.place))
        chosen = self._due(running, enabled, timed, yielded)
        if chosen is None:
            chosen = super().choose(running, enabled, timed, yielded, step)
        self._last = chosen.id
        if chosen.pending is not None:
            follower.executed(chosen.id, chosen.pending)
        return chosen

    def _due(
        self,
        running: TaskView,
        enabled: Tasks,
        timed: Tasks,
        yielded: bool,
    ) -> TaskView | None:
        follower = self._follower
        due: list[tuple[int, int, TaskView]] = []
        for task in enabled:
            mark = self._mark_of(task)
            following = follower.next_mark(task.id)
            if following is None:
                continue
            if mark is None and task is running:
                if yielded:
                    # It waits in a loop, and whom it waits for has to run.
                    continue
                if self._eager:
                    return task
            due.append((following if mark is None else mark, task.index, task))
        for task in timed:
            mark = self._mark_of(task)
            if mark is not None and follower.fires(mark, task.id):
                due.append((mark, task.index, task))
        return min(due, key=itemgetter(0, 1))[2] if due else None

    def _mark_of(self, task: TaskView) -> int | None:
        if task.pending is None:
            return None
        return self._follower.mark_of(task.id, task.pending)

    def value(self, arity: int) -> int:
        """What the task that runs chose then; 0 where that is not possible any more."""
        recorded = self._follower.recorded(self._last)
        values = self._values.get(recorded, []) if recorded is not None else []
        value = values.pop(0) if values else 0
        return value if value < arity else 0
