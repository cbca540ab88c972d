"""Message logs as pages: a step for each event, a lane for each task, an arrow for each message."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from bohrbug.report.html.document import (
    COULD_RUN,
    ENDED,
    NOWHERE,
    Document,
    FailurePage,
    Moment,
    Sights,
    Steps,
    Task,
)
from bohrbug.report.message_chart import short_words
from bohrbug.report.message_diff import FIRST_PARTING, SAME_ORDER, event_in_words
from bohrbug.report.message_topology import ending_in_words, size_in_words
from bohrbug.runtime.channels.events import (
    ChannelId,
    Log,
    MessageId,
    Status,
    Step,
    TaskId,
    in_tree_order,
)
from bohrbug.runtime.channels.orders import Parting, causal_order

KIND = "messages"
MOST_PARTINGS = 8


def log_document(log: Log, name: str) -> Document:
    """The document of one log.

    Parameters:
        log: what is in it.
        name: of the file.
    """
    return Document(_command(log) or name, [_page(log, size_in_words(log), (), 0, "")])


def diff_document(
    logs: tuple[Log, Log],
    names: tuple[str, str],
    partings: Sequence[Parting],
    decision: Sequence[str] = (),
) -> Document:
    """The document of two logs: a page for each, the second one first, with where they part.

    Parameters:
        logs: a passing run and a failing one.
        names: of the two runs.
        partings: in causal order.
        decision: what is known of the exchange that decides, in lines.
    """
    pages = []
    for number in (1, 0):
        other = names[1 - number]
        title = f"{names[number]}: {size_in_words(logs[number])}"
        pages.append(_page(logs[number], title, partings, number, other))
    for page in pages:
        page.sentence = FIRST_PARTING if partings else SAME_ORDER
    return Document(_command(logs[1]) or " ".join(names), pages, notes=list(decision))


def _command(log: Log) -> str:
    command = log.about.get("command")
    return " ".join(map(str, command)) if isinstance(command, list) else ""


def _page(
    log: Log, headline: str, partings: Sequence[Parting], number: int, other: str
) -> FailurePage:
    order = causal_order(log)
    tasks = in_tree_order({*log.tasks, *(parting.task for parting in partings)})
    numbers = {task: index for index, task in enumerate(tasks)}
    at = {(step.task, step.number): index for index, step in enumerate(order)}
    moments = []
    for parting in partings[:MOST_PARTINGS]:
        events = (parting.first, parting.second)
        words = f"event {parting.number + 1}: {event_in_words(events[number])}"
        words += f"\n{other}: {event_in_words(events[1 - number])}"
        step = at.get((parting.task, parting.number))
        near = at.get((parting.task, parting.number - 1)) if step is None else None
        moments.append(Moment(step, numbers[parting.task], words, NOWHERE, near))
    return FailurePage(
        kind=KIND,
        headline=headline,
        where=" ".join(filter(None, (ending_in_words(log), log.damage))),
        found="",
        cause=[],
        evidence="",
        sentence="",
        moments=moments,
        message=ending_in_words(log),
        failing=NOWHERE,
        tasks=[Task(task, "", log.processes.get(task, "")) for task in tasks],
        files=[],
        places=[],
        steps=_steps(order, numbers, {m.step for m in moments if m.step is not None}),
        sights=Sights(),
        passed=bool(log.outcome.get("passed")),
    )


def _steps(order: Sequence[Step], numbers: dict[TaskId, int], told: set[int]) -> Steps:
    steps = Steps(options=[1] * len(order), told=sorted(told))
    known: dict[tuple[str, str], int] = {}
    sent: dict[tuple[ChannelId | None, MessageId], int] = {}
    counts: dict[tuple[TaskId, ChannelId | None], int] = defaultdict(int)
    last: dict[TaskId, int] = {}
    first: dict[TaskId, int] = {}
    for index, step in enumerate(order):
        event = step.event
        words = (event.kind.words, short_words(event))
        steps.tasks.append(numbers[step.task])
        steps.operations.append(known.setdefault(words, len(known)))
        first.setdefault(step.task, index)
        last[step.task] = index
        if event.kind.sends and event.outcome.status is Status.SENT:
            mine = (step.task, event.channel)
            sent[event.channel, MessageId(step.task, counts[mine])] = index
            counts[mine] += 1
        message = event.outcome.message
        if message is not None:
            start = sent.get((event.channel, message))
            steps.words[index] = f"{short_words(event)} #{message.number + 1}"
            if start is not None:
                steps.messages.append((start, index))
    steps.table = [(*words, NOWHERE) for words in known]
    steps.states = [
        [first[task], COULD_RUN, last[task] + 1, ENDED] if task in first else [] for task in numbers
    ]
    return steps
