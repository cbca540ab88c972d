"""Where two runs part, and which exchange of messages decides."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.report.style import FAILED, HEADING, PASSED, QUIET, Paper
from bohrbug.report.wording import plural
from bohrbug.runtime.channels.bisection import Decision
from bohrbug.runtime.channels.events import Event, Log
from bohrbug.runtime.channels.orders import Parting

_MOST = 8


def draw_partings(paper: Paper, partings: Sequence[Parting], names: tuple[str, str]) -> None:
    """Print where two runs part.

    Parameters:
        paper: to print on.
        partings: in causal order.
        names: of the two runs.
    """
    if not partings:
        paper.put(paper.text("The two runs have the same order of messages.", HEADING))
        return
    paper.put(paper.text("The first event that differs", HEADING))
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
        paper.put(paper.text(f"    {name:<{width}}  {_words(event)}"))


def _words(event: Event | None) -> str:
    return "nothing more" if event is None else event.words


def draw_decision(paper: Paper, decision: Decision, failing: Log) -> None:
    """Print the exchange of messages that decides between pass and fail."""
    step = decision.step
    paper.heading("The exchange that decides")
    paper.put(
        paper.text(
            f"  task {step.task}, event {step.number + 1} "
            f"(after {decision.before:,} of {failing.events:,} events of the failing run)"
        )
    )
    passes = paper.text(f"    {paper.glyphs.passed} passes  ", PASSED)
    fails = paper.text(f"    {paper.glyphs.failed} fails   ", FAILED)
    paper.put(passes + paper.text(_words(decision.instead)))
    paper.put(fails + paper.text(step.event.words))
    paper.put(paper.text(f"  confirmed; {plural(decision.replays, 'replay')}", QUIET))
