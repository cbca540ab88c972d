"""Executions as examples: which orderings each of them met, and whether it failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations, product
from math import factorial, prod

from bohrbug.exploration.minimisation.candidates import Candidates
from bohrbug.exploration.minimisation.first_users import FirstUsers, renamed_history
from bohrbug.model.history import History, data_choices, history_of
from bohrbug.model.operation import TaskId
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.trace import Trace

MOST_RENAMINGS = 24
"""Ways to exchange tasks with each other that are looked at: all orders of four tasks."""

Renaming = Mapping[TaskId, TaskId]
"""Which task takes the place of which; tasks that are not in it keep theirs."""

SAME: Renaming = {}
"""Every task keeps its place."""

_NO_EXAMPLE = frozenset({OutcomeKind.INTERRUPTED, OutcomeKind.HANG, OutcomeKind.STEP_LIMIT})


def alike_tasks(trace: Trace) -> list[tuple[TaskId, ...]]:
    """The groups of tasks that one task started to run the same function."""
    groups: dict[tuple[str, str], list[TaskId]] = {}
    for task, info in trace.task_infos.items():
        parent, _, _ = task.rpartition(".")
        if parent and info.target:
            groups.setdefault((parent, info.target), []).append(task)
    return [tuple(tasks) for tasks in groups.values() if len(tasks) > 1]


def renamings(trace: Trace) -> list[Renaming]:
    """All ways to exchange tasks that run the same function; the first one changes nothing.

    Only the first one if there are more than :data:`MOST_RENAMINGS`.
    """
    groups = alike_tasks(trace)
    if prod(factorial(len(group)) for group in groups) > MOST_RENAMINGS:
        return [SAME]
    ways = (permutations(group) for group in groups)
    return [
        {
            old: new
            for group, order in zip(groups, orders, strict=True)
            for old, new in zip(group, order, strict=True)
        }
        for orders in product(*ways)
    ]


def renamed_task(task: TaskId, renaming: Renaming) -> TaskId:
    """The task that takes a task's place; its descendants go with it."""
    ancestor = task
    while ancestor:
        if ancestor in renaming:
            return renaming[ancestor] + task[len(ancestor) :]
        ancestor = ancestor.rpartition(".")[0]
    return task


def renamed(ordering: Ordering, renaming: Renaming) -> Ordering:
    """An ordering of the tasks that take the places of those in ``ordering``."""

    def event(old: Event) -> Event:
        return replace(old, task=renamed_task(old.task, renaming))

    if not renaming:
        return ordering
    return Ordering(event(ordering.first), event(ordering.second))


def way_of_failing(outcome: Outcome) -> tuple[object, ...]:
    """What makes two failures the same to whoever asks for their cause.

    As :meth:`~bohrbug.model.outcome.Outcome.signature`, but for the number of tasks that wait: in
    how many threads a pool waits for work says nothing of the reason of a deadlock.  Nor does
    who else waits, or does not yet, where some wait for each other.
    """
    if outcome.kind in (OutcomeKind.DEADLOCK, OutcomeKind.LEAK):
        cycle = set(outcome.cycle)
        waiting = [blocked for blocked in outcome.blocked if not cycle or blocked.task in cycle]
        kinds = frozenset(blocked.operation.kind.name for blocked in waiting)
        return (outcome.kind, bool(cycle), kinds)
    return outcome.signature()


@dataclass(frozen=True, slots=True)
class Example:
    """An execution: when its events happened, and whether it failed as the explained one did."""

    history: History
    failed: bool


class Examples:
    """Executions made so far, each schedule once.

    Only those count whose data choices are those of the failing execution, as
    far as both go, and which ended of themselves.

    Parameters:
        failing: the execution to explain; the first example.
        only_own: only what is in the program's own code may explain it.
    """

    def __init__(self, failing: Trace, *, only_own: bool = False) -> None:
        self._way = way_of_failing(failing.outcome)
        self.values = data_choices(failing)
        self._values = dict(self.values)
        self._known: set[int] = set()
        self.first_users = FirstUsers()
        self.candidates = Candidates(failing, only_own=only_own)
        self.all: list[Example] = []
        self.add(failing)

    def add(self, trace: Trace) -> bool:
        """Take an execution in; false if it is known, or no example."""
        if (
            trace.outcome.kind in _NO_EXAMPLE
            or trace.divergence is not None
            or not self._agrees(trace)
        ):
            return False
        schedule = hash(tuple(trace.choices))
        if schedule in self._known:
            return False
        self._known.add(schedule)
        failed = way_of_failing(trace.outcome) == self._way
        names = self.first_users.take(trace)
        self.all.append(Example(renamed_history(history_of(trace), names), failed))
        if not failed:
            self.candidates.learn(trace, names)
        return True

    def _agrees(self, trace: Trace) -> bool:
        return not trace.arities or all(
            mine == theirs
            for task, made in data_choices(trace)
            for mine, theirs in zip(made, self._values.get(task, made), strict=False)
        )


class Table:
    """Which candidates the examples met: a row for each example, as bits of the columns.

    With several renamings an example that passed has a row for each of
    them, because the orderings must not be met by any choice of tasks; one that
    failed has the row for the renaming with which it is most like the explained one.

    Parameters:
        examples: the examples; more may be added to them later.
        renamings: ways to exchange tasks.
    """

    def __init__(self, examples: Examples, renamings: list[Renaming]) -> None:
        self._examples = examples
        self.renamings = renamings
        self._rows = 0
        self._taken = 0
        self.failed = 0
        """The rows that failed, as bits."""
        self.columns: dict[Ordering, int] = {}
        """For each candidate the rows that met it, as bits."""
        self._renamed: dict[Ordering, list[Ordering]] = {}
        self._turned: set[Ordering] = set()
        self._histories: list[tuple[History, int]] = []
        self.update()

    @property
    def passed(self) -> int:
        """The rows that did not fail, as bits."""
        return ((1 << self._rows) - 1) & ~self.failed

    def update(self) -> None:
        """Take in candidates and examples that are new."""
        for ordering in self._examples.candidates.ranks:
            if ordering not in self.columns:
                ways = [renamed(ordering, renaming) for renaming in self.renamings]
                self._renamed[ordering] = ways
                bits = 0
                for row, (history, way) in enumerate(self._histories):
                    if history.meets(ways[way]):
                        bits |= 1 << row
                    elif history.meets_turned(ways[way]):
                        self._turned.add(ordering)
                self.columns[ordering] = bits
        for example in self._examples.all[self._taken :]:
            self._take(example)
        self._taken = len(self._examples.all)

    def _take(self, example: Example) -> None:
        history = example.history
        ways = range(len(self.renamings))
        met = [
            [ordering for ordering, ways_of in self._renamed.items() if history.meets(ways_of[way])]
            for way in ways
        ]
        chosen = [max(ways, key=lambda way: len(met[way]))] if example.failed else list(ways)
        for way in chosen:
            bit = 1 << self._rows
            self._rows += 1
            self._histories.append((history, way))
            if example.failed:
                self.failed |= bit
            for ordering in met[way]:
                self.columns[ordering] |= bit
            for ordering, ways_of in self._renamed.items():
                if ordering not in self._turned and history.meets_turned(ways_of[way]):
                    self._turned.add(ordering)

    def is_turned(self, ordering: Ordering) -> bool:
        """Whether an example did it the other way round, rather than not at all."""
        return ordering in self._turned

    def ranked(self) -> Iterator[Ordering]:
        """All candidates, those first that serve an explanation best."""
        return iter(sorted(self.columns, key=self._examples.candidates.ranks.__getitem__))

    def meets(self, example: Example, orderings: tuple[Ordering, ...]) -> bool:
        """Whether an example met all of some orderings, whichever tasks take which place."""
        return any(
            all(example.history.meets(renamed(ordering, renaming)) for ordering in orderings)
            for renaming in self.renamings
        )
