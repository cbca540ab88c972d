"""Traces whose columns are put together only when somebody looks at them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bohrbug.accelerator.plain import plain
from bohrbug.model.checksum import checksum_of_rows
from bohrbug.model.outcome import PASSED, TaskInfo, Uncontrolled
from bohrbug.model.plan import Plan
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace

if TYPE_CHECKING:
    from bohrbug.runtime.threads.resources import ResourceTable
    from bohrbug.runtime.threads.task import Task

_COLUMNS = ("choices", "tasks", "operations", "enabled", "timed", "yielded")


def columns_of(rows: list[tuple[Any, ...]], width: int) -> tuple[list[Any], ...]:
    """The columns of rows that have ``width`` values each."""
    if not rows:
        return tuple([] for _ in range(width))
    return tuple(map(list, zip(*rows, strict=True)))


@plain
class RecordedTrace(Trace):
    """A :class:`~bohrbug.model.trace.Trace` backed by the rows that an execution wrote.

    Most traces of a random search are never looked at beyond their outcome.

    Parameters:
        plan: what is executed.
        all_tasks: the tasks of the execution; grows.
        resources: of the execution.
        rows: choice, task, operation, enabled, timed, yielded for each step; grows.
        uncontrolled: what runs outside our control; grows.
        loop_tasks: the tasks of event loops, beside those that are threads; grows.
    """

    __slots__ = ("_all_tasks", "_loop_tasks", "_resource_table", "_rows", "_was_looked_at")

    # Not the execution, which has the trace: an execution dies when nobody needs it any more.
    _all_tasks: list[Task]
    _loop_tasks: list[Task]
    _resource_table: ResourceTable
    _rows: list[tuple[Any, ...]]
    _was_looked_at: bool

    def __init__(
        self,
        plan: Plan,
        all_tasks: list[Task],
        resources: ResourceTable,
        rows: list[tuple[Any, ...]],
        uncontrolled: Uncontrolled,
        loop_tasks: list[Task],
    ) -> None:
        # Not that of a trace, which has columns.
        self._all_tasks = all_tasks
        self._loop_tasks = loop_tasks
        self._resource_table = resources
        self._rows = rows
        self._was_looked_at = False
        self.plan = plan
        self.arities = {}
        self.defaults = {}
        self.final_pending = {}
        self.withdrawn = {}
        self.effects = []
        self.early_timeouts = []
        self.longest_stall = 0.0
        self.gates = {}
        self.races = []
        self.outcome = PASSED
        self.raised = None
        self.divergence = None
        self.uncontrolled = uncontrolled
        self.virtual_time = 0.0
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        # Called only for slots that are not set yet.
        if name in _COLUMNS:
            self._was_looked_at = True
            (
                self.choices,
                self.tasks,
                self.operations,
                self.enabled,
                self.timed,
                self.yielded,
            ) = columns_of(self._rows, len(_COLUMNS))
        elif name == "task_infos":
            self.task_infos = {
                task.id: TaskInfo(
                    task.id, task.name, task.target, task.daemon, site_of(task.spawned)
                )
                for task in (*self._all_tasks, *self._loop_tasks)
            }
        elif name == "resources":
            self.resources = self._resource_table.descriptions()
        else:
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Choice, task, operation, enabled, timed, yielded of each step."""
        return self._rows

    def checksum(self) -> int:
        """See :class:`~bohrbug.model.trace.Trace`; the choices are not put together for it."""
        number = checksum_of_rows(self._rows)
        return super().checksum() if number is None else number

    @property
    def task_count(self) -> int:
        """See :class:`~bohrbug.model.trace.Trace`."""
        return len(self._all_tasks) + len(self._loop_tasks)

    def forget(self) -> None:
        """Drop what was put together before the last row was written."""
        if self._was_looked_at:
            for column in (*_COLUMNS, "task_infos", "resources"):
                with suppress(AttributeError):  # those that nobody looked at
                    delattr(self, column)
            self._was_looked_at = False
