"""The verdict: the only place that may say that a test holds."""

from __future__ import annotations

from bohrbug.exploration.result import Result, Verdict, VerdictKind
from bohrbug.search.portfolio import Portfolio, Searching


def sentences(strategy: Searching) -> tuple[str, ...]:
    """What was covered, a sentence for each strategy that had its turn."""
    if isinstance(strategy, Portfolio):
        return strategy.covered_by_stage()
    return (strategy.covered(),)


def caveats(result: Result, uncontrolled: dict[str, int], notes: tuple[str, ...]) -> list[str]:
    """What limits the verdict."""
    found = list(notes)
    for what, count in sorted(uncontrolled.items()):
        found.append(what if count == 1 else f"{what} ({count:,} times)")
    if result.diverged:
        executions = "execution" if result.diverged == 1 else "executions"
        found.append(f"{result.diverged:,} {executions} could not follow their plan")
    return found


def verdict(
    result: Result,
    strategy: Searching | None,
    bound_completed: bool,
    has_searched: bool,
    uncontrolled: dict[str, int],
    notes: tuple[str, ...],
    hung: bool,
) -> Verdict:
    """The verdict after an exploration.

    Parameters:
        result: figures and failures.
        strategy: what searched; ``None`` if the test never had a second task.
        bound_completed: all schedules within the preemption bound were executed.
        has_searched: the strategy had its turn at all.
        uncontrolled: what ran outside our control, with counts.
        notes: further caveats.
        hung: an execution hung or waited for something outside.
    """
    limits = tuple(caveats(result, uncontrolled, notes))
    covered = () if strategy is None or not has_searched else sentences(strategy)
    if result.failures:
        return Verdict(VerdictKind.FAILED, covered, limits)
    if hung or result.interrupted or not result.executions:
        return Verdict(VerdictKind.INCONCLUSIVE, covered, limits)
    if strategy is None:
        return Verdict(VerdictKind.HOLDS, ("one schedule: the test starts no second task",), limits)
    if limits:
        return Verdict(VerdictKind.NO_FAILURE_FOUND, covered, limits)
    if strategy.complete:
        return Verdict(VerdictKind.HOLDS, covered, limits)
    if bound_completed:
        return Verdict(VerdictKind.HOLDS_WITHIN_BOUND, covered, limits)
    return Verdict(VerdictKind.NO_FAILURE_FOUND, covered, limits)
