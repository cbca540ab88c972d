"""The verdict: what is known after an exploration, in a few lines or in one."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.exploration.verdicts import PROMISES, Verdict
from bohrbug.model.outcome import TAKING, Race
from bohrbug.report.headline import failure_headline
from bohrbug.report.wording import plural, rate_in_words, seconds_in_words
from bohrbug.search.estimates import Estimate, in_words, seen_in_words

MOST_SENTENCES = 2
"""Sentences on what was covered that one line has room for."""
_MOST_LABELS = 3
_MOST_TAKEN = 2


def _covered(result: Result) -> str:
    verdict = result.verdict
    sentences = verdict.covered
    if len(sentences) > MOST_SENTENCES:
        # Of a portfolio: what it promises, or else the last sentence, which is on all members.
        is_bound = verdict.kind is VerdictKind.HOLDS_WITHIN_BOUND
        sentences = (verdict.reason,) if is_bound else sentences[-1:]
    return "; ".join(sentence.rstrip(".") for sentence in sentences)


def one_line_verdict(result: Result) -> str:
    """The verdict in one line, for pass lines.

    Returns:
        Such as ``holds: all 36 schedules`` or ``no failure in 1,000 executions
        (all schedules with at most 2 preemptions at 41 scheduling points)``.
    """
    verdict = result.verdict
    covered = _covered(result)
    executions = plural(result.executions, "execution")
    if verdict.kind is VerdictKind.HOLDS:
        text = f"holds{_taking(verdict)}: {covered or f'all schedules, in {executions}'}"
    elif verdict.kind is VerdictKind.FAILED:
        what = result.failures[0].outcome if result.failures else None
        text = "failed" if what is None else f"failed: {failure_headline(what)}"
        text = f"{text.splitlines()[0]} ({executions})"
    elif verdict.kind is VerdictKind.INCONCLUSIVE:
        return f"inconclusive after {executions}" + _because(verdict.caveats)
    else:
        text = f"no failure in {executions}" + (f" ({covered})" if covered else "")
        text += _taking(verdict)
    caveats = len(verdict.caveats)
    if caveats:
        more = f" (and {caveats - 1} more)" if caveats > 1 else ""
        text += f"; but {verdict.caveats[0].rstrip('.')}{more}"
    return text


def _taking(verdict: Verdict) -> str:
    """Under which conditions that were found on the way: ``, taking ... as one step``."""
    taking = verdict.conditions.taking if verdict.conditions is not None else ()
    if not taking:
        return ""
    more = f" and {len(taking) - _MOST_TAKEN} more" if len(taking) > _MOST_TAKEN else ""
    return f", {TAKING}{' and '.join(taking[:_MOST_TAKEN])}{more}"


def _because(caveats: tuple[str, ...]) -> str:
    if not caveats:
        return ""
    more = f" (and {len(caveats) - 1} more)" if len(caveats) > 1 else ""
    return f": {caveats[0].rstrip('.')}{more}"


def headline(result: Result) -> str:
    """The verdict in a few words, with the conditions that were found on the way."""
    kind = result.verdict.kind
    if kind is VerdictKind.FAILED:
        return f"Failed: {plural(len(result.failures), 'distinct failure')}"
    words = {
        VerdictKind.HOLDS: "Holds",
        VerdictKind.HOLDS_WITHIN_BOUND: "Holds within a bound",
        VerdictKind.NO_FAILURE_FOUND: "No failure found",
        VerdictKind.INCONCLUSIVE: "Inconclusive",
    }[kind]
    return words + (_taking(result.verdict) if kind in PROMISES else "")


def size_in_words(estimate: Estimate) -> str:
    """The size of the space, its error, and how much of it was seen."""
    text = f"{estimate}, estimated from {plural(estimate.samples, 'execution')}"
    if estimate.seen:
        text += f"; {seen_in_words(estimate)} of them seen"
    text += f" ({estimate.method})"
    if estimate.log_schedules:
        text += f"; about {in_words(estimate.log_schedules)} schedules, of which many behave alike"
    return text


def figures(result: Result) -> str:
    """The figures behind a verdict: executions, rate, scheduling points, tasks."""
    text = plural(result.executions, "execution")
    total = result.executions
    if result.failures and result.follow_ups:
        text += f", and {result.follow_ups:,} to confirm, minimise and explain,"
        total += result.follow_ups
    if result.seconds > 0:
        text += f" in {seconds_in_words(result.seconds)}"
        if result.seconds >= 0.05 and total > 1:
            text += f" ({rate_in_words(total / result.seconds)} per second)"
    if result.points:
        text += f"; at most {plural(result.points, 'scheduling point')}"
        if result.tasks:
            text += f" and {plural(result.tasks, 'task')}"
    return text


def races_in_words(races: Sequence[Race], *, verbose: bool = False) -> str:
    """How many data races were seen, on which variables, and how to see more of them."""
    groups = (
        ("data race", "", [race for race in races if race.stale is None]),
        ("race", " over an await", [race for race in races if race.stale is not None]),
    )
    text = "; ".join(
        f"{plural(len(group), what)}{rest} seen, on {_variables(group)}"
        for what, rest, group in groups
        if group
    )
    return text if verbose else f"{text} (-v shows more)"


def _variables(races: Sequence[Race]) -> str:
    labels = list(dict.fromkeys(race.label for race in races))
    more = len(labels) - _MOST_LABELS
    if more > 1:
        labels = [*labels[:_MOST_LABELS], f"{more} more"]
    return " and ".join(filter(None, (", ".join(labels[:-1]), labels[-1])))
