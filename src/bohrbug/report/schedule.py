"""The rows of a schedule: which steps of an execution to show, and what to say about each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from bohrbug.model.operation import (
    BEGIN,
    CHOOSE,
    CONTINUE,
    END,
    EXIT,
    FLUSH,
    JOIN,
    SLEEP,
    Kind,
    Operation,
    Site,
    TaskId,
    is_fault,
)
from bohrbug.model.outcome import Access, OutcomeKind
from bohrbug.model.trace import Trace
from bohrbug.paths import is_standard_file
from bohrbug.report.faults import fault_words
from bohrbug.report.frames import telling_frame
from bohrbug.report.naming import Names
from bohrbug.report.of_loops import StepsOfLoops
from bohrbug.report.sleepers import sleep_ended_by
from bohrbug.report.sources import source_line
from bohrbug.report.stories import Story, TaskSteps, is_late, stories

SHOWN_STEPS = 40
"""Steps shown of a long execution."""
SHOWN_BEFORE_LOOP = 16
"""Steps shown before the steps that repeat for ever."""
SHORT_EXECUTION = 60
"""Executions of at most so many steps are shown completely."""

_MOST_OPERATIONS = 4


@dataclass(slots=True)
class Line:
    """A source line that a task ran, with the operations it did there."""

    task: TaskId
    place: str
    source: str
    operations: list[str]
    steps: list[int]
    site: Site | None = None
    conflicting: bool = False


@dataclass(slots=True)
class Waits:
    """A task can't go on, or yields, and another one runs."""

    task: TaskId
    place: str
    source: str
    what: str
    for_ever: bool = False


@dataclass(slots=True)
class Preempted:
    """A task that could have gone on is preempted."""

    task: TaskId
    by: TaskId
    place: str
    before: str
    essential: bool
    late: bool = False


TIMEOUT = "timeout"
"""What ends if it is one of asyncio, and no operation."""


@dataclass(slots=True)
class Timeout:
    """A timeout or a sleep ends, early if other tasks could still run."""

    task: TaskId
    place: str
    source: str
    what: str
    early: bool
    essential: bool


@dataclass(slots=True)
class Folded:
    """Steps that are not shown; ``rounds`` says how often they repeat, if they do."""

    count: int
    tasks: tuple[TaskId, ...]
    place: str = ""
    rounds: int = 0


@dataclass(slots=True)
class End:
    """How the execution ended."""

    task: TaskId | None
    place: str
    source: str
    message: str


Row = Line | Waits | Preempted | Timeout | Folded | End


@dataclass(slots=True)
class Schedule:
    """Rows in execution order, and the tasks that appear in them.

    Parameters:
        rows: what to show.
        tasks: the tasks with rows of their own, in order of their creation.
        left_out: steps that are not shown.
    """

    rows: list[Row] = field(default_factory=list)
    tasks: list[TaskId] = field(default_factory=list)
    left_out: int = 0


def _near(indices: Iterable[int], distance: int, end: int) -> set[int]:
    return {
        near
        for index in indices
        for near in range(max(0, index - distance), min(end, index + distance + 1))
    }


def _acquisitions(trace: Trace, steps: TaskSteps) -> set[int]:
    """Where the locks of a deadlock were acquired for the last time."""
    found = set()
    for blocked in trace.outcome.blocked:
        for held in blocked.holding:
            for index in reversed(steps.before(blocked.task, len(trace))):
                operation = trace.operations[index]
                if operation.resource == held.resource and not operation.is_release:
                    found.add(index)
                    break
    return found


def _involved(trace: Trace, core: Iterable[int]) -> set[TaskId]:
    """The tasks that the failure concerns."""
    tasks = {trace.tasks[index] for index in core}
    tasks.update(blocked.task for blocked in trace.outcome.blocked[:8])
    if trace.outcome.task is not None:
        tasks.add(trace.outcome.task)
    return tasks


def select(
    trace: Trace, told: Sequence[Story], steps: TaskSteps, end: int, budget: int = SHOWN_STEPS
) -> set[int]:
    """The steps before ``end`` that are worth showing, at most about ``budget`` of them.

    Steps are chosen by what they say about the failure: the
    preemptions and what conflicts, the end, where the locks of a deadlock were
    acquired, what the failing task did last, the neighbours of the preemptions,
    the switches between the tasks that the failure concerns.  Of a group that
    does not fit, the steps nearest to the failure's story come first.
    """
    core = {index for story in told for index in story.steps() if index < end}
    involved = _involved(trace, core or range(max(0, end - budget), end))
    last_of_blocked = {
        own[-1] for blocked in trace.outcome.blocked[:8] if (own := steps.of(blocked.task))
    }
    failing = steps.of(trace.outcome.task)[-3:] if trace.outcome.task else ()
    first_choices = (
        index
        for index in sorted(trace.arities)
        if trace.arities[index] > 1 and not is_fault(trace.operations[index].resource)
    )
    core |= {index for index in trace.faults() if index < end}
    switches = [
        near
        for index in range(1, end)
        if trace.tasks[index] != trace.tasks[index - 1]
        and trace.tasks[index] in involved
        and trace.tasks[index - 1] in involved
        for near in (index - 1, index)
    ]
    groups: list[set[int]] = [
        core | set(range(max(0, end - 2), end)) | last_of_blocked,
        _acquisitions(trace, steps) | set(failing),
        set(islice(first_choices, budget)),
        {
            index
            for index in _near(core, 2, end)
            if trace.tasks[index] in involved and trace.operations[index].kind not in (BEGIN, END)
        },
        {index for index in switches if trace.operations[index].kind not in (BEGIN, END)},
    ]
    anchors = sorted(core or {end - 1})
    chosen: set[int] = set()
    for group in groups:
        room = budget - len(chosen)
        new = {index for index in group if index < end} - chosen
        if len(new) > room:
            new = set(sorted(new, key=lambda index: _distance(index, anchors))[: max(room, 0)])
        chosen |= new
    return chosen


def _distance(index: int, anchors: Sequence[int]) -> tuple[int, int]:
    return min(abs(index - anchor) for anchor in anchors), -index


def _fold_place(trace: Trace, names: Names, first: int, last: int) -> str:
    """The lines that folded steps of one file ran, if they are few steps of one task."""
    operations = trace.operations[first : min(last, first + 500)]
    sites = {names.site(o) for o in operations if o.kind not in (BEGIN, END)}
    known = [site for site in sites if site is not None]
    if not known or len({site.filename for site in known}) > 1:
        return ""
    lines = sorted(site.line for site in known)
    place = names.place(known[0]._replace(line=lines[0]))
    return place if lines[0] == lines[-1] else f"{place}-{lines[-1]}"


def _words(operations: Sequence[str]) -> list[str]:
    """Operations at one line: repeated ones are counted, those on one resource are joined."""
    shown: list[str] = []
    verbs: list[str] = []
    object_of_last = ""
    for words, number in Counter(operations).items():
        verb, _, resource = words.partition(" ")
        if number == 1 and resource and resource == object_of_last:
            verbs.append(verb)
            shown[-1] = f"{', '.join(verbs[:-1])} and {verb} {resource}"
            continue
        shown.append(f"{words} x{number}" if number > 1 else words)
        verbs, object_of_last = [verb], resource if number == 1 else ""
    more = len(shown) - _MOST_OPERATIONS
    return shown if more < 2 else [*shown[:_MOST_OPERATIONS], f"{more} more operations"]


def choice_in_words(trace: Trace, index: int) -> str:
    """What a data choice was: ``choose: 1 of 3``, or the call that it makes fail."""
    return fault_words(trace, index) or (
        f"choose: {trace.choices[index]} of {trace.arities.get(index, 0)}"
    )


def _is_plumbing(line: Line) -> bool:
    """Whether a line is in the standard library and nothing that matters happens there."""
    return not line.conflicting and line.site is not None and is_standard_file(line.site.filename)


class _Writer:
    """Turns chosen steps into rows."""

    def __init__(
        self,
        trace: Trace,
        names: Names,
        steps: TaskSteps,
        essential: Collection[int],
        told: Sequence[Story],
        shows_all: bool,
    ) -> None:
        self.shows_all = shows_all
        self.trace = trace
        self.names = names
        self.steps = steps
        self.essential = set(essential)
        self.conflicting = {
            index
            for story in told
            if not story.timeout
            for index in (story.before if story.same else None, story.between, story.after)
            if index is not None
        }
        self.rows: list[Row] = []
        self._of_loops = StepsOfLoops(trace, names)

    def _described(self, operation: Operation) -> tuple[str, str, Site | None]:
        """Place, source line and site of an operation, as far as the program has them."""
        if operation.kind in (BEGIN, END):
            return "", "", None
        site = self.names.site(operation)
        if site is None:
            return "", "", None
        return self.names.place(site), source_line(site), site

    def step(self, index: int, previous: int | None, *, alone: bool = False) -> None:
        """Write one step; ``previous`` is the step shown before it, if nothing is in between.

        With ``alone``, how control came to its task is left out.
        """
        trace = self.trace
        task = trace.tasks[index]
        operation = trace.operations[index]
        if operation.kind is CHOOSE and is_fault(operation.resource) and not trace.choices[index]:
            # A call that does not fail is not worth a row.
            return
        if (
            not self.shows_all
            and index not in self.essential | self.conflicting
            and self._of_loops.has(task, operation)
        ):
            return
        if index > 0 and not alone:
            self._transition(index)
        place, source, site = self._described(operation)
        if trace.has_fired(index):
            what = self.names.brief(operation)
            slept = sleep_ended_by(trace, self.steps, index)
            if slept is not None:
                task, what = slept.task, SLEEP.name
                place, source, _ = self._described(slept.operation)
            elif (timer := self.names.timer_set(operation, task)) is not None and (
                waiting := self.names.timed_out(operation, task)
            ) is not None:
                task, what = waiting, TIMEOUT
                place, source = self.names.place(timer), source_line(timer)
            self.rows.append(
                Timeout(
                    task,
                    place,
                    source,
                    what,
                    early=bool(trace.enabled[index]),
                    essential=index in self.essential,
                )
            )
            return
        words = self.names.brief(operation)
        if operation.kind is FLUSH:
            words = f"{self.names.store_of(task, operation)} reaches memory"
        if operation.kind is CHOOSE:
            words = choice_in_words(trace, index)
        line = Line(task, place, source, [words], [index], site, index in self.conflicting)
        self._put(line, operation.kind, previous == index - 1)

    def access(self, access: Access, label: str) -> None:
        """One side of the data race that the failure is; ``label`` is the variable."""
        operation = access.operation
        place, source, site = self._described(operation)
        last = (access.step or 0) - 1
        if last >= 0 and self.trace.tasks[last] == access.task:
            done = self.trace.operations[last]
            if done.kind is operation.kind and self.names.site(done) == site:
                # It is a scheduling point, and has a row.
                return
        words = f"{operation.kind.name} {label}"
        self._put(Line(access.task, place, source, [words], [], site, True), operation.kind, True)

    def _put(self, line: Line, kind: Kind, follows: bool) -> None:
        """Add a row, or a part of the last one if nothing is in between."""
        last = self.rows[-1] if self.rows else None
        if follows and isinstance(last, Line) and last.task == line.task:
            if self._joined(last, line, kind):
                return
            if last.site is None and last.operations == ["begins"]:
                # The beginning of a task says nothing if the task then goes on.
                self.rows.pop()
        self.rows.append(line)

    @staticmethod
    def _joined(last: Line, line: Line, kind: Kind) -> bool:
        """Whether the row before, of the same task, already shows a line; it is merged then."""
        if kind in (CONTINUE, END):
            # That a task goes on or ends is worth a row only where it was preempted before.
            last.steps += line.steps
            return True
        site = line.site
        is_there = site is None or (last.site is not None and last.site[:2] == site[:2])
        if not is_there and _is_plumbing(last) and _is_plumbing(line):
            # One row for a stretch in the standard library; its individual lines matter little.
            last.source = ""
            is_there = True
        if not is_there or kind is BEGIN:
            return False
        last.operations += line.operations
        last.steps += line.steps
        last.conflicting = last.conflicting or line.conflicting
        return True

    def _transition(self, index: int) -> None:
        """What happened to the task that was to go on, if another one runs now."""
        trace = self.trace
        task = trace.goes_on(index)
        chosen = trace.tasks[index]
        if chosen == task or trace.operations[index - 1].kind is END:
            return
        pending = self.steps.next_operation(trace, task, index)
        if pending is None:
            return
        place, source, _ = self._described(pending)
        if self.names.passed_on(pending, task) is not None:
            # A place of asyncio's own, which is nowhere in the program.
            place = source = ""
        last = self.rows[-1] if self.rows else None
        if isinstance(last, Line) and last.task == task and last.operations == ["begins"]:
            # It has done nothing else yet, and the next row shows where it stands.
            self.rows.pop()
        if task in trace.enabled[index] and not trace.yielded[index]:
            self.rows.append(
                Preempted(
                    task,
                    chosen,
                    place,
                    self.names.brief(pending),
                    index in self.essential,
                    is_late(trace, index, pending),
                )
            )
            return
        if pending.kind.is_yield:
            what = self.names.brief(pending)
        elif pending.kind is JOIN:
            what = (
                "waits for the other threads"
                if pending.resource == EXIT
                else f"waits for {self.names.short_resource(pending.resource)}"
            )
        elif task in trace.enabled[index] or pending.kind.is_data:
            # Fair scheduling: the program itself did nothing that is visible in the source.
            return
        else:
            what = f"waits for {self.names.awaited(task, pending)}"
        self.rows.append(Waits(task, place, source, what, self._for_ever(task, index)))

    def _for_ever(self, task: TaskId, index: int) -> bool:
        outcome = self.trace.outcome
        if outcome.kind not in (OutcomeKind.DEADLOCK, OutcomeKind.LEAK):
            return False
        # Others come back from their timeouts for ever.
        goes_on = {self.trace.tasks[step] for step in outcome.repeating if step < len(self.trace)}
        return task not in goes_on and not self.steps.since(task, index)

    def fold(self, first: int, last: int, rounds: int = 0) -> None:
        """Steps ``first`` to ``last`` (excluded) are not shown."""
        who = dict.fromkeys(self.trace.tasks[first:last])
        place = _fold_place(self.trace, self.names, first, last) if len(who) == 1 else ""
        self.rows.append(Folded(last - first, tuple(who), place, rounds))

    def end(self) -> None:
        """How it ended: where the failing task raised, or which tasks wait for ever."""
        trace = self.trace
        outcome = trace.outcome
        message = outcome.message or outcome.kind.value
        if outcome.kind is OutcomeKind.PASSED:
            return
        if outcome.kind is OutcomeKind.RACE:
            # Nothing was raised: if the moment is known, the accesses are shown above.
            is_known = outcome.race is not None and outcome.race.second.step is not None
            self.rows.append(End(outcome.task if is_known else None, "", "", message))
            return
        if outcome.kind in (OutcomeKind.DEADLOCK, OutcomeKind.LEAK) and len(trace):
            last = trace.tasks[-1]
            pending = self.steps.next_operation(trace, last, len(trace))
            is_last = self._for_ever(last, len(trace)) and trace.operations[-1].kind is not END
            if pending is not None and is_last:
                place, source, _ = self._described(pending)
                what = f"waits for {self.names.awaited(last, pending)}"
                if pending.kind is JOIN:
                    what = f"waits for {self.names.resource(pending.resource)}"
                self.rows.append(Waits(last, place, source, what, for_ever=True))
        frame = telling_frame(outcome.stack)
        place = source = ""
        last_row = self.rows[-1] if self.rows else None
        if frame is not None and not (
            isinstance(last_row, Line | Timeout)
            and last_row.task == outcome.task
            and last_row.place == self.names.place(frame.site)
        ):
            place = self.names.place(frame.site)
            source = source_line(frame.site)
        self.rows.append(End(outcome.task, place, source, message))


def _racing(trace: Trace) -> dict[int, list[Access]]:
    """The accesses of the data race that the failure is, by the steps before them.

    Empty if it is another failure, or if the moment of the accesses is unknown.
    """
    race = trace.outcome.race
    if trace.outcome.kind is not OutcomeKind.RACE or race is None:
        return {}
    found: dict[int, list[Access]] = {}
    stale = () if race.stale is None else (race.stale.access,)
    for access in (*stale, race.first, race.second):
        if access.step is None or access.step > len(trace):
            return {}
        found.setdefault(access.step, []).append(access)
    return found


def schedule_of(
    trace: Trace,
    essential: Sequence[int],
    names: Names,
    *,
    full: bool = False,
    only: Sequence[int] | None = None,
) -> Schedule:
    """The rows of an execution.

    Parameters:
        trace: the execution.
        essential: the steps that begin with an essential preemption.
        names: what to call things.
        full: show all steps, however many.
        only: show exactly these steps (in order), and no end.
    """
    steps = TaskSteps(trace)
    told = stories(trace, essential, steps)
    writer = _Writer(trace, names, steps, essential, told, full)
    racing = {} if only is not None else _racing(trace)
    # What comes after a race has nothing to do with it.
    count = len(trace) if full or not racing else max(racing)
    until, period = (count, 0) if full or racing or only is not None else trace.rounds()
    if period and essential:
        # Loops may seem to begin before the last preemption that leads into them.
        until = min(count, max(until, max(essential) + 1))
    if only is not None:
        chosen = [index for index in sorted(only) if 0 <= index < count]
    elif full or until <= SHORT_EXECUTION:
        chosen = list(range(until))
    else:
        kept = select(trace, told, steps, until, SHOWN_BEFORE_LOOP if period else SHOWN_STEPS)
        chosen = _without_small_folds(kept.union(step - 1 for step in racing if step))
    race = trace.outcome.race

    def tell_accesses(done: int) -> None:
        for access in racing.get(done, ()):
            writer.access(access, race.label if race is not None else "")
        if racing and done == max(racing):
            writer.end()

    tell_accesses(0)
    previous: int | None = None
    for index in chosen:
        expected = 0 if previous is None else previous + 1
        if index > expected and (only is None or previous is not None):
            writer.fold(expected, index)
            previous = None
        writer.step(index, previous, alone=only is not None and not writer.rows)
        previous = index
        tell_accesses(index + 1)
    if only is None:
        shown_until = 0 if previous is None else previous + 1
        if shown_until < until:
            writer.fold(shown_until, until)
        if until < count:
            writer.fold(until, count, (count - until) // period)
        if not racing:
            writer.end()
    for row in writer.rows:
        if isinstance(row, Line):
            row.operations = _words(row.operations)
    return Schedule(writer.rows, _tasks_in(writer.rows, trace), count - len(chosen))


def _without_small_folds(kept: set[int]) -> list[int]:
    """The steps to show, and single ones between them: a fold of one step takes as much room."""
    return sorted(kept.union([index + 1 for index in kept if index + 2 in kept]))


def _tasks_in(rows: Sequence[Row], trace: Trace) -> list[TaskId]:
    """The tasks of some rows, in the order in which they were started, as far as it is known."""
    seen = {
        row.task
        for row in rows
        if isinstance(row, Line | Waits | Preempted | Timeout | End) and row.task is not None
    }
    order = [task for task in trace.task_infos if task in seen]
    order += [task for task in dict.fromkeys(trace.tasks) if task in seen and task not in order]
    return order + sorted(seen.difference(order))
