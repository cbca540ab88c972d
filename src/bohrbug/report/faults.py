"""Faults in words."""

from __future__ import annotations

from bohrbug.model.operation import (
    COLLECTION,
    LOAD,
    OLDER_VALUE,
    SPURIOUS_WAKE,
    STORE,
    UPDATE,
    cancelled_task,
    is_fault,
)
from bohrbug.model.trace import Trace


def fault_words(trace: Trace, step: int) -> str | None:
    """How the call of a data choice about a fault went; ``None`` for other steps.

    The cancellation of a task counts as a fault, and so does a load that sees an older value.
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
    if resource == OLDER_VALUE:
        return _missed(trace, step, value) if value else "the newest value"
    if not value:
        return f"{resource.partition(':')[2]} does not fail"
    return trace.resources[resource].label if resource in trace.resources else resource


def _missed(trace: Trace, step: int, count: int) -> str:
    """Which stores the load before a choice does not see: so many, the last ones."""
    load = trace.operations[step - 1]
    if load.kind is not LOAD:
        return f"does not see the last {count} stores"
    label = trace.resources[load.resource].label if load.resource in trace.resources else ""
    what = f" to {label}" if label else ""
    if count > 1:
        return f"does not see the last {count} stores{what}"
    changes = (
        index
        for index in reversed(range(step - 1))
        if trace.operations[index].resource == load.resource
        and trace.operations[index].kind in (STORE, UPDATE)
    )
    last = next(changes, None)
    # An exchange that compares may have stored nothing.
    if last is None or trace.operations[last].kind is UPDATE:
        return f"does not see the last store{what}"
    return f"does not see task {trace.tasks[last]}'s store{what} yet"
