"""One line that says what happened."""

from __future__ import annotations

from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.report.frames import telling_frame
from bohrbug.report.sources import source_line
from bohrbug.report.wording import plural


def failure_headline(outcome: Outcome) -> str:
    """One line that says what happened: ``AssertionError: assert 1 == 2``."""
    message = outcome.message.strip().splitlines()[0] if outcome.message.strip() else ""
    if message and message == outcome.exception and outcome.kind is OutcomeKind.ASSERTION:
        # Without a message of its own; the source says what was asserted.
        frame = telling_frame(outcome.stack)
        source = source_line(frame.site) if frame is not None else ""
        return f"{message}: {source}" if source.startswith("assert") else message
    kind = outcome.kind
    if kind in (OutcomeKind.ASSERTION, OutcomeKind.EXCEPTION, OutcomeKind.CRASH):
        return message or outcome.exception or kind.value.capitalize()
    if kind is OutcomeKind.DEADLOCK and not message:
        if len(outcome.cycle) > 1:
            return f"Deadlock: {len(outcome.cycle)} tasks wait for each other"
        tasks = plural(len(outcome.blocked), "task")
        return f"Deadlock: {tasks} can't go on"
    if kind is OutcomeKind.LEAK and not message:
        return f"{plural(len(outcome.blocked), 'thread')} did not end"
    if kind is OutcomeKind.RACE and outcome.race is not None:
        title = outcome.race.title
        return title[0].upper() + title[1:]
    title = str(kind.value).capitalize()
    if not message:
        return title
    return message if message.lower().startswith(kind.value) else f"{title}: {message}"
