"""A livelock: the steps that repeat for ever."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.model.operation import RESUME
from bohrbug.model.trace import Trace
from bohrbug.report.columns import draw_schedule
from bohrbug.report.naming import Names
from bohrbug.report.schedule import SHORT_EXECUTION, schedule_of
from bohrbug.report.style import Paper

_MOST_NAMED = 4
"""Tasks that go on beside a deadlock, of which a report names the places."""


def repeating_in_words(trace: Trace, repeating: Sequence[int], names: Names) -> str:
    """Which steps come again and again, of which tasks, and who waits meanwhile."""
    tasks = list(dict.fromkeys(trace.tasks[index] for index in repeating))
    who = f"task {tasks[0]}" if len(tasks) == 1 else f"{len(tasks)} tasks"
    steps = f"{len(repeating)} step{'s' if len(repeating) != 1 else ''}"
    waiting = sorted(task for task in trace.final_pending if task not in tasks)
    text = f"These {steps} of {who} repeat, and nothing that was seen of them changes."
    if len(repeating) == 1:
        text = f"This step of {who} repeats, and nothing that was seen of it changes."
    if waiting and len(waiting) <= 4:
        text += f" Meanwhile {', '.join(f'task {names.task(task)}' for task in waiting)}"
        text += " waits." if len(waiting) == 1 else " wait."
    return text


def going_on_in_words(trace: Trace, names: Names) -> str:
    """Who goes on beside a deadlock, again and again in the same way; empty if nobody does."""
    steps = [index for index in trace.outcome.repeating if 0 <= index < len(trace)]
    of_loops = [index for index in steps if trace.operations[index].kind is RESUME]
    places = {trace.tasks[index]: names.at(trace.operations[index]) for index in of_loops or steps}
    if not places:
        return ""
    who = [f"task {names.task(task)}{place}" for task, place in list(places.items())[:_MOST_NAMED]]
    if len(places) > _MOST_NAMED:
        who.append(f"{len(places) - _MOST_NAMED} more")
    does = "repeats its steps and wakes" if len(places) == 1 else "repeat their steps and wake"
    return f"Meanwhile {' and '.join(who)} only {does} nobody."


def draw_repeating(paper: Paper, trace: Trace, names: Names) -> None:
    """Print the repeating section of a livelock, once through."""
    repeating = [index for index in trace.outcome.repeating if 0 <= index < len(trace)]
    if not repeating:
        return
    paper.heading("The steps that repeat")
    paper.paragraph(paper.prose(repeating_in_words(trace, repeating, names)))
    paper.gap()
    draw_schedule(paper, schedule_of(trace, (), names, only=repeating[:SHORT_EXECUTION]), names)
    if len(repeating) > SHORT_EXECUTION:
        paper.paragraph(paper.text(f"and {len(repeating) - SHORT_EXECUTION:,} more steps", "dim"))
