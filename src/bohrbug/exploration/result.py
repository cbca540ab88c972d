"""What an exploration returns: failures, a verdict, and the figures behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from bohrbug.exploration.verdicts import Verdict, VerdictKind
from bohrbug.model.cause import Cause
from bohrbug.model.conditions import Growth
from bohrbug.model.outcome import Outcome, Race
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace

if TYPE_CHECKING:
    from bohrbug.exploration.prediction import Prediction
    from bohrbug.exploration.program_text import PointText

__all__ = ["Failure", "Interpreter", "Result", "Verdict", "VerdictKind"]


class Interpreter(str, Enum):
    """On which builds of this Python a failure can happen."""

    GIL = "gil"
    """Also on a build with the GIL: every preemption is at a place where it is given up."""
    FREE_THREADED = "free-threaded"
    """Only without the GIL: some preemption falls where a GIL build can't switch threads, and no
    other schedule with as few preemptions fails alike and is possible there."""
    THIS_SCHEDULE = "free-threaded, this schedule"
    """This schedule only without the GIL; of others too few were tried to say."""
    ANOTHER_SCHEDULE = "gil, by another schedule"
    """Also on a build with the GIL: not by this schedule, but by another that fails alike."""
    UNKNOWN = "unknown"


MOST_SURVEYED = 3
"""Preemptions of a schedule that can be told in a sentence."""


@dataclass(slots=True)
class Failure:
    """One failure, confirmed by replay and minimised.

    Parameters:
        outcome: what happened.
        trace: the minimised execution.
        plan: the plan that replays it: all choices of ``trace``.
        strategy: the strategy that found it.
        execution: the number of the execution that found it, from 1.
        found_preemptions: preemptions in the execution that found it.
        essential: indices of the steps that begin with a preemption and without
            which the failure does not happen (each was tried).
        confirmed: how many replays of ``plan`` were made, all of which failed in the same way.
        interpreter: which builds of Python it can happen on.
        early_timeouts: indices of the steps in which a timeout or sleep ended
            while other tasks could still run.
        occurrences: executions of the exploration that failed in the same way.
        points: the data accesses that were scheduling points, each with file
            name, function, its first line, and offset in bytes.
        accesses: the source of each of these.
        reproduction: the file that replays it, once written.
        cause: the orderings that make the test fail, if they were looked for and found.
        happens_afresh: whether it happens in a process that has executed nothing before it;
            ``None`` if not checked.
        is_unaware: whether its plan is that of an execution that did not know what earlier ones had
            shown to be shared, see :meth:`~bohrbug.runtime.protocol.Runtime.afresh`.
        growth: how a program that runs only once became visible, in the order of the steps;
            ``None`` if it was executed before, and visible from the start.
    """

    outcome: Outcome
    trace: Trace
    plan: Plan = field(repr=False)
    strategy: str
    execution: int
    found_preemptions: int
    essential: tuple[int, ...] = ()
    confirmed: int = 0
    interpreter: Interpreter = Interpreter.UNKNOWN
    early_timeouts: tuple[int, ...] = ()
    occurrences: int = 1
    points: tuple[tuple[str, str, int, int], ...] = field(default=(), repr=False)
    accesses: tuple[PointText, ...] = field(default=(), repr=False)
    reproduction: Path | None = None
    cause: Cause | None = field(default=None, repr=False)
    happens_afresh: bool | None = None
    is_unaware: bool = field(default=False, repr=False)
    growth: tuple[Growth, ...] | None = field(default=None, repr=False)


@dataclass(slots=True)
class Result:
    """The result of :func:`bohrbug.explore`.

    Parameters:
        test: the name of the test.
        verdict: what is known now.
        failures: distinct failures, in the order in which they were found.
        untimely: failures that need a timeout or a sleep to end while other tasks
            could still run, with ``timeouts="report"``; they do not count as failures.
        races: distinct data races seen in any execution.
        unconfirmed: predicted deadlocks and data races that did not happen in the
            executions directed at them.
        executions: executions made by the search.
        follow_ups: executions made, since it was last resumed, to confirm failures, to minimise
            them and to find their causes.
        diverged: executions that could not follow their plan.
        points: scheduling points in the longest execution.
        tasks: the largest number of tasks in an execution.
        is_concurrent: in an execution there was a choice between tasks.
        seconds: wall time, in seconds.
        virtual_seconds: of the execution in which most virtual time passed.
        interrupted: the user stopped it.
        notices: what the user should know about the exploration; does not limit the verdict.
    """

    test: str
    verdict: Verdict
    failures: list[Failure] = field(default_factory=list)
    untimely: list[Failure] = field(default_factory=list)
    races: list[Race] = field(default_factory=list)
    unconfirmed: list[Prediction] = field(default_factory=list)
    executions: int = 0
    follow_ups: int = 0
    diverged: int = 0
    points: int = 0
    tasks: int = 0
    is_concurrent: bool = False
    seconds: float = 0.0
    virtual_seconds: float = 0.0
    interrupted: bool = False
    notices: list[str] = field(default_factory=list)

    @property
    def reproducible(self) -> tuple[Failure, ...]:
        """Everything that a reproduction file is worth writing for."""
        return (*self.failures, *self.untimely)

    @property
    def failed(self) -> bool:
        """Whether a failure was found."""
        return bool(self.failures)
