"""Faults in words."""

from __future__ import annotations

from bohrbug.model.operation import is_fault
from bohrbug.model.trace import Trace


def fault_words(trace: Trace, step: int) -> str | None:
    """How the call of a data choice about a fault went; ``None`` for other steps."""
    resource = trace.operations[step].resource
    if step not in trace.arities or not is_fault(resource):
        return None
    if not trace.choices[step]:
        return f"{resource.partition(':')[2]} does not fail"
    return trace.resources[resource].label if resource in trace.resources else resource
