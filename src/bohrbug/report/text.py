"""The report in the terminal: failures, results and races as text.

A report is read from top to bottom: what failed, which preemptions matter,
the schedule, what belongs to this kind of failure, on which interpreters it
can happen, how to replay it.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from bohrbug.exploration.result import Failure, Interpreter, Result
from bohrbug.model.outcome import OutcomeKind, Race, RacePattern
from bohrbug.model.trace import Trace
from bohrbug.report.cause import cause_in_lines, evidence_in_words
from bohrbug.report.columns import draw_schedule
from bohrbug.report.deadlock import draw_blocked, is_about_waiting
from bohrbug.report.explanation import sentence_on
from bohrbug.report.finding import (
    how_found,
    how_often_reproduced,
    interpreter_note,
    not_counted,
    suspected_races,
    telling_races,
    timeouts_note,
    where_in_words,
)
from bohrbug.report.frames import program_frames
from bohrbug.report.headline import failure_headline
from bohrbug.report.livelock import draw_repeating, going_on_in_words
from bohrbug.report.naming import Names, task_order
from bohrbug.report.prediction import draw_unconfirmed
from bohrbug.report.race import draw_race, race_sites
from bohrbug.report.schedule import schedule_of
from bohrbug.report.stack import draw_stack, draw_traceback
from bohrbug.report.style import FAILED, HEADING, PASSED, QUIET, WARNED, Paper
from bohrbug.report.verdict import one_line_verdict
from bohrbug.report.verdict_block import draw_verdict
from bohrbug.report.wording import plural

__all__ = [
    "failure_headline",
    "failure_text",
    "interpreter_note",
    "one_line_verdict",
    "render_failure",
    "render_races",
    "render_result",
]

_MOST_RACES = 5
_MOST_TELLING = 2


def _task_order(trace: Trace) -> list[str]:
    known = list(trace.task_infos) or sorted(set(trace.tasks), key=task_order)
    ran = set(trace.tasks) | {blocked.task for blocked in trace.outcome.blocked}
    return [task for task in known if task in ran]


def _draw_head(
    paper: Paper,
    failure: Failure,
    names: Names,
    test: str,
    executions: int | None,
    seconds: float | None,
) -> None:
    outcome = failure.outcome
    glyphs = paper.glyphs
    # A file that was saved by hand may hold an execution that passes.
    sign, style = (glyphs.failed, FAILED) if outcome.is_failure else (glyphs.passed, PASSED)
    headline = paper.text(f"{sign} {failure_headline(outcome)} ", style)
    lines = list(paper.wrap(headline, paper.width))
    last = lines[-1] + Text(" ")
    last.append(glyphs.rule * (paper.width - last.cell_len), style=style.rpartition(" ")[2])
    paper.put(*lines[:-1], last)
    where = where_in_words(outcome, names)
    if test:
        paper.paragraph(paper.text(test, HEADING), 2, 4)
    if where:
        paper.paragraph(paper.prose(where), 2, 4)
    if outcome.cycle and outcome.kind is not OutcomeKind.DEADLOCK:
        number = len(outcome.cycle)
        waiting = (
            f"{number} other tasks wait for each other" if number > 1 else "a task waits for itself"
        )
        paper.paragraph(paper.text(f"meanwhile {waiting}, see below"), 2, 4)
    if let_pass := failure.trace.uncontrolled.misuses_let_pass:
        paper.paragraph(paper.text(f"after allowed misuse: {', '.join(let_pass)}"), 2, 4)
    paper.paragraph(paper.text(how_found(failure, executions, seconds, glyphs.dash), QUIET), 2, 4)


def _draw_specific(paper: Paper, failure: Failure, names: Names) -> None:
    outcome = failure.outcome
    trace = failure.trace
    if is_about_waiting(outcome):
        wanted = {blocked.operation.resource for blocked in outcome.blocked}
        types = {id: trace.resources[id].type for id in wanted if id in trace.resources}
        draw_blocked(paper, outcome, names, types)
        if words := going_on_in_words(trace, names):
            paper.paragraph(paper.prose(words))
    elif outcome.repeating:
        draw_repeating(paper, trace, names)
    elif outcome.kind is OutcomeKind.RACE and outcome.race is not None:
        paper.heading("The race")
        draw_race(paper, outcome.race, names)
    if outcome.traceback.strip():
        paper.heading("Traceback")
        draw_traceback(paper, outcome.traceback)
    elif outcome.kind is not OutcomeKind.RACE and program_frames(outcome.stack):
        paper.heading("Where it was raised")
        draw_stack(paper, outcome.stack, names)


_WITH_GIL = (Interpreter.GIL, Interpreter.ANOTHER_SCHEDULE)


def _draw_replay(
    paper: Paper, failure: Failure, names: Names, replay_command: str | Sequence[str]
) -> None:
    if on_timeouts := timeouts_note(failure):
        paper.heading("Timeouts")
        paper.paragraph(paper.prose(on_timeouts, ""))
    note = interpreter_note(failure, names)
    if note:
        paper.heading("Interpreter")
        style = WARNED if failure.interpreter in _WITH_GIL else ""
        paper.paragraph(paper.prose(note, style))
    commands = [replay_command] if isinstance(replay_command, str) else list(replay_command)
    if not any(commands) and not failure.confirmed:
        return
    paper.heading("Replay")
    for command in commands:
        if command:
            # Never wrapped: it is there to be copied.
            paper.put(Text("  ") + paper.text(command, "bold green"), whole=True)
    if words := how_often_reproduced(failure):
        style = WARNED if failure.happens_afresh is False else QUIET
        paper.paragraph(paper.text(words, style))


def render_failure(
    failure: Failure,
    console: Console,
    *,
    replay_command: str | Sequence[str] = "",
    test: str = "",
    executions: int | None = None,
    seconds: float | None = None,
    full: bool = False,
) -> None:
    """Print the report of one failure.

    Parameters:
        failure: what to report.
        console: where to print to; its width, colours and encoding are respected.
        replay_command: the command that replays it, or several.
        test: the name of the test.
        executions: executions of the whole exploration, if it is over.
        seconds: wall time of the exploration, in seconds.
        full: show every step of the schedule, however long it is.
    """
    trace = failure.trace
    telling = telling_races(failure)[:_MOST_TELLING]
    suspected = [] if telling else suspected_races(failure)[:_MOST_TELLING]
    races = [
        *telling,
        *suspected,
        *([failure.outcome.race] if failure.outcome.race is not None else []),
    ]
    names = Names(trace, extra=race_sites(races))
    paper = Paper(console, _task_order(trace))
    _draw_head(paper, failure, names, test, executions, seconds)
    if len(trace):
        paper.gap()
        if failure.cause is not None:
            for line in cause_in_lines(failure.cause, trace, names):
                paper.paragraph(paper.prose(line.words), 2 + 2 * line.depth, 8 if line.depth else 2)
            evidence = evidence_in_words(failure.cause)
            if evidence:
                paper.paragraph(paper.text(evidence, QUIET))
        sentence = sentence_on(failure, names)
        if sentence:
            if failure.cause is not None:
                paper.gap()
            paper.paragraph(paper.prose(sentence))
        if telling:
            paper.heading("What was out of date")
            for race in telling:
                draw_race(paper, race, names, frames=1)
        if suspected:
            paper.heading("Data races in this schedule")
            for race in suspected:
                draw_race(paper, race, names)
        schedule = schedule_of(trace, failure.essential, names, full=full)
        paper.heading("Schedule")
        draw_schedule(paper, schedule, names)
        if schedule.left_out and not full:
            file = failure.reproduction if failure.reproduction is not None else "FILE"
            note = (
                f"{plural(schedule.left_out, 'step')} not shown; all: bohrbug explain {file} --full"
            )
            paper.paragraph(paper.text(note, QUIET))
    _draw_specific(paper, failure, names)
    _draw_replay(paper, failure, names, replay_command)


def failure_text(
    failure: Failure,
    *,
    width: int = 100,
    color: bool = False,
    encoding: str = "utf-8",
    replay_command: str | Sequence[str] = "",
    test: str = "",
    executions: int | None = None,
    seconds: float | None = None,
    full: bool = False,
) -> str:
    """The report of one failure as a string.

    Parameters:
        failure: what to report.
        width: cells per line.
        color: with the escape sequences of a colour terminal.
        encoding: of the output that it is for; decides which signs are used.
        replay_command, test, executions, seconds, full: as for :func:`render_failure`.
    """
    console = _string_console(width, color, encoding)
    render_failure(
        failure,
        console,
        replay_command=replay_command,
        test=test,
        executions=executions,
        seconds=seconds,
        full=full,
    )
    return _content(console)


class _EncodedString(io.StringIO):
    """A string buffer that says what encoding its content is for."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the output that the string is for."""
        return self._encoding


def _string_console(width: int, color: bool, encoding: str) -> Console:
    return Console(
        file=_EncodedString(encoding),
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )


def _content(console: Console) -> str:
    buffer = console.file
    assert isinstance(buffer, io.StringIO)
    return buffer.getvalue()


def render_races(
    races: Sequence[Race],
    console: Console,
    *,
    trace: Trace | None = None,
    limit: int | None = _MOST_RACES,
) -> None:
    """Print data races, the most frequent first; those that look benign come last.

    Parameters:
        races: what to print.
        console: where to print to.
        trace: an execution of the same test, for the names of tasks and locks.
        limit: races to print at most; all if ``None``.
    """
    if not races:
        return
    names = Names(trace if trace is not None else Trace(), extra=race_sites(races))
    tasks = sorted(
        {access.task for race in races for access in (race.first, race.second)}, key=task_order
    )
    paper = Paper(console, tasks)
    over_awaits = sum(race.stale is not None for race in races)
    heads = [("Data races", len(races) - over_awaits), ("Races over an await", over_awaits)]
    paper.heading(", ".join(f"{what}: {number:,}" for what, number in heads if number))
    ordered = sorted(
        races,
        key=lambda race: (race.stale is not None, race.pattern.is_often_benign, -race.count),
    )
    shown = ordered if limit is None else ordered[:limit]
    explained: set[RacePattern] = set()
    for number, race in enumerate(shown):
        if number:
            paper.gap()
        draw_race(paper, race, names, explained)
    if len(shown) < len(ordered):
        labels = [race.label for race in ordered[len(shown) :]]
        more = ", ".join(dict.fromkeys(labels))
        paper.paragraph(paper.text(f"and {len(labels)} more, on {more}", QUIET), 2, 4)


def render_result(
    result: Result,
    console: Console,
    *,
    verbose: bool = False,
    replay_commands: Sequence[str] = (),
) -> None:
    """Print everything that an exploration found, and its verdict last.

    Parameters:
        result: of the exploration.
        console: where to print to.
        verbose: with every data race that was seen, and all steps of failures.
        replay_commands: for each failure the command that replays it; made of its
            reproduction file where there is none.
    """
    paper = Paper(console)
    for number, failure in enumerate(result.failures):
        command = replay_commands[number] if number < len(replay_commands) else ""
        if not command and failure.reproduction is not None:
            command = f"bohrbug replay {failure.reproduction}"
        if number:
            paper.gap()
        render_failure(
            failure,
            console,
            replay_command=command,
            test=result.test,
            executions=result.executions,
            seconds=result.seconds,
            full=verbose,
        )
    for failure in result.untimely:
        paper.heading(not_counted(failure))
        command = "" if failure.reproduction is None else f"bohrbug replay {failure.reproduction}"
        render_failure(failure, console, replay_command=command, test=result.test, full=verbose)
    if result.races and verbose:
        trace = result.failures[0].trace if result.failures else None
        render_races(result.races, console, trace=trace, limit=None)
    if result.failures or result.untimely or (result.races and verbose):
        paper.gap()
    if draw_unconfirmed(paper, result, verbose=verbose):
        paper.gap()
    draw_verdict(paper, result, verbose=verbose)
