"""From a segment that an execution has filled to a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bohrbug.model.decision import Decision, Readiness, Standing
from bohrbug.model.operation import WAKE, Operation, Resource, ResourceId, Site, TaskId
from bohrbug.model.outcome import BlockedTask, Divergence, Frame, Held, TaskInfo
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Gate, Trace
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

KERNEL = "kernel"
"""What the kernel keeps: readiness of descriptors, processes, signals.  One resource, as nobody can
tell what a poll or a wait for any child depends on."""

_ALL_PARKED = (layout.DEADLOCK, layout.STEP_LIMIT, layout.STUCK_OUTSIDE, layout.ASKED)
"""Endings at which nobody had begun what was next."""

_FIELDS = tuple(name for name, _ in layout.StepRecord._fields_)

MOST_MAPPINGS = 100
"""Different mappings that are kept."""

_WAKE = layout.KINDS.index(WAKE)


@dataclass(frozen=True, slots=True)
class Dependences:
    """Steps that the program was seen to do, which others depend on that have no effect else.

    Parameters:
        kernel: changes of what the kernel keeps, see :data:`KERNEL`.
        polls: waits for any of several descriptors.
    """

    kernel: bool = False
    polls: bool = False

    def __or__(self, other: Dependences) -> Dependences:
        return Dependences(self.kernel or other.kernel, self.polls or other.polls)


class Reading:
    """What a segment holds after an execution, in the words of the model.

    Parameters:
        segment: the segment; nothing of it is needed any more when this is made.
        names: the tasks that the plan names, see :meth:`Segment.prepare`.
        symbols: the modules seen so far.
        shim: path of the shim, whose frames are left out of stacks.
        hooks: path of the folder with the library of hooks, or "".
        known: what earlier executions have shown, or this one.
    """

    def __init__(
        self,
        segment: Segment,
        names: tuple[TaskId, ...],
        symbols: Symbols,
        shim: str,
        known: Dependences,
        hooks: str = "",
    ) -> None:
        header = segment.header
        self._names = names
        self._shim = shim
        self._hooks = hooks
        self.ending: int = header.ending
        self._known = known
        # The last step on record was not done if it is to be asked for.
        self._asked_step: int | None = header.steps - 1 if self.ending == layout.ASKED else None
        self.steps: int = header.steps - (self._asked_step is not None)
        self.tasks = segment.tasks
        self.resources = segment.resources
        self.processes = segment.processes
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
        self._steps = segment.read_steps()
        self._asked_row: dict[str, int] = {}
        if self._asked_step is not None:
            last = layout.STEP.unpack(self._steps[-layout.STEP.size :])
            self._asked_row = dict(zip(_FIELDS, last, strict=True))
            self._steps = self._steps[: -layout.STEP.size]
        self._pool = segment.read_pool()
        self._stacks = segment.read_stacks()
        self.ids = self._task_ids()
        self._mappings = self._make_mappings(segment, symbols)
        self._resource_ids: dict[int, ResourceId] = {}
        self._located: dict[int, tuple[Module, int] | None] = {}

    @cached_property
    def _columns(self) -> dict[str, Sequence[int]]:
        """What the steps hold, by field."""
        rows = list(layout.STEP.iter_unpack(self._steps))
        columns = zip(*rows, strict=True) if rows else [()] * len(_FIELDS)
        return dict(zip(_FIELDS, columns, strict=True))

    def _task_ids(self) -> list[TaskId]:
        ids: list[TaskId] = []
        for task in self.tasks:
            if task.parent == layout.NONE:
                ids.append("0")
            else:
                ids.append(f"{ids[task.parent]}.{task.number}")
        return ids

    def _make_mappings(self, segment: Segment, symbols: Symbols) -> dict[int, Mapping]:
        content = segment.read_modules()
        known = symbols.mappings.get(content)
        if known is not None:
            return known
        ranges: dict[int, list[tuple[int, int, int, str]]] = {}
        for module in segment.modules:
            path = module.path.decode("utf-8", "surrogateescape")
            ranges.setdefault(module.process, []).append(
                (module.base, module.start, module.end, path)
            )
        made = {process: Mapping(symbols, found) for process, found in ranges.items()}
        if len(symbols.mappings) >= MOST_MAPPINGS:
            symbols.mappings.clear()
        symbols.mappings[content] = made
        return made

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
        static = self._static(number)
        if static is not None:
            # The same whichever task touches it first.
            count = self._earlier_there[number]
            again = f"#{count}" if count else ""
            return f"0:{module_name(static[0].path)}+{static[1]:x}{again}"
        creator = record.creator
        earlier = self._earlier_by_creator[number]
        # Another task may be first in another execution, and then the name is another:
        # partial-order reduction knows that of names with a dot behind the number.
        type = layout.TYPES[record.type]
        return f"{self.ids[creator] if creator != layout.NONE else '0'}:{earlier}.{type}"

    def _static(self, number: int) -> tuple[Module, int] | None:
        """The module and the offset of a resource in static memory."""
        if number not in self._located:
            record = self.resources[number]
            mapping = self._mappings.get(record.process)
            located = mapping.locate(record.address) if mapping is not None else None
            # Variables of the shim stand for something that has no address of its own.
            is_ours = located is not None and self._is_ours(located[0])
            self._located[number] = None if is_ours else located
        return self._located[number]

    @cached_property
    def _earlier_there(self) -> list[int]:
        """For each resource how many were at the same place before."""
        counts: dict[tuple[int, int], int] = {}
        found = []
        for record in self.resources:
            place = (record.address, record.space)
            found.append(counts.get(place, 0))
            counts[place] = found[-1] + 1
        return found

    @cached_property
    def _earlier_by_creator(self) -> list[int]:
        """For each how many its creator had made before that are not in static memory."""
        counts: dict[int, int] = {}
        found = []
        for number, record in enumerate(self.resources):
            found.append(counts.get(record.creator, 0))
            if self._static(number) is None:
                counts[record.creator] = found[-1] + 1
        return found

    def describe(self, number: int) -> Resource:
        """A resource, for people."""
        id = self.resource_id(number)
        record = self.resources[number]
        type = layout.TYPES[record.type]
        static = self._static(number)
        name = static[0].name(static[1]) if static is not None else None
        if name is not None:
            return Resource(id, type, f"{type} {name}")
        created = self.site(record.created_at, record.process)
        if created is None or not created.line:
            return Resource(id, type, type)
        return Resource(id, type, f"{type} {created.filename}:{created.line}", created)

    def descriptions(self) -> dict[ResourceId, Resource]:
        """All resources that operations were done on, threads among them."""
        found = {
            id: Resource(id, "Thread", f"thread {id}")
            for id, record in zip(self.ids, self.tasks, strict=True)
            # Other processes go on after their last operation.
            if not record.main
        }
        for number in range(len(self.resources)):
            found[self.resource_id(number)] = self.describe(number)
        return found

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

    def pending(self) -> list[int]:
        """Those of them that had not begun what they were about to do."""
        if self.ending in _ALL_PARKED:
            return self.alive()
        return [task for task in self.alive() if task != self.running]

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

    def asked(self) -> Decision | None:
        """The decision that the execution ended at, if it did."""
        step, row = self._asked_step, self._asked_row
        if step is None:
            return None
        at, enabled, timed = row["options"], row["enabled"], row["timed"]
        options = [self.ids[index] for index in self._pool[at : at + enabled + timed]]
        readiness = dict.fromkeys(options, Readiness.ENABLED)
        readiness |= dict.fromkeys(options[enabled:], Readiness.TIMED)
        running = self.ids[self.running] if self.running < len(self.ids) else "0"
        return Decision(
            step,
            running,
            tuple(options),
            self.ids[row["task"]],
            tuple(self._standing(index, readiness.get(self.ids[index])) for index in self.alive()),
            bool(row["flags"] & layout.YIELDED),
        )

    def _standing(self, index: int, readiness: Readiness | None) -> Standing:
        record = self.tasks[index]
        holders: list[int] = []
        if readiness is None:
            yielded = record.condition == layout.ALWAYS
            readiness = Readiness.YIELDED if yielded else Readiness.BLOCKED
        if record.condition != layout.ALWAYS and record.kind != _WAKE:
            sleeps = record.resource == layout.TASK_BIT | index
            holders = [] if sleeps else self.holders_of(record.resource)
        return Standing(
            self.ids[index],
            readiness,
            self.operation(index),
            self.stack(record.stack, record.process, record.site),
            self.held_by(index),
            tuple(self.ids[holder] for holder in holders),
        )

    def options(self, step: int) -> tuple[TaskId, ...]:
        """The tasks that could have been chosen at a step."""
        if step >= self.steps:
            return ()
        columns = self._columns
        at = columns["options"][step]
        count = columns["enabled"][step] + columns["timed"][step]
        return tuple(self.ids[index] for index in self._pool[at : at + count])

    def who_ran(self) -> list[TaskId]:
        """The task of each step."""
        ids = self.ids
        return [ids[index] for index in self._columns["task"]]

    def who_yielded(self) -> list[bool]:
        """For each step whether the task that ran before had given control away."""
        return [bool(value & layout.YIELDED) for value in self._columns["flags"]]

    def who_could_run(self) -> tuple[list[tuple[TaskId, ...]], list[tuple[TaskId, ...]]]:
        """For each step the enabled tasks, and those whose timeout could fire."""
        ids, columns = self.ids, self._columns
        sets: dict[tuple[int, int], tuple[TaskId, ...]] = {}

        def some(start: int, count: int) -> tuple[TaskId, ...]:
            found = sets.get((start, count))
            if found is None:
                found = tuple(ids[index] for index in self._pool[start : start + count])
                sets[start, count] = found
            return found

        rows = list(zip(columns["options"], columns["enabled"], columns["timed"], strict=True))
        enabled = [some(at, count) for at, count, _ in rows]
        timed = [some(at + first, count) if count else () for at, first, count in rows]
        return enabled, timed

    def gates(self) -> dict[int, Gate]:
        """Of steps on mutexes and semaphores whether acquiring would have blocked."""
        found = {}
        for step, value in enumerate(self._columns["flags"]):
            if value & layout.GATED:
                is_open = bool(value & layout.OPEN)
                found[step] = Gate(is_open, is_open, bool(value & layout.WAITS))
        return found

    def early_timeouts(self) -> list[int]:
        """Steps whose timeout could have fired at any time before."""
        flags = self._columns["flags"]
        return [step for step, value in enumerate(flags) if value & layout.COULD_FIRE]

    def dependences(self) -> Dependences:
        """What was seen of steps that depend on each other without a resource in common."""
        # One byte of each record, without taking them apart.
        flags = set(self._steps[layout.FLAGS_AT :: layout.STEP.size])
        both = layout.ON_DESCRIPTOR | layout.WRITES_KERNEL
        return Dependences(
            kernel=any(value & layout.WRITES_KERNEL for value in flags),
            polls=any(value & both == both for value in flags),
        )

    def effects(self) -> list[tuple[int, TaskId, ResourceId, bool]]:
        """What steps touched beside their operation's resource, see :class:`Trace`."""
        writes = layout.WRITES_KERNEL
        if self._known.polls:
            writes |= layout.ON_DESCRIPTOR
        touches = writes | layout.READS_KERNEL if self._known.kernel else 0
        found = []
        names = ("effect", "flags", "task")
        columns = zip(*(self._columns[name] for name in names), strict=True)
        for step, (number, flags, task) in enumerate(columns):
            if number != layout.NONE:
                found.append((step, self.ids[task], self.resource_id(number), True))
            if flags & touches:
                found.append((step, self.ids[task], KERNEL, bool(flags & writes)))
        return found

    def operations(self) -> list[Operation]:
        """What was done in each step."""
        known: dict[tuple[int, ...], Operation] = {}
        operations = []
        names = ("process", "kind", "resource", "site", "stack")
        for key in zip(*(self._columns[name] for name in names), strict=True):
            operation = known.get(key)
            if operation is None:
                process, kind, number, site, stack = key
                place = self._telling_place(site, stack, process)
                operation = Operation(layout.KINDS[kind], self.resource_id(number), place)
                known[key] = operation
            operations.append(operation)
        return operations

    def final_pending(self) -> dict[TaskId, Operation]:
        """What each task that did not end was about to do."""
        return {self.ids[index]: self.operation(index) for index in self.pending()}


def _has_line(site: Site) -> bool:
    return site.line > 0


def _is_own(site: Site) -> bool:
    return not is_system_file(site.filename)


class NativeTrace(Trace):
    """A trace of which each column is made when somebody asks for it: most searches need few."""

    __slots__ = ("_reading", "forked", "seen")

    _reading: Reading
    forked: bool
    """Whether the program was forked from one that waited before its main function."""
    seen: Any
    """What the hooks have seen, see :class:`bohrbug.runtime.posix.accesses.Seen`."""

    def __len__(self) -> int:
        return self._reading.steps

    @property
    def task_count(self) -> int:
        """See :class:`~bohrbug.model.trace.Trace`."""
        return len(self._reading.ids)

    def __getattr__(self, name: str) -> Any:
        # Called only for slots that are not set yet.
        reading = object.__getattribute__(self, "_reading")
        match name:
            case "tasks" | "choices":
                self.tasks = reading.who_ran()
                self.choices = list(self.tasks)
            case "enabled" | "timed":
                self.enabled, self.timed = reading.who_could_run()
            case "yielded":
                self.yielded = reading.who_yielded()
            case "operations":
                self.operations = reading.operations()
            case "effects":
                self.effects = reading.effects()
            case "gates":
                self.gates = reading.gates()
            case "early_timeouts":
                self.early_timeouts = reading.early_timeouts()
            case "final_pending":
                self.final_pending = reading.final_pending()
            case "task_infos":
                self.task_infos = reading.infos()
            case "resources":
                self.resources = reading.descriptions()
            case _:
                raise AttributeError(name)
        return object.__getattribute__(self, name)


_MADE_LATER = (
    "tasks",
    "choices",
    "enabled",
    "timed",
    "yielded",
    "operations",
    "effects",
    "gates",
    "early_timeouts",
    "final_pending",
    "task_infos",
    "resources",
)


def native_trace(plan: Plan, reading: Reading) -> NativeTrace:
    """The trace of an execution; its outcome is still that it passed."""
    trace = NativeTrace(plan)
    for name in _MADE_LATER:
        delattr(trace, name)
    trace._reading = reading
    trace.divergence = reading.divergence()
    trace.virtual_time = reading.now / 1e9
    return trace
