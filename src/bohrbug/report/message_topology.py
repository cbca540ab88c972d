"""Who sends to whom: the tasks and channels of a message log, with counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rich.text import Text

from bohrbug.report.style import FAILED, PASSED, QUIET, WARNED, Paper
from bohrbug.report.wording import plural
from bohrbug.runtime.channels.events import (
    ChannelId,
    Log,
    Status,
    TaskId,
    in_tree_order,
    process_of,
    tree_key,
)


@dataclass(slots=True)
class Traffic:
    """What went through a channel.

    Parameters:
        id: of the channel; ``None`` for selects over several.
        flavour: type of channel.
    """

    id: ChannelId | None
    flavour: str
    sent: Counter[TaskId] = field(default_factory=Counter)
    received: Counter[TaskId] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)


def traffic_of(log: Log) -> list[Traffic]:
    """The channels of a log, in the order in which they were made."""
    found: dict[tuple[ChannelId | None, str], Traffic] = {}
    for step in log.steps():
        event = step.event
        key = (event.channel, event.flavour)
        traffic = found.get(key)
        if traffic is None:
            traffic = found[key] = Traffic(*key)
        status = event.outcome.status
        if event.kind.sends and status is Status.SENT:
            traffic.sent[step.task] += 1
        elif status is Status.RECEIVED:
            traffic.received[step.task] += 1
        else:
            what = event.kind.words
            if status not in (Status.VALUE, Status.READY):
                what += f" {status.name.lower().replace('_', ' ')}"
            traffic.others[what] += 1
    return sorted(found.values(), key=_made)


def _made(traffic: Traffic) -> tuple[object, ...]:
    if traffic.id is None:
        return (1, traffic.flavour)
    return (0, tree_key(traffic.id.creator), traffic.id.number)


def size_in_words(log: Log) -> str:
    """How much is in a log: ``1,204 events of 9 tasks``."""
    return f"{plural(log.events, 'event')} of {plural(len(log.tasks), 'task')}"


def ending_in_words(log: Log) -> str:
    """How a recorded command ended: ``failed, exit status 1``."""
    if not log.outcome:
        return "the recording has no end"
    if log.outcome.get("passed"):
        return "passed"
    status = f", exit status {log.outcome['status']}" if "status" in log.outcome else ""
    return f"failed{status}"


def draw_topology(paper: Paper, log: Log) -> None:
    """Print what a log holds: how it ended, its tasks, its channels."""
    command = log.about.get("command")
    if isinstance(command, list):
        paper.put(paper.text(" ".join(map(str, command))))
    words = Text(size_in_words(log)) + Text(f" {paper.glyphs.dash} ")
    if log.outcome:
        passed = bool(log.outcome.get("passed"))
        sign = paper.glyphs.passed if passed else paper.glyphs.failed
        words += Text(f"{sign} {ending_in_words(log)}", PASSED if passed else FAILED)
    else:
        words += Text(ending_in_words(log), WARNED)
    paper.put(words)
    if log.damage is not None:
        paper.put(paper.text(log.damage, WARNED))
    _draw_tasks(paper, log)
    _draw_channels(paper, log)


def _draw_tasks(paper: Paper, log: Log) -> None:
    if not log.tasks and not log.processes:
        return
    paper.heading("Tasks")
    last = None
    for task in in_tree_order({*log.tasks, *log.processes}):
        process = process_of(task, log.processes)
        if process != last and len(log.processes) > 1:
            command = log.processes.get(process or "", "")
            paper.put(paper.text(f"  process {process}  {command}", QUIET))
        last = process
        events = log.tasks.get(task, [])
        sends = sum(event.outcome.status is Status.SENT for event in events)
        receives = sum(event.outcome.status is Status.RECEIVED for event in events)
        line = Text("  ") + Text(f"{task:<8}", paper.style_of(task))
        line += Text(f" {sends:>7,} sent {receives:>7,} received")
        others = len(events) - sends - receives
        if others:
            line += Text(f" {others:>7,} other")
        if task not in log.ended and task != process:
            line += Text("  did not end before the recording", QUIET)
        paper.put(line)


def _draw_channels(paper: Paper, log: Log) -> None:
    channels = traffic_of(log)
    if not channels:
        return
    paper.heading("Channels")
    arrow = f" {paper.glyphs.light_rule}{paper.glyphs.arrow_right} "
    for traffic in channels:
        name = "" if traffic.id is None else f" {traffic.id}"
        line = Text("  ") + paper.text(f"{traffic.flavour}{name}")
        if traffic.sent or traffic.received:
            line += Text("  ") + _counts(paper, traffic.sent) + Text(arrow)
            line += _counts(paper, traffic.received)
        if traffic.others:
            words = ", ".join(f"{what} {count:,}" for what, count in traffic.others.items())
            line += Text(f"  ({words})", QUIET)
        paper.put(line)


def _counts(paper: Paper, counts: Counter[TaskId]) -> Text:
    if not counts:
        return Text("nobody", QUIET)
    parts = Text()
    for number, task in enumerate(in_tree_order(counts)):
        parts += Text(", " if number else "")
        parts += Text(task, paper.style_of(task)) + Text(f" {counts[task]:,}")
    return parts
