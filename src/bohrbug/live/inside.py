"""Fragments of a service: what comes before they would be seen outside.

Nearly all that a server does lies between two calls on sockets, at which a fragment ends.  So just
before a round its tasks take turns by chance, in the service itself, until two of them are between
such calls; and in a fragment who is about to make one waits as long as others can go on.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from enum import Enum, auto

from bohrbug.live.harm import conflict
from bohrbug.model.operation import OUTSIDE
from bohrbug.model.plan import NonPreemptive, UniformRandom
from bohrbug.runtime.policies.decider import Decider, Tasks, TaskView
from bohrbug.runtime.threads.execution import Execution

STEPS = 64
"""Of an approach, at most."""

PAUSE = 64
"""Steps after one in vain before the next one."""


def is_inside(task: TaskView) -> bool:
    """Whether what a task is about to do is not seen outside."""
    return task.pending is None or task.pending.kind not in OUTSIDE


class StayingInside:
    """Chooses as another decider does, among those that are inside as long as there are any.

    Parameters:
        decider: the other one.
    """

    def __init__(self, decider: Decider) -> None:
        self._decider = decider

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`~bohrbug.runtime.policies.decider.Decider`."""
        inside = [task for task in enabled if is_inside(task)]
        return self._decider.choose(running, inside or enabled, timed, yielded, step)

    def value(self, arity: int) -> int:
        """See :class:`~bohrbug.runtime.policies.decider.Decider`."""
        return self._decider.value(arity)


class Where(Enum):
    """How far an approach has come."""

    UNDER_WAY = auto()
    THERE = auto()
    """A round may begin."""
    IN_VAIN = auto()
    """Not yet; the next one may begin after a pause."""


class Approach:
    """Looks, step by step, for a moment at which two tasks are inside.

    Of those moments the first ones are much alike, such as one at which all workers could get what
    has just been put into a queue; so it looks only after some steps, whose number is drawn.

    Parameters:
        draw: draws who runs.
    """

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        # No approach is under way; else from which step on a conflict ends it, and which one does.
        self._from = self._until = -1
        self._not_before = 0

    def look(self, execution: Execution, step: int, enabled: Sequence[TaskView]) -> Where:
        """Between two steps, while a round may begin; the first look begins an approach.

        Parameters:
            execution: whose tasks take turns.
            step: the number of the one that comes next.
            enabled: the tasks that can run.
        """
        if self._until < 0:
            if step < self._not_before:
                return Where.IN_VAIN
            self._from = step + self._draw.randrange(STEPS)
            self._until = step + STEPS
            execution.decide_by(UniformRandom(self._draw.getrandbits(32)))
        is_last = step >= self._until
        if sum(map(is_inside, enabled)) < 2:
            return self._over(execution, step, Where.IN_VAIN) if is_last else Where.UNDER_WAY
        # Who waits for a lock is about to acquire it, too.
        about_to = (task.pending for task in execution.alive if is_inside(task))
        if is_last or (step >= self._from and conflict(about_to)):
            return self._over(execution, step, Where.THERE)
        return Where.UNDER_WAY

    def _over(self, execution: Execution, step: int, where: Where) -> Where:
        self._until = -1
        self._not_before = step + PAUSE if where is Where.IN_VAIN else 0
        execution.decide_by(NonPreemptive())
        return where

    def forget(self, steps: int) -> None:
        """The first so many steps are forgotten."""
        self._not_before -= steps
        if self._until >= 0:
            self._until = max(self._until - steps, 0)
            self._from -= steps
