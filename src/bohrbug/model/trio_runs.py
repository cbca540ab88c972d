"""What a trace tells of runs of trio: what is only trio's own business."""

from __future__ import annotations

import re
from functools import lru_cache

from bohrbug.model.operation import EXTERNAL, RESUME, TRIO_RUN, Kind, ResourceId, Site, TaskId
from bohrbug.model.trace import Trace

_OF_TRIO = re.compile(r"[/\\](trio[/\\]_\w+(\.py$|[/\\])|anyio[/\\]_backends[/\\])")


class TrioRuns:
    """The runs of trio in an execution.

    Parameters:
        trace: the execution.
    """

    def __init__(self, trace: Trace) -> None:
        self._runs = {each.id for each in trace.resources.values() if each.type == TRIO_RUN}
        # Tasks by the first thing that they do in a run: trio's own begin there.
        first: dict[tuple[TaskId, ResourceId], Kind] = {}
        if self._runs:
            for task, operation in zip(trace.tasks, trace.operations, strict=True):
                if operation.resource in self._runs:
                    first.setdefault((task, operation.resource), operation.kind)
        self._threads = {task for (task, _), kind in first.items() if kind in (RESUME, EXTERNAL)}
        self._messengers = {
            info.id for info in trace.task_infos.values() if info.target.startswith("TrioToken.")
        }

    def is_own(self, task: TaskId, kind: Kind, resource: ResourceId, site: Site | None) -> bool:
        """Whether an operation tells nothing of the program.

        The thread of a run looks for work, waits for it, wakes itself up, or goes on behind the
        run; and trio has a task that passes on what other threads ask for.

        Parameters:
            task: who does it.
            kind, resource: of it.
            site: where it is done, if that is known.
        """
        if task in self._messengers or (resource in self._runs and kind is EXTERNAL):
            return True
        if task not in self._threads:
            return False
        return resource in self._runs or (site is not None and is_file_of_trio(site.filename))


@lru_cache(maxsize=4096)
def is_file_of_trio(filename: str) -> bool:
    """Whether a file belongs to trio, or to what anyio has for it."""
    return _OF_TRIO.search(filename) is not None
