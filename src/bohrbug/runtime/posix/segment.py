"""The shared segment, from the side of the starter: the plan goes in, columns come out."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from bohrbug.model.operation import Point, TaskId
from bohrbug.model.plan import (
    Ask,
    NonPreemptive,
    PartialOrder,
    Plan,
    Policy,
    Priorities,
    Segments,
    Sleeping,
    TaskValues,
    UniformRandom,
    WeightedRandom,
)
from bohrbug.runtime.posix import accesses_layout, layout
from bohrbug.runtime.posix.accesses_layout import AccessesRecord
from bohrbug.runtime.posix.points import keys_of

MOST_RESOURCES = 1 << 16
MOST_PROCESSES = 256
MOST_POINTS = 1 << 16
MOST_MODULES = 2048
MOST_STACKS = 1 << 22


_TASK_SIZE = ctypes.sizeof(layout.TaskRecord)
_RESOURCE_SIZE = ctypes.sizeof(layout.ResourceRecord)
_PROCESS_SIZE = ctypes.sizeof(layout.ProcessRecord)
_MODULE_SIZE = ctypes.sizeof(layout.ModuleRecord)
_NAME_SIZE = ctypes.sizeof(layout.NameRecord)
_STEP_SIZE = ctypes.sizeof(layout.StepRecord)

_COUNTS = struct.Struct("=IIII")
"""How many records there are of tasks, resources, processes and modules."""
_COUNTS_AT = layout.Header.tasks.offset


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
            "tasks": layout.MOST_TASKS * _TASK_SIZE,
            "resources": MOST_RESOURCES * _RESOURCE_SIZE,
            "processes": MOST_PROCESSES * _PROCESS_SIZE,
            "modules": MOST_MODULES * _MODULE_SIZE,
            "names": layout.MOST_TASKS * _NAME_SIZE,
            "prefix": steps * 4,
            "segments": steps * ctypes.sizeof(layout.SegmentRecord),
            "values": steps * ctypes.sizeof(layout.ValueRecord),
            "points": MOST_POINTS * ctypes.sizeof(layout.PointRecord),
            "below": layout.MOST_TASKS * layout.MOST_TASKS // 8,
            "accesses": ctypes.sizeof(AccessesRecord),
        }
        self._most_pool = 64 * steps
        counts["steps"] = steps * _STEP_SIZE
        counts["pool"] = self._most_pool * 2
        counts["stacks"] = MOST_STACKS * 8
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
        self._address = ctypes.addressof(self.header)
        # The header before an execution.
        self._begun = b""
        # What is cleared after one: address, how many records there are at most, and their size.
        self._cleared = [
            (self._address + self._offsets[name], most, size)
            for name, most, size in (
                ("tasks", layout.MOST_TASKS, _TASK_SIZE),
                ("resources", MOST_RESOURCES, _RESOURCE_SIZE),
                ("processes", MOST_PROCESSES, _PROCESS_SIZE),
                ("modules", MOST_MODULES, _MODULE_SIZE),
                ("names", layout.MOST_TASKS, _NAME_SIZE),
                ("below", layout.MOST_TASKS, layout.MOST_TASKS // 8),
            )
        ]

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

    def prepare(
        self, plan: Plan, max_steps: int, cpus: Iterable[int] = (), **settings: Any
    ) -> tuple[TaskId, ...]:
        """Write a plan into an empty segment.

        Parameters:
            plan: the plan.
            max_steps: steps after which the execution is ended.
            cpus: the processors that the program is to believe in.
            settings: further fields of the header.

        Returns:
            The tasks that the plan names; the segment speaks of them by their index.

        Raises:
            PlanTooLongError: it does not fit.
            UnsupportedPolicyError: the shim does not know its policy.
        """
        self._begun = self._header_for(max_steps, cpus, settings)
        return self.prepare_again(plan)

    def prepare_again(self, plan: Plan) -> tuple[TaskId, ...]:
        """The same as :meth:`prepare`, with the settings that were given to it."""
        if len(plan.prefix) > self.steps:
            raise PlanTooLongError(
                f"the plan has {len(plan.prefix):,} steps, and at most {self.steps:,} are allowed: "
                "raise --max-steps"
            )
        self._clear()
        return self._write_plan(plan)

    def _header_for(
        self, max_steps: int, cpus: Iterable[int], settings: Mapping[str, object]
    ) -> bytes:
        """What the header is before an execution, but for the plan."""
        header = layout.Header()
        header.max_steps = min(max_steps, self.steps)
        for cpu in cpus:
            if cpu < 64 * layout.CPU_WORDS:
                header.cpus[cpu // 64] |= 1 << cpu % 64
        for name, value in settings.items():
            setattr(header, name, value)
        header.magic = layout.MAGIC
        header.version = layout.VERSION
        header.header_size = ctypes.sizeof(layout.Header)
        header.task_size = _TASK_SIZE
        header.resource_size = _RESOURCE_SIZE
        header.process_size = _PROCESS_SIZE
        header.module_size = _MODULE_SIZE
        header.step_size = _STEP_SIZE
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
        return bytes(header)

    def _clear(self) -> None:
        """Forget the last execution.

        Only what is read before it is written has to be zero; memory that is in use already
        costs less than new one.
        """
        tasks, resources, processes, modules = _COUNTS.unpack_from(self._memory, _COUNTS_AT)
        counts = (tasks, resources, processes, modules, self.header.names, tasks)
        for (address, most, size), count in zip(self._cleared, counts, strict=True):
            if count:
                # Whatever a program may have written there by mistake.
                ctypes.memset(address, 0, min(count, most) * size)
        self._clear_accesses(min(tasks, layout.MOST_TASKS))
        ctypes.memmove(self._address, self._begun, len(self._begun))

    def _clear_accesses(self, tasks: int) -> None:
        """The part of the segment that is about accesses; the clocks themselves are made zero."""
        record = self.accesses
        if record.takes_part:
            resources = min(self.header.resources, accesses_layout.MOST_RESOURCE_CLOCKS)
            for column, count in (
                (record.order, tasks),
                (record.task_clock, tasks),
                (record.resource_clock, resources),
                (record.witness, min(record.witnesses, accesses_layout.MOST_WITNESSES)),
            ):
                if count:
                    size = ctypes.sizeof(column) // len(column)
                    ctypes.memset(ctypes.addressof(column), 0, count * size)
        ctypes.memset(ctypes.addressof(record), 0, AccessesRecord.order.offset)

    def _write_plan(self, plan: Plan) -> tuple[TaskId, ...]:
        header = self.header
        policy = plan.policy
        records, names = self._write_names(plan)
        if plan.prefix:
            numbers = [
                names[choice] if isinstance(choice, str) else layout.VALUE_BIT | choice
                for choice in plan.prefix
            ]
            self._write("prefix", array("I", numbers))
        header.prefix_length = len(plan.prefix)
        header.first = layout.NONE
        match policy:
            case NonPreemptive():
                header.policy = layout.NON_PREEMPTIVE
            case Ask(passed):
                header.policy = layout.ASK
                header.length = passed
            case UniformRandom(seed):
                header.policy = layout.UNIFORM_RANDOM
                header.seed = seed
            case Priorities(seed, depth, length):
                header.policy = layout.PRIORITIES
                header.seed, header.depth, header.length = seed, depth, length
            case Segments(segments, values):
                header.policy = layout.SEGMENTS
                self._write_values(names, values)
                stretches = (layout.SegmentRecord * len(segments)).from_buffer(
                    self._memory, self._offsets["segments"]
                )
                for index, (task, steps) in enumerate(segments):
                    stretches[index].name = names[task]
                    stretches[index].steps = steps
                header.segments_length = len(segments)
            case Sleeping(asleep, first):
                header.policy = layout.SLEEPING
                for sleeper in asleep:
                    depth = layout.DOZING if sleeper.wakes_at_once else layout.ASLEEP
                    records[names[sleeper.task]].asleep = depth
                if first is not None:
                    header.first = names[first]
            case PartialOrder(seed, points):
                header.policy = layout.PARTIAL_ORDER
                header.seed = seed
                self._write_points(points, None)
            case WeightedRandom(seed, weights, selected, points):
                header.policy = layout.WEIGHTED
                header.seed = seed
                for task, events in weights:
                    records[names[task]].events = events
                self._write_points(points, selected)
            case _:
                raise UnsupportedPolicyError(
                    f"the shim can't execute the policy {type(policy).__name__}"
                )
        return tuple(names)

    def _write_names(self, plan: Plan) -> tuple[Any, dict[TaskId, int]]:
        """Number the tasks that a plan names; the records of the names, and the numbers."""
        wanted = {task: None for task in plan.prefix if isinstance(task, str)}
        names = path_names([*wanted, *_tasks_of(plan.policy)])
        if not names:
            return (), names
        if len(names) > layout.MOST_TASKS:
            raise PlanTooLongError(f"the plan names {len(names):,} tasks")
        records = (layout.NameRecord * len(names)).from_buffer(self._memory, self._offsets["names"])
        for task, index in names.items():
            parent, _, number = task.rpartition(".")
            records[index].parent = names[parent] if parent else layout.NONE
            records[index].number = int(number)
        self.header.names = len(names)
        return records, names

    def _write_values(self, names: dict[TaskId, int], values: TaskValues) -> None:
        """Data choices other than 0; there is room for more than an execution can have steps."""
        rows = [
            (names[task], number, value)
            for task, made in values
            for number, value in enumerate(made, 1)
            if value
        ]
        records = (layout.ValueRecord * len(rows)).from_buffer(
            self._memory, self._offsets["values"]
        )
        for record, row in zip(records, rows, strict=True):
            record.name, record.number, record.value = row
        self.header.values_length = len(rows)

    def _write_points(
        self, points: frozenset[Point] | None, selected: frozenset[Point] | None
    ) -> None:
        header = self.header
        header.decides_everywhere = points is None
        header.selects_everywhere = selected is None
        deciding, chosen = keys_of(points or ()), keys_of(selected or ())
        keys = sorted(deciding | chosen)
        if len(keys) > MOST_POINTS:
            raise PlanTooLongError(f"the plan names {len(keys):,} resources")
        records = (layout.PointRecord * len(keys)).from_buffer(
            self._memory, self._offsets["points"]
        )
        for index, key in enumerate(keys):
            records[index].key = key
            records[index].decides = key in deciding
            records[index].selected = key in chosen
        header.points_length = len(keys)

    # -- reading ---------------------------------------------------------------------

    def _write(self, name: str, numbers: array[int]) -> None:
        start = self._offsets[name]
        self._memory[start : start + len(numbers) * numbers.itemsize] = numbers.tobytes()

    def _read(self, name: str, size: int) -> bytes:
        start = self._offsets[name]
        return self._memory[start : start + size]

    def read_steps(self) -> bytes:
        """The records of all steps, as they are in memory; see :data:`layout.STEP`."""
        return self._read("steps", self.header.steps * _STEP_SIZE)

    def read_pool(self) -> Sequence[int]:
        """Indices of tasks; options of steps are stretches of it."""
        return memoryview(self._read("pool", 2 * self.header.pool_used)).cast("H")

    def read_stacks(self) -> Sequence[int]:
        """Stacks, each with its depth before it."""
        return memoryview(self._read("stacks", 8 * self.header.stacks_used)).cast("Q")

    def read_modules(self) -> bytes:
        """The records of all modules, as they are in memory."""
        return self._read("modules", self.header.modules * _MODULE_SIZE)

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


def _tasks_of(policy: Policy) -> list[TaskId]:
    """The tasks that a policy names."""
    match policy:
        case Segments(segments, values):
            return [task for task, _ in (*segments, *values)]
        case Sleeping(asleep, first):
            return [sleeper.task for sleeper in asleep] + ([] if first is None else [first])
        case WeightedRandom(_, weights, _, _):
            return [task for task, _ in weights]
        case _:
            return []


def _aligned(offset: int) -> int:
    """The next multiple of a page."""
    return -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE
