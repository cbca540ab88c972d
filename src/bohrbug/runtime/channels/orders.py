"""Orders of messages compared and mixed: pure functions on logs.

Where a passing and a failing run part, and logs that follow one for a while and then the other.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass

from bohrbug.runtime.channels.events import (
    ChannelId,
    Event,
    Log,
    MessageId,
    Step,
    TaskId,
    in_tree_order,
    tree_key,
)

MessageKey = tuple[ChannelId | None, MessageId]


@dataclass(frozen=True, slots=True)
class Parting:
    """The first event at which two runs of a task differ.

    Parameters:
        task: whose events.
        number: of the event.
        first: what the task did there in one run; ``None`` if its events had ended.
        second: what it did in the other.
    """

    task: TaskId
    number: int
    first: Event | None
    second: Event | None


def partings(first: Log, second: Log) -> list[Parting]:
    """Where each task parts, in the causal order of the second log; tasks that don't are left out.

    Digests are not compared.
    """
    found = {}
    for task in {*first.tasks, *second.tasks}:
        parting = _parting(task, first.tasks.get(task, []), second.tasks.get(task, []))
        if parting is not None:
            found[task, parting.number] = parting
    ordered = [
        found.pop((step.task, step.number))
        for step in causal_order(second)
        if (step.task, step.number) in found
    ]
    return ordered + sorted(found.values(), key=lambda parting: tree_key(parting.task))


def _parting(task: TaskId, first: list[Event], second: list[Event]) -> Parting | None:
    for number in range(max(len(first), len(second))):
        one = first[number] if number < len(first) else None
        other = second[number] if number < len(second) else None
        if one is None or other is None or not one.is_like(other):
            return Parting(task, number, one, other)
    return None


def causal_order(log: Log) -> list[Step]:
    """All events in one order in which each task keeps its own, and sends come before receives.

    Tasks take turns as far as that allows, so that the order is near to that of the run.
    """
    sent: set[MessageKey] = set()
    counts: dict[tuple[TaskId, ChannelId | None], int] = defaultdict(int)
    waiting: dict[MessageKey, list[TaskId]] = defaultdict(list)
    place = dict.fromkeys(log.tasks, 0)
    ready = deque(in_tree_order(log.tasks))
    senders = _senders(log)
    order: list[Step] = []
    while ready:
        task = ready.popleft()
        events = log.tasks[task]
        number = place[task]
        if number >= len(events):
            continue
        event = events[number]
        message = event.outcome.message
        key = (event.channel, message) if message is not None else None
        if key is not None and key not in sent and key in senders:
            waiting[key].append(task)
            continue
        order.append(Step(task, number, event))
        place[task] = number + 1
        if event.kind.sends and event.outcome.status == 0:
            mine = (task, event.channel)
            new = (event.channel, MessageId(task, counts[mine]))
            counts[mine] += 1
            sent.add(new)
            ready.extend(waiting.pop(new, ()))
        ready.append(task)
    # What waits for a message that a task in a circle sends: only in damaged logs.
    for task in in_tree_order(log.tasks):
        events = log.tasks[task]
        order.extend(Step(task, i, events[i]) for i in range(place[task], len(events)))
    return order


def _senders(log: Log) -> set[MessageKey]:
    """All messages that are sent in a log."""
    found: set[MessageKey] = set()
    for task, events in log.tasks.items():
        counts: dict[ChannelId | None, int] = defaultdict(int)
        for event in events:
            if event.kind.sends and event.outcome.status == 0:
                found.add((event.channel, MessageId(task, counts[event.channel])))
                counts[event.channel] += 1
    return found


def exchanges(order: Iterable[Step]) -> list[int]:
    """The places in an order of the events whose outcome other tasks decide: all but sends."""
    return [place for place, step in enumerate(order) if not step.event.kind.sends]


def hybrid(passing: Log, failing: Log, order: list[Step], count: int) -> Log:
    """A log that is as the failing run up to some point, and as the passing one from there.

    Parameters:
        passing: a log.
        failing: another one, of the same program.
        order: the causal order of the failing one.
        count: how many events of that are to be as in the failing run.

    Returns:
        For each task the beginning from the failing run, and the rest from the passing one
        without the messages that the beginnings have received already.
    """
    prefix = dict.fromkeys({*passing.tasks, *failing.tasks}, 0)
    received: set[MessageKey] = set()
    for step in order[:count]:
        prefix[step.task] = step.number + 1
        if step.event.outcome.message is not None:
            received.add((step.event.channel, step.event.outcome.message))
    tasks = {}
    for task in in_tree_order(prefix):
        begin = failing.tasks.get(task, [])[: prefix[task]]
        rest = passing.tasks.get(task, [])
        tasks[task] = begin + _rest(rest, prefix[task], received)
    processes = {**failing.processes, **passing.processes}
    return Log(tasks, {"hybrid": count}, {}, processes)


def _rest(events: list[Event], begin: int, received: set[MessageKey]) -> list[Event]:
    """Events from a place on; receives get, in order, the messages that are left for them."""
    left: dict[ChannelId | None, deque[Event]] = defaultdict(deque)
    for event in events:
        message = event.outcome.message
        if message is not None and (event.channel, message) not in received:
            left[event.channel].append(event)
    result = []
    for event in events[begin:]:
        if event.outcome.message is None:
            result.append(event)
            continue
        if not left[event.channel]:
            break
        result.append(event._replace(outcome=left[event.channel].popleft().outcome, digest=0))
    return result
