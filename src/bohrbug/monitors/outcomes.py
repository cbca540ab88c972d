"""From what ends an execution to its outcome: exceptions, deadlocks, livelocks, leaks.

Works on the tasks of an execution only through the attributes named in
:class:`TaskLike`, so that every runtime can use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from bohrbug.model.operation import ACQUIRE, RELEASE, RESUME, Operation, TaskId
from bohrbug.model.outcome import Abandoned, BlockedTask, Frame, Grouped, Held, Outcome, OutcomeKind
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.paths import line_in_notes

MOST_CHARACTERS = 240
"""Of what an exception says, in the one line that reports begin with."""


class TaskLike(Protocol):
    """What the monitors need to know of a task."""

    id: TaskId
    name: str
    daemon: bool
    pending: Operation | None
    waits_for: Any
    blocked_since: int
    external: bool
    holding: dict[Any, Any]


_exceptions_of = BaseExceptionGroup.exceptions.__get__


def exception_outcome(
    task: TaskId,
    error: BaseException,
    stack_of: Callable[[BaseException], tuple[Frame, ...]],
    traceback: str,
) -> Outcome:
    """An exception left a task: ``assertion`` for ``AssertionError``, else ``exception``."""
    in_it: dict[object, tuple[Grouped, str]] = {}
    for each in _exceptions_in(error):
        grouped = Grouped(type(each).__name__, stack_of(each))
        in_it.setdefault(grouped.key, (grouped, _in_one_line(each)))
    message = _in_one_line(error)
    if in_it:
        # "unhandled errors in a TaskGroup (1 sub-exception)" says nothing about what has failed,
        # and of a line that is cut the beginning is what people see.
        message = f"{_shortened('; '.join(words for _, words in in_it.values()))}, in {message}"
    return Outcome(
        OutcomeKind.ASSERTION if isinstance(error, AssertionError) else OutcomeKind.EXCEPTION,
        message,
        task=task,
        exception=type(error).__name__,
        stack=stack_of(error),
        traceback=traceback,
        grouped=tuple(grouped for grouped, _ in in_it.values()),
    )


def _exceptions_in(error: BaseException) -> Iterator[BaseException]:
    """The exceptions in an exception group, and in groups in it, that are no groups themselves."""
    groups = [error]
    while groups:
        group = groups.pop(0)
        for each in _exceptions_of(group) if isinstance(group, BaseExceptionGroup) else ():
            if isinstance(each, BaseExceptionGroup):
                groups.append(each)
            else:
                yield each


def _in_one_line(error: BaseException) -> str:
    """The type of an exception, and the first line of what it says."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception as broken:  # noqa: BLE001  (the program's own __str__)
        text = f"<str() of the exception raised {type(broken).__name__}>"
    first_line = _shortened(text.strip().split("\n", 1)[0])
    return f"{name}: {first_line}" if first_line else name


def _shortened(line: str) -> str:
    """A line as far as it fits; the traceback has all of it."""
    if len(line) <= MOST_CHARACTERS:
        return line
    return f"{line[:MOST_CHARACTERS]}… ({len(line):,} characters)"


def waiting_cycle(waits: Mapping[TaskId, Sequence[TaskId]]) -> tuple[TaskId, ...]:
    """A cycle in the graph "waits for a holder", or an empty tuple.

    Parameters:
        waits: for each waiting task the tasks that hold what it waits for.
    """
    for start in waits:
        path: list[TaskId] = []
        position: dict[TaskId, int] = {}
        task = start
        while waits.get(task):
            if task in position:
                cycle = path[position[task] :]
                first = min(range(len(cycle)), key=lambda i: _order(cycle[i]))
                return tuple(cycle[first:] + cycle[:first])
            position[task] = len(path)
            path.append(task)
            task = waits[task][0]
    return ()


def _order(task: TaskId) -> tuple[int, ...]:
    return tuple(int(part) for part in task.split("."))


def stuck_outcome(
    blocked: Sequence[BlockedTask], test_has_ended: bool, outside: Sequence[str]
) -> Outcome:
    """No task can go on.

    Parameters:
        blocked: every task that waits and is not a daemon thread, or is needed
            to explain why one of these waits.
        test_has_ended: the test itself returned; what waits are threads it left behind.
        outside: what tasks wait for that is outside our control, for people.
    """
    if outside:
        return Outcome(
            OutcomeKind.HANG,
            "waits for something outside our control: "
            + "; ".join(outside)
            + " (a larger --hang-seconds lets it take longer)",
            blocked=tuple(blocked),
        )
    cycle = waiting_cycle({b.task: b.holders for b in blocked})
    if test_has_ended:
        names = ", ".join(b.task for b in blocked if not b.daemon and b.task != "0")
        return Outcome(
            OutcomeKind.LEAK,
            f"after the test has ended, task {names} waits for ever",
            blocked=tuple(b for b in blocked if b.task != "0"),
            cycle=cycle,
        )
    number = len([b for b in blocked if not b.daemon])
    if cycle:
        message = (
            f"{len(cycle)} tasks wait for each other"
            if len(cycle) > 1
            else (f"task {cycle[0]} waits for itself")
        )
    elif number == 1:
        message = f"task {blocked[0].task} waits for ever"
    else:
        message = f"{number} tasks wait and nobody is left to wake them"
    return Outcome(OutcomeKind.DEADLOCK, message, blocked=tuple(blocked), cycle=cycle)


def repeating_section(trace: Trace, window: int = 2_000) -> tuple[int, ...]:
    """Indices of the last full period of the steps at the end of a trace, if they repeat."""
    length = len(trace)
    for period in range(1, min(length, window) // 3):
        last = range(length - 1, length - 1 - 2 * period, -1)
        if all(
            trace.operations[index].place == trace.operations[index - period].place
            and trace.repeats(index, index - period)
            for index in last
        ):
            return tuple(range(length - period, length))
    return ()


def _only_takes_and_releases(trace: Trace, repeating: tuple[int, ...]) -> bool:
    """Whether the steps that repeat do not show that anybody waits for anything.

    One task finds the locks that it takes free, each time.  What it does while it holds them,
    say draw from an iterator, may bring it nearer to its end.
    """
    kinds = {trace.operations[i].kind for i in repeating}
    return kinds == {ACQUIRE, RELEASE} and len({trace.tasks[i] for i in repeating}) == 1


def step_limit_outcome(trace: Trace, test_has_ended: bool) -> Outcome:
    """An execution is past its step limit although the scheduler is fair: a livelock or a leak.

    Unless it may as well be one that is only long.
    """
    repeating = repeating_section(trace)
    steps = len(trace)
    words = _who_repeats(trace, repeating)
    if _only_takes_and_releases(trace, repeating):
        at = next(i for i in repeating if trace.operations[i].kind is ACQUIRE)
        site = site_of(trace.operations[at].place)
        where = "" if site is None else f" at {line_in_notes(site.filename, site.line)}"
        what = f"nothing shows whether it ever ends: {words}, which take and release a lock{where}"
        return _unfinished(trace, test_has_ended, what, repeating)
    if test_has_ended:
        return Outcome(
            OutcomeKind.LEAK,
            f"after the test has ended, threads still run ({steps:,} steps)",
            repeating=repeating,
        )
    return Outcome(
        OutcomeKind.LIVELOCK,
        f"not finished after {steps:,} steps: {words}",
        repeating=repeating,
    )


def unfinished_outcome(trace: Trace, test_has_ended: bool, why: str) -> Outcome:
    """An execution is past its step limit, and comes further all the time: it may be only long.

    Parameters:
        trace: the execution.
        test_has_ended: only threads that it has left behind go on.
        why: what shows that it comes further.
    """
    return _unfinished(trace, test_has_ended, f"it still comes further: {why}", ())


def _unfinished(
    trace: Trace, test_has_ended: bool, what: str, repeating: tuple[int, ...]
) -> Outcome:
    if test_has_ended:
        unfinished = "threads still run after the end of the test,"
        advice = "join them without a timeout"
    else:
        unfinished = "not finished"
        advice = "raise max_steps"
    return Outcome(
        OutcomeKind.STEP_LIMIT,
        f"{unfinished} after {len(trace):,} steps, and {what}. If it is only long: {advice}, "
        "or give it less to do",
        repeating=repeating,
    )


def too_many_tasks_outcome(trace: Trace, most: int) -> Outcome:
    """An execution has started more threads than can be kept.

    Parameters:
        trace: the execution.
        most: how many it may start.
    """
    return Outcome(
        OutcomeKind.STEP_LIMIT,
        f"not finished after {len(trace):,} steps, in which it has started more than {most:,} "
        "threads, the most that an execution may: give it less to do",
    )


def endless_outcome(trace: Trace, test_has_ended: bool) -> Outcome:
    """Tasks only look, again and again, at what nobody will ever change: a livelock or a leak."""
    repeating = repeating_section(trace)
    words = f"{_who_repeats(trace, repeating)}, and nothing ever changes"
    if test_has_ended:
        return Outcome(OutcomeKind.LEAK, f"after the test has ended, {words}", repeating=repeating)
    return Outcome(OutcomeKind.LIVELOCK, f"not finished: {words}", repeating=repeating)


def _who_repeats(trace: Trace, repeating: Sequence[int]) -> str:
    # What an event loop goes on with stands for its thread and for its callbacks.
    of_loops = [i for i in repeating if trace.operations[i].kind is RESUME]
    tasks = sorted({trace.tasks[i] for i in of_loops or repeating}, key=_order)
    if not tasks:
        return "no end in sight"
    if len(tasks) == 1:
        return f"task {tasks[0]} repeats the same steps"
    return f"tasks {', '.join(tasks)} repeat the same steps"


def blocked_task(
    task: TaskLike,
    stack: tuple[Frame, ...],
    holders: tuple[TaskId, ...],
    abandoned: Abandoned | None,
) -> BlockedTask:
    """Describe one waiting task.

    Parameters:
        task: who waits.
        stack, holders, abandoned: see :class:`~bohrbug.model.outcome.BlockedTask`.
    """
    assert task.pending is not None
    return BlockedTask(
        task.id,
        task.pending,
        holders,
        tuple(Held(resource_of(held), site_of(place)) for held, place in task.holding.items()),
        stack,
        task.daemon,
        task.blocked_since,
        abandoned,
    )


def resource_of(held: Any) -> str:
    """The id of a held resource."""
    state = getattr(held, "_state", None)
    return state.id if state is not None else "?"
