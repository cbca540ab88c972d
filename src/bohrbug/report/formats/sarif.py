"""Failures as a SARIF 2.1.0 log, which code scanning and editors show beside the source.

A failure is a result; its schedule is a code flow with a thread flow for each task, in whose
locations ``executionOrder`` says how they interleave and ``importance`` which of them matter.
Paths are relative to ``%SRCROOT%``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bohrbug.exploration.result import Failure
from bohrbug.model.operation import Site, TaskId
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.trace import Trace
from bohrbug.report.cause import cause_in_words
from bohrbug.report.formats.told import Told
from bohrbug.report.frames import program_frames, telling_frame
from bohrbug.report.headline import failure_headline
from bohrbug.report.naming import Names, task_order
from bohrbug.report.race import race_sites

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"

MOST_LOCATIONS = 2_000
"""Steps of a code flow; those around the end are kept."""

_TITLES = {
    OutcomeKind.ASSERTION: "An assertion fails under some schedule",
    OutcomeKind.EXCEPTION: "An exception is raised under some schedule",
    OutcomeKind.DEADLOCK: "Tasks wait for each other",
    OutcomeKind.LIVELOCK: "Tasks go on for ever without progress",
    OutcomeKind.RACE: "Two tasks access a variable without an order between them",
    OutcomeKind.LEAK: "A thread does not end",
    OutcomeKind.CRASH: "The program crashes under some schedule",
}


def sarif(told: Sequence[Told], root: Path) -> str:
    """A log of some failures.

    Parameters:
        told: the failures.
        root: the folder to which paths are relative.
    """
    kinds = list(dict.fromkeys(each.failure.outcome.kind for each in told))
    run = {
        "tool": {
            "driver": {
                "name": "Bohrbug",
                "semanticVersion": version("bohrbug"),
                "rules": [_rule(kind) for kind in kinds],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"uri": root.resolve().as_uri() + "/"}},
        "results": [_result(each, kinds, root.resolve()) for each in told],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule(kind: OutcomeKind) -> dict[str, Any]:
    title = _TITLES.get(kind, f"An execution ends in {kind.value}")
    return {
        "id": f"bohrbug/{kind.value.replace(' ', '-')}",
        "shortDescription": {"text": title},
        "defaultConfiguration": {"level": "error"},
    }


def _result(told: Told, kinds: Sequence[OutcomeKind], root: Path) -> dict[str, Any]:
    failure = told.failure
    outcome, trace = failure.outcome, failure.trace
    race = outcome.race
    names = Names(trace, () if race is None else race_sites([race]))
    text = f"{told.test}: {failure_headline(outcome)}" if told.test else failure_headline(outcome)
    if failure.cause is not None:
        text += f"\n{cause_in_words(failure.cause, trace, names)}"
    if told.replay:
        text += f"\nReplay: {told.replay}"
    where = location_of(failure)
    rule = kinds.index(outcome.kind)
    result: dict[str, Any] = {
        "ruleId": _rule(outcome.kind)["id"],
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": text},
        "partialFingerprints": {"bohrbug/failure": _fingerprint(told)},
        "codeFlows": [
            {"threadFlows": flows} for flows in [_thread_flows(failure, names, root)] if flows
        ],
    }
    if where is not None:
        result["locations"] = [{"physicalLocation": _physical(where, root)}]
    related = [] if race is None else race_sites([race])
    related += [
        frame.site for blocked in outcome.blocked for frame in program_frames(blocked.stack)[-1:]
    ]
    result["relatedLocations"] = [
        {"id": number, "physicalLocation": _physical(site, root)}
        for number, site in enumerate(dict.fromkeys(related), 1)
    ]
    return result


def location_of(failure: Failure) -> Site | None:
    """The one line to show a failure at."""
    outcome = failure.outcome
    frame = telling_frame(outcome.stack)
    if frame is not None:
        return frame.site
    if outcome.race is not None:
        return next(iter(race_sites([outcome.race])), None)
    stacks = (program_frames(blocked.stack) for blocked in outcome.blocked)
    return next((stack[-1].site for stack in stacks if stack), None)


def _fingerprint(told: Told) -> str:
    """The same for the same failure of a test, wherever its lines are."""
    outcome = told.failure.outcome
    words = (told.test, outcome.kind.value, outcome.exception or "", failure_headline(outcome))
    return hashlib.sha256("\0".join(words).encode("utf-8", "replace")).hexdigest()[:32]


def _thread_flows(failure: Failure, names: Names, root: Path) -> list[dict[str, Any]]:
    trace = failure.trace
    essential = set(failure.essential)
    first = max(0, len(trace) - MOST_LOCATIONS)
    flows: dict[TaskId, list[dict[str, Any]]] = {}
    for step in range(first, len(trace)):
        location = _step(trace, step, names, root)
        if location is None:
            continue
        matters = step in essential or step + 1 in essential
        flows.setdefault(trace.tasks[step], []).append(
            {
                "location": location,
                "executionOrder": step + 1,
                "importance": "essential" if matters else "important",
            }
        )
    return [
        {"id": task, "message": {"text": f"task {names.task(task)}"}, "locations": flows[task]}
        for task in sorted(flows, key=task_order)
    ]


def _step(trace: Trace, step: int, names: Names, root: Path) -> dict[str, Any] | None:
    operation = trace.operations[step]
    site = names.site(operation)
    if site is None or not site.line:
        return None
    words = f"task {trace.tasks[step]} {names.does(operation)}"
    return {"physicalLocation": _physical(site, root), "message": {"text": words}}


def _physical(site: Site, root: Path) -> dict[str, Any]:
    path = Path(site.filename)
    if path.is_absolute() and path.is_relative_to(root):
        artifact = {"uri": path.relative_to(root).as_posix(), "uriBaseId": ROOT}
    else:
        artifact = {"uri": path.as_uri() if path.is_absolute() else path.as_posix()}
    location: dict[str, Any] = {"artifactLocation": artifact}
    if site.line:
        location["region"] = {"startLine": site.line}
        if site.column:
            location["region"]["startColumn"] = site.column
    return location
