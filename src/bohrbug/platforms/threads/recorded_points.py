"""Bringing a runtime to see what it saw when an execution was recorded."""

from __future__ import annotations

from bohrbug.model.plan import Plan
from bohrbug.runtime.threads.runtime import ThreadsRuntime

_EXECUTIONS = 2
"""Without preemptions, to find the functions that run: only in these is anything seen."""


def find_functions(runtime: ThreadsRuntime, recorded: Plan) -> None:
    """Let the functions be rewritten that have the data accesses of a recorded plan.

    The test is executed for that also where the plan has none: what a task asks of a thread or a
    lock without calling it is seen in functions that were executed before, as data accesses are.

    Parameters:
        runtime: on which nothing was executed yet.
        recorded: the plan, which leads to functions that run under no other.
    """
    if not runtime.discovers:
        return
    for _ in range(_EXECUTIONS):
        runtime.execute(Plan(conditions=recorded.conditions), watch=True)
    # The plan can be followed up to the first point of a function that is not known yet, which is
    # one only in the next execution.
    missing = runtime.missing_points()
    while missing:
        runtime.execute(recorded, watch=True)
        before, missing = missing, runtime.missing_points()
        if missing == before:
            return
