"""The chart of a message log as Mermaid and as trace-event JSON."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from bohrbug.report.message_chart import short_words
from bohrbug.runtime.channels.events import (
    ChannelId,
    Log,
    Status,
    Step,
    TaskId,
    in_tree_order,
    process_of,
)


def mermaid(order: Sequence[Step], limit: int = 500) -> str:
    """A sequence diagram in Mermaid's language.

    Parameters:
        order: events in causal order.
        limit: of events; Mermaid draws no larger diagrams in reasonable time.
    """
    shown = order[:limit]
    tasks = in_tree_order(
        {step.task for step in shown}
        | {
            message.sender
            for step in shown
            if (message := step.event.outcome.message) is not None and message.sender
        }
    )
    lines = ["sequenceDiagram"]
    lines += [f"    participant {_name(task)} as task {task}" for task in tasks]
    for step in shown:
        message = step.event.outcome.message
        words = short_words(step.event).replace(";", ",")
        if message is not None and message.sender is not None:
            arrow = f"{_name(message.sender)}->>{_name(step.task)}"
            lines.append(f"    {arrow}: {words} no. {message.number + 1}")
        elif step.event.outcome.status is not Status.SENT:
            lines.append(f"    Note over {_name(step.task)}: {words}")
    if len(order) > limit:
        lines.append(f"    %% {len(order) - limit} more events are left out")
    return "\n".join(lines) + "\n"


def _name(task: TaskId) -> str:
    return "T" + task.replace(".", "_")


def trace_events(log: Log, order: Sequence[Step]) -> str:
    """The log in the trace-event form of Perfetto and ``chrome://tracing``.

    Time is the place in the causal order: a log holds no times.
    """
    processes = in_tree_order(log.processes) or ["0"]
    tasks = in_tree_order(log.tasks)
    pids = {process: number + 1 for number, process in enumerate(processes)}
    tids = {task: number + 1 for number, task in enumerate(tasks)}
    events: list[dict[str, Any]] = []

    def where(task: TaskId) -> dict[str, int]:
        process = process_of(task, processes) or processes[0]
        return {"pid": pids[process], "tid": tids[task]}

    for process in processes:
        name = {"name": f"process {process}"}
        events.append({"ph": "M", "name": "process_name", "pid": pids[process], "args": name})
    events += [
        {"ph": "M", "name": "thread_name", **where(task), "args": {"name": f"task {task}"}}
        for task in tasks
    ]
    sent: dict[tuple[TaskId, ChannelId | None], int] = defaultdict(int)
    for place, step in enumerate(order):
        event = step.event
        events.append(
            {
                "ph": "X",
                "name": short_words(event),
                "cat": event.flavour,
                "ts": place * 10,
                "dur": 8,
                **where(step.task),
                "args": {"event": step.number + 1, "outcome": str(event.outcome)},
            }
        )
        flow: dict[str, Any] = {"name": "message", "cat": "message", **where(step.task)}
        if event.outcome.status is Status.SENT:
            key = (step.task, event.channel)
            flow |= {"ph": "s", "ts": place * 10 + 7, "id": _id(*key, sent[key])}
            sent[key] += 1
            events.append(flow)
        elif (message := event.outcome.message) is not None and message.sender is not None:
            id = _id(message.sender, event.channel, message.number)
            events.append({**flow, "ph": "f", "bp": "e", "ts": place * 10 + 1, "id": id})
    return json.dumps({"traceEvents": events, "otherData": {"command": log.about.get("command")}})


def _id(sender: TaskId, channel: ChannelId | None, number: int) -> str:
    return f"{channel}:{sender}:{number}"
