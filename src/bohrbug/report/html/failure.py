"""From a failure to what its page shows, in the words of the text report."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.exploration.result import Failure
from bohrbug.exploration.sights import Sights
from bohrbug.model.operation import Site, TaskId
from bohrbug.model.outcome import BlockedTask, Frame, Outcome, OutcomeKind, Race
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.report.cause import cause_in_lines, evidence_in_words
from bohrbug.report.deadlock import (
    alone_in_words,
    cycle_in_words,
    held_in_words,
    is_about_waiting,
    origins_in_words,
    waiting_heading,
    waits_in_words,
)
from bohrbug.report.explanation import sentence_on
from bohrbug.report.finding import (
    how_found,
    how_often_reproduced,
    interpreter_note,
    telling_races,
    timeouts_note,
    where_in_words,
)
from bohrbug.report.frames import program_frames, telling_frame, traceback_in_words
from bohrbug.report.headline import failure_headline
from bohrbug.report.html.document import (
    Deadlock,
    FailurePage,
    Line,
    RaceSides,
    Side,
    Stack,
    Waiting,
)
from bohrbug.report.html.moments import moments_of, pairs_of
from bohrbug.report.html.steps import sights_of, steps_of
from bohrbug.report.html.tables import Tables
from bohrbug.report.livelock import going_on_in_words, repeating_in_words
from bohrbug.report.naming import Names, task_order
from bohrbug.report.race import (
    access_in_words,
    common_in_words,
    kinds_in_words,
    notes_in_words,
    pattern_in_words,
    race_sites,
)
from bohrbug.report.race import (
    held_in_words as locks_in_words,
)


def failure_page(
    failure: Failure,
    *,
    commands: Sequence[str] = (),
    executions: int | None = None,
    seconds: float | None = None,
    sights: Sights | None = None,
    printed: str = "",
    counted: bool = True,
) -> FailurePage:
    """What the page of a failure shows.

    Parameters:
        failure: the failure.
        commands: that replay it.
        executions: of the whole exploration, if it is over.
        seconds: wall time of the exploration, in seconds.
        sights: what a replay has seen at the steps.
        printed: by the failing execution.
        counted: it counts as a failure.
    """
    outcome, trace = failure.outcome, failure.trace
    names = Names(trace, extra=_further_sites(failure, sights))
    tables = Tables(names, _tasks_of(trace))
    cause = [] if failure.cause is None else cause_in_lines(failure.cause, trace, names)
    frame = telling_frame(outcome.stack)
    page = FailurePage(
        kind=outcome.kind.value,
        headline=failure_headline(outcome),
        where=where_in_words(outcome, names),
        found=how_found(failure, executions, seconds),
        cause=[Line(line.words, line.depth) for line in cause],
        evidence="" if failure.cause is None else evidence_in_words(failure.cause),
        sentence=sentence_on(failure, names, "In this schedule"),
        moments=moments_of(failure, names, tables),
        message=outcome.message or outcome.kind.value,
        failing=tables.place(None if frame is None else frame.site),
        tasks=[],
        files=[],
        places=[],
        steps=steps_of(
            trace, failure.essential, failure.early_timeouts, pairs_of(failure), names, tables
        ),
        sights=sights_of(sights, len(trace), tables),
        timeouts=timeouts_note(failure),
        interpreter=interpreter_note(failure, names),
        commands=[command for command in commands if command],
        reproduced=how_often_reproduced(failure),
        printed=printed,
        counted=counted,
        passed=not outcome.is_failure,
    )
    if is_about_waiting(outcome):
        page.deadlock = _deadlock(outcome, trace, names, tables)
    elif outcome.repeating:
        repeating = [index for index in outcome.repeating if 0 <= index < len(trace)]
        page.repeating = repeating_in_words(trace, repeating, names) if repeating else ""
    elif outcome.kind is OutcomeKind.RACE and outcome.race is not None:
        page.race = _race(outcome.race, names, tables)
    if outcome.traceback.strip():
        page.traceback = traceback_in_words(outcome.traceback)
    page.stack = _places(outcome.stack, tables)
    # Last: until now each of them may have grown.
    page.tasks, page.places, page.files = tables.tasks(), tables.places(), tables.files()
    return page


def _further_sites(failure: Failure, sights: Sights | None) -> list[Site]:
    """Places that the page mentions and the execution does not."""
    race = failure.outcome.race
    sites = race_sites([*telling_races(failure), *([race] if race is not None else [])])
    if sights is not None:
        stacks = {id(sight.stack): sight.stack for sight in sights.by_step.values()}
        sites += {frame.site for stack in stacks.values() for frame in program_frames(stack)}
    return sites


def _tasks_of(trace: Trace) -> list[TaskId]:
    """The tasks that ran or wait, in the order in which they were started."""
    ran = set(trace.tasks) | {blocked.task for blocked in trace.outcome.blocked}
    known = list(trace.task_infos)
    others = sorted(ran.difference(known), key=task_order)
    return [task for task in (*known, *others) if task in ran]


def _places(stack: Sequence[Frame], tables: Tables) -> list[int]:
    return [tables.place(frame.site) for frame in program_frames(stack)]


def _deadlock(outcome: Outcome, trace: Trace, names: Names, tables: Tables) -> Deadlock:
    by_task = {blocked.task: blocked for blocked in outcome.blocked}
    cycle = [by_task[task] for task in outcome.cycle if task in by_task]
    others = [blocked for blocked in outcome.blocked if blocked not in cycle]

    def type_of(blocked: BlockedTask) -> str:
        resource = trace.resources.get(blocked.operation.resource)
        return "" if resource is None else resource.type

    return Deadlock(
        waiting_heading(outcome),
        cycle_in_words(outcome, names),
        [
            _waiting(blocked, cycle[(number + 1) % len(cycle)], names, tables)
            for number, blocked in enumerate(cycle)
        ],
        [
            *(alone_in_words(blocked, names, type_of(blocked)) for blocked in others),
            *filter(None, [going_on_in_words(trace, names)]),
        ],
        origins_in_words(outcome, names),
        [
            Stack(f"task {names.task(blocked.task)}", _places(blocked.stack, tables))
            for blocked in (*cycle, *others)
            if program_frames(blocked.stack)
        ],
    )


def _waiting(waiting: BlockedTask, holder: BlockedTask, names: Names, tables: Tables) -> Waiting:
    held, taken = held_in_words(waiting, holder, names)
    return Waiting(
        tables.task(waiting.task),
        waits_in_words(waiting, names),
        names.awaited(waiting.task, waiting.operation),
        tables.place(names.site(waiting.operation)),
        tables.task(holder.task),
        held,
        tables.place(taken),
    )


def _race(race: Race, names: Names, tables: Tables) -> RaceSides:
    return RaceSides(
        race.label,
        kinds_in_words(race),
        pattern_in_words(race),
        [note for note in (*notes_in_words(race, names), common_in_words(race)) if note],
        [
            Side(
                access_in_words(access, names),
                locks_in_words(access, names),
                tables.task(access.task),
                tables.place(site_of(access.operation.place)),
                _places(access.stack, tables),
            )
            for access in (race.first, race.second)
        ],
    )
