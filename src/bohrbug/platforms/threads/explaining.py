"""How executions on the threads runtime ended."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from bohrbug.model.operation import TaskId
from bohrbug.model.outcome import (
    ASKED,
    Abandoned,
    BlockedTask,
    Frame,
    Held,
    Outcome,
    OutcomeKind,
)
from bohrbug.model.site import site_of
from bohrbug.monitors.outcomes import (
    blocked_task,
    endless_outcome,
    exception_outcome,
    repeating_section,
    resource_of,
    step_limit_outcome,
    stuck_outcome,
    too_many_tasks_outcome,
    unfinished_outcome,
    waiting_cycle,
)
from bohrbug.runtime.policies import Asked
from bohrbug.runtime.threads.advancing import MOST_TASKS
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.forks import waits_in_words
from bohrbug.runtime.threads.kept_errors import kept_by_now
from bohrbug.runtime.threads.loops.awaiting import awaiting
from bohrbug.runtime.threads.loops.unsafe_calls import unsafe_calls_by_now
from bohrbug.runtime.threads.queues import holders_of_mutex
from bohrbug.runtime.threads.stacks import stack_of
from bohrbug.runtime.threads.task import Task
from bohrbug.runtime.threads.tracebacks import formatted, frames_of_traceback

_MOST_WAITING = 200
"""Tasks among which circles are looked for, whenever an exception leaves a task."""

_MOST_FAILED = 3
"""Tasks that have ended with exceptions, of which a deadlock tells."""

_STUCK_KEPT = 1_000
"""States in which no task could go on that are recognised."""


_Data = TypeVar("_Data")


def _changed(data: _Data, **changes: object) -> _Data:
    """As ``dataclasses.replace``, which is rewritten, and where a task of the program may stand."""
    names: Iterable[str] = type(data).__dataclass_fields__  # type: ignore[attr-defined]
    return type(data)(**{name: getattr(data, name) for name in names} | changes)


class ThreadExplainer:
    """Outcomes of executions on the threads runtime."""

    def __init__(self) -> None:
        # What was explained before; the keys have ids of parts of their values.
        self._known: dict[tuple[object, ...], Outcome] = {}

    def stuck(self, execution: Execution) -> Outcome:
        """No task can go on: a deadlock, threads left behind, or something outside.

        Most executions that end so stand where earlier ones stood, and are only recognised.
        """
        return self._stuck(execution, _waits_in(execution))

    def _stuck(self, execution: Execution, waits: Sequence[_Waiting]) -> Outcome:
        """The outcome where these tasks wait for ever."""
        test_has_ended = execution.ending.root_is_exiting
        # A daemon's loop may bring what others wait for.
        hosts = dict.fromkeys(each.task.host for each in waits if each.task.host is not None)
        if execution.loops is not None:
            hosts |= dict.fromkeys(execution.loops.of_trio.waiting)
        if test_has_ended:
            waits = [each for each in waits if not each.task.daemon]
        threads = [each.task for each in waits if each.task.host is None]
        outside = [
            f"task {task.id}: {task.waits_for.label}"
            for task in (*threads, *hosts)
            if task.external
        ]
        failed = [] if execution.loops is None else execution.loops.failed()
        ended = _how_they_failed(
            failed, [*waits_in_words(), *unsafe_calls_by_now(), *kept_by_now()]
        )
        key = (test_has_ended, ended, *outside, *(each.key() for each in waits))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _STUCK_KEPT:
                self._known.clear()
            blocked = sorted((each.described() for each in waits), key=lambda b: b.daemon)
            # What has failed is often the reason: others wait for what it would have done.
            known = _changed(stuck_outcome(blocked, test_has_ended, outside), traceback=ended)
            self._known[key] = known
        return known

    def idle(
        self, execution: Execution, pollers: Collection[TaskId], is_certain: bool
    ) -> Outcome | None:
        """Only the timeouts of some tasks still fire; see :class:`.monitoring.Explainer`."""
        waits = [each for each in _waits_in(execution) if each.task.id not in pollers]
        stuck = _stuck_for_ever({each.task.id: each.holders for each in waits})
        if not stuck.isdisjoint(_whose_end_is_needed(execution)):
            outcome = self._stuck(execution, waits)
            if outcome.kind is OutcomeKind.HANG:
                # It may go on, if somebody comes: the trace is not read before it is complete.
                return outcome
            return _changed(outcome, repeating=repeating_section(execution.trace))
        if is_certain and (waits or len(pollers) > 1):
            return endless_outcome(execution.trace, execution.ending.root_is_exiting)
        # Who is alone may look for what comes from outside.
        return None

    def step_limit(self, execution: Execution, comes_further: bool) -> Outcome:
        """The execution does not end although its scheduling is fair."""
        test_has_ended = execution.ending.root_is_exiting
        if len(execution.all_tasks) > MOST_TASKS:
            return too_many_tasks_outcome(execution.trace, MOST_TASKS)
        if comes_further:
            why = (
                "a loop goes on to its next element or counts towards its end, or tasks are started"
            )
            return unfinished_outcome(execution.trace, test_has_ended, why)
        return step_limit_outcome(execution.trace, test_has_ended)

    def exception(self, execution: Execution, task: Task, error: BaseException) -> Outcome:
        """An exception left a task; a timeout may have led past a deadlock of others."""
        outcome = exception_outcome(
            task.id, error, lambda each: frames_of_traceback(each.__traceback__), formatted(error)
        )
        cycle = _deadlocked(execution)
        if not cycle:
            return outcome
        blocked = [_waiting(execution, each).described() for each in cycle]
        return _changed(outcome, blocked=tuple(blocked), cycle=tuple(each.task for each in blocked))

    def asked(self, execution: Execution, asked: Asked) -> Outcome:
        """The plan leaves a decision to somebody else."""
        return ASKED


def _waits_in(execution: Execution) -> list[_Waiting]:
    """The tasks of an execution in which nobody makes a step, those of event loops for threads."""
    in_loops = awaiting(execution)
    hosts = {each.task.host for each in in_loops}
    if execution.loops is not None:
        hosts |= execution.loops.of_trio.waiting
    return [
        *(
            _waiting(execution, task)
            for task in execution.alive
            if task.pending is not None and task not in hosts
        ),
        *(_Waiting(each.task, each.holders, None, each.stack, each.holding) for each in in_loops),
    ]


def _whose_end_is_needed(execution: Execution) -> list[TaskId]:
    """The tasks without the ends of which the test does not come to its own."""
    if execution.ending.root_is_exiting:
        root = execution.root
        return [task.id for task in execution.alive if not task.daemon and task is not root]
    loops = execution.loops
    of_root = (
        []
        if loops is None
        else [task.id for _, task in loops.coroutines() if task.host is execution.root]
    )
    # Those that others of them have started end with these, or are not waited for.
    return [task for task in of_root if task.rpartition(".")[0] not in of_root] or [
        execution.root.id
    ]


def _stuck_for_ever(holders: Mapping[TaskId, Sequence[TaskId]]) -> set[TaskId]:
    """Those of the waiting tasks that others, which do not wait for ever, can't let go on.

    Parameters:
        holders: by each task that waits those that it waits for, as far as they are known.
    """
    stuck = set(holders)
    while free := {task for task in stuck if holders[task] and stuck.isdisjoint(holders[task])}:
        stuck -= free
    return stuck


def _how_they_failed(failed: Sequence[tuple[Task, BaseException]], kept: Sequence[str]) -> str:
    """The tracebacks of tasks and calls that have ended with exceptions that nobody was told of.

    Parameters:
        failed: tasks of event loops, with their exceptions.
        kept: what else may be the reason, in words.
    """
    of_tasks = [
        f"Task {task.id} ended with an exception that nobody has retrieved:\n{formatted(error)}"
        for task, error in failed[:_MOST_FAILED]
    ]
    return "\n".join([*of_tasks, *kept][:_MOST_FAILED])


def _deadlocked(execution: Execution) -> list[Task]:
    """Tasks that wait for each other in a circle, and without a timeout, while others go on."""
    # Predicates may run code of the program.
    execution.suspended += 1
    try:
        waiting = {
            task.id: task
            for task in execution.alive
            if task.deadline is None and _cannot_go_on(task)
        }
    finally:
        execution.suspended -= 1
    if not waiting or len(waiting) > _MOST_WAITING:
        return []
    holders: dict[int, TaskId] = {}
    for task in execution.alive:
        holders[id(task.state)] = task.id
        for held in task.holding:
            holders[id(getattr(held, "_state", None))] = task.id
    waits = {
        task.id: (holders[id(task.waits_for)],)
        for task in waiting.values()
        if id(task.waits_for) in holders and not _waits_for_signal(task)
    }
    return [waiting[task] for task in waiting_cycle(waits) if task in waiting]


def _cannot_go_on(task: Task) -> bool:
    """Whether a task waits now: one that has waited before still tells for what."""
    return task.pending is not None and task.ready is not None and not task.ready()


def _is_its_signal(task: Task, held: Any, taken: Any) -> bool:
    """Whether a lock that a task took and waits for is there for others to wake it.

    Such a lock is taken where it is made, and waited for elsewhere.  That the task holds it is then
    not why it waits: somebody else was to release it.
    """
    made = getattr(held, "_created", None)
    place = None if task.pending is None else task.pending.place
    return (
        type(made) is tuple
        and type(taken) is tuple
        and type(place) is tuple
        and made[0] is taken[0]
        and place[0] is not taken[0]
    )


def _waits_for_signal(task: Task) -> bool:
    """Whether a task waits for a lock that it has taken in order to be woken by its release."""
    return any(
        getattr(held, "_state", None) is task.waits_for and _is_its_signal(task, held, taken)
        for held, taken in task.holding.items()
    )


def _waiting(execution: Execution, task: Task) -> _Waiting:
    holders = () if _waits_for_signal(task) else holders_of(execution, task)
    abandoned = None if holders else abandoned_by(execution, task)
    return _Waiting(task, holders, abandoned, stack_of(task, execution.current))


class _Waiting:
    """Where a task waits, in an execution in which none can go on."""

    __slots__ = ("abandoned", "holders", "holding", "stack", "task")

    def __init__(
        self,
        task: Task,
        holders: tuple[str, ...],
        abandoned: Abandoned | None,
        stack: tuple[Frame, ...],
        holding: tuple[Held, ...] = (),
    ) -> None:
        self.task = task
        self.holders = holders
        self.abandoned = abandoned
        self.stack = stack
        # Beside what the task is known to hold.
        self.holding = holding

    def key(self) -> tuple[object, ...]:
        """What :meth:`described` depends on; ids of what it keeps, for what is slow to hash."""
        task = self.task
        assert task.pending is not None
        kind, resource, place = task.pending
        return (
            task.id,
            task.daemon,
            task.blocked_since,
            self.holders,
            self.abandoned,
            self.holding,
            id(self.stack),
            id(kind),
            resource,
            (id(place[0]), place[1]) if type(place) is tuple else id(place),
            *((resource_of(held), site_of(taken)) for held, taken in task.holding.items()),
        )

    def described(self) -> BlockedTask:
        """It for a report."""
        found = blocked_task(self.task, self.stack, self.holders, self.abandoned)
        return _changed(found, holding=found.holding + self.holding) if self.holding else found


def holders_of(execution: Execution, task: Task) -> tuple[str, ...]:
    """The tasks that hold what ``task`` waits for; a thread is held by itself until it ends."""
    wanted = task.waits_for
    holders = tuple(
        other.id
        for other in execution.alive
        if (other.state is wanted and other is not task)
        or (other.holding and wanted in [getattr(h, "_state", None) for h in other.holding])
    )
    return holders or holders_of_mutex(execution, wanted)


def abandoned_by(execution: Execution, task: Task) -> Abandoned | None:
    """Who ended while holding what ``task`` waits for."""
    wanted = task.waits_for
    for other in reversed(execution.all_tasks):
        for held, place in other.holding.items():
            if other.ended and getattr(held, "_state", None) is wanted:
                return Abandoned(other.id, site_of(place))
    return None
