"""Faults in words."""

from __future__ import annotations

from bohrbug.model.operation import COLLECTION, SPURIOUS_WAKE, cancelled_task, is_fault
from bohrbug.model.trace import Trace


def fault_words(trace: Trace, step: int) -> str | None:
    """How the call of a data choice about a fault went; ``None`` for other steps.

    The cancellation of a task counts as a fault.
    """
    resource = trace.operations[step].resource
    if step not in trace.arities or not is_fault(resource):
        return None
    value = trace.choices[step]
    assert isinstance(value, int)
    task = cancelled_task(resource, value)
    if task is not None:
        return f"task {task} is cancelled"
    if resource == COLLECTION:
        return "the garbage collector collects" if value else "no garbage collection comes"
    if resource == SPURIOUS_WAKE:
        return "a spurious wake-up" if value else "no spurious wake-up"
    if not value:
        return f"{resource.partition(':')[2]} does not fail"
    return trace.resources[resource].label if resource in trace.resources else resource
