"""Generated programs: the hooks tell the races of a plain happens-before relation."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bohrbug.exploration.options import ExploreOptions
from bohrbug.model.operation import ACQUIRE, LOAD, RELEASE, STORE, UPDATE
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import runtime_of
from bohrbug.runtime.posix.build import compiler
from tests.native.building import need_native

BYTES = 16


@dataclass(frozen=True)
class Touch:
    """A plain access; ``line`` is where the program makes it."""

    at: int
    size: int
    writes: bool

    def code(self) -> str:
        place = f"*(uint{8 * self.size}_t *)(memory + {self.at})"
        return f"{place} = 1;" if self.writes else f"sink += {place};"

    def conflicts_with(self, other: Touch) -> bool:
        overlap = self.at < other.at + other.size and other.at < self.at + self.size
        return overlap and (self.writes or other.writes)


@dataclass(frozen=True)
class Sync:
    """A lock, an unlock, or an atomic operation."""

    what: str
    number: int

    def code(self) -> str:
        return {
            "lock": f"pthread_mutex_lock(&mutex[{self.number}]);",
            "unlock": f"pthread_mutex_unlock(&mutex[{self.number}]);",
            "store": f"atomic_store_explicit(&flag[{self.number}], 1, memory_order_release);",
            "relaxed": f"atomic_store_explicit(&flag[{self.number}], 1, memory_order_relaxed);",
            "load": f"sink += atomic_load_explicit(&flag[{self.number}], memory_order_acquire);",
            "add": f"atomic_fetch_add_explicit(&flag[{self.number}], 1, memory_order_acq_rel);",
        }[self.what]


Item = Touch | Sync

touches = st.builds(
    lambda size, place, writes: Touch(place * size % BYTES, size, writes),
    st.sampled_from((1, 2, 4, 8)),
    st.integers(0, BYTES - 1),
    st.booleans(),
)
atomics = st.builds(Sync, st.sampled_from(("store", "relaxed", "load", "add")), st.integers(0, 1))
sections = st.builds(
    lambda number, inner: [Sync("lock", number), *inner, Sync("unlock", number)],
    st.integers(0, 1),
    st.lists(touches, min_size=1, max_size=3),
)
threads = st.lists(
    st.one_of(touches.map(lambda touch: [touch]), atomics.map(lambda sync: [sync]), sections),
    min_size=1,
    max_size=5,
).map(lambda parts: [item for part in parts for item in part])
programs = st.lists(threads, min_size=2, max_size=3)

HEAD = f"""\
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
static pthread_mutex_t mutex[2] = {{PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER}};
static atomic_int flag[2];
static _Alignas(8) char memory[{BYTES}];
"""


def written(program: list[list[Item]]) -> tuple[str, dict[int, tuple[int, int, Touch]]]:
    """The source, and for each line with an access its thread, segment and what it is."""
    lines = HEAD.splitlines()
    places = {}
    for number, items in enumerate(program, 1):
        lines.append(f"static void *thread_{number}(void *unused) {{ uint64_t sink = 0;")
        segment = 0
        for item in items:
            lines.append(item.code())
            if isinstance(item, Sync):
                segment += 1
            else:
                places[len(lines)] = (number, segment, item)
        lines.append("return sink ? unused : &memory; }")
    lines.append(f"int main(void) {{ pthread_t t[{len(program)}];")
    lines += [f"pthread_create(&t[{i}], 0, thread_{i + 1}, 0);" for i in range(len(program))]
    lines += [f"pthread_join(t[{i}], 0);" for i in range(len(program))]
    return "\n".join([*lines, "return 0; }", ""]), places


def knowledge(program: list[list[Item]], trace: Trace) -> dict[tuple[int, int], list[int]]:
    """What each segment of each thread knows: of each other, how many segments came before."""
    count = len(program) + 1
    syncs = [[item for item in items if isinstance(item, Sync)] for items in program]
    clocks = [[0] * count for _ in range(count)]
    published: dict[tuple[str, int], list[int]] = {}
    done = [0] * count
    known = {(thread, 0): list(clocks[thread]) for thread in range(count)}
    for task, operation in zip(trace.tasks, trace.operations, strict=True):
        if operation.kind not in (ACQUIRE, RELEASE, LOAD, STORE, UPDATE):
            continue
        thread = int(task.removeprefix("0."))
        sync = syncs[thread - 1][done[thread]]
        done[thread] += 1
        key = ("mutex" if "lock" in sync.what else "flag", sync.number)
        there = published.get(key, [0] * count)
        clock = clocks[thread]
        if sync.what in ("lock", "load", "add"):
            clock = [max(a, b) for a, b in zip(clock, there, strict=True)]
        clock[thread] = done[thread]
        clocks[thread] = clock
        if sync.what in ("unlock", "add"):
            published[key] = [max(a, b) for a, b in zip(clock, there, strict=True)]
        elif sync.what == "store":
            published[key] = list(clock)
        elif sync.what == "relaxed":
            published[key] = [0] * count
        known[thread, done[thread]] = list(clock)
    return known


def races_of(
    places: dict[int, tuple[int, int, Touch]], known: dict[tuple[int, int], list[int]]
) -> set[frozenset[int]]:
    """The pairs of lines that race."""
    found = set()
    for line, (thread, segment, touch) in places.items():
        for other, (that, later, conflict) in places.items():
            if thread >= that or not touch.conflicts_with(conflict):
                continue
            if known[that, later][thread] <= segment and known[thread, segment][that] <= later:
                found.add(frozenset((line, other)))
    return found


def racy_bytes(
    pairs: set[frozenset[int]], places: dict[int, tuple[int, int, Touch]]
) -> set[tuple[int, ...]]:
    found = set()
    for pair in pairs:
        first, second = (places[line][2] for line in pair)
        start, end = max(first.at, second.at), min(first.at + first.size, second.at + second.size)
        found.update((byte,) for byte in range(start, end))
    return found


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_races_are_those_of_the_reference(program: list[list[Item]]) -> None:
    need_native()
    cc = compiler()
    assert cc is not None
    source, places = written(program)
    with tempfile.TemporaryDirectory() as folder:
        path, target = Path(folder, "program.c"), Path(folder, "program")
        path.write_text(source)
        words = [cc, "-std=gnu11", "-g", "-O0", "-pthread", "-fsanitize=thread"]
        subprocess.run([*words, "-o", target, path], check=True)
        with runtime_of(Command((str(target),)), ExploreOptions(level="racy")) as runtime:
            for seed in range(4):
                # Nothing is learnt: the accesses stay without scheduling points of their own.
                trace = runtime.execute(Plan((), UniformRandom(seed)), learn=False).trace
                told = {
                    frozenset(access.operation.place.line for access in (race.first, race.second))
                    for race in trace.races
                }
                expected = races_of(places, knowledge(program, trace))
                assert told <= expected
                assert racy_bytes(told, places) == racy_bytes(expected, places)
