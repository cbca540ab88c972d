"""Windows, deadlocks and words of native programs with real threads, on a clock of their own."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from bohrbug.live.native_threads import durations
from bohrbug.live.native_threads.options import NativeThreadsOptions
from bohrbug.live.native_threads.posix.reading import in_words, verb_of
from bohrbug.live.native_threads.posix.standstill import cycle_among
from bohrbug.live.native_threads.posix.windows import SETTLING, NativeWindows
from bohrbug.runtime.posix import delays_layout as layout
from bohrbug.runtime.posix.mapped import mapping_of
from bohrbug.runtime.posix.symbols import Symbols

_NANOSECONDS = 1_000_000_000


class World:
    """Windows with a record that nobody shares, and a clock that goes when it is told to."""

    def __init__(self, budget: float = 20.0, seed: int = 0, seconds: float | None = None) -> None:
        self.time = 100.0
        self.caught = 0
        self.record: Any = layout.DelaysRecord()
        self.record.alive = 2
        options = NativeThreadsOptions(budget, seed, seconds)
        self.windows = NativeWindows(self.record, options, self.catch, now=lambda: self.time)

    def catch(self) -> None:
        self.caught += 1

    def look(self, seconds: float = 0.0) -> float:
        self.time += seconds
        return self.windows.look()

    def until(self, kind: int) -> None:
        """Until a window of a kind is open."""
        for _ in range(1000):
            self.look(durations.LOOK_EVERY)
            if self.record.open and self.record.kind == kind:
                return
        raise AssertionError("there was none")

    def phase(self, phase: int) -> None:
        self.record.trap.state = self.record.open * layout.PHASES + phase


# -- windows ---------------------------------------------------------------------------------------


def test_there_are_no_windows_for_a_single_thread() -> None:
    world = World()
    world.record.alive = 1
    world.look(1.0)
    assert world.record.open == 0
    world.record.alive = 2
    world.look()
    assert world.record.open == 1


def test_windows_take_no_more_than_the_budget() -> None:
    world = World(budget=25)
    taken = 0.0
    for _ in range(20_000):
        was_open = world.record.open != 0
        world.look(0.001)
        taken += 0.001 * was_open
    assert taken / 20.0 == pytest.approx(0.25, abs=0.01) or world.windows.share() < 25
    assert world.windows.share() <= 25.5
    assert world.windows.count > 100


def test_after_its_seconds_there_are_no_more() -> None:
    world = World(seconds=1.0)
    for _ in range(2000):
        world.look(0.001)
    count = world.windows.count
    for _ in range(2000):
        world.look(0.001)
    assert world.windows.count == count > 0
    assert world.record.open == 0


def test_the_same_seed_draws_the_same() -> None:
    def drawn(seed: int) -> list[tuple[int, ...]]:
        world = World(seed=seed)
        found = []
        for _ in range(3000):
            world.look(0.001)
            record = world.record
            found.append((record.open, record.kind, record.seed, record.pause, record.skipped))
        return found

    assert drawn(3) == drawn(3) != drawn(4)


def test_change_points_are_among_the_cue_points_of_the_last_window() -> None:
    world = World()
    for _ in range(30):
        world.until(layout.BY_PRIORITIES)
        changes = list(world.record.changes[: world.record.changes_count])
        assert changes == sorted(set(changes))
        assert all(1 <= change <= durations.FIRST_GUESS for change in changes)
    world.until(layout.BY_PRIORITIES)
    world.record.cues = 7
    world.look(durations.LENGTH)
    world.until(layout.BY_PRIORITIES)
    assert all(change <= 7 for change in world.record.changes[: world.record.changes_count])


def test_an_ambush_is_at_places_that_were_seen() -> None:
    world = World()
    for _ in range(200):
        world.look(durations.LENGTH)
        assert not world.record.open or world.record.kind != layout.AMBUSH
    world.record.places[17], world.record.places[400] = 0x2000, 0x1000
    world.record.places_count = 2
    world.until(layout.AMBUSH)
    assert set(world.record.targets[: world.record.targets_count]) == {0x1000, 0x2000}
    assert world.record.ends == round((world.time + durations.LONGEST_AMBUSH) * _NANOSECONDS)


def test_an_ambush_costs_nothing_until_somebody_comes() -> None:
    world = World()
    world.record.places[0], world.record.places_count = 0x1000, 1
    world.until(layout.AMBUSH)
    spent = world.windows.budget.spent
    world.look(durations.LONGEST_AMBUSH + 0.001)
    assert not world.windows.is_under_way
    assert world.windows.budget.spent == spent
    world.until(layout.AMBUSH)
    spent = world.windows.budget.spent
    world.time += 0.05
    world.phase(layout.IN_VAIN)
    world.record.trap.sprung_at = round(world.time * _NANOSECONDS)
    world.time += 0.004
    world.record.open, world.record.ended = 0, round(world.time * _NANOSECONDS)
    world.look()
    assert world.windows.budget.spent - spent == pytest.approx(0.004)


@pytest.mark.parametrize("phase", [layout.SETTING, layout.SET, layout.CATCHING, layout.CAUGHT])
def test_a_window_is_not_over_while_a_thread_is_in_its_trap(phase: int) -> None:
    world = World()
    world.until(layout.WITH_TRAP)
    number = world.record.open
    world.phase(phase)
    world.look(5.0)
    assert world.record.open == number
    # Nor is there another one, as they have one record.
    world.record.open = 0
    world.look(5.0)
    world.look(100.0)
    assert world.record.open == 0
    world.record.trap.state = number * layout.PHASES + layout.IN_VAIN
    world.look()
    assert not world.windows.is_under_way
    world.look(1000.0)
    assert world.record.open == number + 1


def test_a_thread_that_was_caught_may_make_its_access() -> None:
    world = World()
    world.until(layout.WITH_TRAP)
    number = world.record.open
    world.phase(layout.SPRUNG)
    world.look(durations.LENGTH + SETTLING / 2)
    assert (world.record.open, world.caught) == (number, 0)
    world.look(SETTLING)
    assert (world.record.open, world.caught) == (0, 1)


def test_what_a_program_was_in_the_middle_of_counts() -> None:
    world = World()
    world.until(layout.WITH_TRAP)
    world.phase(layout.CAUGHT)
    world.windows.finish()
    assert world.caught == 1
    world.windows.finish()
    assert world.caught == 1


# -- deadlocks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("awaited", "cycle"),
    [
        ({}, set()),
        ({1: 2}, set()),
        ({1: 2, 2: 3}, set()),
        ({1: None, 2: 1}, set()),
        ({1: 1}, {1}),
        ({1: 2, 2: 1}, {1, 2}),
        # One that waits for a thread of the circle is none of it.
        ({0: 1, 1: 2, 2: 3, 3: 1}, {1, 2, 3}),
    ],
)
def test_circles_of_threads(awaited: dict[int, int | None], cycle: set[int]) -> None:
    assert set(cycle_among(awaited)) == cycle


# -- words -----------------------------------------------------------------------------------------


def test_values_and_accesses_in_words() -> None:
    assert in_words(None, 4) == "unknown"
    assert in_words(203824, 8) == "203824"
    assert in_words(0x7F00_0000_1000, 8) == "0x7f0000001000"
    assert verb_of(layout.READS) == "read"
    assert verb_of(layout.WRITES) == "write"
    assert verb_of(layout.READS | layout.WRITES) == "update"
    assert verb_of(layout.WRITES | layout.IS_ATOMIC) == "atomically write"


# -- where modules lie -----------------------------------------------------------------------------


def elf(path: Path, kind: int) -> str:
    path.write_bytes(b"\x7fELF\x02\x01" + bytes(10) + struct.pack("<H", kind) + bytes(46))
    return str(path)


def test_where_modules_lie(tmp_path: Path) -> None:
    library, program = elf(tmp_path / "a library.so", 3), elf(tmp_path / "program", 2)
    maps = f"""\
00400000-00401000 r--p 00000000 08:01 11    {program}
00401000-00402000 r-xp 00001000 08:01 11    {program}
00402000-00500000 rw-p 00000000 00:00 0
00600000-00700000 rw-p 00000000 00:00 0     [heap]
7f0000000000-7f0000001000 r--p 00000000 08:01 12    {library}
7f0000001000-7f0000003000 r-xp 00001000 08:01 12    {library}
7f0000009000-7f000000a000 rw-p 00000000 00:00 0
7f00000f0000-7f00000f1000 rw-"""
    mapping = mapping_of(maps, Symbols())

    def located(address: int) -> tuple[str, int] | None:
        found = mapping.locate(address)
        return None if found is None else (found[0].path, found[1])

    assert mapping.program == program
    assert located(0x401234) == (program, 0x401234)
    # What it has no value for in the file lies behind it.
    assert located(0x4FFFFF) == (program, 0x4FFFFF)
    assert located(0x600000) is None
    assert located(0x7F0000001010) == (library, 0x1010)
    assert located(0x7F0000009000) is None
