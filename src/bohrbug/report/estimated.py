"""Estimates in words."""

from __future__ import annotations

from bohrbug.report.wording import seconds_in_words
from bohrbug.search.estimates import Estimate, seen_in_words


def estimate_in_words(estimate: Estimate, seconds: float) -> str:
    """An estimate for a progress line: ``about 1,200 schedules, 30% seen, 4.1 s left``.

    Parameters:
        estimate: the estimate.
        seconds: wall time so far.
    """
    text = str(estimate)
    if estimate.seen:
        text += f", {seen_in_words(estimate)} seen"
    left = estimate.seconds_left(seconds)
    return text if left is None or left > 1e8 else f"{text}, {seconds_in_words(left)} left"
