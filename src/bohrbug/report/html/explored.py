"""What was explored, as a page shows it: the words of the verdict block, and how it went."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.exploration.progress import Progress
from bohrbug.exploration.result import Result
from bohrbug.report.html.document import Explored
from bohrbug.report.prediction import prediction_in_words
from bohrbug.report.verdict import figures, headline, races_in_words, size_in_words

MOST_POINTS = 300
"""Points of a curve; more can't be told apart."""


def explored_of(result: Result, history: Sequence[Progress] = ()) -> Explored:
    """The verdict of an exploration and what is behind it.

    Parameters:
        result: of the exploration.
        history: how far it had come, time after time.
    """
    verdict = result.verdict
    estimate = verdict.estimate
    return Explored(
        kind=verdict.kind.value,
        headline=headline(result),
        covered=list(verdict.covered),
        reason=verdict.reason,
        size="" if estimate is None else size_in_words(estimate),
        share=None if estimate is None or not estimate.seen else estimate.share,
        conditions="" if verdict.conditions is None else str(verdict.conditions),
        figures=figures(result) if result.executions else "",
        races=races_in_words(result.races, verbose=True) if result.races else "",
        caveats=[str(caveat) for caveat in verdict.caveats],
        notices=list(result.notices),
        unconfirmed=[prediction_in_words(each) for each in result.unconfirmed],
        history=_curve(history, result),
    )


def _curve(history: Sequence[Progress], result: Result) -> list[tuple[float, int, int, int]]:
    """Seconds, executions, failures and races; the end is that of the result."""
    every = max(1, -(-len(history) // MOST_POINTS))
    points = [
        (round(each.elapsed, 3), each.executions, each.failures, each.races)
        for each in history[::every]
    ]
    end = (round(result.seconds, 3), result.executions, len(result.failures), len(result.races))
    return [*points, end]
