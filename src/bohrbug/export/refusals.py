"""Failures that ordinary threads can't be made to show."""

from __future__ import annotations

from bohrbug.model.operation import (
    CHOOSE,
    EXECUTE,
    OLDER_VALUE,
    SIGNAL,
    TRIO_RUN,
    Operation,
    cancelled_task,
    is_fault,
)
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Choice
from bohrbug.model.trace import Trace


class CannotExport(ValueError):
    """A failure can't be exported; the message says why."""


_KINDS = {
    OutcomeKind.RACE: (
        "ordinary threads don't show a data race: the test passes whatever the order "
        "of the two accesses; export a failure that the race leads to, if there is one"
    ),
    OutcomeKind.LIVELOCK: (
        "a livelock goes on for ever: ordinary threads would have to be forced for ever, too"
    ),
    OutcomeKind.STEP_LIMIT: "the limit of steps ended it, which is not a failure of the test",
    OutcomeKind.INVARIANT: "the invariant that failed is not in the file",
    OutcomeKind.INTERRUPTED: "it was interrupted, which is not a failure of the test",
    OutcomeKind.PASSED: "the execution in the file passed",
}

LONGEST = 5.0
"""Seconds of virtual time that are slept and waited for in real time."""


def check_exportable(trace: Trace) -> None:
    """Whether a failing execution is of a kind that ordinary threads can be made to do.

    Raises:
        CannotExport: it is not.
    """
    reason = _KINDS.get(trace.outcome.kind)
    waits_for_ever = trace.outcome.kind in (OutcomeKind.DEADLOCK, OutcomeKind.LEAK)
    # Before tasks are seen to wait for ever, every timer has fired that changes nothing.
    if reason is None and not waits_for_ever and trace.virtual_time > LONGEST:
        reason = (
            f"{trace.virtual_time:.0f} s of virtual time pass before it fails, which ordinary "
            f"threads would have to wait for; the limit is {LONGEST:.0f} s"
        )
    for step, operation in enumerate(trace.operations):
        value = trace.choices[step] if step in trace.arities else 0
        reason = reason or _reason_of(operation, value)
    if reason is None and _chooses_in_trio(trace):
        reason = "it is a matter of the order in which trio runs its tasks, which nobody can force"
    if reason is not None:
        raise CannotExport(reason)


def _chooses_in_trio(trace: Trace) -> bool:
    """Whether anywhere trio had several tasks to choose from."""
    runs = {each.id for each in trace.resources.values() if each.type == TRIO_RUN}
    if not runs:
        return False
    of_trio = {
        task
        for task, operation in zip(trace.tasks, trace.operations, strict=True)
        if operation.resource in runs
    }
    return any(len(of_trio.intersection(enabled)) > 1 for enabled in trace.enabled)


def _reason_of(operation: Operation, value: Choice) -> str | None:
    if operation.kind is CHOOSE:
        if not is_fault(operation.resource):
            return "it makes a choice: by bohrbug.choose, or in which order futures of a set come"
        if value == 0:
            # Nothing happened.
            return None
        if isinstance(value, int) and cancelled_task(operation.resource, value) is not None:
            return "it cancels a task by choice, which nobody does in an ordinary program"
        if operation.resource == OLDER_VALUE:
            return "a load sees an older value, which is up to the processor"
        return "it lets a call fail, which nobody does in an ordinary program"
    if operation.kind in (EXECUTE, SIGNAL):
        return f"it has an operation ({operation.kind.name}) that can't be held up by pausing"
    return None
