"""The message sequence chart of a log, for terminals."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from bohrbug.report.style import QUIET, Paper
from bohrbug.report.wording import plural
from bohrbug.runtime.channels.events import Event, Status, Step, TaskId, in_tree_order

NARROWEST = 10
_LABEL = 26


def short_words(event: Event) -> str:
    """An event in few words: ``recv Queue 0/1``."""
    name = event.flavour.rpartition(".")[2]
    where = name if event.channel is None else f"{name} {event.channel}"
    outcome = event.outcome
    words = f"{event.kind.words} {where}"
    if outcome.status in (Status.SENT, Status.RECEIVED):
        return words
    return f"{words}: {outcome}"


def draw_chart(paper: Paper, order: Sequence[Step], first: int = 0, count: int = 60) -> None:
    """Print events in causal order, one column for each task if they fit.

    Parameters:
        paper: to print on.
        order: the events.
        first: how many to leave out at the beginning.
        count: how many to print.
    """
    shown = order[first : first + count]
    tasks = in_tree_order(
        {step.task for step in shown}
        | {
            step.event.outcome.message.sender
            for step in shown
            if step.event.outcome.message is not None and step.event.outcome.message.sender
        }
    )
    paper.heading("Messages")
    if first:
        paper.put(paper.text(f"  {paper.glyphs.folded} {plural(first, 'event')}", QUIET))
    width = (paper.width - _LABEL - 4) // max(len(tasks), 1)
    if width >= NARROWEST:
        _draw_columns(paper, shown, tasks, min(width, 16))
    else:
        _draw_list(paper, shown)
    left = len(order) - first - len(shown)
    if left > 0:
        words = f"  {paper.glyphs.folded} {plural(left, 'more event')}"
        paper.put(paper.text(words, QUIET))


def _draw_list(paper: Paper, steps: Sequence[Step]) -> None:
    back = f" {paper.glyphs.arrow_left}{paper.glyphs.light_rule} "
    for step in steps:
        line = Text("  ") + Text(f"{step.task:<8}", paper.style_of(step.task))
        line += Text(f"{paper.glyphs.bar} {short_words(step.event)}")
        message = step.event.outcome.message
        if message is not None:
            line += Text(back) + Text(str(message), paper.style_of(message.sender))
        paper.put(line)


def _draw_columns(paper: Paper, steps: Sequence[Step], tasks: Sequence[TaskId], width: int) -> None:
    glyphs = paper.glyphs
    places = {task: 2 + number * width for number, task in enumerate(tasks)}
    header = Text()
    for task in tasks:
        header += Text(" " * (places[task] - cell_len(header.plain)))
        header += Text(task, paper.style_of(task))
    paper.put(header)
    end = 2 + len(tasks) * width
    for step in steps:
        cells = [" "] * end
        for place in places.values():
            cells[place] = glyphs.bar
        event = step.event
        here = places[step.task]
        message = event.outcome.message
        sender = None if message is None else message.sender
        if sender is not None and sender in places and sender != step.task:
            there = places[sender]
            low, high = min(here, there), max(here, there)
            for place in range(low + 1, high):
                cells[place] = glyphs.light_rule
            if here > there:
                cells[here - 1] = glyphs.arrow_right
            else:
                cells[here + 1] = glyphs.arrow_left
        else:
            cells[here + 1] = "+" if event.kind.sends else glyphs.dash
        line = Text("".join(cells), QUIET)
        line.stylize(paper.style_of(step.task), here, here + 2)
        label = short_words(event)
        if message is not None:
            label += f" #{message.number + 1}"
        line += Text(label, paper.style_of(step.task))
        paper.put(line)
