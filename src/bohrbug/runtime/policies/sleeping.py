"""The executor of the policy for partial-order reduction."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.model.operation import Operation, ResourceId, TaskId
from bohrbug.model.plan import Sleeping
from bohrbug.runtime.policies.basic import NonPreemptiveDecider
from bohrbug.runtime.policies.decider import Tasks, TaskView

Effect = tuple[int, TaskId, ResourceId, bool]
"""See :attr:`bohrbug.model.trace.Trace.effects`."""


class SleepingDecider(NonPreemptiveDecider):
    """Passes sleeping tasks over until something conflicts with what they are about to do.

    Parameters:
        policy: who sleeps.
        effects: of the execution; grows.
    """

    def __init__(self, policy: Sleeping, effects: Sequence[Effect]) -> None:
        self._asleep = {sleeper.task: sleeper for sleeper in policy.asleep}
        self._first = policy.first
        self._effects = effects
        self._seen: int | None = None
        self._done: Operation | None = None

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`Decider`."""
        if self._asleep:
            self._wake()
            if yielded:
                # Fairness makes the order of everything matter.
                self._asleep.clear()
        chosen = self._wanted(running, enabled, timed, yielded, step)
        self._asleep.pop(chosen.id, None)
        self._done = chosen.pending
        return chosen

    def _wanted(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        if self._first is not None:
            wanted, self._first = self._first, None
            for task in (*enabled, *timed):
                if task.id == wanted:
                    return task
        asleep = self._asleep
        if asleep:
            awake = [task for task in enabled if task.id not in asleep]
            waiting = [task for task in timed if task.id not in asleep]
            if awake or waiting:
                return super().choose(running, awake, waiting, yielded, step)
        return super().choose(running, enabled, timed, yielded, step)

    def _wake(self) -> None:
        """Wake whom the last step conflicts with."""
        seen = len(self._effects)
        if self._done is not None:
            self._touch(self._done.resource, self._done.kind.is_write)
            for _, _, resource, is_write in self._effects[self._seen : seen]:
                self._touch(resource, is_write)
        self._seen = seen

    def _touch(self, resource: ResourceId, is_write: bool) -> None:
        asleep = self._asleep
        for task, sleeper in list(asleep.items()):
            if (
                sleeper.wakes_at_once
                or resource in sleeper.writes
                or (is_write and resource in sleeper.reads)
            ):
                del asleep[task]
