"""Who waits for whom: the cycle of a deadlock, and the tasks that nobody can wake any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.text import Text

from bohrbug.model.operation import (
    ACQUIRE,
    EXIT,
    GET,
    JOIN,
    OPEN,
    PUT,
    RESULT,
    SET,
    WAIT,
    Operation,
    ResourceId,
    Site,
    TaskId,
)
from bohrbug.model.outcome import Abandoned, BlockedTask, Held, Outcome, OutcomeKind
from bohrbug.report.frames import program_frames
from bohrbug.report.naming import Names
from bohrbug.report.sources import source_line
from bohrbug.report.stack import draw_stack
from bohrbug.report.style import HEADING, QUIET, Paper

_SIGNALS = {
    "Event": "set it",
    "Condition": "notify it",
    "Semaphore": "release it",
    "BoundedSemaphore": "release it",
    "Barrier": "arrive at it",
    "Lock": "release it",
    "RLock": "release it",
    "CapacityLimiter": "release it",
    "MemorySendChannel": "receive from it",
    "MemoryReceiveChannel": "send to it",
    "MemoryObjectSendStream": "receive from it",
    "MemoryObjectReceiveStream": "send to it",
}
_MOST_STACKS = 6
UNKNOWN = "?"
"""Stands for a held resource that the execution knows nothing of."""


def signal_words(blocked: BlockedTask, type: str) -> str:
    """What another task would have to do for a blocked one to go on: ``set it``."""
    kind = blocked.operation.kind
    if kind is WAIT and blocked.operation.resource == blocked.task:
        return "send it one"
    if kind is OPEN or (kind is SET and type == "pipe"):
        return "open its other end"
    if kind is GET:
        return "put something into it"
    if kind is PUT:
        return "take something out of it"
    if kind is RESULT:
        return "give it a result"
    if kind is ACQUIRE and type not in _SIGNALS:
        return "release it"
    return _SIGNALS.get(type, "wake it up")


def waits_in_words(blocked: BlockedTask, names: Names) -> str:
    """What a task waits for: ``waits for Lock b (x.py:11)``."""
    operation = blocked.operation
    if operation.kind is JOIN:
        if operation.resource == EXIT:
            return "waits for the other threads to end (the test has returned)"
        return f"waits for the end of {names.awaited(blocked.task, operation)}{names.at(operation)}"
    if operation.kind.is_yield:
        return f"{names.does(operation)}"
    return f"waits for {names.awaited(blocked.task, operation)}{names.at(operation)}"


def _taken_at(holding: Sequence[Held], resource: ResourceId, names: Names) -> str:
    """Where a task took a resource, of those that it holds: `` (taken at bank.py:20)``."""
    for held in holding:
        if held.resource == resource and held.acquired is not None:
            return f" (taken at {names.place(held.acquired)})"
    return ""


def _holding(blocked: BlockedTask, names: Names) -> str:
    held = [
        f"{names.short_resource(item.resource)}{_taken_at(blocked.holding, item.resource, names)}"
        for item in blocked.holding
        if item.resource != UNKNOWN
    ]
    return f"holds {' and '.join(held)} and " if held else ""


def cycle_in_words(outcome: Outcome, names: Names) -> str:
    """The waiting cycle as one sentence; empty if there is none.

    Such as "0.1 holds Lock a (taken at x.py:10) and waits for Lock b
    (x.py:11), held by 0.2 (taken at x.py:20), which waits for Lock a (x.py:21)."
    """
    by_task = {blocked.task: blocked for blocked in outcome.blocked}
    cycle = [by_task[task] for task in outcome.cycle if task in by_task]
    if not cycle:
        return ""
    first = cycle[0]
    text = chain_in_words(cycle, names)
    if len(cycle) == 1:
        holders = first.holders or (first.task,)
        if first.task in holders:
            taken = _taken_at(first.holding, first.operation.resource, names)
            return f"{text}, which it holds itself{taken}."
        return f"{text}."
    if not names.is_for_an_end(cycle[-1].operation):
        text += f", held by task {first.task}"
    return f"{text}."


def chain_in_words(chain: Sequence[BlockedTask], names: Names) -> str:
    """Who waits for whom, up to what the last one waits for; no whole sentence.

    Parameters:
        chain: each holds what the one before it waits for.
        names: of what it speaks.
    """
    first = waiting = chain[0]
    text = f"Task {names.task(first.task)} {_holding(first, names)}{waits_in_words(first, names)}"
    for blocked in chain[1:]:
        text += held_by_in_words(waiting, blocked.task, blocked.holding, blocked.operation, names)
        text += f", which {waits_in_words(blocked, names)}"
        waiting = blocked
    return text


def held_by_in_words(
    waiting: BlockedTask,
    holder: TaskId,
    holding: Sequence[Held],
    pending: Operation | None,
    names: Names,
) -> str:
    """Who holds what a task waits for, at the end of a sentence on that: ``, held by task 0.1``.

    Or who comes first where nobody who holds it keeps the task out: a writer that waits, too.

    Parameters:
        waiting: the task that waits.
        holder: the task that it waits for.
        holding: what that one holds.
        pending: what that one is about to do.
        names: of what it speaks.
    """
    if names.is_for_an_end(waiting.operation):
        return ""
    if _comes_first(waiting, holding, pending):
        return f", behind task {names.task(holder)}"
    taken = _taken_at(holding, waiting.operation.resource, names)
    who = names.task(holder)
    if taken and who.endswith(")"):
        return f", held by task {who[:-1]}; {taken.removeprefix(' (')}"
    return f", held by task {who}{taken}"


def _comes_first(waiting: BlockedTask, holding: Sequence[Held], pending: Operation | None) -> bool:
    """Whether who keeps a task out does not hold what this waits for, and waits for it, too."""
    resource = waiting.operation.resource
    is_held = any(held.resource == resource for held in holding)
    return not is_held and pending is not None and pending.resource == resource


def alone_in_words(blocked: BlockedTask, names: Names, type: str) -> str:
    """One sentence on a task that is not part of a cycle, and on why it can't go on."""
    who = f"Task {names.task(blocked.task)}"
    own = _taken_at(blocked.holding, blocked.operation.resource, names)
    if own and not blocked.holders:
        # It took the lock for others to wake it, and they don't.
        others = [held for held in blocked.holding if held.resource != blocked.operation.resource]
        blocked = replace(blocked, holding=tuple(others))
    else:
        own = ""
    text = f"{who} {_holding(blocked, names)}{waits_in_words(blocked, names)}"
    if names.is_for_an_end(blocked.operation):
        return f"{text}."
    if blocked.holders:
        who = " and ".join(f"task {task}" for task in blocked.holders)
        return f"{text}, held by {who}."
    if blocked.abandoned is not None:
        return f"{text}, {abandoned_in_words(blocked.abandoned, names)}."
    at = own.replace("taken at", "at")
    took = f", which it took itself{at}" if own else ""
    return f"{text}{took}; nobody is left who could {signal_words(blocked, type)}."


def abandoned_in_words(abandoned: Abandoned, names: Names) -> str:
    """Who ended while holding what a task waits for, at the end of a sentence on that."""
    if not abandoned.task:
        place = names.place(abandoned.acquired)
        return (
            f"which another task had taken at {place} when this process was forked: here nobody "
            "can release it"
        )
    who = names.task(abandoned.task)
    if abandoned.acquired is None:
        return f"which task {who} held when it ended"
    taken = names.place(abandoned.acquired)
    return f"which task {who} took at {taken} and did not release before it ended"


def draw_cycle(paper: Paper, outcome: Outcome, names: Names) -> None:
    """A small diagram of the waiting cycle, one task per line, top to bottom and back."""
    by_task = {blocked.task: blocked for blocked in outcome.blocked}
    cycle = [by_task[task] for task in outcome.cycle if task in by_task]
    if len(cycle) < 2:
        return
    glyphs = paper.glyphs
    lines: list[tuple[str, Text, str]] = []
    for number, blocked in enumerate(cycle):
        holder = cycle[(number + 1) % len(cycle)]
        name = paper.text(names.task(blocked.task), f"{HEADING} {paper.style_of(blocked.task)}")
        first = f"{glyphs.corner_top}{glyphs.light_rule}{glyphs.arrow_right} "
        lines.append((first if number == 0 else f"{glyphs.bar}   ", name, ""))
        site = names.site(blocked.operation)
        words = paper.prose(waits_in_words(blocked, names))
        source = source_line(site) if site is not None else ""
        lines.append((f"{glyphs.bar}    {glyphs.bar} ", words, source))
        held, taken = held_in_words(blocked, holder, names)
        source = source_line(taken) if taken is not None else ""
        lines.append((f"{glyphs.bar}    {glyphs.arrow_down} ", paper.prose(held), source))
    widest = max(left.cell_len + len(prefix) for prefix, left, _ in lines)
    for prefix, left, source in lines:
        line = Text("    ") + Text(prefix, style=QUIET) + left
        pad = " " * (widest - left.cell_len - len(prefix) + 3)
        if source and widest + 7 + min(len(source), 20) <= paper.width:
            line = line + Text(pad) + paper.text(source)
        paper.put(line)
    paper.put(
        Text(f"    {glyphs.corner_bottom}{glyphs.light_rule * 4}{_half_turn(paper)}", style=QUIET)
    )


def held_in_words(
    waiting: BlockedTask, holder: BlockedTask, names: Names
) -> tuple[str, Site | None]:
    """Who holds what a task waits for, and where it was taken."""
    operation = waiting.operation
    if names.is_for_an_end(waiting.operation):
        return "which is", None
    for held in holder.holding:
        if held.resource == operation.resource and held.acquired is not None:
            words = f"held by task {holder.task}, taken at {names.place(held.acquired)}"
            return words, held.acquired
    if _comes_first(waiting, holder.holding, holder.operation):
        return f"behind task {holder.task}, which comes first", None
    return f"held by task {holder.task}", None


def _draw_origins(paper: Paper, outcome: Outcome, names: Names) -> None:
    for line in origins_in_words(outcome, names):
        paper.paragraph(paper.text(line, QUIET))


def origins_in_words(outcome: Outcome, names: Names) -> list[str]:
    """Where the resources that tasks wait for were made, as far as their names don't say it."""
    made: dict[str, list[str]] = {}
    for blocked in outcome.blocked:
        place = names.origin(blocked.operation.resource)
        name = names.short_resource(blocked.operation.resource)
        if place and name not in made.setdefault(place, []):
            made[place].append(name)
    return [
        f"{' and '.join(sorted(resources))}: made at {place}"
        for place, resources in sorted(made.items())
    ]


def _half_turn(paper: Paper) -> str:
    return "╯" if paper.glyphs.corner_bottom == "╰" else "'"


def _stack_says_more(blocked: BlockedTask, names: Names) -> bool:
    """Whether a stack holds more than the place that the words about the task name already."""
    frames = program_frames(blocked.stack)
    if len(frames) != 1:
        return bool(frames)
    site = names.site(blocked.operation)
    return site is None or frames[0].site[:2] != site[:2]


def is_about_waiting(outcome: Outcome) -> bool:
    """Whether there is something to tell of tasks that wait."""
    is_of_waiting = outcome.kind in (OutcomeKind.DEADLOCK, OutcomeKind.LEAK)
    return bool(outcome.blocked) and (is_of_waiting or bool(outcome.cycle))


def waiting_heading(outcome: Outcome) -> str:
    """What stands above that."""
    if outcome.kind is OutcomeKind.LEAK:
        return "Threads that did not end"
    if outcome.kind is OutcomeKind.DEADLOCK:
        return "Who waits for whom"
    return "Deadlocked when it failed"


def draw_blocked(
    paper: Paper, outcome: Outcome, names: Names, types: dict[ResourceId, str]
) -> None:
    """The part of the report on tasks that wait, see :func:`is_about_waiting`.

    Parameters:
        types: for each resource the class a user would name.
    """
    paper.heading(waiting_heading(outcome))
    words = cycle_in_words(outcome, names)
    if words:
        paper.paragraph(paper.prose(words))
        if len(outcome.cycle) > 1:
            paper.gap()
            draw_cycle(paper, outcome, names)
    in_cycle: set[TaskId] = set(outcome.cycle)
    others = [blocked for blocked in outcome.blocked if blocked.task not in in_cycle]
    if words:
        paper.gap()
    for blocked in others[:12]:
        paper.paragraph(
            paper.prose(alone_in_words(blocked, names, types.get(blocked.operation.resource, "")))
        )
    _draw_origins(paper, outcome, names)
    if len(others) > 12:
        paper.paragraph(paper.text(f"and {len(others) - 12} more tasks that wait", QUIET))
    ordered = [b for b in outcome.blocked if b.task in in_cycle]
    ordered += others
    with_stack = [blocked for blocked in ordered if _stack_says_more(blocked, names)]
    for blocked in with_stack[:_MOST_STACKS]:
        paper.gap()
        daemon = ", daemon" if blocked.daemon else ""
        paper.paragraph(paper.prose(f"task {names.task(blocked.task)}{daemon} stands at", HEADING))
        draw_stack(paper, blocked.stack, names)
    if len(with_stack) > _MOST_STACKS:
        paper.paragraph(
            paper.text(f"and the stacks of {len(with_stack) - _MOST_STACKS} more tasks", QUIET)
        )
