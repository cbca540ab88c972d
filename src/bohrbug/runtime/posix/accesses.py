"""Accesses of a native program to memory: what is asked of the hooks, and what they have seen."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from bohrbug.model.operation import Operation, ResourceId, Site, TaskId
from bohrbug.model.outcome import Access, Frame, Held, Race
from bohrbug.runtime.folders import OwnFolder
from bohrbug.runtime.posix import accesses_layout, enumerations
from bohrbug.runtime.posix.accesses_layout import (
    COUNT_BITS,
    MOST_HISTORIES,
    NOBODY_KNOWS,
    RACE,
    WATCH_NOTHING,
    WATCH_RACES,
    WATCH_SHARED,
)
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.instructions import Instruction, instructions_of, is_meant
from bohrbug.runtime.posix.naming import MOST_MAPPINGS
from bohrbug.runtime.posix.recorded import Reading
from bohrbug.runtime.posix.segment import Segment
from bohrbug.runtime.posix.symbols import Place, module_name

PointKey = tuple[str, str, int, int]
"""A place as plain data: the path of its module, "", 0, and the offset in the module's file."""

MOST_MADE = 1 << 14
"""Races that are kept as they were made, for the executions that show them, too."""

MOST_OF_A_PLACE = 1_000
"""Times that a place can be a scheduling point in one execution."""

SONAMES = (
    "libtsan.so.2",
    "libtsan.so.0",
    "libclang_rt.tsan-x86_64.so",
    "libclang_rt.tsan-aarch64.so",
    "libclang_rt.tsan.so",
)
"""What programs call the runtime of the thread sanitizer: gcc 12 and newer, gcc before, clang."""


@dataclass(frozen=True, slots=True)
class Witnessed:
    """What an execution that repeats another one has shown of an access.

    Parameters:
        stack: innermost frame last.
        holding: the locks that the task held.
        before: the value there, as a number; ``None`` if it has more than eight bytes.
        after: the value that was written.
        size: of the access, in bytes.
        may_be_buffered: a store to other memory preceded it, with no fence in between; ``None``
            if that was not seen.
        allocated: where the memory was allocated, if it is of the heap and that was seen.
    """

    stack: tuple[Frame, ...]
    holding: tuple[Held, ...]
    before: int | None
    after: int | None
    size: int
    may_be_buffered: bool | None
    allocated: Site | None


@dataclass(frozen=True, slots=True)
class SeenAccess:
    """One side of a race, as the hooks know it.

    Parameters:
        epoch: which moment of which task, see ``shim/accesses.h``.
        place: address of the code.
        kind: index into the kinds of operations.
        address: the first byte that both sides access.
    """

    epoch: int
    place: int
    kind: int
    address: int


class SeenRace(NamedTuple):
    """A race with what it takes to see it again.

    Parameters:
        race: in the words of the model; without stacks.
        raw: the record of the hooks, :data:`~bohrbug.runtime.posix.accesses_layout.RACE`.
    """

    race: Race
    raw: tuple[int, ...]

    @property
    def first(self) -> SeenAccess:
        """The access that came first."""
        return _first_of(self.raw)

    @property
    def second(self) -> SeenAccess:
        """The other one."""
        return _second_of(self.raw)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the hooks have seen in an execution.

    Parameters:
        takes_part: a process with hooks took part.
        races: one for each pair of places.
        places: those whose accesses raced or, if that was asked for, conflicted.
        gave_up: there was no room to go on with it.
        tired: places that were no scheduling points any more, having been too often.
    """

    takes_part: bool = False
    races: tuple[SeenRace, ...] = ()
    places: tuple[Place, ...] = ()
    gave_up: bool = False
    tired: int = 0


class Points:
    """The places whose accesses are scheduling points.

    Parameters:
        level: ``sync``, ``racy`` or ``all``, as in the options.
    """

    def __init__(self, level: str) -> None:
        self._watch = {"sync": WATCH_NOTHING, "all": WATCH_SHARED}.get(level, WATCH_RACES)
        self._known: dict[tuple[str, int], None] = {}
        self._fresh: list[tuple[str, int]] = []
        # The known ones as the hooks want them, and how many they were: they only become more.
        self._written: tuple[Any, Any] = _tables_of(())
        self._written_of = 0

    def prepare(self, segment: Segment, wanted: Sequence[SeenAccess] = ()) -> None:
        """Tell the hooks what to do.

        Parameters:
            segment: of the next execution.
            wanted: accesses to be looked at closely.
        """
        record = segment.accesses
        record.watch = self._watch
        record.most_of_a_place = MOST_OF_A_PLACE
        if len(self._known) != self._written_of:
            self._written, self._written_of = _tables_of(self._known), len(self._known)
        modules, points = self._written
        ctypes.memmove(record.module, modules, ctypes.sizeof(modules))
        ctypes.memmove(record.point, points, ctypes.sizeof(points))
        record.points = len(points)
        record.point_modules = len(modules)
        for number, access in enumerate(wanted[: accesses_layout.MOST_WITNESSES]):
            witness = record.witness[number]
            witness.place, witness.address = access.place, access.address
            witness.epoch, witness.kind = access.epoch, access.kind
        record.witnesses = min(len(wanted), accesses_layout.MOST_WITNESSES)

    def learn(self, seen: Seen) -> int:
        """Take note of places that are to be points from the next execution on; how many are new.

        The execution that has shown them can only be replayed without them.
        """
        if not seen.places:
            self._fresh = []
            return 0
        places = ((place.module.path, place.offset) for place in seen.places)
        self._fresh = [key for key in dict.fromkeys(places) if key not in self._known]
        return len(self._fresh)

    def take_fresh(self) -> None:
        """From now on what the last execution has shown counts."""
        if self._fresh:
            self._known.update(dict.fromkeys(self._fresh))
            self._fresh = []

    @property
    def has_fresh(self) -> bool:
        """Whether the last execution has shown new ones."""
        return bool(self._fresh)

    def want(self, keys: Iterable[PointKey]) -> None:
        """Make these places points."""
        self._known.update(((path, offset), None) for path, _, _, offset in keys)

    def keys(self) -> tuple[PointKey, ...]:
        """All points, for a reproduction file."""
        return tuple(sorted((path, "", 0, offset) for path, offset in self._known))


def _tables_of(known: Iterable[tuple[str, int]]) -> tuple[Any, Any]:
    """The modules of points, and the points in these, as far as there is room."""
    modules: dict[str, int] = {}
    rows: list[tuple[int, int]] = []
    for path, offset in known:
        if path not in modules and len(modules) == accesses_layout.MOST_POINT_MODULES:
            continue
        if len(rows) == accesses_layout.MOST_POINTS:
            break
        rows.append((offset, modules.setdefault(path, len(modules))))
    paths = [path.encode("utf-8", "surrogateescape")[:239] for path in modules]
    return (
        (accesses_layout.PointModuleRecord * len(paths))(
            *(accesses_layout.PointModuleRecord(path) for path in paths)
        ),
        (accesses_layout.PointRecord * len(rows))(
            *(accesses_layout.PointRecord(offset, module) for offset, module in rows)
        ),
    )


class HooksFolder:
    """A folder in which programs find our library under the names of the sanitizer's runtime.

    Parameters:
        library: with the hooks; ``None`` if it could not be built, and programs that need it
            can't be explored.
    """

    def __init__(self, library: Path | None) -> None:
        # Not one that removes itself: forked processes leave it to the one that made it.
        self._folder = OwnFolder("bohrbug-hooks-")
        self.path = str(self._folder.path)
        self._looked_at: dict[bytes, str | None] = {}
        for name in SONAMES if library is not None else ():
            Path(self.path, name).symlink_to(str(library))

    def close(self) -> None:
        """Remove it."""
        self._folder.close()

    def check(self, segment: Segment) -> None:
        """See that no process has loaded the sanitizer's own runtime all the same.

        Raises:
            UnsupportedError: one has.
        """
        content = segment.read_modules()
        if content not in self._looked_at:
            if len(self._looked_at) >= MOST_MAPPINGS:
                self._looked_at.clear()
            self._looked_at[content] = self._other_among(segment.modules)
        other = self._looked_at[content]
        if other is not None:
            raise UnsupportedError(
                f"the program has loaded the runtime of the thread sanitizer itself ({other}), "
                "which Bohrbug has to stand in for: it has a path built into it, or an "
                "environment of its own, or our library was not built (install gcc)"
            )

    def _other_among(self, modules: Any) -> str | None:
        for module in modules:
            path = Path(module.path.decode("utf-8", "surrogateescape"))
            if path.name in SONAMES and str(path.parent) != self.path:
                return str(path)
        return None

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """An environment in which the loader looks into this folder first."""
        others = base.get("LD_LIBRARY_PATH", "")
        path = f"{self.path}:{others}" if others else self.path
        return {**base, "LD_LIBRARY_PATH": path}


# -- reading -----------------------------------------------------------------------------


def unseen_in(segment: Segment, seen: Seen) -> Iterator[str]:
    """What an execution did that could not be controlled, or not be seen, for people.

    Parameters:
        segment: in which it ran.
        seen: what :func:`seen_in` says of it.
    """
    # One that could not be started has no number.
    outside = (each for each in segment.processes if each.pid and not each.joined)
    if segment.header.processes > 1 and any(outside):
        yield "processes that can't be controlled, such as programs that are linked statically"
    if segment.header.memory_given_up:
        yield "weak memory, which processes do not have once there are several"
    if segment.accesses.histories_full:
        yield f"older values of atomics, of more than {MOST_HISTORIES:,} of them"
    if seen.gave_up:
        yield "accesses to memory, more than there is room to remember"
    if segment.accesses.tired_watchpoints:
        yield "accesses to watched memory, after 20,000 of them"
    if seen.tired:
        yield f"accesses at a place that had been a scheduling point {MOST_OF_A_PLACE:,} times"


def seen_in(segment: Segment, reading: Reading) -> Seen:
    """What the hooks have written down of an execution.

    Parameters:
        segment: in which it ran.
        reading: the rest of it.
    """
    record = segment.accesses
    if not record.takes_part:
        return Seen()
    races = []
    places: dict[Place, None] = {}
    for raw, made in _with_made(segment, reading):
        if made is not None:
            race, pair = made
            races.append(SeenRace(race, raw))
            places[pair[0]] = places[pair[1]] = None
    # Where that was asked for; and of memory that processes share, in which no races are seen.
    for raw in record.shared_place[: record.shared_places]:
        place = reading.place(raw.place, raw.process)
        if place is not None:
            places[place] = None
    return Seen(True, tuple(races), tuple(places), bool(record.gave_up), int(record.tired_places))


MadeRace = tuple[Race, tuple[Place, Place]]
"""A race in the words of the model, and the places of its accesses."""


def _with_made(segment: Segment, reading: Reading) -> list[tuple[tuple[int, ...], MadeRace | None]]:
    """The records of races, each with what it stands for; ``None`` for what is none.

    Most executions show what those before them did.
    """
    made, ids = reading.made_races, reading.ids
    has_hits = bool(segment.accesses.hits)
    found = []
    missing: dict[tuple[object, ...], tuple[int, ...]] = {}
    for raw in RACE.iter_unpack(segment.read_races()):
        # Places, kinds, tasks and how often; but for the step and the moments of tasks.
        tasks = ids[raw[3] >> COUNT_BITS], ids[raw[4] >> COUNT_BITS]
        key = (*raw[:3], *raw[5:10], tasks, has_hits)
        found.append((raw, key))
        if key not in made:
            missing[key] = raw
    if len(made) + len(missing) > MOST_MADE:
        made.clear()
        missing = {key: raw for raw, key in found}
    # All places first: those that are new are looked up together, as soon as one is asked for.
    for raw in missing.values():
        for place in raw[1:3]:
            reading.place(place, raw[9])
    for key, raw in missing.items():
        made[key] = _made(raw, reading, has_hits)
    return [(raw, made[key]) for raw, key in found]


def _made(raw: tuple[int, ...], reading: Reading, has_hits: bool) -> MadeRace | None:
    pair = (reading.place(raw[1], raw[9]), reading.place(raw[2], raw[9]))
    if pair[0] is None or pair[1] is None:
        return None
    known = tuple(map(_instruction_before, pair)) if has_hits else (None, None)
    if _is_none(known):
        return None
    return _race(raw, reading, known), (pair[0], pair[1])


def _instruction_before(place: Place | None) -> Instruction | None:
    return instructions_of(place.module.path).get(place.offset) if place is not None else None


def _is_none(known: tuple[Instruction | None, ...]) -> bool:
    """Whether the instructions say that what the processor took for a race is none."""
    first, second = known
    if first is not None and second is not None and not (first.writes or second.writes):
        return True
    return is_meant(first, second)


def _first_of(raw: tuple[int, ...]) -> SeenAccess:
    address, first_place, _, first_epoch, _, first_kind, *_ = raw
    return SeenAccess(first_epoch, first_place, first_kind, address)


def _second_of(raw: tuple[int, ...]) -> SeenAccess:
    address, _, second_place, _, second_epoch, _, second_kind, *_ = raw
    return SeenAccess(second_epoch, second_place, second_kind, address)


def _race(raw: tuple[int, ...], reading: Reading, known: tuple[Instruction | None, ...]) -> Race:
    address, _, second_place, *_ = raw
    count, process = raw[8], raw[9]
    resource, label = _variable(address, second_place, process, reading)
    return Race(
        resource,
        label,
        _side(_first_of(raw), resource, process, reading, known[0]),
        _side(_second_of(raw), resource, process, reading, known[1]),
        count,
        may_be_atomic=all(each is not None and not each.is_update for each in known),
    )


def _side(
    access: SeenAccess,
    resource: ResourceId,
    process: int,
    reading: Reading,
    known: Instruction | None,
) -> Access:
    kind = enumerations.KINDS[access.kind] if known is None else known.kind
    return Access(
        _task_of(access.epoch, reading),
        Operation(kind, resource, reading.site(access.place, process)),
    )


def _task_of(epoch: int, reading: Reading) -> TaskId:
    return reading.ids[epoch >> COUNT_BITS]


def _variable(
    address: int, second_place: int, process: int, reading: Reading
) -> tuple[ResourceId, str]:
    """The id of what was accessed, and how reports call it."""
    located = reading.locate(address, process)
    if located is not None:
        module, offset = located
        id = f"0:{module_name(module.path)}+{offset:x}"
        return id, module.variable(offset) or f"{module_name(module.path)}+{offset:#x}"
    site = reading.site(second_place, process)
    return f"0:{address:x}", f"memory used at {_brief(site)}"


def _brief(site: Site | None) -> str:
    if site is None:
        return "an unknown place"
    return f"{Path(site.filename).name}:{site.line}" if site.line else site.function


def witnessed_in(segment: Segment, reading: Reading, number: int) -> list[Witnessed | None]:
    """What was seen of the accesses that :meth:`Points.prepare` was given.

    Parameters:
        segment: in which the execution ran.
        reading: the rest of it.
        number: how many accesses there were.
    """
    record = segment.accesses
    found = [
        _witnessed(raw, reading) if raw.seen else None
        for raw in record.witness[: min(number, accesses_layout.MOST_WITNESSES)]
    ]
    return found + [None] * (number - len(found))


def _witnessed(raw: Any, reading: Reading) -> Witnessed:
    process = reading.tasks[raw.epoch >> COUNT_BITS].process
    has_values = raw.size <= 8
    return Witnessed(
        reading.stack(raw.stack, process, raw.place),
        tuple(
            Held(reading.resource_id(lock.task), reading.site(lock.site, process))
            for lock in raw.lock[: raw.locks]
        ),
        raw.before if has_values else None,
        raw.after if has_values and raw.has_after else None,
        raw.size,
        None if raw.may_be_buffered == NOBODY_KNOWS else bool(raw.may_be_buffered),
        reading.site(raw.allocated_at, process) if raw.allocated_at else None,
    )


def with_witness(access: Access, witnessed: Witnessed | None) -> Access:
    """One side of a race with the stack and the locks that were seen."""
    if witnessed is None:
        return access
    return replace(access, stack=witnessed.stack, holding=witnessed.holding)
