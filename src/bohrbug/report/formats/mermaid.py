"""A failing schedule as a sequence diagram in Mermaid's language, for issues and pull requests."""

from __future__ import annotations

from collections.abc import Iterator

from bohrbug.exploration.result import Failure
from bohrbug.model.operation import TaskId
from bohrbug.report.columns import timeout_words
from bohrbug.report.headline import failure_headline
from bohrbug.report.naming import Names
from bohrbug.report.schedule import (
    End,
    Folded,
    Line,
    Preempted,
    Row,
    Timeout,
    Waits,
    schedule_of,
)

MOST_ROWS = 200
"""Mermaid draws no larger diagrams in reasonable time."""


def mermaid(failure: Failure, test: str = "") -> str:
    """The schedule of a failure, as the report shows it.

    Parameters:
        failure: what to show.
        test: its name.
    """
    names = Names(failure.trace)
    schedule = schedule_of(failure.trace, failure.essential, names)
    title = f"{test}: {failure_headline(failure.outcome)}" if test else ""
    lines = ["sequenceDiagram"]
    if title:
        lines.insert(0, f"---\ntitle: {_quoted(title)}\n---")
    lines += [
        f"    participant {_id(t)} as {_plain('task ' + names.task(t))}" for t in schedule.tasks
    ]
    shown = schedule.rows[:MOST_ROWS]
    for row in shown:
        lines += [f"    {line}" for line in _lines(row, schedule.tasks)]
    if len(schedule.rows) > MOST_ROWS:
        lines.append(f"    %% {len(schedule.rows) - MOST_ROWS} more rows are left out")
    return "\n".join(lines) + "\n"


def _lines(row: Row, tasks: list[TaskId]) -> Iterator[str]:
    match row:
        case Line():
            words = ", ".join(row.operations)
            yield _note(row.task, f"{row.place} {row.source}", words)
        case Waits():
            ever = " for ever" if row.for_ever else ""
            yield _note(row.task, row.place, f"{row.what}{ever}")
        case Preempted():
            before = f" before {row.before}" if row.before else ""
            arrow = f"{_id(row.task)}--x{_id(row.by)}"
            yield f"{arrow}: {_plain(f'{row.task} preempted at {row.place}{before}')}"
        case Timeout():
            yield _note(row.task, row.place, timeout_words(row.what, row.early))
        case Folded():
            known = [task for task in row.tasks if task in tasks] or tasks[:1]
            over = ",".join(dict.fromkeys((_id(known[0]), _id(known[-1]))))
            yield f"Note over {over}: {row.count} more steps"
        case End():
            task = row.task if row.task in tasks else tasks[0]
            yield _note(task, row.place, f"✗ {row.message}")


def _note(task: TaskId, *parts: str) -> str:
    return f"Note over {_id(task)}: {'<br/>'.join(_plain(part) for part in parts if part.strip())}"


def _id(task: TaskId) -> str:
    return "T" + task.replace(".", "_")


def _plain(text: str) -> str:
    """Text without what means something to Mermaid, by its escapes of the form ``#35;``."""
    special = {"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", '"': "#quot;", "%": "#37;"}
    return "".join(special.get(letter, letter) for letter in " ".join(text.split()))


def _quoted(text: str) -> str:
    """A string of YAML."""
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
