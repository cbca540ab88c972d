"""Letting go of the first steps of a long execution, so that its memory is bounded.

The steps that are left are numbered from 0 again: whatever has the number of a step is told.
"""

from __future__ import annotations

from typing import Any

from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.raised import forget_raised


def forget_steps(execution: Execution, steps: int) -> None:
    """Let go of the first so many steps; called between two steps, where no prefix is followed.

    Parameters:
        execution: the execution; nobody watches it.
        steps: at most as many as it has done.
    """
    forget_raised()
    trace = execution.trace
    execution.forget(steps)
    trace.forget()
    trace.effects[:] = [
        (step - steps, task, resource, is_write)
        for step, task, resource, is_write in trace.effects
        if step >= steps
    ]
    trace.early_timeouts[:] = [step - steps for step in trace.early_timeouts if step >= steps]
    _renumber(trace.arities, steps)
    _renumber(trace.defaults, steps)
    _renumber(trace.gates, steps)


def _renumber(facts: dict[int, Any], steps: int) -> None:
    left = {step - steps: fact for step, fact in facts.items() if step >= steps}
    facts.clear()
    facts.update(left)
