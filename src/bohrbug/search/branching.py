"""What systematic strategies share: where and how far they branch, and how they say so."""

from __future__ import annotations

from dataclasses import dataclass

from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Choice
from bohrbug.model.trace import Trace

BRANCHING_LIMIT = 10_000
"""Systematic strategies branch at the first so many steps of an execution.

A livelocked execution has as many steps as the step limit allows; branching
at each of them would fill memory with prefixes that nobody will live to see.
What is cut off this way is said in ``covered()``.
"""


def last_branching_step(trace: Trace, limit: int) -> int:
    """The step before which a systematic strategy may branch.

    Nothing is extended at or beyond the step where a trace diverged (CHESS,
    section 4.2): what comes after it does not belong to the prefix.
    """
    steps = min(len(trace.choices), limit)
    if trace.divergence is not None:
        steps = min(steps, trace.divergence.step)
    return steps


@dataclass(slots=True)
class Tally:
    """Figures of a search, for its sentences.

    Parameters:
        executions: traces seen.
        points: scheduling points in the longest trace.
        diverged: traces that did not follow their plan.
        cut_short: executions that went beyond the branching limit or ended at
            the step limit, so that some of what could follow was not looked at.
    """

    executions: int = 0
    points: int = 0
    diverged: int = 0
    cut_short: int = 0

    def count(self, trace: Trace, limit: int) -> None:
        """Count one more trace of a search that branches before step ``limit``."""
        self.executions += 1
        length = len(trace)
        self.points = max(self.points, length)
        if trace.divergence is not None:
            self.diverged += 1
        if length > limit or trace.outcome.kind is OutcomeKind.STEP_LIMIT:
            self.cut_short += 1

    def add(self, other: Tally) -> None:
        """Add the figures of another part of the search."""
        self.executions += other.executions
        self.points = max(self.points, other.points)
        self.diverged += other.diverged
        self.cut_short += other.cut_short

    def to_json(self) -> list[int]:
        """Plain data."""
        return [self.executions, self.points, self.diverged, self.cut_short]

    @classmethod
    def from_json(cls, data: list[int]) -> Tally:
        """The figures that :meth:`to_json` wrote."""
        return cls(*data)

    @property
    def is_whole(self) -> bool:
        """Whether no part of the tree was given up."""
        return not self.diverged and not self.cut_short

    def sentence(self, what: str, limit: int) -> str:
        """``what`` was covered, with its size and what was given up."""
        points = "scheduling point" if self.points == 1 else "scheduling points"
        text = f"{what}, at up to {self.points:,} {points}"
        if self.cut_short:
            what, whose = (
                ("execution was", "its") if self.cut_short == 1 else ("executions were", "their")
            )
            text += f"; {self.cut_short:,} long {what} only varied in {whose} first {limit:,} steps"
        if self.diverged:
            what, who = ("schedule was", "it") if self.diverged == 1 else ("schedules were", "they")
            text += f"; {self.diverged:,} {what} given up because {who} diverged"
        return text


def alternatives(trace: Trace, step: int) -> tuple[list[Choice], list[Choice]]:
    """The choices not made at a step: those that are free, and those that cost a preemption.

    The same as asking :meth:`Trace.is_preemption` for each option, in one go.
    """
    chosen = trace.choices[step]
    if step in trace.arities:
        return [value for value in range(trace.arities[step]) if value != chosen], []
    enabled = trace.enabled[step]
    free: list[Choice] = []
    costly: list[Choice] = []
    previous = trace.goes_on(step) if step else None
    if previous in enabled and not trace.yielded[step]:
        # The task that ran last could go on: only that is free.
        for task in enabled:
            if task != chosen:
                (free if task == previous else costly).append(task)
    else:
        free += [task for task in enabled if task != chosen]
    timed = trace.timed[step]
    if timed:
        # A timeout that fires although a task could run costs, whoever ran last.
        (costly if enabled else free).extend([task for task in timed if task != chosen])
    return free, costly


def counted(number: int, noun: str) -> str:
    """``1 execution``, ``2,000 executions``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
