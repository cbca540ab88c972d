"""The executor of the policy that leaves a decision to somebody else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bohrbug.model.plan import Ask, Choice
from bohrbug.runtime.policies.basic import NonPreemptiveDecider
from bohrbug.runtime.policies.decider import TaskView


@dataclass(frozen=True, slots=True)
class Asked:
    """The decision that an execution has come to.

    Parameters:
        running: the task that ran until now; ``None`` where it is in the middle of a data choice.
        enabled: tasks whose next operation would not block, oldest first.
        timed: blocked tasks whose timeout could fire.
        yielded: ``running`` gives control away of its own will.
        default: what is chosen without preemption.
        arity: the number of values of a data choice, 0 for a choice of a task.
    """

    running: TaskView | None
    enabled: Sequence[TaskView]
    timed: Sequence[TaskView]
    yielded: bool
    default: Choice
    arity: int = 0


class AskDecider(NonPreemptiveDecider):
    """Goes on without preemption, and asks once.

    Parameters:
        policy: says how many decisions to pass before.
        ask: given the decision; it sees to it that the execution ends.  The decider answers
            with the default, here and from here on.
    """

    def __init__(self, policy: Ask, ask: Callable[[Asked], object] | None) -> None:
        self._left = policy.passed
        self._ask = ask

    def choose(
        self,
        running: TaskView,
        enabled: Sequence[TaskView],
        timed: Sequence[TaskView],
        yielded: bool,
        step: int,
    ) -> TaskView:
        """See :class:`Decider`."""
        chosen = super().choose(running, enabled, timed, yielded, step)
        if len(enabled) + len(timed) > 1:
            self._decision(Asked(running, tuple(enabled), tuple(timed), yielded, chosen.id))
        return chosen

    def value(self, arity: int) -> int:
        """See :class:`Decider`."""
        value = super().value(arity)
        if arity > 1:
            self._decision(Asked(None, (), (), False, value, arity))
        return value

    def _decision(self, asked: Asked) -> None:
        if self._left:
            self._left -= 1
        elif self._ask is not None:
            ask, self._ask = self._ask, None
            ask(asked)
