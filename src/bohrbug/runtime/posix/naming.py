"""What the places, tasks and resources of a segment are called."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from bohrbug.model.function_name import without_parameters
from bohrbug.model.native_resources import ANY_CHILD
from bohrbug.model.operation import OLDER_VALUE, Resource, ResourceId, Site, TaskId, fault_id
from bohrbug.model.outcome import Frame, TaskInfo
from bohrbug.runtime.posix import enumerations, layout
from bohrbug.runtime.posix.accesses_layout import MOST_ENTRIES
from bohrbug.runtime.posix.segment import Segment
from bohrbug.runtime.posix.symbols import (
    Mapping,
    Module,
    Place,
    Symbols,
    demangled,
    is_system_file,
    module_name,
)

MOST_MAPPINGS = 100
"""Different mappings that are kept."""

_STARTS_THREADS = "execute_native_thread_routine"
"""What the C++ library gives to ``pthread_create``."""


_PARENT_AT = layout.TaskRecord.parent.offset


@lru_cache(maxsize=100)
def _ids_of(spawn_tree: bytes) -> Sequence[TaskId]:
    """The ids of all tasks; few programs have more than one spawn tree."""
    ids: list[TaskId] = []
    for parent, number in struct.iter_unpack("=II", spawn_tree):
        ids.append("0" if parent == layout.NONE else f"{ids[parent]}.{number}")
    return ids


class Naming:
    """Names for what a segment holds after an execution.

    Parameters:
        segment: the segment.
        symbols: the modules seen so far.
        preload: the shim and what else is preloaded, whose frames are left out of stacks.
        hooks: path of the folder with the library of hooks, or "".
    """

    def __init__(self, segment: Segment, symbols: Symbols, preload: str, hooks: str = "") -> None:
        self._preload = preload
        self._hooks = hooks
        self._segment = segment
        self._symbols = symbols
        self._resource_ids: dict[int, ResourceId] = {}
        self._located: dict[int, tuple[Module, int] | None] = {}

    @cached_property
    def tasks(self) -> Any:
        """The records of the tasks."""
        return self._segment.tasks

    @cached_property
    def resources(self) -> Any:
        """The records of the resources."""
        return self._segment.resources

    @cached_property
    def ids(self) -> Sequence[TaskId]:
        """The ids of the tasks, by their indices."""
        return _ids_of(self._spawn_tree())

    @cached_property
    def _stacks(self) -> Sequence[int]:
        return self._segment.read_stacks()

    @cached_property
    def _mappings(self) -> dict[int, Mapping]:
        return self._make_mappings(self._segment, self._symbols)

    @cached_property
    def _preloaded(self) -> frozenset[str]:
        return frozenset(self._preload.split(":"))

    def _spawn_tree(self) -> bytes:
        """Of each task its parent and its number there, as they are in memory."""
        tasks, size = memoryview(self.tasks).cast("B"), ctypes.sizeof(layout.TaskRecord)
        return b"".join(tasks[at : at + 8] for at in range(_PARENT_AT, len(tasks), size))

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

    @cached_property
    def made_races(self) -> dict[object, Any]:
        """Races that were seen where modules lie as here, see ``accesses.py``."""
        return self._symbols.made_races(self._mappings)

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
        for is_telling in (_is_line_of_program, _is_of_program, _has_line):
            if any(is_telling(place) for place in places):
                places = [place for place in places if is_telling(place)]
                break
        return tuple(Frame(place.resolve()) for place in reversed(places))

    def _is_ours(self, module: Module) -> bool:
        path = module.path
        return path in self._preloaded or bool(self._hooks and path.startswith(self._hooks))

    def telling_place(self, site: int, stack: int, process: int) -> Place | None:
        """The place of a call; with a stack, that of the innermost frame of the program itself."""
        place = self.place(site, process)
        if stack >= len(self._stacks):
            return place
        frames = [p for p in self._places_of_stack(stack, process) if not self._is_ours(p.module)]
        for is_telling in (_is_line_of_program, _is_of_program):
            found = next((frame for frame in frames if is_telling(frame)), None)
            if found is not None:
                return found
        return place

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
        if enumerations.TYPES[record.type] == enumerations.FAULT:
            if record.address == len(enumerations.FAULTS):
                return OLDER_VALUE
            return fault_id(list(enumerations.FAULTS)[record.address])
        if enumerations.TYPES[record.type] == enumerations.STORE_BUFFER:
            # The same in every execution, whoever comes first: no number with a dot behind it.
            return f"{self.ids[record.creator]}:entry {record.address % MOST_ENTRIES}"
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
        type = enumerations.TYPES[record.type]
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
        type = enumerations.TYPES[record.type]
        if id == OLDER_VALUE:
            return Resource(id, type, "an older value")
        if type == enumerations.FAULT:
            call, error = list(enumerations.FAULTS.items())[record.address]
            if error == "0":
                return Resource(id, type, "a spurious wake-up")
            return Resource(id, type, f"{call} fails with {error}")
        if type == enumerations.CHILDREN:
            return Resource(id, type, ANY_CHILD)
        if type == enumerations.PROCESS_STATE:
            return Resource(id, type, enumerations.STATES[record.address & 0xFF])
        if type == enumerations.DESCRIPTOR:
            type = enumerations.KINDS_OF_DESCRIPTORS.get(
                record.space & ~enumerations.SHARED_BIT, type
            )
            if type == enumerations.SOCKET:
                # All sockets are one.
                return Resource(id, type, "a socket")
        static = self._static(number)
        name = static[0].name(static[1]) if static is not None else None
        if name is not None:
            return Resource(id, type, f"{type} {name}")
        created = self.site(record.created_at, record.process)
        if created is None or not created.line or is_system_file(created.filename):
            # A header of C++ says nothing: who called what is in it.
            used = self.first_use(number)
            created = used.resolve() if used is not None else created
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
        found: dict[TaskId, TaskInfo] = {}
        for record, id in zip(self.tasks, self.ids, strict=True):
            name = record.name.decode("utf-8", "replace")
            target = ""
            if record.main:
                name = name or self._program(record.process)
                pid = "" if id == "0" else f"process {record.process}"
                target = pid
            elif not record.number:
                name = f"store buffer of {id.rpartition('.')[0]}"
            elif record.routine:
                target = self._target(len(found))
            spawned = self.site(record.spawned_at, record.process)
            found[id] = TaskInfo(id, name, target, False, spawned)
        return found

    def _program(self, process: int) -> str:
        """What the main thread of a process is called: by its program, if that is another one."""
        first, own = self._mappings.get(0), self._mappings.get(process)
        if first is None or own is None or own.program == first.program:
            return "main"
        return module_name(own.program)

    def _target(self, task: int) -> str:
        """The function that a task runs."""
        record = self.tasks[task]
        mapping = self._mappings.get(record.process)
        located = mapping.locate(record.routine) if mapping is not None else None
        symbol = located[0].elf.functions.at(located[1]) if located else None
        name = symbol.name if symbol is not None else ""
        function = demangled(name)
        if name and function == name and name != _STARTS_THREADS:
            return name
        # Threads of C++ and Rust begin in their libraries: what the program gave to these.
        outer = next(filter(_is_line_of_program, reversed(self.first_stack(task))), None)
        if outer is not None:
            return without_parameters(outer.resolve().function)
        is_of_library = not name or name == _STARTS_THREADS or function.startswith("std::")
        return "" if is_of_library else without_parameters(function)

    def first_stack(self, task: int) -> list[Place]:
        """The first stack of a task that is on record, innermost frame first."""
        raise NotImplementedError

    def first_use(self, resource: int) -> Place | None:
        """Where the program itself first came to a resource, if its stack is on record."""
        raise NotImplementedError


def _has_line(place: Place) -> bool:
    return place.resolve().line > 0


def _is_line_of_program(place: Place) -> bool:
    """Whether its line is known, and of neither the C library nor a header of the compiler's."""
    site = place.resolve()
    return site.line > 0 and not is_system_file(site.filename) and not place.module.is_c_library


def _is_of_program(place: Place) -> bool:
    """Whether it lies in the program, or in a library that is not the system's."""
    return not place.module.is_of_system
