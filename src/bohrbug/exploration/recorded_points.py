"""Bringing a runtime to where it was when an execution was recorded."""

from __future__ import annotations

from collections.abc import Iterable

from bohrbug.model.plan import Plan
from bohrbug.runtime.threads.points import PlaceKey
from bohrbug.runtime.threads.runtime import ThreadsRuntime
from bohrbug.runtime.threads.settings import Level

_EXECUTIONS = 2
"""Without preemptions, to find the functions that run: only in these is anything seen."""


def take_recorded_points(
    runtime: ThreadsRuntime, points: Iterable[PlaceKey], recorded: Plan
) -> None:
    """Let the data accesses of a file be scheduling points, and no others.

    The test is executed for that also where the file has none: what a task asks of a thread or a
    lock without calling it is seen in functions that were executed before, as data accesses are.

    Parameters:
        runtime: on which nothing was executed yet.
        points: the data accesses.
        recorded: the plan of the file, which leads to functions that run under no other.
    """
    if runtime.level is Level.SYNC:
        return
    runtime.want_points(points)
    for _ in range(_EXECUTIONS):
        runtime.execute(Plan())
    runtime.keep_only_wanted_points()
    # The plan can be followed up to the first point of a function that is not known yet, which is
    # one only in the next execution.
    missing = runtime.missing_points()
    while missing:
        runtime.execute(recorded)
        runtime.keep_only_wanted_points()
        before, missing = missing, runtime.missing_points()
        if missing == before:
            return
