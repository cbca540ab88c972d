"""The library of delays by itself, and its side of the shared record."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bohrbug.runtime.posix import build
from bohrbug.runtime.posix import delays_layout as layout
from bohrbug.runtime.posix.build import DELAYS, PACKAGE
from bohrbug.runtime.posix.delayed import DelayedProgram
from tests.native.building import build as build_program
from tests.native.building import need_native
from tests.native.layouts import layouts_on_both_sides

STRUCTURES = {
    "slot": layout.SlotRecord,
    "delay": layout.DelayRecord,
    "side": layout.SideRecord,
    "trap": layout.TrapRecord,
    "record": layout.DelaysRecord,
}


@pytest.fixture(autouse=True)
def _native() -> None:
    need_native()


def test_the_layout_is_the_same_on_both_sides(tmp_path: Path) -> None:
    in_c, in_python = layouts_on_both_sides(tmp_path, STRUCTURES, ["record.h"], [DELAYS, PACKAGE])
    assert in_c == in_python


def enumerators(text: str) -> Iterator[tuple[str, int]]:
    for match in re.finditer(r"^enum \w+ {([^}]*)};", text, re.MULTILINE):
        value = -1
        for word in match[1].split(","):
            name, _, given = word.strip().partition(" = ")
            value = int(given) if given else value + 1
            yield name, value


def test_numbers_are_the_same_on_both_sides() -> None:
    text = (DELAYS / "record.h").read_text("utf-8")
    named = dict(enumerators(text)) | {
        name: int(value) for name, value in re.findall(r"^#define (\w+) (\d+)$", text, re.MULTILINE)
    }
    assert len(named) > 30
    for name, value in named.items():
        assert getattr(layout, name) == value, name


def test_there_is_room_for_the_names_of_all_functions() -> None:
    text = (DELAYS / "functions.h").read_text("utf-8")
    names = re.findall(r"F\((\w+)\)", text.replace("INTERPOSED(F)", ""))
    assert len(names) > 40
    assert len(names) <= layout.MOST_NAMES
    assert max(map(len, names)) < 32
    sources = "\n".join(path.read_text("utf-8") for path in DELAYS.glob("*.c"))
    for name in names:
        assert re.search(rf"^EXPORT .*\b{name}\(", sources, re.MULTILINE), name


def exported(library: Path) -> set[str]:
    tool = shutil.which("nm")
    if tool is None:
        pytest.skip("needs nm")
    said = subprocess.run(
        [tool, "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    )
    return {line.split()[-1].partition("@")[0] for line in said.stdout.splitlines()}


def test_programs_with_hooks_find_all_that_they_call() -> None:
    hooks = build.hooks()
    assert hooks is not None
    of_sanitizer = re.compile(r"__tsan_|Annotate|RunningOn|atexit$")
    called = {name for name in exported(hooks) if of_sanitizer.match(name)}
    assert len(called) > 100
    assert called <= exported(build.delays())


# -- windows that are opened by hand -----------------------------------------------------------

_MILLISECOND = 1_000_000
_NUMBERS = iter(range(1, 1_000_000))


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_native()
    return build_program(tmp_path_factory.mktemp("delays"), "delayed.c", "-fsanitize=thread")


@contextlib.contextmanager
def started(program: Path, *arguments: str) -> Iterator[DelayedProgram]:
    """A program of three threads that has begun, and in which nobody is delayed yet."""
    delayed = DelayedProgram([str(program), *arguments])
    record = delayed.record
    record.longest, record.slice = 5 * _MILLISECOND, _MILLISECOND // 2
    record.grace, record.gone = 2 * _MILLISECOND, 1000 * _MILLISECOND
    with delayed:
        while record.alive < 4:
            assert not delayed.has_ended(0.001)
        delayed.look_at_modules()
        yield delayed


def open_window(record: Any, kind: int, milliseconds: int = 200, **fields: int) -> int:
    """Open a window, and wait until it is over; the phase of its trap then."""
    number = next(_NUMBERS)
    record.trap.state = number * layout.PHASES
    record.kind, record.pause, record.skipped = kind, 5 * _MILLISECOND, 0
    record.changes_count = record.targets_count = record.cues = 0
    for name, value in fields.items():
        setattr(record, name, value)
    record.ends = time.monotonic_ns() + milliseconds * _MILLISECOND
    record.open = number
    until = time.monotonic() + milliseconds / 1000 + 0.1
    while record.open and time.monotonic() < until:
        time.sleep(0.001)
    record.open = 0
    while record.trap.state % layout.PHASES in (layout.SET, layout.CATCHING, layout.CAUGHT):
        time.sleep(0.001)
    assert record.trap.state // layout.PHASES == number
    return int(record.trap.state % layout.PHASES)


def test_a_trap_passes_over_as_many_as_it_is_told_to(hooked: Path) -> None:
    with started(hooked, "counter", "60000") as program:
        record = program.record
        open_window(record, layout.WITH_TRAP)
        assert (record.traps, record.skipped) == (1, -1) or record.skipped < -1
        phase = open_window(record, layout.WITH_TRAP, skipped=1_000_000_000)
        assert (phase, record.traps) == (layout.UNSET, 1)
        assert 0 < record.skipped < 1_000_000_000 - 100


def test_an_ambush_is_where_it_is_told_to_be(hooked: Path) -> None:
    with started(hooked, "counter", "60000") as program:
        record = program.record
        for _ in range(5):
            open_window(record, layout.WITH_TRAP)
        places = {place for place in record.places if place}
        assert len(places) == record.places_count > 1
        for place in sorted(places):
            if "count" not in program.place(place).resolve().function:
                continue
            record.targets[0] = place
            traps = record.traps
            phase = open_window(record, layout.AMBUSH, targets_count=1)
            assert (record.traps, record.trap.paused.stack[0]) == (traps + 1, place)
            assert phase in (layout.IN_VAIN, layout.SPRUNG, layout.SETTLED)
        # Nobody ever comes there.
        record.targets[0] = 1
        traps = record.traps
        phase = open_window(record, layout.AMBUSH, targets_count=1)
        assert (phase, record.traps) == (layout.UNSET, traps)
        assert sum(slot.passed for slot in record.slots) > 1000


def test_who_is_caught_settles_when_it_is_seen_again(hooked: Path) -> None:
    with started(hooked, "counter", "60000") as program:
        record = program.record
        phases = [open_window(record, layout.WITH_TRAP) for _ in range(10)]
        assert layout.SETTLED in phases
        trap = record.trap
        while open_window(record, layout.WITH_TRAP) != layout.SETTLED:
            pass
        assert list(trap.known) == [1, 1, 1]
        assert trap.paused.number != trap.other.number
        assert trap.paused.address == trap.other.address
        assert program.variable(trap.paused.address) == "counter"
        assert (trap.paused.act | trap.other.act) & layout.WRITES


def test_with_priorities_threads_give_way_for_a_while(hooked: Path) -> None:
    with started(hooked, "counter", "60000") as program:
        record = program.record
        for seed in range(100):
            open_window(record, layout.BY_PRIORITIES, 20, seed=seed)
            if record.gave_way >= 4:
                break
        delays = [each for each in record.delays if each.ticket]
        assert len(delays) == min(record.gave_way, layout.MOST_DELAYS) >= 4
        assert all(each.gives_way and each.ended > each.began for each in delays)
        assert len({each.number for each in delays}) >= 2
        assert record.delayed >= sum(each.ended - each.began for each in delays)


def test_a_change_point_lowers_a_thread_below_all_others(hooked: Path) -> None:
    with started(hooked, "counter", "60000") as program:
        record = program.record
        record.changes[0] = 50
        while record.cues < 50:
            open_window(record, layout.BY_PRIORITIES, 20, changes_count=1, seed=3)
        lowered = [slot for slot in record.slots if slot.priority == -1]
        assert len(lowered) == 1
        # It is drawn anew in the next window in which somebody asks for it.
        number = lowered[0].number
        for seed in range(100):
            open_window(record, layout.BY_PRIORITIES, 20, seed=seed)
            if lowered[0].priority >= 0:
                break
        assert lowered[0].priority >= 0
        assert lowered[0].number == number


def test_between_windows_nobody_is_delayed(hooked: Path) -> None:
    with started(hooked, "counter", "60000") as program:
        time.sleep(0.2)
        record = program.record
        assert (record.delays_begun, record.traps, record.gave_way) == (0, 0, 0)


def test_threads_that_end_make_room_for_others(hooked: Path) -> None:
    with DelayedProgram([str(hooked), "many threads"]) as program:
        assert program.has_ended(60)
        assert program.ended().code == 0
        assert program.record.numbers == 1001
        assert program.record.slots_used < 10
        assert program.record.alive == 1


def test_children_have_no_part_in_the_record(hooked: Path) -> None:
    with DelayedProgram([str(hooked), "children", "10"]) as program:
        assert program.has_ended(60)
        assert program.ended().code == 0
        # Nor do those of children, which the shells are.
        assert (program.record.pid, program.record.numbers) == (program.pid, 3)
