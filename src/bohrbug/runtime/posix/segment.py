"""The shared segment, from the side of the starter: the plan goes in, columns come out."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

from bohrbug.model.operation import TaskId
from bohrbug.model.plan import NonPreemptive, Plan, Priorities, Segments, UniformRandom
from bohrbug.runtime.posix import layout
from bohrbug.runtime.posix.accesses_layout import AccessesRecord

_COLUMNS = {
    "step_task": ("H", 2),
    "step_kind": ("B", 1),
    "step_yielded": ("B", 1),
    "step_resource": ("I", 4),
    "step_site": ("Q", 8),
    "step_stack": ("I", 4),
    "step_options": ("I", 4),
    "step_enabled": ("H", 2),
    "step_timed": ("H", 2),
    "step_effect": ("I", 4),
    "step_process": ("H", 2),
    "pool": ("H", 2),
    "stacks": ("Q", 8),
}
"""For each column the format and the bytes of an entry."""

MOST_RESOURCES = 1 << 16
MOST_PROCESSES = 256
MOST_MODULES = 2048
MOST_STACKS = 1 << 22


class PlanTooLongError(ValueError):
    """A plan does not fit into the segment; the message says what to do."""


class UnsupportedPolicyError(TypeError):
    """The shim knows no such policy."""


def path_names(tasks: Iterable[TaskId]) -> dict[TaskId, int]:
    """Numbers for tasks and all their ancestors, a parent always before its children."""
    names: dict[TaskId, int] = {}
    for task in tasks:
        parts = task.split(".")
        for end in range(1, len(parts) + 1):
            names.setdefault(".".join(parts[:end]), len(names))
    return names


class Segment:
    """A file in memory that the tested processes map.

    Parameters:
        steps: how many steps an execution can have.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        counts = {
            "tasks": layout.MOST_TASKS * ctypes.sizeof(layout.TaskRecord),
            "resources": MOST_RESOURCES * ctypes.sizeof(layout.ResourceRecord),
            "processes": MOST_PROCESSES * ctypes.sizeof(layout.ProcessRecord),
            "modules": MOST_MODULES * ctypes.sizeof(layout.ModuleRecord),
            "names": layout.MOST_TASKS * ctypes.sizeof(layout.NameRecord),
            "prefix": steps * 4,
            "segments": steps * ctypes.sizeof(layout.SegmentRecord),
            "below": layout.MOST_TASKS * layout.MOST_TASKS // 8,
            "accesses": ctypes.sizeof(AccessesRecord),
        }
        self._most_pool = 64 * steps
        entries = {"pool": self._most_pool, "stacks": MOST_STACKS}
        for name, (_, size) in _COLUMNS.items():
            counts[name] = entries.get(name, steps) * size
        self._offsets: dict[str, int] = {}
        total = _aligned(ctypes.sizeof(layout.Header))
        for name in layout.TABLES:
            self._offsets[name] = total
            total = _aligned(total + counts[name])
        self._total = total
        # No name in any folder: it is gone with the last process that has it, however that ends.
        self._file = os.memfd_create("bohrbug-segment")
        self.path = f"/proc/{os.getpid()}/fd/{self._file}"
        os.ftruncate(self._file, total)
        self._memory = mmap.mmap(self._file, total)
        self.header = layout.Header.from_buffer(self._memory)
        self.accesses = AccessesRecord.from_buffer(self._memory, self._offsets["accesses"])

    # -- life ------------------------------------------------------------------------

    def close(self) -> None:
        """Give the memory back; processes that still map it are not disturbed."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            del self.header, self.accesses
            # Views of the memory may be in use somewhere; it goes with the last of them.

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- writing ---------------------------------------------------------------------

    def prepare(self, plan: Plan, max_steps: int, **settings: Any) -> tuple[TaskId, ...]:
        """Write a plan into an empty segment.

        Parameters:
            plan: the plan.
            max_steps: steps after which the execution is ended.
            settings: further fields of the header.

        Returns:
            The tasks that the plan names; the segment speaks of them by their index.

        Raises:
            PlanTooLongError: it does not fit.
            UnsupportedPolicyError: the shim does not know its policy.
        """
        if len(plan.prefix) > self.steps:
            raise PlanTooLongError(
                f"the plan has {len(plan.prefix):,} steps, and at most {self.steps:,} are allowed: "
                "raise --max-steps"
            )
        # A hole is all zeros, and costs nothing to make.
        os.ftruncate(self._file, 0)
        os.ftruncate(self._file, self._total)
        header = self.header
        header.magic = layout.MAGIC
        header.version = layout.VERSION
        header.header_size = ctypes.sizeof(layout.Header)
        header.task_size = ctypes.sizeof(layout.TaskRecord)
        header.resource_size = ctypes.sizeof(layout.ResourceRecord)
        header.process_size = ctypes.sizeof(layout.ProcessRecord)
        header.module_size = ctypes.sizeof(layout.ModuleRecord)
        header.total = self._total
        for name, offset in self._offsets.items():
            setattr(header.at, name, offset)
        header.most_resources = MOST_RESOURCES
        header.most_processes = MOST_PROCESSES
        header.most_modules = MOST_MODULES
        header.most_steps = self.steps
        header.most_pool = self._most_pool
        header.most_stacks = MOST_STACKS
        header.path = self.path.encode()
        header.max_steps = min(max_steps, self.steps)
        for name, value in settings.items():
            setattr(header, name, value)
        return self._write_plan(plan)

    def _write_plan(self, plan: Plan) -> tuple[TaskId, ...]:
        header = self.header
        policy = plan.policy
        wanted = [task for task in dict.fromkeys(plan.prefix) if isinstance(task, str)]
        if isinstance(policy, Segments):
            wanted += [task for task, _ in policy.segments]
        names = path_names(wanted)
        records = (layout.NameRecord * len(names)).from_buffer(self._memory, self._offsets["names"])
        for task, index in names.items():
            parent, _, number = task.rpartition(".")
            records[index].parent = names[parent] if parent else layout.NONE
            records[index].number = int(number)
        header.names = len(names)
        prefix = self._view("prefix", "I", len(plan.prefix))
        for step, choice in enumerate(plan.prefix):
            prefix[step] = names[choice] if isinstance(choice, str) else layout.NONE
        header.prefix_length = len(plan.prefix)
        match policy:
            case NonPreemptive():
                header.policy = layout.NON_PREEMPTIVE
            case UniformRandom(seed):
                header.policy = layout.UNIFORM_RANDOM
                header.seed = seed
            case Priorities(seed, depth, length):
                header.policy = layout.PRIORITIES
                header.seed, header.depth, header.length = seed, depth, length
            case Segments(segments):
                header.policy = layout.SEGMENTS
                stretches = (layout.SegmentRecord * len(segments)).from_buffer(
                    self._memory, self._offsets["segments"]
                )
                for index, (task, steps) in enumerate(segments):
                    stretches[index].name = names[task]
                    stretches[index].steps = steps
                header.segments_length = len(segments)
            case _:
                raise UnsupportedPolicyError(
                    f"the shim can't execute the policy {type(policy).__name__}"
                )
        return tuple(names)

    # -- reading ---------------------------------------------------------------------

    def _view(self, name: str, format: str, count: int) -> Any:
        size = {"H": 2, "B": 1, "I": 4, "Q": 8}[format]
        start = self._offsets[name]
        view: Any = memoryview(self._memory)[start : start + count * size]
        return view.cast(format)

    def column(self, name: str, count: int) -> Any:
        """The first entries of a column, as numbers."""
        return self._view(name, _COLUMNS[name][0], count).tolist()

    def _records(self, name: str, record: Any, count: int) -> Any:
        return (record * count).from_buffer_copy(self._memory, self._offsets[name])

    @property
    def tasks(self) -> Any:
        """Copies of the records of all tasks."""
        return self._records("tasks", layout.TaskRecord, self.header.tasks)

    @property
    def resources(self) -> Any:
        """Copies of the records of all resources."""
        return self._records("resources", layout.ResourceRecord, self.header.resources)

    @property
    def processes(self) -> Any:
        """Copies of the records of all processes."""
        return self._records("processes", layout.ProcessRecord, self.header.processes)

    @property
    def modules(self) -> Any:
        """Copies of the records of all modules."""
        return self._records("modules", layout.ModuleRecord, self.header.modules)


def _aligned(offset: int) -> int:
    """The next multiple of a page."""
    return -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE
