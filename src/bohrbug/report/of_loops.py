"""Steps by which event loops only pass on what tasks did, and which reports leave out."""

from __future__ import annotations

from bohrbug.model.asyncio_runs import AsyncioRuns
from bohrbug.model.operation import (
    ACQUIRE,
    CALLBACK,
    EXTERNAL,
    GET,
    OUTSIDE,
    PUT,
    RELEASE,
    RESUME,
    Operation,
    TaskId,
)
from bohrbug.model.trace import Trace
from bohrbug.model.trio_runs import TrioRuns
from bohrbug.report.naming import Names
from bohrbug.report.sources import is_loop_file

_PASSING_ON = frozenset({CALLBACK, ACQUIRE, RELEASE, PUT, GET, *OUTSIDE})
"""By what loops pass on what others ask them for, in code of their own."""


class StepsOfLoops:
    """What is only the event loops' own business in an execution.

    Parameters:
        trace: the execution.
        names: of places.
    """

    def __init__(self, trace: Trace, names: Names) -> None:
        self._asyncio = AsyncioRuns(trace.task_infos, trace.resources)
        self._names = names
        self._trio = TrioRuns(trace)

    def has(self, task: TaskId, operation: Operation) -> bool:
        """Whether an operation of a task belongs to it."""
        if self._asyncio.is_own_task(task):
            return True
        site = self._names.site(operation)
        if self._trio.is_own(task, operation.kind, operation.resource, site):
            return True
        if site is None:
            return operation.kind in (CALLBACK, EXTERNAL, RESUME)
        return operation.kind in _PASSING_ON and is_loop_file(site.filename)
