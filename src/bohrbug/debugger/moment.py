"""A moment of a replay: what its tasks do while somebody looks."""

from __future__ import annotations

from types import FrameType
from typing import IO

from rich.console import Console

from bohrbug.model.decision import Standing
from bohrbug.model.operation import Site, TaskId
from bohrbug.model.outcome import Frame
from bohrbug.model.trace import Trace
from bohrbug.platforms.threads.standings import stand_still
from bohrbug.report.naming import Names
from bohrbug.report.standings import draw_stacks
from bohrbug.report.style import Paper
from bohrbug.report.whereabouts import Whereabouts, draw_tasks, why_in_words
from bohrbug.runtime.threads.execution import Execution


class NoSuchTaskError(ValueError):
    """There is no task of that id; the message says which there are."""


class Moment:
    """An execution that stands still.

    Parameters:
        execution: nobody is in control of it.
        trace: the whole execution that is replayed.
        frame: the innermost one of the task that ran last.
        here: where that stands, if the frame does not say so.
        running: the task that somebody looks at; ``None``: the one that ran last.
        is_between: the task that ran last is about to make a step, not in the middle of one.
        is_over: nothing goes on any more.
    """

    def __init__(
        self,
        execution: Execution,
        trace: Trace,
        frame: FrameType | None,
        here: tuple[Frame, ...] | None = None,
        running: TaskId | None = None,
        *,
        is_between: bool = True,
        is_over: bool = False,
    ) -> None:
        still = stand_still(execution, frame, here, is_between=is_between)
        standings = still.standings
        self.whereabouts = Whereabouts(
            standings,
            running or execution.current.id,
            execution.steps,
            trace,
            execution.trace.divergence is None,
            is_over,
        )
        sites: list[Site] = [frame.site for each in standings for frame in each.stack]
        sites += [held.acquired for each in standings for held in each.holding if held.acquired]
        self._names = Names(trace, sites, still.resources)

    def draw_tasks(self, file: IO[str]) -> None:
        """Print one line for each task."""
        draw_tasks(self._paper(file), self.whereabouts, self._names)

    def draw_stacks(self, file: IO[str], task: TaskId | None = None) -> None:
        """Print where each task stands that has not ended, or this one.

        Raises:
            NoSuchTaskError: there is none.
        """
        standings = [each for each in self.whereabouts.standings if each.stack]
        if task is not None:
            standings = [self._standing(task)]
        draw_stacks(self._paper(file), standings, self._names)

    def _standing(self, task: TaskId) -> Standing:
        standing = self.whereabouts.standing(task)
        if standing is None:
            known = ", ".join(each.task for each in self.whereabouts.standings)
            raise NoSuchTaskError(f"there is no task {task!r} now; there are {known}")
        return standing

    def draw_why(self, file: IO[str], task: TaskId | None = None) -> None:
        """Print why a task does not run; why none but the running one does, if none is named.

        Raises:
            NoSuchTaskError: there is none.
        """
        paper = self._paper(file)
        wanted = self._standing(task or self.whereabouts.running)
        for sentence in why_in_words(self.whereabouts, wanted, self._names):
            paper.paragraph(paper.prose(sentence), 0)

    def _paper(self, file: IO[str]) -> Paper:
        return Paper(Console(file=file), [each.task for each in self.whereabouts.standings])
