"""What the record of a native program says, with places in the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bohrbug.live.native_threads.delays import DEEPEST, Delay
from bohrbug.live.native_threads.traps import Race, Side, Stack, merged
from bohrbug.model.function_name import without_parameters
from bohrbug.model.operation import Site
from bohrbug.runtime.posix import delays_layout as layout
from bohrbug.runtime.posix.delayed import DelayedProgram
from bohrbug.runtime.posix.symbols import Place, demangled, is_system_file

_NANOSECONDS = 1_000_000_000
_UNKNOWN = Site("<unknown>", 0, "?")
_BEGINNINGS = ("execute_native_thread_routine", "_ZNSt3sys", "_ZN3std", "_RN")
"""How routines of libraries begin by which threads of C++ and Rust start."""

_IN_HEX = 2**40
"""Numbers of eight bytes from here on are likelier addresses than counts."""


@dataclass(slots=True)
class _CaughtSide:
    """One side of a race, before anybody has looked up its places."""

    thread: str
    verb: str
    places: tuple[Place, ...]


@dataclass(slots=True)
class _CaughtRace:
    name: str
    paused: _CaughtSide
    other: _CaughtSide
    values: list[int | None]
    size: int
    count: int = 1

    @property
    def is_benign(self) -> bool:
        first, *others = self.values
        return first is not None and all(value == first for value in others)


class Reading:
    """Reads the record.

    Parameters:
        program: the program.
    """

    def __init__(self, program: DelayedProgram) -> None:
        self._program = program
        self._races: dict[object, _CaughtRace] = {}

    # -- threads ---------------------------------------------------------------------------

    def thread(self, number: int, routine: int) -> str:
        """What a thread is called.

        Parameters:
            number: in the order in which threads were started.
            routine: the address of the function that it runs, or 0.
        """
        if number == 0:
            return "the main thread"
        symbol = self._program.function(routine) if routine else ""
        if not symbol or symbol.startswith(_BEGINNINGS):
            return f"thread {number}"
        return f"thread {number} ({without_parameters(demangled(symbol))})"

    # -- places ----------------------------------------------------------------------------

    def _places(self, addresses: Sequence[int]) -> tuple[Place, ...]:
        found = (self._program.place(address) for address in addresses)
        return tuple(place for place in found if place is not None)

    def stack(self, addresses: Sequence[int]) -> Stack:
        """Where a thread is, the innermost frame first: that of the program, where there is one."""
        return _in_source(self._places(addresses))

    def variable(self, address: int, size: int) -> str:
        """What lies at an address, for people."""
        return self._program.variable(address) or f"{size} bytes at {address:#x}"

    # -- delays ----------------------------------------------------------------------------

    def delays(self) -> list[Delay]:
        """The last delays, in the order in which they began."""
        records = [each for each in self._program.record.delays if each.ticket]
        return [self._delay(each) for each in sorted(records, key=lambda each: each.ticket)]

    def _delay(self, record: Any) -> Delay:
        why = (
            "gave way by priority" if record.gives_way else f"paused, about to {self._act(record)}"
        )
        stack = self.stack(record.stack[: record.depth])
        ended = record.ended / _NANOSECONDS if record.ended else None
        thread = self.thread(record.number, record.routine)
        return Delay(thread, why, stack[0], record.began / _NANOSECONDS, ended)

    def _act(self, record: Any) -> str:
        if record.act >= layout.FIRST_CALL:
            return f"call {self.called(record.act - layout.FIRST_CALL)}"
        return f"{verb_of(record.act)} {self.variable(record.address, record.size)}"

    def called(self, function: int) -> str:
        """The name of an interposed function."""
        return bytes(self._program.record.names[function].value).decode()

    # -- races -----------------------------------------------------------------------------

    def note_race(self) -> None:
        """Take the race that the trap has caught out of the record."""
        trap = self._program.record.trap
        size = trap.paused.size
        mask = (1 << 8 * min(size, 8)) - 1
        values = [
            value & mask if known and size <= 8 else None
            for value, known in zip(trap.values, trap.known, strict=True)
        ]
        name = self.variable(trap.paused.address, size)
        race = _CaughtRace(name, self._side(trap.paused), self._side(trap.other), values, size)
        key = frozenset(
            (each.places[0] if each.places else None, each.verb)
            for each in (race.paused, race.other)
        )
        known = self._races.get(key)
        if known is None or (known.is_benign and not race.is_benign):
            race.count += known.count if known is not None else 0
            self._races[key] = race
        else:
            known.count += 1

    def _side(self, record: Any) -> _CaughtSide:
        thread = self.thread(record.number, record.routine)
        return _CaughtSide(thread, verb_of(record.act), self._places(record.stack[: record.depth]))

    def races(self) -> list[Race]:
        """All that were taken out; their places are looked up now."""
        races: list[Race] = []
        for each in self._races.values():
            paused, other = (
                Side(side.thread, side.verb, _in_source(side.places))
                for side in (each.paused, each.other)
            )
            values = [in_words(value, each.size) for value in each.values]
            race = Race(each.name, paused, other, values, each.is_benign, each.count)
            # Several instructions of a line are one place to people.
            races = merged(races, race)
        return races


def verb_of(act: int) -> str:
    """What an access does, for people."""
    verb = {layout.READS: "read", layout.WRITES: "write"}.get(act & 3, "update")
    return f"atomically {verb}" if act & layout.IS_ATOMIC else verb


def in_words(value: int | None, size: int) -> str:
    """A value in memory for people.

    Parameters:
        value: the number; ``None`` if it is not known.
        size: in bytes.
    """
    if value is None:
        return "unknown"
    return f"{value:#x}" if size == 8 and value >= _IN_HEX else str(value)


def _in_source(places: Sequence[Place]) -> Stack:
    """Lines of the program, if there are any; else what is known of the innermost frame."""
    sites = [place.resolve() for place in places]
    own = [
        site
        for site, place in zip(sites, places, strict=True)
        if site.line and not is_system_file(site.filename) and not place.module.is_c_library
    ]
    return tuple(own[:DEEPEST]) or tuple(sites[:1]) or (_UNKNOWN,)
