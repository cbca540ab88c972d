"""From a segment that an execution has filled to a trace."""

from __future__ import annotations

from typing import Any

from bohrbug.model.operation import WAKE, Operation, Resource, ResourceId, Site, TaskId
from bohrbug.model.outcome import BlockedTask, Divergence, Frame, Held, TaskInfo
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.posix import layout
from bohrbug.runtime.posix.segment import Segment
from bohrbug.runtime.posix.symbols import (
    Mapping,
    Module,
    Place,
    Symbols,
    is_system_file,
    module_name,
)

_WAKE = layout.KINDS.index(WAKE)


class Reading:
    """What a segment holds after an execution, in the words of the model.

    Parameters:
        segment: the segment; nothing of it is needed any more when this is made.
        names: the tasks that the plan names, see :meth:`Segment.prepare`.
        symbols: the modules seen so far.
        shim: path of the shim, whose frames are left out of stacks.
        hooks: path of the folder with the library of hooks, or "".
    """

    def __init__(
        self,
        segment: Segment,
        names: tuple[TaskId, ...],
        symbols: Symbols,
        shim: str,
        hooks: str = "",
    ) -> None:
        header = segment.header
        self._names = names
        self._shim = shim
        self._hooks = hooks
        self.steps: int = header.steps
        self.tasks = segment.tasks
        self.resources = segment.resources
        self.processes = segment.processes
        self.ending: int = header.ending
        self.ending_task: int = header.ending_task
        self.ending_site: int = header.ending_site
        self.ending_resource: int = header.ending_resource
        self.ending_stack: int = header.ending_stack
        self.signal: int = header.signal
        self.fault_address: int = header.fault_address
        self.message: str = header.message.decode("utf-8", "replace")
        self.now: int = header.now
        self.nudges: int = header.nudges
        self.running: int = header.running
        self._diverged: bool = bool(header.diverged)
        self._diverged_step: int = header.diverged_step
        self._diverged_name: int = header.diverged_name
        self._columns = {
            name: segment.column(name, self.steps)
            for name in layout.TABLES
            if name.startswith("step_")
        }
        self._pool = segment.column("pool", header.pool_used)
        self._stacks = segment.column("stacks", header.stacks_used)
        self.ids = self._task_ids()
        self._mappings = self._make_mappings(segment, symbols)
        self._resource_ids: dict[int, ResourceId] = {}
        self._numbers: dict[int, int] = {}

    def _task_ids(self) -> list[TaskId]:
        ids: list[TaskId] = []
        for task in self.tasks:
            if task.parent == layout.NONE:
                ids.append("0")
            else:
                ids.append(f"{ids[task.parent]}.{task.number}")
        return ids

    def _make_mappings(self, segment: Segment, symbols: Symbols) -> dict[int, Mapping]:
        ranges: dict[int, list[tuple[int, int, int, str]]] = {}
        for module in segment.modules:
            path = module.path.decode("utf-8", "surrogateescape")
            ranges.setdefault(module.process, []).append(
                (module.base, module.start, module.end, path)
            )
        return {process: Mapping(symbols, found) for process, found in ranges.items()}

    # -- places ----------------------------------------------------------------------

    def place(self, address: int, process: int) -> Place | None:
        """The place of a return address in a process."""
        mapping = self._mappings.get(process)
        return mapping.place(address) if mapping is not None and address else None

    def site(self, address: int, process: int) -> Site | None:
        """The same, looked up."""
        place = self.place(address, process)
        return place.resolve() if place is not None else None

    def locate(self, address: int, process: int) -> tuple[Module, int] | None:
        """The module that an address in a process lies in, and its offset there."""
        mapping = self._mappings.get(process)
        return mapping.locate(address) if mapping is not None else None

    def _places_of_stack(self, index: int, process: int) -> list[Place]:
        if index >= len(self._stacks):
            return []
        depth = self._stacks[index]
        found = (self.place(address, process) for address in self._stacks[index + 1 :][:depth])
        return [place for place in found if place is not None]

    def stack(self, index: int, process: int, address: int = 0) -> tuple[Frame, ...]:
        """A recorded stack, innermost frame last; of the program only, where its lines are known.

        Parameters:
            index: of the stack, ``NONE`` if there is none.
            process: whose it is.
            address: where it begins; the frames inside of that are the shim's or the kernel's.
        """
        places = self._places_of_stack(index, process)
        begin = self.place(address, process)
        if begin in places:
            places = places[places.index(begin) :]
        elif begin is not None and not places:
            places = [begin]
        places = [place for place in places if not self._is_ours(place.module)]
        for place in places:
            place.module.place(place.offset)
        sites = [place.resolve() for place in places]
        for is_telling in (_has_line, _is_own):
            if any(is_telling(site) for site in sites):
                sites = [site for site in sites if is_telling(site)]
        return tuple(Frame(site) for site in reversed(sites))

    def _is_ours(self, module: Module) -> bool:
        path = module.path
        return path == self._shim or bool(self._hooks and path.startswith(self._hooks))

    # -- resources -------------------------------------------------------------------

    def resource_id(self, number: int) -> ResourceId:
        """The id of a resource, or of the task that it stands for."""
        known = self._resource_ids.get(number)
        if known is not None:
            return known
        if number & layout.TASK_BIT:
            id = self.ids[number & ~layout.TASK_BIT]
        else:
            id = self._new_resource_id(number)
        self._resource_ids[number] = id
        return id

    def _new_resource_id(self, number: int) -> ResourceId:
        record = self.resources[number]
        static = self._static(record)
        if static is not None:
            # The same whichever task touches it first.
            again = f"#{self._count(record, number)}" if self._count(record, number) else ""
            return f"0:{module_name(static[0].path)}+{static[1]:x}{again}"
        creator = record.creator
        earlier = self._earlier_by(creator, number)
        return f"{self.ids[creator] if creator != layout.NONE else '0'}:{earlier}"

    def _static(self, record: Any) -> Any:
        mapping = self._mappings.get(record.process)
        located = mapping.locate(record.address) if mapping is not None else None
        # Variables of the shim stand for something that has no address of its own.
        return located if located is not None and not self._is_ours(located[0]) else None

    def _count(self, record: Any, number: int) -> int:
        """How many resources had the same address before."""
        return sum(
            1
            for other in self.resources[:number]
            if other.address == record.address and other.space == record.space
        )

    def _earlier_by(self, creator: int, number: int) -> int:
        if not self._numbers:
            counts: dict[int, int] = {}
            for index, record in enumerate(self.resources):
                if self._static(record) is None:
                    self._numbers[index] = counts.get(record.creator, 0)
                    counts[record.creator] = self._numbers[index] + 1
        return self._numbers[number]

    def describe(self, number: int) -> Resource:
        """A resource, for people."""
        id = self.resource_id(number)
        record = self.resources[number]
        type = layout.TYPES[record.type]
        static = self._static(record)
        name = static[0].variable(static[1]) if static is not None else None
        if name is not None:
            return Resource(id, type, f"{type} {name}")
        created = self.site(record.created_at, record.process)
        if created is None or not created.line:
            return Resource(id, type, type)
        return Resource(id, type, f"{type} {created.filename}:{created.line}", created)

    def descriptions(self) -> dict[ResourceId, Resource]:
        """All resources that operations were done on."""
        return {
            self.resource_id(number): self.describe(number) for number in range(len(self.resources))
        }

    # -- tasks -----------------------------------------------------------------------

    def infos(self) -> dict[TaskId, TaskInfo]:
        """All tasks, for people."""
        found = {}
        for record, id in zip(self.tasks, self.ids, strict=True):
            name = record.name.decode("utf-8", "replace")
            target = ""
            if record.main:
                name = name or "main"
                pid = "" if id == "0" else f"process {record.process}"
                target = pid
            elif record.routine:
                mapping = self._mappings.get(record.process)
                located = mapping.locate(record.routine) if mapping is not None else None
                symbol = located[0].elf.functions.at(located[1]) if located else None
                target = symbol.name if symbol is not None else ""
            spawned = self.site(record.spawned_at, record.process)
            found[id] = TaskInfo(id, name, target, False, spawned)
        return found

    def operation(self, task: int) -> Operation:
        """What a task was about to do at the end."""
        record = self.tasks[task]
        return Operation(
            layout.KINDS[record.kind],
            self.resource_id(record.resource),
            self._telling_place(record.site, record.stack, record.process),
        )

    def _telling_place(self, site: int, stack: int, process: int) -> Place | None:
        """The place of a call; with a stack, that of the innermost frame of the program itself."""
        place = self.place(site, process)
        if stack >= len(self._stacks):
            return place
        for candidate in self._places_of_stack(stack, process):
            if self._is_ours(candidate.module):
                continue
            found = candidate.resolve()
            if found.line and not is_system_file(found.filename):
                return candidate
        return place

    def alive(self) -> list[int]:
        """Indices of the tasks that had not ended."""
        return [i for i, record in enumerate(self.tasks) if record.state == layout.ALIVE]

    def holders_of(self, number: int) -> list[int]:
        """Indices of the tasks that hold a resource; a task is held by itself until it ends."""
        if number & layout.TASK_BIT:
            return [number & ~layout.TASK_BIT]
        record = self.resources[number]
        if record.owner.task < layout.OUTSIDE:
            return [record.owner.task]
        if record.type != layout.RWLOCK or not record.readers:
            return []
        return sorted({reader.task for reader in record.reader if reader.site})

    def held_by(self, task: int) -> tuple[Held, ...]:
        """What a task holds."""
        process = self.tasks[task].process
        held = []
        for number, record in enumerate(self.resources):
            if record.destroyed:
                continue
            holders = [record.owner] if record.owner.task == task else []
            if record.type == layout.RWLOCK:
                holders += [r for r in record.reader if r.site and r.task == task]
            for holder in holders:
                place = self._telling_place(holder.site, holder.stack, process)
                site = place.resolve() if place is not None else None
                held.append(Held(self.resource_id(number), site))
        return tuple(held)

    def blocked(self) -> list[BlockedTask]:
        """Every task that waits, with what it waits for and who holds that."""
        found = []
        for index in self.alive():
            record = self.tasks[index]
            if record.condition == layout.ALWAYS:
                continue
            number = record.resource
            holders = self.holders_of(number) if record.kind != _WAKE else []
            found.append(
                BlockedTask(
                    self.ids[index],
                    self.operation(index),
                    tuple(self.ids[holder] for holder in holders),
                    self.held_by(index),
                    self.stack(record.stack, record.process, record.site),
                    False,
                    record.blocked_since,
                )
            )
        return found

    # -- the columns -----------------------------------------------------------------

    def divergence(self) -> Divergence | None:
        """Where the prefix could not be followed."""
        if not self._diverged:
            return None
        step = self._diverged_step
        found = ", ".join(self.options(step)) or "no task"
        expected = (
            self._names[self._diverged_name] if self._diverged_name < len(self._names) else "?"
        )
        return Divergence(step, expected, found)

    def options(self, step: int) -> tuple[TaskId, ...]:
        """The tasks that could have been chosen at a step."""
        if step >= self.steps:
            return ()
        at = self._columns["step_options"][step]
        count = self._columns["step_enabled"][step] + self._columns["step_timed"][step]
        return tuple(self.ids[index] for index in self._pool[at : at + count])

    def fill(self, trace: Trace) -> None:
        """Write the columns of a trace."""
        columns = self._columns
        ids = self.ids
        trace.tasks = [ids[index] for index in columns["step_task"]]
        trace.choices = list(trace.tasks)
        trace.yielded = [bool(value) for value in columns["step_yielded"]]
        trace.operations = self._operations()
        sets: dict[tuple[int, int], tuple[TaskId, ...]] = {}

        def some(start: int, count: int) -> tuple[TaskId, ...]:
            found = sets.get((start, count))
            if found is None:
                found = tuple(ids[index] for index in self._pool[start : start + count])
                sets[start, count] = found
            return found

        rows = list(
            zip(
                columns["step_options"], columns["step_enabled"], columns["step_timed"], strict=True
            )
        )
        trace.enabled = [some(at, enabled) for at, enabled, _ in rows]
        trace.timed = [some(at + enabled, timed) if timed else () for at, enabled, timed in rows]
        for step, number in enumerate(columns["step_effect"]):
            if number != layout.NONE:
                trace.effects.append((step, trace.tasks[step], self.resource_id(number), True))

    def _operations(self) -> list[Operation]:
        columns = self._columns
        known: dict[tuple[int, int, int, int], Operation] = {}
        operations = []
        kinds = layout.KINDS
        for process, kind, number, site, stack in zip(
            columns["step_process"],
            columns["step_kind"],
            columns["step_resource"],
            columns["step_site"],
            columns["step_stack"],
            strict=True,
        ):
            key = (process, kind, number, site if stack == layout.NONE else -stack - 1)
            operation = known.get(key)
            if operation is None:
                place = self._telling_place(site, stack, process)
                operation = Operation(kinds[kind], self.resource_id(number), place)
                known[key] = operation
            operations.append(operation)
        return operations


def _has_line(site: Site) -> bool:
    return site.line > 0


def _is_own(site: Site) -> bool:
    return not is_system_file(site.filename)


class NativeTrace(Trace):
    """A trace whose descriptions for people are put together when somebody asks for them."""

    __slots__ = ("_reading", "forked", "seen")

    _reading: Reading
    forked: bool
    """Whether the program was forked from one that waited before its main function."""
    seen: Any
    """What the hooks have seen, see :class:`bohrbug.runtime.posix.accesses.Seen`."""

    def __getattr__(self, name: str) -> Any:
        # Called only for slots that are not set yet.
        if name == "task_infos":
            self.task_infos = self._reading.infos()
        elif name == "resources":
            self.resources = self._reading.descriptions()
        else:
            raise AttributeError(name)
        return object.__getattribute__(self, name)


def native_trace(plan: Plan, reading: Reading) -> NativeTrace:
    """The trace of an execution; its outcome is still that it passed."""
    trace = NativeTrace(plan)
    del trace.task_infos
    del trace.resources
    trace._reading = reading
    reading.fill(trace)
    trace.divergence = reading.divergence()
    trace.virtual_time = reading.now / 1e9
    trace.final_pending = {reading.ids[i]: reading.operation(i) for i in reading.alive()}
    return trace
