"""A failing schedule as trace-event JSON, which Perfetto and ``chrome://tracing`` open.

Each task is a lane, each step a slice, each preemption an instant. An arrow leads from a step to
the next one of another task on the same resource: from a release to the acquire that it lets in,
from a write to the read that sees it.
"""

from __future__ import annotations

import json
from typing import Any

from bohrbug.exploration.result import Failure
from bohrbug.model.operation import BEGIN, SPAWN, TaskId
from bohrbug.model.trace import Trace
from bohrbug.report.headline import failure_headline
from bohrbug.report.naming import Names, task_order
from bohrbug.report.sources import source_line
from bohrbug.report.stories import TaskSteps

STEP = 10
"""Microseconds of the diagram that one step takes: a schedule has an order and no times."""

_LASTS = 8


def trace_events(failure: Failure, test: str = "") -> str:
    """The schedule of a failure as trace-event JSON.

    Parameters:
        failure: what to show.
        test: its name.
    """
    trace = failure.trace
    names = Names(trace)
    tasks = sorted({*trace.tasks, *trace.final_pending}, key=task_order)
    lanes = {task: number + 1 for number, task in enumerate(tasks)}
    events: list[dict[str, Any]] = [_named("process_name", 0, test or "the test")]
    for task, lane in lanes.items():
        events.append(_named("thread_name", lane, f"task {names.task(task)}"))
        # Else they come in the order in which they first ran.
        events.append({**_named("thread_sort_index", lane, ""), "args": {"sort_index": lane}})
    events += _slices(trace, names, lanes)
    events += _instants(failure, names, lanes)
    events += _arrows(trace, lanes)
    events += _waits(trace, names, lanes)
    about = {"failure": failure_headline(failure.outcome), "test": test}
    return json.dumps({"traceEvents": events, "otherData": about})


def _named(what: str, lane: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": 1, "tid": lane, "args": {"name": name}}


def _slices(trace: Trace, names: Names, lanes: dict[TaskId, int]) -> list[dict[str, Any]]:
    events = []
    for step, (task, operation) in enumerate(zip(trace.tasks, trace.operations, strict=True)):
        site = names.site(operation)
        about: dict[str, Any] = {"step": step}
        if site is not None:
            about["place"] = names.place(site)
            about["source"] = source_line(site)
        events.append(
            {
                "ph": "X",
                "name": names.brief(operation),
                "cat": operation.kind.name,
                "ts": step * STEP,
                "dur": _LASTS,
                "pid": 1,
                "tid": lanes[task],
                "args": about,
            }
        )
    return events


def _instants(failure: Failure, names: Names, lanes: dict[TaskId, int]) -> list[dict[str, Any]]:
    """The preemptions, and the end."""
    trace, outcome = failure.trace, failure.outcome
    steps = TaskSteps(trace)
    events = []
    for step in trace.preemptions():
        preempted = trace.goes_on(step)
        pending = steps.next_operation(trace, preempted, step)
        what = "" if pending is None else f" before {names.brief(pending)}{names.at(pending)}"
        events.append((step * STEP - 1, preempted, f"preempted{what}", "preemption"))
    last = trace.tasks[-1] if len(trace) else "0"
    task = outcome.task if outcome.task in lanes else last
    if outcome.is_failure and task in lanes:
        events.append((len(trace) * STEP, task, failure_headline(outcome), "failure"))
    return [
        {"ph": "i", "s": "t", "name": name, "cat": cat, "ts": ts, "pid": 1, "tid": lanes[task]}
        for ts, task, name, cat in events
    ]


def _arrows(trace: Trace, lanes: dict[TaskId, int]) -> list[dict[str, Any]]:
    """From each step to the next one of another task that depends on it."""
    events: list[dict[str, Any]] = []
    last: dict[str, int] = {}
    started: dict[TaskId, int] = {}
    for step, (task, operation) in enumerate(zip(trace.tasks, trace.operations, strict=True)):
        if operation.kind is SPAWN:
            started[operation.resource] = step
            continue
        before = started.get(task) if operation.kind is BEGIN else last.get(operation.resource)
        last[operation.resource] = step
        if before is None or trace.tasks[before] == task:
            continue
        both = (trace.operations[before].kind.is_write, operation.kind.is_write)
        if operation.kind is not BEGIN and not any(both):
            continue
        arrow = {"name": "then", "cat": "order", "id": step, "pid": 1}
        start = {"ph": "s", "ts": before * STEP + _LASTS - 1, "tid": lanes[trace.tasks[before]]}
        end = {"ph": "f", "bp": "e", "ts": step * STEP + 1, "tid": lanes[task]}
        events += [{**arrow, **start}, {**arrow, **end}]
    return events


def _waits(trace: Trace, names: Names, lanes: dict[TaskId, int]) -> list[dict[str, Any]]:
    """Who waits at the end, each from its last step on."""
    steps = TaskSteps(trace)
    events = []
    for task, operation in trace.final_pending.items():
        own = steps.of(task)
        since = (own[-1] + 1 if own else 0) * STEP
        events.append(
            {
                "ph": "X",
                "name": f"waits for {names.awaited(task, operation)}",
                "cat": "waits",
                "ts": since,
                "dur": (len(trace) + 1) * STEP - since,
                "pid": 1,
                "tid": lanes[task],
                "args": {"place": names.place(names.site(operation))},
            }
        )
    return events
