"""The sentence that heads a report: the orderings that make the test fail."""

from __future__ import annotations

from dataclasses import dataclass

from bohrbug.model.cause import Cause, Strength
from bohrbug.model.history import history_of
from bohrbug.model.operation import BEGIN, END, FLUSH, SLEEP, Operation, ResourceId, TaskId
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.trace import Trace
from bohrbug.report.explanation import verb_of
from bohrbug.report.naming import Names
from bohrbug.report.sleepers import sleep_ended_by
from bohrbug.report.stories import TaskSteps
from bohrbug.report.wording import plural

_WORDS = {
    Strength.EXACT: "if and only if",
    Strength.SUFFICIENT: "whenever",
    Strength.NECESSARY: "only if",
}


def _ordinal(number: int) -> str:
    if 10 <= number % 100 <= 20:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }".replace(" ", "")


class _Speaker:
    """Gives events names that tell them apart, and tasks all their names only once."""

    def __init__(self, trace: Trace, names: Names, several: set[object]) -> None:
        self._trace = trace
        self._steps = TaskSteps(trace)
        self._history = history_of(trace)
        self._names = names
        self._several = several
        self._seen: set[TaskId] = set()
        self._told: set[ResourceId] = set()

    def _task(self, task: TaskId) -> str:
        if task in self._seen:
            return f"task {task}"
        self._seen.add(task)
        return f"task {self._names.task(task)}"

    def event(self, event: Event) -> str:
        """Such as ``the read of Account.balance (bank.py:12) in task 0.1 (Thread-1, deposit)``."""
        step = self._history.step_of(event)
        slept = None if step is None else sleep_ended_by(self._trace, self._steps, step)
        if slept is not None:
            at = self._names.at(slept.operation)
            return f"the end of the sleep{at} in {self._task(slept.task)}"
        operation = self._operation(event, step)
        timer = self._names.timer_set(operation, event.task)
        waiting = self._names.timed_out(operation, event.task)
        if timer is not None:
            what = "timer" if waiting is None else "timeout"
            return f"the {what} ({self._names.place(timer)}) in {self._task(waiting or event.task)}"
        passed_on = self._names.passed_on(operation, event.task)
        if passed_on is not None:
            return f"asyncio's callback {event.task} for {self._task(passed_on)}"
        task = self._task(event.task)
        if event.kind in (BEGIN, END):
            return f"the {'beginning' if event.kind is BEGIN else 'end'} of {task}"
        if event.kind is FLUSH:
            number = f"{_ordinal(event.occurrence)} " if event.what in self._several else ""
            store = self._names.store_of(event.task, event.operation)
            return f"the {number}arrival in memory of {store}{self._names.at(event.operation)}"
        # A resource is named once; after that the kind and the place say which it is.
        noun = self._names.noun(
            self._operation(event, step), named=event.resource not in self._told
        )
        self._told.add(event.resource)
        if event.fired:
            noun = noun if event.kind is SLEEP else f"timeout of the {noun}"
            if event.kind is SLEEP:
                noun = f"end of the {noun}"
        number = ""
        if event.occurrence > 1 or event.what in self._several:
            number = f"{_ordinal(event.occurrence)} "
        return f"the {number}{noun} in {task}"

    def _operation(self, event: Event, step: int | None) -> Operation:
        """What was done, or was to be, with its place, which events of native programs lack."""
        if event.site is not None:
            return event.operation
        if step is not None:
            return self._trace.operations[step]
        pending = self._trace.final_pending.get(event.task)
        if pending is not None and (pending.kind, pending.resource) == (event.kind, event.resource):
            return pending
        return event.operation


def _chained(orderings: tuple[Ordering, ...]) -> list[list[Event]]:
    """Orderings as chains of events, each before the next: ``a < b`` and ``b < c`` are one."""
    chains: list[list[Event]] = []
    for ordering in orderings:
        for chain in chains:
            if chain[-1] == ordering.first:
                chain.append(ordering.second)
                break
            if chain[0] == ordering.second:
                chain.insert(0, ordering.first)
                break
        else:
            chains.append([ordering.first, ordering.second])
    return chains


@dataclass(frozen=True, slots=True)
class Line:
    """A part of the sentence that gets a line of its own where there is room.

    Parameters:
        words: of the part.
        depth: how far it is indented below the beginning of the sentence.
    """

    words: str
    depth: int = 0


def cause_in_words(cause: Cause, trace: Trace, names: Names) -> str:
    """The cause of a failure as a sentence.

    Parameters:
        cause: what was found.
        trace: the failing execution.
        names: what to call things.

    Returns:
        Such as "It fails if and only if the read of Account.balance (bank.py:12) in task 0.1
        (Thread-1, deposit) comes before the write of Account.balance (bank.py:13) in task 0.2
        (Thread-2, deposit), and the read of ... in task 0.2 before the write of ... in task 0.1."
    """
    return " ".join(line.words for line in cause_in_lines(cause, trace, names))


def cause_in_lines(cause: Cause, trace: Trace, names: Names) -> list[Line]:
    """The same sentence in lines; see :func:`cause_in_words`.

    Of several orderings each event has a line, so that one sees at a glance what comes before what.
    """
    verb = verb_of(trace.outcome.kind)
    if cause.strength is Strength.ALWAYS:
        tried = f" ({_different(cause.met)})" if cause.met > 1 else ""
        return [Line(f"{verb} under every schedule tried{tried}.")]
    events = [event for o in cause.orderings for event in (o.first, o.second)]
    speaker = _Speaker(trace, names, _repeated(trace, events))
    lines = [Line(f"{verb} {_WORDS[cause.strength]}")]
    for number, (first, second, *later) in enumerate(_chained(cause.orderings)):
        if number:
            lines[-1] = _followed(lines[-1], ", and")
        lines.append(Line(speaker.event(first), 1))
        comes = "" if number else "comes "
        lines.append(Line(f"{comes}before {speaker.event(second)}", 2))
        for event in later:
            lines[-1] = _followed(lines[-1], ",")
            lines.append(Line(f"and that before {speaker.event(event)}", 2))
    if len(trace.arities) and any(arity > 1 for arity in trace.arities.values()):
        lines[-1] = _followed(lines[-1], " (with the same data choices)")
    if cause.alike:
        lines[-1] = _followed(lines[-1], ";")
        others = _others_of(events, names)
        lines.append(Line(f"or the same {' and '.join(map(_exchanged, cause.alike))}{others}"))
    lines[-1] = _followed(lines[-1], ".")
    if len(cause.orderings) == 1:
        return [Line(" ".join(line.words for line in lines))]
    return lines


def _followed(line: Line, by: str) -> Line:
    return Line(line.words + by, line.depth)


def _exchanged(tasks: tuple[TaskId, ...]) -> str:
    listed = f"{', '.join(tasks[:-1])} and {tasks[-1]}"
    if len(tasks) == 2:
        return f"with tasks {listed} exchanged (they run the same function)"
    return f"with others of the tasks {listed} (they run the same function)"


def _others_of(events: list[Event], names: Names) -> str:
    """What the tasks may act on when they are exchanged: the places are the same, not the objects.

    Of a native program whose places are unknown they are the same.
    """
    labels = (names.short_resource(e.resource) for e in events if e.site is not None)
    numbered = (label.rpartition(" #") for label in labels)
    kinds = dict.fromkeys(kind for kind, _, number in numbered if kind and number.isdigit())
    return f", perhaps of another {' or another '.join(kinds)}" if kinds else ""


def _repeated(trace: Trace, events: list[Event]) -> set[object]:
    """What happens more than once in the failing execution, so that a number is needed."""
    history = history_of(trace)
    return {event.what for event in events if len(history.steps.get(event.what, ())) > 1}


def _different(count: int) -> str:
    return f"{plural(count, 'execution')} with different schedules"


def evidence_in_words(cause: Cause) -> str:
    """What a cause rests on, in figures; empty where the sentence says it all."""
    if cause.strength is Strength.ALWAYS:
        return ""
    if cause.strength is Strength.EXACT:
        scope = (
            "all schedules (up to the order of independent operations)"
            if cause.complete
            else "different schedules"
        )
        met = "the one that meets" if cause.met == 1 else f"all {cause.met:,} that meet"
        others = _in_others(cause.unmet_failed, cause.unmet, "the ")
        return f"Checked on {scope}: it fails in this way in {met} this condition, and {others}."
    if cause.strength is Strength.SUFFICIENT:
        met = f"all {cause.met:,} different schedules that meet"
        if cause.met == 1:
            met = "the one schedule that meets"
        others = _in_others(cause.unmet_failed, cause.unmet)
        return f"Checked: it fails in this way in {met} this condition, and {others}."
    others = _in_others(cause.met_failed, cause.met)
    if cause.unmet == 1:
        which = "the one schedule that doesn't meet this condition"
        return f"Checked: it does not fail in this way in {which}, but does {others}."
    which = f"none of {cause.unmet:,} different schedules that don't meet this condition"
    return f"Checked: it fails in this way in {which}, and {others}."


def _in_others(failed: int, count: int, which: str = "") -> str:
    if count == 1:
        return "in the other one" if failed else "not in the other one"
    return f"in {f'{failed:,}' if failed else 'none'} of {which}{count:,} others"
