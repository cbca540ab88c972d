"""Results as JSON, for other programs."""

from __future__ import annotations

from dataclasses import asdict
from math import isinf, log
from typing import Any

from bohrbug.exploration.result import Failure, Result
from bohrbug.model.cause_json import cause_to_json
from bohrbug.model.outcome import Race
from bohrbug.model.site import site_of
from bohrbug.report.cause import cause_in_words
from bohrbug.report.naming import Names
from bohrbug.report.prediction import prediction_in_words
from bohrbug.search.estimates import Estimate


def failure_to_json(failure: Failure) -> dict[str, Any]:
    """One failure as plain data."""
    outcome = failure.outcome
    path = failure.reproduction
    return {
        "kind": outcome.kind.value,
        "message": outcome.message,
        "task": outcome.task,
        "exception": outcome.exception,
        "interpreter": failure.interpreter.value,
        "preemptions": len(failure.trace.preemptions()),
        "found_preemptions": failure.found_preemptions,
        "strategy": failure.strategy,
        "execution": failure.execution,
        "occurrences": failure.occurrences,
        "confirmed": failure.confirmed,
        "happens_afresh": failure.happens_afresh,
        "cause": _cause_to_json(failure),
        "reproduction": None if path is None else str(path),
    }


def _cause_to_json(failure: Failure) -> dict[str, Any] | None:
    if failure.cause is None:
        return None
    names = Names(failure.trace)
    sentence = cause_in_words(failure.cause, failure.trace, names)
    return {"sentence": sentence, **cause_to_json(failure.cause)}


def race_to_json(race: Race) -> dict[str, Any]:
    """One data race as plain data."""
    accesses = [race.first, race.second]
    if race.stale is not None:
        accesses.insert(0, race.stale.access)
    sites = [site_of(access.operation.place) for access in accesses]
    return {
        "label": race.label,
        "over_await": race.stale is not None,
        "count": race.count,
        "pattern": race.pattern.value,
        "triangular": race.is_triangular,
        "places": [None if site is None else f"{site.filename}:{site.line}" for site in sites],
    }


def estimate_to_json(estimate: Estimate | None) -> dict[str, Any] | None:
    """An estimate as plain data; numbers that a float can't hold are ``null``."""
    if estimate is None:
        return None
    numbers = {"size": estimate.size, "low": estimate.low, "high": estimate.high}
    return {
        "what": estimate.what,
        **{name: None if isinf(number) else _rounded(number) for name, number in numbers.items()},
        "log10_size": _rounded(estimate.log_size / log(10)),
        "seen": estimate.seen,
        "samples": estimate.samples,
        "method": estimate.method,
    }


def _rounded(number: float) -> float:
    """An estimate to six digits: more say nothing, and end in what rounding left."""
    return float(f"{number:.6g}")


def result_to_json(result: Result) -> dict[str, Any]:
    """A whole result as plain data."""
    return {
        "format": "bohrbug-result",
        "version": 1,
        "test": result.test,
        "verdict": {
            "kind": result.verdict.kind.value,
            "covered": list(result.verdict.covered),
            "caveats": list(result.verdict.caveats),
            "reason": result.verdict.reason,
            "conditions": None
            if result.verdict.conditions is None
            else asdict(result.verdict.conditions),
            "estimate": estimate_to_json(result.verdict.estimate),
        },
        "failures": [failure_to_json(failure) for failure in result.failures],
        "untimely": [failure_to_json(failure) for failure in result.untimely],
        "races": [race_to_json(race) for race in result.races],
        "unconfirmed": [
            {"prediction": prediction_in_words(prediction), "executions": prediction.executions}
            for prediction in result.unconfirmed
        ],
        "executions": result.executions,
        "diverged": result.diverged,
        "follow_ups": result.follow_ups,
        "points": result.points,
        "tasks": result.tasks,
        "seconds": round(result.seconds, 3),
        "interrupted": result.interrupted,
        "notices": list(result.notices),
    }
