"""The document that a page shows: plain data, which the front end reads as JSON.

Places, tasks and operations are kept in tables, and steps in columns of numbers into them, so that
an execution of 100,000 steps takes a few megabytes.  ``frontend/src/document.ts`` has the same
types in TypeScript.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

VERSION = 1
"""Of the form of the document."""

NOWHERE = -1
"""In place of an index: unknown, or not in the program."""

ENDED, COULD_RUN, BLOCKED = 0, 1, 2
"""The states of a task that is not running."""


@dataclass(slots=True)
class SourceFile:
    """What is known of the text of a file.

    Parameters:
        name: its shortest name that tells it from others.
        path: as a person would write it.
        parts: number of the first line of each part, from 1, and its lines.
        is_library: it is no part of the program itself.
    """

    name: str
    path: str
    parts: list[tuple[int, list[str]]] = field(default_factory=list)
    is_library: bool = False


@dataclass(slots=True)
class Task:
    """A task.

    Parameters:
        id: its path in the spawn tree.
        name: of its thread; may be empty.
        target: the function that it runs; may be empty.
    """

    id: str
    name: str
    target: str


@dataclass(slots=True)
class Steps:
    """The steps of an execution, in columns.

    Parameters:
        tasks: who ran.
        operations: what it did, an index into ``table``.
        table: kind, words and place of each operation that differs.
        options: how many choices there were.
        states: for each task, alternately a step and the state that the task is in from it on.
        preemptions, late, fired, early: the steps that begin with a preemption, with a task of an
            event loop that is late, with a timeout, with one that came early.
        essential: those without which it does not fail.
        told: those that the text report shows.
        words: of data choices and timeouts, by step.
        pairs: steps that conflict, the earlier one first.
        messages: steps that send a message and those that receive it.
        before: for steps that begin with a preemption the preempted task, words on it, and the
            place where it stands.
    """

    tasks: list[int] = field(default_factory=list)
    operations: list[int] = field(default_factory=list)
    table: list[tuple[str, str, int]] = field(default_factory=list)
    options: list[int] = field(default_factory=list)
    states: list[list[int]] = field(default_factory=list)
    preemptions: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    fired: list[int] = field(default_factory=list)
    early: list[int] = field(default_factory=list)
    essential: list[int] = field(default_factory=list)
    told: list[int] = field(default_factory=list)
    words: dict[int, str] = field(default_factory=dict)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    messages: list[tuple[int, int]] = field(default_factory=list)
    before: dict[int, tuple[int, str, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Sights:
    """Stacks and values at the steps.

    Parameters:
        stacks: pairs of a place and the index of the stack around it.
        at: for each step the index of its stack; empty if nothing is known.
        values: by step the index of a set of values.
        sets: names of local variables with their values.
    """

    stacks: list[tuple[int, int]] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    values: dict[int, int] = field(default_factory=dict)
    sets: list[list[tuple[str, str]]] = field(default_factory=list)


@dataclass(slots=True)
class Moment:
    """One of the few operations that the failure is about.

    Parameters:
        step: when it happened; ``None`` if it never did in this execution.
        task: an index.
        words: what the task did.
        place: an index.
        near: the step to go to where it is no step itself.
    """

    step: int | None
    task: int
    words: str
    place: int
    near: int | None = None


@dataclass(slots=True)
class Line:
    """A line of the sentence that heads the report, and how far it is indented."""

    words: str
    depth: int


@dataclass(slots=True)
class Waiting:
    """A task of a waiting cycle: what it waits for, and who holds that.

    Parameters:
        task: an index.
        waits: what it waits for, in words.
        resource: its short name.
        waits_at: an index of a place.
        holder: the task that holds it.
        held: in words, from where.
        held_at: an index of a place.
    """

    task: int
    waits: str
    resource: str
    waits_at: int
    holder: int
    held: str
    held_at: int


@dataclass(slots=True)
class Deadlock:
    """Who waits for whom.

    Parameters:
        title: what this is.
        sentence: the cycle in words; empty if there is none.
        cycle: its tasks in order.
        others: a sentence on each task that waits beside it.
        origins: where the resources were made.
        stacks: where tasks stand: title and places.
    """

    title: str
    sentence: str
    cycle: list[Waiting]
    others: list[str]
    origins: list[str]
    stacks: list[Stack]


@dataclass(slots=True)
class Stack:
    """A stack with its title: places, innermost last."""

    title: str
    places: list[int]


@dataclass(slots=True)
class Side:
    """One access of a race: words on it, the locks held, its place and stack."""

    words: str
    held: str
    task: int
    place: int
    stack: list[int]


@dataclass(slots=True)
class RaceSides:
    """A data race: its variable, what it looks like, and both accesses."""

    label: str
    kinds: str
    looks: str
    notes: list[str]
    sides: list[Side]


@dataclass(slots=True)
class FailurePage:
    """One failure.

    Parameters:
        kind: of its outcome.
        headline: what happened.
        where: and where.
        found: how it was found.
        cause: "it fails if and only if …", in lines; empty if the cause is not known.
        evidence: what that rests on.
        sentence: how it comes about in this schedule.
        moments: the operations at fault, in the order of this schedule.
        message: how the execution ended.
        failing: where it was raised, an index of a place.
        tasks, files, places: the tables; a place is a file, a line and a function.
        steps: of the minimised execution.
        sights: of its steps.
        deadlock, race, repeating: what belongs to this kind of failure.
        traceback: as the text report prints it.
        stack: where it was raised, if there is no traceback.
        timeouts: whether it takes some that end early, and what to do about it.
        interpreter: on which builds it can happen.
        commands: that replay it.
        reproduced: how often it was replayed.
        printed: by the failing execution.
        counted: it counts as a failure.
        passed: it is none: a file saved by hand may hold an execution that passes.
    """

    kind: str
    headline: str
    where: str
    found: str
    cause: list[Line]
    evidence: str
    sentence: str
    moments: list[Moment]
    message: str
    failing: int
    tasks: list[Task]
    files: list[SourceFile]
    places: list[tuple[int, int, str, str]]
    steps: Steps
    sights: Sights
    deadlock: Deadlock | None = None
    race: RaceSides | None = None
    repeating: str = ""
    traceback: str = ""
    stack: list[int] = field(default_factory=list)
    timeouts: str = ""
    interpreter: str = ""
    commands: list[str] = field(default_factory=list)
    reproduced: str = ""
    printed: str = ""
    counted: bool = True
    passed: bool = False


@dataclass(slots=True)
class Explored:
    """What was explored, and the verdict.

    Parameters:
        kind: of the verdict.
        headline: the verdict in words.
        covered: what was covered, a sentence for each strategy.
        reason: why it is this verdict.
        size: the estimated size of the space, in words.
        share: the part of it that was seen, from 0 to 1; ``None`` if there is no estimate.
        conditions: under which it was reached.
        figures: executions, rate, and so on.
        races: how many data races were seen, in words.
        caveats: what limits it.
        notices: what is worth knowing beside.
        unconfirmed: predictions that no execution confirmed.
        history: seconds, executions, failures and races over time.
    """

    kind: str
    headline: str
    covered: list[str]
    reason: str
    size: str
    share: float | None
    conditions: str
    figures: str
    races: str
    caveats: list[str]
    notices: list[str]
    unconfirmed: list[str]
    history: list[tuple[float, int, int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Document:
    """All that a page shows.

    Parameters:
        test: the name of the test.
        failures: those found.
        explored: what was explored; ``None`` if the page is of one failure alone.
        notes: what there is to say of the whole, such as what a replay gave.
        index: the page that lists all tests, relative to this one; may be empty.
        version: of the form of the document.
    """

    test: str
    failures: list[FailurePage]
    explored: Explored | None = None
    notes: list[str] = field(default_factory=list)
    index: str = ""
    version: int = VERSION


@dataclass(slots=True)
class IndexRow:
    """A test in the index.

    Parameters:
        test: its name.
        verdict: the kind.
        line: the verdict in one line.
        page: the file of its page; empty if there is none.
        executions: made.
        seconds: that it took.
        tasks: in the execution with most of them.
    """

    test: str
    verdict: str
    line: str
    page: str
    executions: int
    seconds: float
    tasks: int


@dataclass(slots=True)
class Index:
    """The index of all tests.

    Parameters:
        title: of the page.
        rows: the tests.
        summary: a line on all of them.
        version: of the form of the document.
    """

    title: str
    rows: list[IndexRow]
    summary: str
    version: int = VERSION


def plain(value: Any) -> Any:
    """A document as dicts and lists; faster than :func:`dataclasses.asdict`, which copies all."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, list) and value and is_dataclass(value[0]):
        return [plain(each) for each in value]
    return value
