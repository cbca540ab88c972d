"""Orderings that may be part of a cause: pairs of conflicting operations of two tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product

from bohrbug.exploration.minimisation.first_users import Names, renamed_event
from bohrbug.exploration.minimisation.ranks import LIFE, LoopEvents, Rank, rank_of
from bohrbug.model.history import events_of, history_of, pending_events
from bohrbug.model.operation import (
    CHOOSE,
    CONTINUE,
    END,
    RESUME,
    ROOT,
    WAIT,
    WAKE,
    ResourceId,
    TaskId,
)
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.site import point_of
from bohrbug.model.trace import Raised, Trace
from bohrbug.search.own_code import is_in_own_code

NEIGHBOURS = 3
"""Conflicting operations of each other task that are paired with an operation: the last ones."""

MOST_TASKS = 50
"""Tasks whose operations on one resource are paired with one on it: those that came last."""

MOST_STEPS = 10_000
"""Steps at the end of an execution whose operations are paired with those before them."""

MOST_PAIRS = 50_000
"""Pairs of an execution that are looked at: the last ones."""

_FOR_EVER = {OutcomeKind.DEADLOCK, OutcomeKind.LEAK}


def _touched(trace: Trace) -> list[list[tuple[ResourceId, bool]]]:
    """For each step what it acts on, and whether it changes that.

    A wait gives its lock back and takes it again when it ends; the second half is
    added here, because a trace has no effect for it.
    """
    touched = [[(o.resource, o.kind.is_write)] for o in trace.operations]
    lock_of: dict[TaskId, ResourceId] = {}
    for step, task, resource, is_write in trace.effects:
        if 0 <= step < len(touched):
            touched[step].append((resource, is_write))
            if trace.operations[step].kind is WAIT:
                lock_of[task] = resource
    for step, operation in enumerate(trace.operations):
        if operation.kind is WAKE and trace.tasks[step] in lock_of:
            touched[step].append((lock_of[trace.tasks[step]], True))
    return touched


def conflicting_pairs(trace: Trace, *, only_own: bool = False) -> Iterator[tuple[Event, Event]]:
    """Pairs of conflicting operations of two tasks in the order in which they happened.

    Each is paired with the last :data:`NEIGHBOURS` before it of each other task.  What tasks
    were about to do when the execution ended comes after all that was done.  Of steps that repeat
    until the end only the first round counts, and of a long execution only the last
    :data:`MOST_STEPS` steps, with what came before each.

    Parameters:
        trace: the execution.
        only_own: only operations in the program's own code.
    """
    events = events_of(trace)
    recent: dict[ResourceId, dict[TaskId, list[tuple[Event, bool]]]] = {}

    def before(event: Event, resource: ResourceId, is_write: bool) -> Iterator[Event]:
        for task, others in islice(reversed(recent.get(resource, {}).items()), MOST_TASKS):
            if task == event.task:
                continue
            conflicting = [other for other, wrote in others if wrote or is_write]
            yield from conflicting[-NEIGHBOURS:]

    touched = _touched(trace)
    last = sum(trace.rounds())
    for step, event in enumerate(events[:last]):
        # A choice acts on nothing, and what goes on behind a release decides nothing more.
        if event is None or trace.operations[step].kind in (CHOOSE, CONTINUE):
            continue
        if only_own and not is_in_own_code(event.where):
            continue
        for resource, is_write in touched[step] if step >= last - MOST_STEPS else ():
            for other in before(event, resource, is_write):
                yield other, event
        for resource, is_write in touched[step]:
            of_tasks = recent.setdefault(resource, {})
            own = of_tasks.pop(event.task, [])
            own.append((event, is_write))
            of_tasks[event.task] = own
            if len(own) > 4 * NEIGHBOURS:
                del own[: -2 * NEIGHBOURS]
    pending = pending_events(trace)
    for event in pending.values():
        if only_own and not is_in_own_code(event.where):
            continue
        for other in before(event, event.resource, event.kind.is_write):
            yield other, event
    end = pending.get(ROOT)
    if end is not None and end.kind is END:
        yield from ((event, end) for event in _of_daemons(trace, events))


def is_about_own_code(trace: Trace) -> bool:
    """Whether tasks were in conflict in the program's own code, about more than their lives."""
    return any(
        first.kind not in LIFE and second.kind not in LIFE
        for first, second in conflicting_pairs(trace, only_own=True)
    )


def _of_daemons(trace: Trace, events: list[Event | None]) -> Iterator[Event]:
    """What daemon threads did last: the end of the program would have ended them before that."""
    done: dict[TaskId, list[Event]] = {}
    for event in events:
        info = trace.task_infos.get(event.task) if event is not None else None
        if event is not None and info is not None and info.daemon:
            done.setdefault(event.task, []).append(event)
    for task in islice(reversed(done), MOST_TASKS):
        yield from done[task][-NEIGHBOURS:]


def _last_pairs(trace: Trace, *, only_own: bool) -> deque[tuple[Event, Event]]:
    return deque(conflicting_pairs(trace, only_own=only_own), maxlen=MOST_PAIRS)


def raised_in_a_step(trace: Trace) -> Raised | None:
    """When code in C raised the exception that failed an execution, if it was in a step of its own.

    Parameters:
        trace: the execution, in which no ``raise`` has raised it.

    Returns:
        The last step at the very expression: others may have evaluated it without an exception.
    """
    stack = trace.outcome.stack
    for step in reversed(range(len(trace) if stack else 0)):
        if point_of(trace.operations[step]) == stack[-1].site:
            return Raised(trace.tasks[step], step + 1)
    return _raised_in_a_task(trace)


def _raised_in_a_task(trace: Trace) -> Raised | None:
    """When the innermost task has ended, at the latest, that the exception has left for sure."""
    for frame in reversed(trace.outcome.stack):
        tasks = [task for task, it in trace.task_infos.items() if it.target == frame.site.function]
        if len(tasks) == 1 and tasks[0] in trace.tasks:
            last = max(step for step, task in enumerate(trace.tasks) if task == tasks[0])
            return Raised(tasks[0], last + 1)
    return None


class Candidates:
    """Orderings that the failing execution met, the best ones first found kept.

    Parameters:
        trace: the failing execution.
        limit: how many are kept at most.
        only_own: only pairs of operations in the program's own code.
    """

    def __init__(self, trace: Trace, limit: int = 2_000, *, only_own: bool = False) -> None:
        self._only_own = only_own
        self._history = history_of(trace)
        self._length = len(trace)
        self._raised = trace.raised
        self._loops = LoopEvents(trace)
        self._limit = limit
        self.ranks: dict[Ordering, Rank] = {}
        # The events of the failing execution, with resources as they are called there.
        done = [event for event in events_of(trace) if event is not None]
        pending = pending_events(trace)
        self._own = {event: event for event in (*done, *pending.values())}
        # What tasks that wait for ever would have done next; what comes behind that follows from
        # the failure, whatever it comes after.
        self._awaited = pending if trace.outcome.kind in _FOR_EVER else {}
        self._fired = {(e.task, e.kind, e.where): e for e in done if e.fired}
        # By task that is over: its last step.
        self._last = {task: step for step, task in enumerate(trace.tasks)}
        for waiting in trace.final_pending:
            self._last.pop(waiting, None)
        self.of_failing = tuple(
            self._take([Ordering(*pair) for pair in _last_pairs(trace, only_own=only_own)])
        )

    def _take(self, orderings: list[Ordering]) -> list[Ordering]:
        fresh = {
            ordering: rank_of(ordering, self._history, self._length, self._loops.hidden(ordering))
            for ordering in orderings
            if ordering not in self.ranks
            and self._history.meets(ordering)
            and self._may_lead_to_it(ordering)
        }
        room = max(self._limit - len(self.ranks), 0)
        kept = sorted(fresh, key=fresh.__getitem__)[:room]
        self.ranks.update((ordering, fresh[ordering]) for ordering in kept)
        return kept

    def _may_lead_to_it(self, ordering: Ordering) -> bool:
        """Whether an ordering is not what follows from the failure: an exception, raised before.

        Nor is it one if the second task was over by then, or waits for ever for something else, and
        never came to its operation: that only says that it did not.
        """
        first = self._history.step_of(ordering.first)
        if first is None:
            return False
        if self._history.step_of(ordering.second) is None:
            task = ordering.second.task
            if self._last.get(task, first) < first:
                return False
            if self._awaited.get(task, ordering.second) != ordering.second:
                return False
        if self._raised is None:
            return True
        task, steps = self._raised
        if first >= steps:
            return False
        if ordering.second.task != task:
            return True
        if ordering.first in self._loops.timeouts and ordering.second.kind is RESUME:
            # It has ended the very wait that the task would have gone on behind.
            return True
        # What the task that failed did afterwards, or was not to do any more.
        second = self._history.step_of(ordering.second)
        return second is not None and second < steps

    def learn(self, trace: Trace, names: Names) -> list[Ordering]:
        """Take in what an execution did the other way round than the failing one.

        Parameters:
            trace: an execution that did not fail.
            names: what to call its resources.

        Returns:
            The orderings that are new.
        """
        pairs = [
            (renamed_event(first, names), renamed_event(second, names))
            for first, second in _last_pairs(trace, only_own=self._only_own)
        ]
        turned = [self._turned(*pair) for pair in pairs]
        # What was done here may have been given up there, as its timeout fired.
        turned += [
            Ordering(fired, first)
            for first, second in pairs
            if (fired := self._fired.get((second.task, second.kind, second.where))) is not None
        ]
        if self._loops.timeouts:
            prevented = islice(self._first_not_done(trace), MOST_TASKS)
            ended = [renamed_event(event, names) for event in prevented]
            turned += [Ordering(*pair) for pair in product(self._loops.timeouts, ended)]
        return self._take(turned)

    def _first_not_done(self, trace: Trace) -> Iterator[Event]:
        """What tasks of event loops went on behind, each for the first time, that they did not in
        the failing execution: a timeout that fired there may have ended that wait."""
        seen: set[TaskId] = set()
        for event in events_of(trace):
            if event is None or event.kind is not RESUME or event.task in seen:
                continue
            if event not in self._own:
                seen.add(event.task)
                yield event

    def _turned(self, first: Event, second: Event) -> Ordering:
        """The other way round, with the failing execution's names of the resources.

        What a variable is called depends on the execution.
        """
        one, other = self._own.get(second), self._own.get(first)
        if first.resource == second.resource:
            if one is None and other is not None:
                one = replace(second, resource=other.resource)
            elif other is None and one is not None:
                other = replace(first, resource=one.resource)
        return Ordering(one or second, other or first)
