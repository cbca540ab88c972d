"""Decisions: what an execution has come to when somebody else is to choose who runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from bohrbug.model.operation import Operation, TaskId
from bohrbug.model.outcome import Abandoned, Frame, Held
from bohrbug.model.plan import Choice


class Readiness(Enum):
    """Whether a task can be chosen."""

    ENABLED = "enabled"
    TIMED = "timed"
    """It would block, but its timeout can fire: that is what choosing it means."""
    BLOCKED = "blocked"
    YIELDED = "yielded"
    """It would not block, but has given control away, and those it waits for come first."""
    RUNNING = "running"
    """It is in the middle of a step, at which there is nothing to decide."""
    HOSTING = "hosting"
    """A thread in which an event loop runs other tasks."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a task stands, at a decision or wherever somebody looks.

    Parameters:
        task: which one.
        readiness: whether it can be chosen.
        operation: what it is about to do; ``None`` for a task in the middle of a step.
        stack: where it stands, innermost frame last.
        holding: what it holds.
        holders: the tasks that hold what it waits for.
        abandoned: who ended while holding what it waits for, if somebody did.
    """

    task: TaskId
    readiness: Readiness
    operation: Operation | None
    stack: tuple[Frame, ...] = ()
    holding: tuple[Held, ...] = ()
    holders: tuple[TaskId, ...] = ()
    abandoned: Abandoned | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A step with more than one option, before it is done.

    Parameters:
        step: its number.
        running: the task that ran until now, whether or not it can go on.
        options: what can be chosen: tasks, or the values of a data choice.
        default: what is chosen without preemption.
        standings: every task that has not ended, oldest first.
        yielded: ``running`` gives control away of its own will.
        arity: the number of values of a data choice, 0 for a choice of a task.
        what: what the values other than 0 of a data choice mean, for people.
    """

    step: int
    running: TaskId
    options: tuple[Choice, ...]
    default: Choice
    standings: tuple[Standing, ...]
    yielded: bool = False
    arity: int = 0
    what: str = ""

    def standing(self, task: TaskId) -> Standing | None:
        """Where a task stands; ``None`` if it has ended or is not known."""
        return next((each for each in self.standings if each.task == task), None)

    def is_preemption(self, choice: Choice) -> bool:
        """Whether a choice takes control from a task that could go on; see :class:`Trace`."""
        if self.arity or not isinstance(choice, str):
            return False
        chosen = self.standing(choice)
        if chosen is not None and chosen.readiness is Readiness.TIMED:
            return any(each.readiness is Readiness.ENABLED for each in self.standings)
        if self.yielded or choice == self.running:
            return False
        running = self.standing(self.running)
        return self.step > 0 and running is not None and running.readiness is Readiness.ENABLED
