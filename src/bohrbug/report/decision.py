"""A decision and what has led to it, as text: what somebody who makes it wants to see."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console

from bohrbug.model.decision import Decision, Readiness, Standing
from bohrbug.model.operation import BEGIN, END
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Choice
from bohrbug.model.trace import Trace
from bohrbug.paths import display_path
from bohrbug.report.columns import draw_schedule
from bohrbug.report.faults import fault_words
from bohrbug.report.naming import Names, task_order
from bohrbug.report.schedule import schedule_of
from bohrbug.report.sources import source_line
from bohrbug.report.standings import (
    Row,
    draw_rows,
    draw_stacks,
    operation_words,
    site_of_standing,
)
from bohrbug.report.style import HEADING, QUIET, Paper
from bohrbug.report.wording import plural

MOST_NEW_STEPS = 30
"""Steps that are shown of those done since the last stop."""

MOST_PRINTED = 20
"""Lines that are shown of what the test has printed since the last stop."""

STEPS_IN_LANES = 12
"""Steps that are shown in columns at each stop, if nobody says how many."""

LINES_AROUND = 5
"""Lines of the source that are listed before and after the one in question."""


@dataclass(frozen=True, slots=True)
class View:
    """What is shown of a stop.

    Parameters:
        trace: the steps that were done.
        decision: the next one; ``None`` at the end.
        since: the first step that is new.
        default: what going on would choose, at a decision.
        follows: the default is that of a plan.
        printed: what the test has printed since the last stop.
    """

    trace: Trace
    decision: Decision | None
    since: int = 0
    default: Choice | None = None
    follows: bool = False
    printed: str = ""


class DecisionReport:
    """Draws views of one session.

    Parameters:
        console: where to print to.

    Attributes:
        lanes: how many of the last steps are shown at each stop, one column per task; 0: those
            since the last stop, one below the other.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self.lanes = 0

    def _paper(self, view: View) -> Paper:
        tasks = list(view.trace.task_infos) or sorted(set(view.trace.tasks), key=task_order)
        return Paper(self._console, tasks)

    # -- the decision ------------------------------------------------------------------

    def draw(self, view: View) -> None:
        """Print what was done since the last stop, and the decision."""
        names = names_of(view)
        paper = self._paper(view)
        if self.lanes:
            self._draw_lanes(view, paper, names)
        else:
            self._draw_new_steps(view, paper, names)
        lines = view.printed.rstrip().splitlines()
        if lines:
            paper.gap()
            paper.put(paper.text("printed", QUIET))
            if len(lines) > MOST_PRINTED:
                left_out = plural(len(lines) - MOST_PRINTED, "line")
                paper.put(paper.text(f"  {left_out} not shown", QUIET))
            for line in lines[-MOST_PRINTED:]:
                paper.put(paper.text(f"  {line[: paper.width]}"))
        if view.decision is not None:
            self._draw_decision(view, view.decision, paper, names)

    def _draw_new_steps(self, view: View, paper: Paper, names: Names) -> None:
        trace = view.trace
        first = max(view.since, len(trace) - MOST_NEW_STEPS)
        if first >= len(trace):
            return
        paper.gap()
        if first > view.since:
            paper.put(paper.text(f"{plural(first - view.since, 'step')} not shown", QUIET))
        draw_rows(paper, list(_done(trace, first, names)))

    def _draw_lanes(self, view: View, paper: Paper, names: Names) -> None:
        trace = view.trace
        first = max(len(trace) - self.lanes, 0)
        if first == len(trace):
            return
        paper.gap()
        if first:
            paper.put(paper.text(f"{plural(first, 'earlier step')} not shown", QUIET))
        only = range(first, len(trace))
        schedule = schedule_of(trace, trace.preemptions(), names, full=True, only=only)
        draw_schedule(paper, schedule, names)

    def _draw_decision(self, view: View, decision: Decision, paper: Paper, names: Names) -> None:
        glyphs = paper.glyphs
        preemptions = len(view.trace.preemptions())
        words = f"step {decision.step} {glyphs.dash} {plural(preemptions, 'preemption')}"
        if view.follows:
            words += f" {glyphs.dash} following the plan"
        line = paper.text(f"{words} ", HEADING)
        line.append(glyphs.light_rule * (paper.width - line.cell_len), style=QUIET)
        paper.gap()
        paper.put(line)
        if decision.arity:
            values = ", ".join(
                f"{value} (next)" if value == view.default else str(value)
                for value in decision.options
            )
            asked = f"whether {decision.what}" if decision.what else "a value"
            paper.paragraph(paper.prose(f"task {decision.running} chooses {asked}: {values}"))
        draw_rows(paper, list(_rows(view, decision, names)))

    # -- on demand ---------------------------------------------------------------------

    def draw_history(self, view: View) -> None:
        """Print all steps that were done."""
        paper, names = self._paper(view), names_of(view)
        if not len(view.trace):
            paper.put(paper.text("no steps yet"))
            return
        only = None if view.decision is None else list(range(len(view.trace)))
        schedule = schedule_of(view.trace, view.trace.preemptions(), names, full=True, only=only)
        draw_schedule(paper, schedule, names)

    def draw_stacks(self, view: View, task: str | None) -> None:
        """Print where tasks stand.

        Parameters:
            view: what to look at.
            task: whose stack; ``None`` for all.
        """
        draw_stacks(self._paper(view), _standings(view, task), names_of(view))

    def draw_held(self, view: View) -> None:
        """Print who holds what, and who waits for it."""
        paper, names = self._paper(view), names_of(view)
        some = False
        standings = _standings(view, None)
        for standing in standings:
            for held in standing.holding:
                some = True
                taken = f", taken at {names.place(held.acquired)}" if held.acquired else ""
                waiting = [
                    other.task
                    for other in standings
                    if other.operation is not None
                    and other.readiness in (Readiness.BLOCKED, Readiness.TIMED)
                    and other.operation.resource == held.resource
                ]
                waited = f"; wanted by task {' and '.join(waiting)}" if waiting else ""
                words = f"task {standing.task} holds {names.short_resource(held.resource)}"
                paper.put(paper.prose(f"{words}{taken}{waited}"))
        if not some:
            paper.put(paper.text("no task holds anything"))

    def draw_source(self, view: View, task: str | None) -> None:
        """Print the source around where a task stands.

        Parameters:
            view: what to look at.
            task: which one; ``None`` for the one that ran last.
        """
        paper, names = self._paper(view), names_of(view)
        running = view.decision.running if view.decision is not None else None
        standings = _standings(view, task) or _standings(view, None)
        wanted = task or running
        standing = next((each for each in standings if each.task == wanted), None)
        standing = standing or (standings[0] if standings else None)
        site = None if standing is None else site_of_standing(standing, names)
        if standing is None or site is None or not linecache.getline(site.filename, site.line):
            paper.put(paper.text("its source is not known"))
            return
        paper.put(
            paper.prose(f"task {names.task(standing.task)} at {display_path(site.filename)}", QUIET)
        )
        for number in range(max(site.line - LINES_AROUND, 1), site.line + LINES_AROUND + 1):
            text = linecache.getline(site.filename, number)
            if not text:
                # The file ends here; an empty line would still end in a newline.
                break
            here = number == site.line
            sign = paper.glyphs.arrow_right if here else " "
            words = f"{sign}{number:5d}  {text}".rstrip()
            paper.put(paper.text(words, HEADING if here else ""))


def names_of(view: View) -> Names:
    """The words for what a view speaks of."""
    standings = view.decision.standings if view.decision is not None else ()
    sites = [frame.site for standing in standings for frame in standing.stack]
    sites += [held.acquired for each in standings for held in each.holding if held.acquired]
    return Names(view.trace, extra=sites)


def _standings(view: View, task: str | None) -> list[Standing]:
    decision = view.decision
    if decision is not None:
        return [each for each in decision.standings if task in (None, each.task)]
    # At the end of an execution that went on: who could not.
    return [
        Standing(
            blocked.task,
            Readiness.BLOCKED,
            blocked.operation,
            blocked.stack,
            blocked.holding,
            blocked.holders,
        )
        for blocked in view.trace.outcome.blocked
        if task in (None, blocked.task)
    ]


def _rows(view: View, decision: Decision, names: Names) -> Iterator[Row]:
    """The tasks: those that can be chosen with their numbers, then the others."""
    numbers = {task: str(number) for number, task in enumerate(decision.options, 1)}
    if decision.arity:
        numbers = {}
    ordered = sorted(decision.standings, key=lambda each: each.task not in numbers)
    for standing in ordered:
        operation = standing.operation
        site = site_of_standing(standing, names)
        if operation is not None and operation.kind in (BEGIN, END):
            # It was started there, and that is not where it goes on.
            site = None
        known_as = names.target(standing.task) or names.thread_name(standing.task)
        can_run = standing.task in numbers
        note = ""
        if can_run and decision.is_preemption(standing.task):
            timed = standing.readiness is Readiness.TIMED
            note = "early" if timed else f"preempts {decision.running}"
        yield Row(
            numbers.get(standing.task, ""),
            f"{standing.task} {known_as}".rstrip(),
            operation_words(standing, names),
            names.place(site),
            source_line(site) if site is not None and site.line else "",
            note,
            can_run and standing.task == view.default,
            not can_run,
        )


def _done(trace: Trace, first: int, names: Names) -> Iterator[Row]:
    """The steps from one on, as they were done."""
    for step in range(first, len(trace)):
        task, operation = trace.tasks[step], trace.operations[step]
        site = None if operation.kind in (BEGIN, END) else names.site(operation)
        words = names.brief(operation)
        if step in trace.arities:
            words = fault_words(trace, step) or f"choose {trace.choices[step]}"
        note = ""
        if trace.is_preemption(step, task):
            note = "timeout, early" if trace.has_fired(step) else f"preempted {trace.goes_on(step)}"
        source = source_line(site) if site is not None and site.line else ""
        yield Row("", task, words, names.place(site), source, note)


def passed_in_words(trace: Trace) -> str:
    """One line on an execution that is no failure."""
    kind = trace.outcome.kind
    words = "Passed" if kind is OutcomeKind.PASSED else trace.outcome.message or kind.value
    steps, preemptions = plural(len(trace), "step"), plural(len(trace.preemptions()), "preemption")
    return f"{words}: {steps}, {preemptions}"
