"""Figures and faults in words."""

from __future__ import annotations

from bohrbug.model.operation import is_fault
from bohrbug.model.trace import Trace
from bohrbug.search.estimates import Estimate, share_in_words


def plural(count: int, word: str) -> str:
    """``1 failure``, ``1,200 failures``."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def estimate_in_words(estimate: Estimate, seconds: float) -> str:
    """An estimate for a progress line: ``about 1,200 schedules, 30% seen, 4.1 s left``.

    Parameters:
        estimate: the estimate.
        seconds: wall time so far.
    """
    text = str(estimate)
    if estimate.seen:
        text += f", {share_in_words(estimate.share)} seen"
    left = estimate.seconds_left(seconds)
    return text if left is None or left > 1e8 else f"{text}, {seconds_in_words(left)} left"


def seconds_in_words(seconds: float) -> str:
    """Wall time for people: ``0.02 s``, ``3.4 s``, ``12 min 5 s``."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"


def fault_words(trace: Trace, step: int) -> str | None:
    """How the call of a data choice about a fault went; ``None`` for other steps."""
    resource = trace.operations[step].resource
    if step not in trace.arities or not is_fault(resource):
        return None
    if not trace.choices[step]:
        return f"{resource.partition(':')[2]} does not fail"
    return trace.resources[resource].label if resource in trace.resources else resource
