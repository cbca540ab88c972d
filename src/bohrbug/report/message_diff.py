"""Where two runs part, and which exchange of messages decides."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.report.style import FAILED, HEADING, PASSED, QUIET, Paper
from bohrbug.report.wording import plural
from bohrbug.runtime.channels.bisection import Decision
from bohrbug.runtime.channels.events import Event, Log
from bohrbug.runtime.channels.orders import Parting

_MOST = 8

DECIDING = "The exchange that decides"
SAME_ORDER = "The two runs have the same order of messages."
FIRST_PARTING = "The first event that differs"


def draw_partings(paper: Paper, partings: Sequence[Parting], names: tuple[str, str]) -> None:
    """Print where two runs part.

    Parameters:
        paper: to print on.
        partings: in causal order.
        names: of the two runs.
    """
    if not partings:
        paper.put(paper.text(SAME_ORDER, HEADING))
        return
    paper.put(paper.text(FIRST_PARTING, HEADING))
    _draw(paper, partings[0], names)
    if len(partings) > 1:
        paper.heading(f"Then, in {plural(len(partings) - 1, 'other task')}")
        for parting in partings[1:_MOST]:
            _draw(paper, parting, names)
        if len(partings) > _MOST:
            paper.put(paper.text(f"  {paper.glyphs.folded} {len(partings) - _MOST} more", QUIET))


def _draw(paper: Paper, parting: Parting, names: tuple[str, str]) -> None:
    paper.put(paper.text(f"  task {parting.task}, event {parting.number + 1}"))
    width = max(map(len, names))
    for name, event in zip(names, (parting.first, parting.second), strict=True):
        paper.put(paper.text(f"    {name:<{width}}  {event_in_words(event)}"))


def event_in_words(event: Event | None) -> str:
    """What a task did, or that it had come to its end."""
    return "nothing more" if event is None else event.words


def draw_decision(paper: Paper, decision: Decision, failing: Log) -> None:
    """Print the exchange of messages that decides between pass and fail."""
    step = decision.step
    paper.heading(DECIDING)
    paper.put(paper.text(f"  {_when(decision, failing)}"))
    passes = paper.text(f"    {paper.glyphs.passed} passes  ", PASSED)
    fails = paper.text(f"    {paper.glyphs.failed} fails   ", FAILED)
    paper.put(passes + paper.text(event_in_words(decision.instead)))
    paper.put(fails + paper.text(step.event.words))
    paper.put(paper.text(f"  {_confirmed(decision)}", QUIET))


def _when(decision: Decision, failing: Log) -> str:
    step = decision.step
    return (
        f"task {step.task}, event {step.number + 1} "
        f"(after {decision.before:,} of {failing.events:,} events of the failing run)"
    )


def _confirmed(decision: Decision) -> str:
    return f"confirmed; {plural(decision.replays, 'replay')}"


def decision_in_lines(decision: Decision, failing: Log) -> list[str]:
    """The same as :func:`draw_decision`, in lines."""
    return [
        f"{DECIDING}: {_when(decision, failing)}",
        f"passes  {event_in_words(decision.instead)}",
        f"fails   {decision.step.event.words}",
        _confirmed(decision),
    ]
