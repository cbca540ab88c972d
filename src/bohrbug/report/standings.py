"""Where tasks stand, as text: one line for each, or its stack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.text import Text

from bohrbug.model.decision import Readiness, Standing
from bohrbug.model.operation import BEGIN, EXIT, JOIN, Site
from bohrbug.report.frames import telling_frame
from bohrbug.report.naming import Names
from bohrbug.report.stack import draw_stack
from bohrbug.report.style import HEADING, QUIET, WARNED, Paper

_WIDEST_WORDS = 48


@dataclass(frozen=True, slots=True)
class Row:
    """A task and what it does, to be printed in columns with others.

    Parameters:
        label: by which the task can be chosen.
        task: who, with the id first.
        words: what it does.
        place: where in the program.
        source: the line there.
        note: what else is to be said of it.
        is_next: it is marked.
        is_quiet: it is of less interest than others.
    """

    label: str
    task: str
    words: str
    place: str
    source: str
    note: str = ""
    is_next: bool = False
    is_quiet: bool = False


def draw_stacks(paper: Paper, standings: Iterable[Standing], names: Names) -> None:
    """Print the stack of each task."""
    for standing in standings:
        paper.put(paper.prose(f"task {names.task(standing.task)}", HEADING))
        if standing.stack:
            draw_stack(paper, standing.stack, names, 2)
        else:
            paper.put(paper.text(f"  {_without_stack(standing)}"))


def _without_stack(standing: Standing) -> str:
    if standing.readiness is Readiness.ENDED:
        return "has ended"
    is_new = standing.operation is not None and standing.operation.kind is BEGIN
    return "has not begun" if is_new else "not known"


def site_of_standing(standing: Standing, names: Names) -> Site | None:
    """Where a task stands: at its operation if that is in the program, else by its stack."""
    site = names.site(standing.operation) if standing.operation is not None else None
    if site is not None and site.line:
        return site
    frame = telling_frame(standing.stack)
    return None if frame is None else frame.site


def operation_words(standing: Standing, names: Names) -> str:
    """What a task is about to do, or what it waits for."""
    operation = standing.operation
    if operation is None:
        return "chooses a value"
    brief = names.brief(operation)
    if standing.readiness is Readiness.ENABLED:
        return brief
    if standing.readiness is Readiness.YIELDED:
        return f"{brief} (has yielded to others)"
    if operation.kind.is_yield:
        return f"{brief} ends" if standing.readiness is Readiness.TIMED else f"in {brief}"
    if operation.kind is JOIN:
        ended = names.short_resource(operation.resource)
        of = "the other threads" if operation.resource == EXIT else ended
        words = f"waits for the end of {of}"
    else:
        words = f"waits: {brief}"
        if standing.holders and not names.is_for_an_end(operation):
            words += f", held by {' and '.join(standing.holders)}"
    return f"{words}; its timeout fires" if standing.readiness is Readiness.TIMED else words


def draw_rows(paper: Paper, rows: Sequence[Row], *, place_first: bool = False) -> None:
    """Print rows in columns.

    Parameters:
        paper: where to.
        rows: one for each line.
        place_first: the places come before the words, and not behind them.
    """

    def width(cells: Iterable[str], most: int = 200) -> int:
        return min(max((len(cell) for cell in cells), default=0), most)

    labels = width(row.label for row in rows)
    tasks = width(row.task for row in rows)
    words = width((row.words for row in rows), _WIDEST_WORDS)
    notes = width(row.note for row in rows)
    places = width(row.place for row in rows)
    for row in rows:
        style = QUIET if row.is_quiet else ""
        arrow = paper.glyphs.arrow_right if row.is_next else ""
        line = Text(f" {arrow:<1} ")
        if labels:
            line.append_text(paper.text(f"{row.label:>{labels}}  ", HEADING))
        colour = paper.style_of(row.task.partition(" ")[0])
        line.append_text(paper.text(f"{row.task:<{tasks}}  ", style or colour))
        done = paper.text(f"{row.words:<{words}}  ", style)
        if notes:
            done.append_text(paper.text(f"{row.note:<{notes}}  ", WARNED))
        place = paper.text(f"{row.place:<{places}}  ", style or HEADING)
        line.append_text(place + done if place_first else done + place)
        line.append_text(paper.text(row.source, style))
        paper.put(line)
