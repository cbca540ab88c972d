"""What is said of a run with live rounds, beside the report of its failure."""

from __future__ import annotations

from collections.abc import Iterator

from bohrbug.live.figures import Figures, failing_in_words
from bohrbug.live.harm import End
from bohrbug.live.result import LiveResult
from bohrbug.report.wording import plural, seconds_in_words

_ORDER = tuple(End)


def summary_lines(result: LiveResult) -> Iterator[str]:
    """The end of the report, line by line.

    It never says that a program holds: rounds try a few of the futures of a few moments.

    Parameters:
        result: of the run.
    """
    figures = result.figures
    made = f"{plural(figures.rounds, 'round')} ({plural(figures.fragments, 'fragment')})"
    where = f"{seconds_in_words(result.seconds)}, {plural(result.steps, 'step')}"
    if result.failure is not None:
        yield f"failed after {made}, {where}"
    elif result.interrupted:
        yield f"interrupted: no failure up to then in {made}, {where}"
    else:
        yield f"no failure in {made}, {where}"
    if figures.rounds:
        yield f"fragments: {', '.join(_ends_in_words(figures))}"
        yield (
            f"rounds took {figures.share:.0f}% of the time, the longest "
            f"{seconds_in_words(figures.longest)}; the program has followed {figures.retired:,} "
            "of the fragments"
        )
    elif result.failure is None:
        yield "there was no moment at which two tasks could run and the budget allowed a round"
    if figures.parted:
        yield (
            f"{plural(figures.parted, 'fragment')} could not be followed to the end: what they do "
            "depends on more than the order of tasks"
        )
    for failing in dict.fromkeys(figures.unproved):
        count = figures.unproved.count(failing)
        yield (
            f"not proved: {failing_in_words(failing)} in {plural(count, 'fragment')}, which the "
            "program followed without failing so"
        )
    if figures.failed_copies:
        yield f"{plural(figures.failed_copies, 'round')} lacked fragments: no copy could be made"


def _ends_in_words(figures: Figures) -> Iterator[str]:
    for end in _ORDER:
        if figures.ends[end]:
            yield f"{figures.ends[end]:,} {end.value}"


def replay_lines(result: LiveResult, history: int) -> Iterator[str]:
    """Whether the failure can be replayed, and how.

    Parameters:
        result: of a run that has failed.
        history: the option of that name.
    """
    failure = result.failure
    assert failure is not None
    if not result.is_whole:
        yield (
            f"It can't be replayed: the run had {result.steps:,} steps, of which only the last "
            f"{len(failure.trace):,} are kept (--history {history}); these are what is shown."
        )
    elif failure.reproduction is not None and result.why_not:
        yield f"A replay may differ: {result.why_not}."
