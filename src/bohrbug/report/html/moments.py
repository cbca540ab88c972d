"""The few operations that a failure is about, in the order of its schedule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bohrbug.exploration.result import Failure
from bohrbug.model.history import history_of
from bohrbug.model.operation import BEGIN, CONTINUE, END, SPAWN, Operation, TaskId
from bohrbug.model.ordering import Event
from bohrbug.model.outcome import Access, BlockedTask, OutcomeKind, Race
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.report.deadlock import waits_in_words
from bohrbug.report.finding import telling_races
from bohrbug.report.frames import telling_frame
from bohrbug.report.html.document import Moment
from bohrbug.report.html.tables import Tables
from bohrbug.report.naming import Names
from bohrbug.report.race import held_in_words
from bohrbug.report.sources import is_loop_file
from bohrbug.report.stories import Story, TaskSteps, stories

MOST_MOMENTS = 8
"""More are no answer at a glance."""

Pair = tuple[int, int]


def pairs_of(failure: Failure) -> list[Pair]:
    """Steps of an execution that conflict, and whose order matters, each pair in order."""
    trace = failure.trace
    found: list[Pair] = []
    if failure.cause is not None:
        history = history_of(trace)
        for ordering in failure.cause.orderings:
            first, second = history.step_of(ordering.first), history.step_of(ordering.second)
            if first is not None and second is not None:
                found.append((first, second))
    for story in _stories(failure):
        if story.between is None or story.timeout:
            continue
        if story.before is not None and story.same:
            found.append((story.before, story.between))
        if story.after is not None and _conflict(trace, story.between, story.after):
            found.append((story.between, story.after))
    return found


def _conflict(trace: Trace, first: int, second: int) -> bool:
    return trace.operations[first].conflicts_with(trace.operations[second])


def _stories(failure: Failure) -> list[Story]:
    return stories(failure.trace, failure.essential, TaskSteps(failure.trace))


def moments_of(failure: Failure, names: Names, tables: Tables) -> list[Moment]:
    """The operations at fault, in the order of the schedule; those that never happen come last.

    They are those of the cause, else those around the essential preemptions, else the accesses
    of a race over an await, or of the race that is the failure, else where the tasks of a deadlock
    stand, else what the failing task did last. Where the cause is only which turn of an event loop
    comes first, the accesses in these turns say more.

    Parameters:
        failure: the failure.
        names: what to call things.
        tables: of the document.
    """
    maker = _Maker(failure, names, tables)
    race = failure.outcome.race
    if failure.outcome.kind is OutcomeKind.RACE and race is not None:
        return maker.of_race(race)
    stale = [moment for race in telling_races(failure)[:1] for moment in maker.of_stale(race)]
    is_of_turns = failure.cause is not None and failure.cause.is_of_turns
    if is_of_turns and stale:
        return stale
    found = maker.of_cause() or maker.of_steps(_told(failure)) or stale
    if failure.outcome.cycle and not found:
        found = maker.of_blocked(failure.outcome.blocked)
    return found or maker.of_steps(_around_faults(failure.trace)) or maker.of_end()


def _told(failure: Failure) -> list[int]:
    """The steps by which the essential preemptions are explained."""
    found: set[int] = set()
    for story in _stories(failure):
        told = (story.before, story.between, story.after)
        if story.late or story.timeout or story.between is None:
            told = (story.step, story.resumed, story.after)
        found.update(step for step in told if step is not None)
    return sorted(found)


def _around_faults(trace: Trace) -> list[int]:
    """Where calls were made to fail, or a task was cancelled."""
    return trace.faults()


class _Maker:
    def __init__(self, failure: Failure, names: Names, tables: Tables) -> None:
        self._failure = failure
        self._trace = failure.trace
        self._steps = TaskSteps(failure.trace)
        self._names = names
        self._tables = tables

    def of_cause(self) -> list[Moment]:
        """The events of the orderings that make the test fail."""
        cause = self._failure.cause
        if cause is None or not cause.orderings:
            return []
        history = history_of(self._trace)
        events = dict.fromkeys(e for o in cause.orderings for e in (o.first, o.second))
        happened: list[tuple[int, Moment]] = []
        never: list[Moment] = []
        for event in events:
            step = history.step_of(event)
            if step is None:
                never.append(self._never(event))
            else:
                happened.append((step, self._step(step)))
        happened.sort(key=lambda each: each[0])
        return [*(moment for _, moment in happened), *never][:MOST_MOMENTS]

    def of_steps(self, steps: Sequence[int]) -> list[Moment]:
        """Some steps, without those that only begin or end a task."""
        operations = self._trace.operations
        telling = [step for step in steps if operations[step].kind not in (BEGIN, END)]
        return [self._step(step) for step in telling[:MOST_MOMENTS]]

    def of_race(self, race: Race) -> list[Moment]:
        """Both accesses."""
        return [
            self._access(access, f"{race.label}, {held_in_words(access, self._names)}")
            for access in (race.first, race.second)
        ]

    def of_stale(self, race: Race) -> list[Moment]:
        """The read before an await, the write that came meanwhile, and the one that rests on it."""
        read = () if race.stale is None else (race.stale.access,)
        found = [self._access(each, race.label) for each in (*read, race.first, race.second)]
        for moment in found:
            # It happened, if not as a step of its own.
            moment.step = moment.near
        return found

    def _access(self, access: Access, what: str) -> Moment:
        return Moment(
            None,
            self._tables.task(access.task),
            f"{access.operation.kind.name}s {what}",
            self._tables.place(site_of(access.operation.place)),
            self._last_before(access.task, access.step),
        )

    def of_blocked(self, blocked: Sequence[BlockedTask]) -> list[Moment]:
        """Where the tasks that wait stand."""
        return [
            Moment(
                None,
                self._tables.task(each.task),
                waits_in_words(each, self._names),
                self._tables.place(self._names.site(each.operation)),
                self._last_before(each.task, None),
            )
            for each in blocked[:MOST_MOMENTS]
        ]

    def of_end(self) -> list[Moment]:
        """What tasks other than the failing one did last, and where it failed."""
        outcome = self._failure.outcome
        frame = telling_frame(outcome.stack)
        found = [self._step(step) for step in self._switches()]
        if frame is not None and outcome.task is not None:
            site = frame.site
            found.append(
                Moment(
                    None,
                    self._tables.task(outcome.task),
                    outcome.message or outcome.kind.value,
                    self._tables.place(site),
                    self._last_before(outcome.task, None),
                )
            )
        return found

    def _switches(self) -> Iterator[int]:
        """The last operations before control went to another task, the last few of them."""
        trace = self._trace
        ends = [
            index - 1
            for index in range(1, len(trace))
            if trace.tasks[index] != trace.tasks[index - 1]
        ]
        telling = [
            index for index in ends if trace.operations[index].kind not in (BEGIN, END, SPAWN)
        ]
        return iter(telling[-3:])

    def _last_before(self, task: TaskId, step: int | None) -> int | None:
        """The last step of a task among so many; its end is none that it could do more behind."""
        trace = self._trace
        count = len(trace) if step is None else min(step, len(trace))
        return next(
            (
                index
                for index in range(count - 1, -1, -1)
                if trace.tasks[index] == task and trace.operations[index].kind is not END
            ),
            None,
        )

    def _never(self, event: Event) -> Moment:
        """An event that this execution does not come to, such as what a blocked task waits for."""
        moment = self._moment(None, event.task, event.operation)
        for blocked in self._failure.outcome.blocked:
            if blocked.task == event.task and blocked.operation.kind is event.kind:
                awaited = self._names.awaited(blocked.task, blocked.operation)
                moment.words = f"waits for {awaited} for ever"
                moment.place = self._tables.place(self._names.site(blocked.operation))
                return moment
        moment.words += ": it never comes to that"
        return moment

    def _step(self, step: int) -> Moment:
        operation = self._trace.operations[step]
        moment = self._moment(step, self._trace.tasks[step], operation)
        if self._trace.has_fired(step):
            moment.words = f"timeout of the {self._names.noun(operation)}"
        site = self._names.site(operation)
        if site is not None and is_loop_file(site.filename):
            self._tell_for_whom(moment, step)
        return moment

    def _tell_for_whom(self, moment: Moment, step: int) -> None:
        """Say of a callback of a loop's own which task it serves, and where that one waits.

        It is the one that asked for the callback: a task's id begins with that of its parent.
        """
        trace, names = self._trace, self._names
        task = trace.tasks[step]
        while "." in task:
            task = task.rpartition(".")[0]
            waits = self._steps.next_operation(trace, task, step)
            site = None if waits is None else names.site(waits)
            if waits is not None and site is not None and not is_loop_file(site.filename):
                moment.words += f", for which task {task} waits{names.at(waits)}"
                moment.place = self._tables.place(site)
                return

    def _moment(self, step: int | None, task: TaskId, operation: Operation) -> Moment:
        names = self._names
        known = operation.kind not in (BEGIN, END)
        place = self._tables.place(names.site(operation) if known else None)
        words = names.does(operation).removesuffix(names.at(operation))
        if operation.kind is CONTINUE:
            words = names.brief(operation)
        near = None if step is not None else self._last_before(task, None)
        return Moment(step, self._tables.task(task), words, place, near)
