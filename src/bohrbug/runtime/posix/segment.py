"""The shared segment, from the side of the starter: the plan goes in, columns come out."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import time
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self
from weakref import ref

from bohrbug.model.operation import Point, TaskId, path_names
from bohrbug.model.plan import (
    Ask,
    NonPreemptive,
    Ordered,
    PartialOrder,
    Plan,
    Policy,
    Priorities,
    ReadsFrom,
    Segments,
    Sleeping,
    TaskValues,
    UniformRandom,
    WeightedRandom,
)
from bohrbug.runtime.posix import accesses_layout, enumerations, layout
from bohrbug.runtime.posix.accesses_layout import AccessesRecord
from bohrbug.runtime.posix.live_layout import LiveRecord
from bohrbug.runtime.posix.plan_events import PlanEvents, events_of_orderings, events_of_pairs
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
_POLICY_TASK_SIZE = ctypes.sizeof(layout.PolicyTask)
_STEP_SIZE = ctypes.sizeof(layout.StepRecord)

_COUNTS = struct.Struct("=IIII")
"""How many records there are of tasks, resources, processes and modules."""
_COUNTS_AT = layout.Header.tasks.offset


class PlanTooLongError(ValueError):
    """A plan does not fit into the segment; the message says what to do."""


POLICIES: frozenset[type[Policy]] = frozenset(
    {
        NonPreemptive,
        Ask,
        UniformRandom,
        Priorities,
        Segments,
        Ordered,
        PartialOrder,
        WeightedRandom,
        ReadsFrom,
        Sleeping,
    }
)
"""The policies that the shim can execute."""


class UnsupportedPolicyError(TypeError):
    """The shim knows no such policy."""


class Reader(Protocol):
    """Whoever reads what a segment holds, as far as and as soon as somebody asks."""

    def detach(self) -> None:
        """Read the rest now: it is about to be overwritten."""
        ...


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much an execution can have.

    Parameters:
        steps: at most so many.
        resources: of these, too.
        stacks: numbers that its stacks consist of.
        live: bytes of what live rounds keep.
    """

    steps: int
    resources: int = MOST_RESOURCES
    stacks: int = MOST_STACKS
    live: int = 0

    @property
    def pool(self) -> int:
        """How many tasks the options of all steps can be."""
        return 64 * self.steps

    def tables(self) -> dict[str, int]:
        """The size of each table in bytes, but for what is about accesses to memory."""
        steps = self.steps
        return {
            "tasks": layout.MOST_TASKS * _TASK_SIZE,
            "resources": self.resources * _RESOURCE_SIZE,
            "processes": MOST_PROCESSES * _PROCESS_SIZE,
            "modules": MOST_MODULES * _MODULE_SIZE,
            "names": layout.MOST_TASKS * _NAME_SIZE,
            "prefix": steps * 4,
            "segments": steps * ctypes.sizeof(layout.SegmentRecord),
            "values": steps * ctypes.sizeof(layout.ValueRecord),
            "points": MOST_POINTS * ctypes.sizeof(layout.PointRecord),
            "events": steps * ctypes.sizeof(layout.EventRecord),
            "pairs": steps * ctypes.sizeof(layout.PairRecord),
            "below": layout.MOST_TASKS * layout.MOST_TASKS // 8,
            "policy_tasks": layout.MOST_TASKS * _POLICY_TASK_SIZE,
            "steps": steps * _STEP_SIZE,
            "pool": self.pool * 2,
            "stacks": self.stacks * 8,
            "printed": 2 * layout.MOST_PRINTED,
        }


SMALL = Sizes(20_000, 1 << 12, 1 << 12)
"""What a small segment has room for; most executions fit."""


class SegmentFile:
    """A file in memory that the tested processes map, with a segment for each of some executions.

    Parameters:
        steps: how many steps an execution can have.
        small: how many small segments there are behind the first one.
        live: bytes for what live rounds keep, in the first one; 0 if there are none.
    """

    def __init__(self, steps: int, small: int = 0, live: int = 0) -> None:
        sizes = [Sizes(steps, live=live), *[SMALL] * small]
        rooms = [_places_in(each, has_accesses=not i) for i, each in enumerate(sizes)]
        # No name in any folder: it is gone with the last process that has it, however that ends.
        self._file = os.memfd_create("bohrbug-segment")
        path = f"/proc/{os.getpid()}/fd/{self._file}"
        os.ftruncate(self._file, sum(total for _, total in rooms))
        memory = mmap.mmap(self._file, 0)
        self.all: list[Segment] = []
        start = 0
        for each, (offsets, total) in zip(sizes, rooms, strict=True):
            # Of accesses to memory there is one record: where they are seen, one segment is used.
            offsets.setdefault("accesses", rooms[0][0]["accesses"] - start)
            self.all.append(Segment(each, memory, path, start, offsets, total))
            start += total

    @property
    def first(self) -> Segment:
        """The one that has room for everything."""
        return self.all[0]

    @property
    def small(self) -> list[Segment]:
        """Those behind it."""
        return self.all[1:]

    def close(self) -> None:
        """Give the memory back; processes that still map it are not disturbed."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            for segment in self.all:
                segment.end_reading()
                del segment.header, segment.accesses, segment.live
            # Views of the memory may be in use somewhere; it goes with the last of them.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class Segment:
    """What the tested processes and their starter have in common for an execution.

    Parameters:
        sizes: what it has room for.
        memory: the whole file.
        path: where another process finds that.
        start: where the segment begins in it, in bytes.
        offsets: of the tables, from there.
        total: bytes until its end.
    """

    def __init__(
        self,
        sizes: Sizes,
        memory: mmap.mmap,
        path: str,
        start: int,
        offsets: Mapping[str, int],
        total: int,
    ) -> None:
        self.steps = sizes.steps
        self.start = start
        self._sizes = sizes
        self.path = path
        self._offsets = offsets
        self._at = {name: start + offset for name, offset in offsets.items()}
        self._total = total
        self._memory = memory
        self.header = layout.Header.from_buffer(memory, start)
        self.accesses = AccessesRecord.from_buffer(memory, self._at["accesses"])
        self.live: Any = LiveRecord.from_buffer(memory, self._at["live"]) if sizes.live else None
        self._reader: ref[Reader] | None = None
        # What is older than that was not made by an execution.
        self._made = time.time_ns()
        # The header before an execution.
        self._begun = b""
        # What is cleared after one: where, how many records there are at most, and their size.
        self._cleared = [
            (start + offsets[name], most, size)
            for name, most, size in (
                ("tasks", layout.MOST_TASKS, _TASK_SIZE),
                ("resources", sizes.resources, _RESOURCE_SIZE),
                ("processes", MOST_PROCESSES, _PROCESS_SIZE),
                ("modules", MOST_MODULES, _MODULE_SIZE),
                ("names", layout.MOST_TASKS, _NAME_SIZE),
                ("below", layout.MOST_TASKS, layout.MOST_TASKS // 8),
                ("policy_tasks", layout.MOST_TASKS, _POLICY_TASK_SIZE),
            )
        ]

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
            # Some lie before the segment.
            setattr(header.at, name, offset % 2**64)
        header.most_resources = self._sizes.resources
        header.most_processes = MOST_PROCESSES
        header.most_modules = MOST_MODULES
        header.most_steps = self.steps
        header.most_pool = self._sizes.pool
        header.most_stacks = self._sizes.stacks
        header.path = self.path.encode()
        header.made = self._made
        return bytes(header)

    def _clear(self) -> None:
        """Forget the last execution.

        Only what is read before it is written has to be zero; memory that is in use already
        costs less than new one.
        """
        self.end_reading()
        counts_at = self.start + _COUNTS_AT
        tasks, resources, processes, modules = _COUNTS.unpack_from(self._memory, counts_at)
        counts = (tasks, resources, processes, modules, self.header.names, tasks, tasks)
        memory = self._memory
        for (at, most, size), count in zip(self._cleared, counts, strict=True):
            if count:
                # Whatever a program may have written there by mistake.
                length = (count if count < most else most) * size
                memory[at : at + length] = bytes(length)
        if not self.start:
            self._clear_accesses(min(tasks, layout.MOST_TASKS))
        memory[self.start : self.start + len(self._begun)] = self._begun

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
                header.policy = enumerations.NON_PREEMPTIVE
            case Ask(passed):
                header.policy = enumerations.ASK
                header.length = passed
            case UniformRandom(seed):
                header.policy = enumerations.UNIFORM_RANDOM
                header.seed = seed
            case Priorities(seed, depth, length):
                header.policy = enumerations.PRIORITIES
                header.seed, header.depth, header.length = seed, depth, length
            case Segments(segments, values):
                header.policy = enumerations.SEGMENTS
                self._write_values(names, values)
                stretches = (layout.SegmentRecord * len(segments)).from_buffer(
                    self._memory, self._at["segments"]
                )
                for index, (task, steps) in enumerate(segments):
                    stretches[index].name = names[task]
                    stretches[index].steps = steps
                header.segments_length = len(segments)
            case Sleeping(asleep, first):
                header.policy = enumerations.SLEEPING
                for sleeper in asleep:
                    depth = enumerations.DOZING if sleeper.wakes_at_once else enumerations.ASLEEP
                    records[names[sleeper.task]].asleep = depth
                if first is not None:
                    header.first = names[first]
            case PartialOrder(seed, points):
                header.policy = enumerations.PARTIAL_ORDER
                header.seed = seed
                self._write_points(points, None)
            case WeightedRandom(seed, weights, selected, points):
                header.policy = enumerations.WEIGHTED
                header.seed = seed
                for task, events in weights:
                    records[names[task]].events = events
                self._write_points(points, selected)
            case Ordered(_, seed, values):
                header.policy = enumerations.ORDERED
                header.seed = seed
                self._write_values(names, values, with_zeros=True)
                self._write_points(frozenset(), None, events_of_orderings(policy, names))
            case ReadsFrom(seed, _, points):
                header.policy = enumerations.READS_FROM
                header.seed = seed
                self._write_points(points, None, events_of_pairs(policy, names))
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
        records = (layout.NameRecord * len(names)).from_buffer(self._memory, self._at["names"])
        for task, index in names.items():
            parent, _, number = task.rpartition(".")
            records[index].parent = names[parent] if parent else layout.NONE
            records[index].number = int(number)
        self.header.names = len(names)
        return records, names

    def _write_values(
        self, names: dict[TaskId, int], values: TaskValues, *, with_zeros: bool = False
    ) -> None:
        """Data choices other than 0; there is room for more than an execution can have steps."""
        rows = [
            (names[task], number, value)
            for task, made in values
            for number, value in enumerate(made, 1)
            if value or with_zeros
        ]
        if len(rows) > self.steps:
            raise PlanTooLongError(f"the plan has {len(rows):,} values of data choices")
        records = (layout.ValueRecord * len(rows)).from_buffer(self._memory, self._at["values"])
        for record, row in zip(records, rows, strict=True):
            record.name, record.number, record.value = row
        self.header.values_length = len(rows)

    def _write_points(
        self,
        points: frozenset[Point] | None,
        selected: frozenset[Point] | None,
        events: PlanEvents | None = None,
    ) -> None:
        header = self.header
        header.decides_everywhere = points is None
        header.selects_everywhere = selected is None
        deciding, chosen = keys_of(points or ()), keys_of(selected or ())
        stretches = {} if events is None else self._write_events(events)
        keys = sorted(deciding | chosen | stretches.keys())
        if len(keys) > MOST_POINTS:
            raise PlanTooLongError(f"the plan names {len(keys):,} resources")
        records = (layout.PointRecord * len(keys)).from_buffer(self._memory, self._at["points"])
        for index, key in enumerate(keys):
            records[index].key = key
            records[index].decides = key in deciding
            records[index].selected = key in chosen
            stretch = stretches.get(key, (0, 0, 0, 0))
            records[index].events, records[index].events_end = stretch[:2]
            records[index].pairs, records[index].pairs_end = stretch[2:]
            records[index].last = records[index].last_occurrence = 0
        header.points_length = len(keys)

    def _write_events(self, events: PlanEvents) -> dict[int, tuple[int, int, int, int]]:
        """The events that a plan names; by resource which of them, and of their pairs, it has."""
        if max(len(events.rows), len(events.pairs)) > self.steps:
            raise PlanTooLongError(f"the plan names {len(events.pairs):,} pairs of events")
        self._write("events", array("I", [n for row in events.rows for n in row]))
        self._write("pairs", array("I", [n for row in events.pairs for n in row]))
        self.header.events_length = len(events.rows)
        self.header.pairs_length = len(events.pairs)
        return events.stretches

    # -- reading ---------------------------------------------------------------------

    def read_by(self, reader: Reader) -> None:
        """Tell somebody before the segment is used again, if he lives so long; there is one."""
        self.end_reading()
        self._reader = ref(reader)

    def end_reading(self) -> None:
        """What the segment holds is about to go."""
        reader = None if self._reader is None else self._reader()
        self._reader = None
        if reader is not None:
            reader.detach()

    def _write(self, name: str, numbers: array[int]) -> None:
        start = self._at[name]
        self._memory[start : start + len(numbers) * numbers.itemsize] = numbers.tobytes()

    def _read(self, name: str, size: int) -> bytes:
        start = self._at[name]
        return self._memory[start : start + size]

    def read_steps(self) -> bytes:
        """The records of all steps, as they are in memory; see :data:`layout.STEP`."""
        return self._read("steps", self.header.steps * _STEP_SIZE)

    def read_races(self) -> bytes:
        """The records of all races, see :data:`accesses_layout.RACE`."""
        start = self._at["accesses"] + AccessesRecord.race.offset
        return self._memory[start : start + self.accesses.races * accesses_layout.RACE.size]

    def read_printed(self) -> tuple[bytes, bytes]:
        """What was printed to standard output and standard error, if it was kept here."""
        stdout, stderr = self.header.printed
        start = self._at["printed"]
        more = start + layout.MOST_PRINTED
        return self._memory[start : start + stdout], self._memory[more : more + stderr]

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
        return (record * count).from_buffer_copy(self._memory, self._at[name])

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
        case Ordered(orderings, _, values):
            events = (event for each in orderings for event in (each.first, each.second))
            return [event.task for event in events] + [task for task, _ in values]
        case ReadsFrom(_, constraints, _):
            return [
                event.task
                for each in constraints
                for event in (each.source, each.reader)
                if event is not None
            ]
        case _:
            return []


def _places_in(sizes: Sizes, has_accesses: bool) -> tuple[dict[str, int], int]:
    """Where the tables of a segment begin, from its own beginning, and where it ends."""
    tables = sizes.tables()
    if has_accesses:
        tables["accesses"] = ctypes.sizeof(AccessesRecord)
    if sizes.live:
        tables["live"] = sizes.live
    offsets: dict[str, int] = {}
    end = _aligned(ctypes.sizeof(layout.Header))
    for name in layout.TABLES:
        if name in tables:
            offsets[name] = end
            end = _aligned(end + tables[name])
    return offsets, end


def _aligned(offset: int) -> int:
    """The next multiple of a page."""
    return -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE
