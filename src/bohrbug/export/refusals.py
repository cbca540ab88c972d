"""Failures that ordinary threads can't be made to show."""

from __future__ import annotations

from bohrbug.model.operation import (
    CHOOSE,
    EXECUTE,
    SIGNAL,
    Operation,
    cancelled_task,
    is_fault,
)
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.trace import Trace


class CannotExport(ValueError):
    """A failure can't be exported; the message says why."""


_KINDS = {
    OutcomeKind.RACE: (
        "a data race is no failure that ordinary threads show: the test passes whatever the order "
        "of the two accesses; export a failure that it leads to, if there is one"
    ),
    OutcomeKind.LIVELOCK: (
        "a livelock goes on for ever: ordinary threads would have to be forced for ever, too"
    ),
    OutcomeKind.STEP_LIMIT: "it was ended at the limit of steps, which is no failure of the test",
    OutcomeKind.INVARIANT: "the invariant that failed is not in the file",
    OutcomeKind.INTERRUPTED: "it was interrupted, which is no failure of the test",
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
    if reason is None and trace.virtual_time > LONGEST:
        reason = (
            f"{trace.virtual_time:.0f} s of virtual time pass before it fails, which ordinary "
            f"threads would have to wait for; the limit is {LONGEST:.0f} s"
        )
    for operation in trace.operations:
        reason = reason or _reason_of(operation)
    if reason is not None:
        raise CannotExport(reason)


def _reason_of(operation: Operation) -> str | None:
    if operation.kind is CHOOSE:
        if cancelled_task(operation.resource, 1) is not None:
            return "it cancels a task by choice, which ordinary programs have nobody for"
        if is_fault(operation.resource):
            return "it lets a call fail, which ordinary programs have nobody for"
        return "the test calls bohrbug.choose, so it can't run without Bohrbug"
    if operation.kind in (EXECUTE, SIGNAL):
        return f"it has an operation ({operation.kind.name}) that can't be held up by pausing"
    return None
