"""Programs whose accesses to memory are seen: compiled with -fsanitize=thread."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bohrbug.api import write_reproduction
from bohrbug.exploration.figures import race_key
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.reproduction import read_reproduction
from bohrbug.exploration.result import VerdictKind
from bohrbug.model.operation import READ, UPDATE, WRITE, Site
from bohrbug.model.outcome import OutcomeKind, RacePattern
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import native_explorer, replay_native, runtime_of
from bohrbug.runtime.posix import symbols
from bohrbug.runtime.posix.build import UnsupportedError, compiler
from tests.native.building import need_native
from tests.native.exploring import explored, runtime_for
from tests.native.test_command_line import bohrbug

Build = Callable[..., Path]

HOOKED = "-fsanitize=thread"

FAILING = (
    "plain_lost_update.c",
    "double_checked.c",
    "plain_flag.c",
    "reference_count.c",
    "check_then_act.c",
    "aba_stack.c",
    "atomic_lost_update.c",
)
"""Programs with a schedule in which an assertion fails; with ``-DFIXED`` there is none."""

RACING = (
    "bit_fields.c",
    "peterson.c",
    "relaxed.c",
    "fences.c",
    "freed_too_early.c",
    "deleted_too_early.cpp",
)
"""Programs whose assertions hold, but that have data races; none with ``-DFIXED``."""

FREEING = ("freed_too_early.c", "deleted_too_early.cpp")
"""Of these, those that are broken by some interleavings all the same: they use what is freed."""

PATTERNS = {
    "plain_lost_update.c": {RacePattern.LOSSY_COUNTER},
    "double_checked.c": {RacePattern.DOUBLE_CHECKED_LOCKING, RacePattern.PUBLICATION},
    "reference_count.c": {RacePattern.REFERENCE_COUNT},
    "bit_fields.c": {RacePattern.LOST_UPDATE},
    "freed_too_early.c": {RacePattern.FREED},
    "deleted_too_early.cpp": {RacePattern.FREED},
    "statistics.c": {RacePattern.LOSSY_COUNTER, RacePattern.DIFFERENT_BITS},
    "check_then_act.c": {RacePattern.CHECK_THEN_ACT, RacePattern.IDEMPOTENT_WRITE},
}

CORRECT = (
    "pthreads.c",
    "c11.c",
    "semaphores.c",
    "cplusplus.cpp",
    "race_free.cpp",
)


@pytest.mark.parametrize("name", FAILING)
def test_a_program_fails_by_its_accesses(native_build: Build, name: str) -> None:
    result = explored(native_build(name, HOOKED))
    assert [f.outcome.kind for f in result.failures] == [OutcomeKind.ASSERTION], result.verdict
    assert result.failures[0].confirmed == 3


@pytest.mark.parametrize("name", FAILING + RACING)
def test_its_corrected_twin_neither_fails_nor_races(native_build: Build, name: str) -> None:
    result = explored(native_build(name, HOOKED, "-DFIXED"), executions=60)
    assert not result.failures, result.failures[0].outcome
    assert not result.races, result.races
    assert not result.diverged, result.verdict


@pytest.mark.parametrize("name", RACING)
def test_a_race_can_be_a_failure(native_build: Build, name: str) -> None:
    result = explored(native_build(name, HOOKED), races="fail", strategy="random", executions=200)
    kinds = {failure.outcome.kind for failure in result.failures}
    if name in FREEING:
        assert kinds <= {OutcomeKind.RACE, OutcomeKind.MISUSE}
        assert OutcomeKind.MISUSE in kinds
        return
    assert kinds == {OutcomeKind.RACE}, result.verdict
    race = result.failures[0].outcome.race
    assert race is not None
    assert race.first.stack
    assert race.second.stack


@pytest.mark.parametrize("name", PATTERNS)
def test_what_races_look_like(native_build: Build, name: str) -> None:
    result = explored(native_build(name, HOOKED), strategy="random", executions=60, keep_going=True)
    assert {race.pattern for race in result.races} >= PATTERNS[name]


@pytest.mark.parametrize("name", CORRECT)
@pytest.mark.parametrize("level", ["racy", "all"])
def test_a_correct_program_has_no_race(native_build: Build, name: str, level: str) -> None:
    result = explored(native_build(name, HOOKED), level=level, strategy="random", executions=25)
    assert not result.failures, result.failures[0].outcome
    assert not result.races, result.races
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND, result.verdict
    assert not result.diverged, result.verdict


def test_a_replay_has_the_same_scheduling_points(
    native_build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = Command((str(native_build("plain_lost_update.c", HOOKED)),), exit_code=0)
    explorer, _ = native_explorer(command, ExploreOptions(executions=500, strategy="random"))
    (failure,) = explorer.explore().failures
    assert {READ, WRITE} <= {operation.kind for operation in failure.trace.operations}
    assert failure.points
    write_reproduction(explorer, failure, command.target())
    path = failure.reproduction
    assert path is not None
    replayed, _ = replay_native(read_reproduction(path), times=3)
    assert replayed.reproduced == 3
    assert replayed.trace.operations[0].kind is failure.trace.operations[0].kind
    assert len(replayed.trace) == len(failure.trace)


def test_a_race_that_is_a_failure_is_replayed(
    native_build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = Command((str(native_build("relaxed.c", HOOKED)),), exit_code=0)
    options = ExploreOptions(executions=200, strategy="random", races="fail")
    explorer, _ = native_explorer(command, options)
    (failure,) = explorer.explore().failures
    write_reproduction(explorer, failure, command.target())
    path = failure.reproduction
    assert path is not None
    again = read_reproduction(path)
    assert again.failure.outcome.race == failure.outcome.race
    replayed, _ = replay_native(again, times=2)
    assert replayed.reproduced == 2


def test_both_sides_of_a_race_are_told(native_build: Build) -> None:
    result = explored(native_build("double_checked.c", HOOKED), strategy="random", executions=60)
    race = next(race for race in result.races if race.label == "shared")
    assert race.first.operation.kind is WRITE
    assert race.second.operation.kind is READ
    # The compiler may have put `table` into `use`.
    assert race.first.stack[-1].site.function == "table"
    assert race.second.stack[-1].site.function == "table"
    assert len(race.first.holding) == 1
    assert not race.second.holding
    assert race.is_triangular is False


def test_memory_of_the_heap_is_known_by_its_allocation(native_build: Build) -> None:
    program = native_build("double_checked.c", HOOKED)
    result = explored(program, strategy="random", executions=60, keep_going=True)
    allocated = {race.allocated.function for race in result.races if race.allocated}
    assert allocated == {"table"}


def test_peterson_is_triangular(native_build: Build) -> None:
    result = explored(native_build("peterson.c", HOOKED), strategy="random", executions=60)
    assert not result.failures
    assert any(race.is_triangular for race in result.races)


def test_atomics_are_points_at_every_level(native_build: Build) -> None:
    program = native_build("atomic_lost_update.c", HOOKED)
    result = explored(program, level="sync", strategy="random", executions=300)
    assert [f.outcome.kind for f in result.failures] == [OutcomeKind.ASSERTION]
    program = native_build("aba_stack.c", HOOKED)
    result = explored(program, level="sync", strategy="random", executions=5)
    assert not result.races
    assert result.points > 10


def test_the_child_of_a_shell_is_seen(native_build: Build) -> None:
    program = native_build("plain_lost_update.c", HOOKED)
    command = Command(("/bin/sh", "-c", f"{program}; exit $?"), exit_code=0)
    options = ExploreOptions(executions=30, strategy="random", hang_seconds=20)
    explorer, _ = native_explorer(command, options)
    result = explorer.explore()
    assert {race.label for race in result.races} == {"balance"}


def test_without_us_the_program_has_its_own_runtime(native_build: Build) -> None:
    program = native_build("plain_lost_update.c", HOOKED)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert "WARNING: ThreadSanitizer: data race" in done.stderr


@pytest.mark.parametrize("flags", [(), ("-DPLAIN",)])
def test_loops_on_memory_end(native_build: Build, flags: tuple[str, ...]) -> None:
    program = native_build("spins_on_memory.c", HOOKED, *flags)
    result = explored(program, strategy="random", executions=20)
    assert not result.failures
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND, result.verdict
    assert {race.label for race in result.races} == ({"ready", "result"} if flags else set())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="has assembler for x86-64")
def test_annotations_are_heard(native_build: Build) -> None:
    result = explored(native_build("annotated.c", HOOKED), strategy="random", executions=40)
    assert not result.failures
    assert not result.races, result.races


def test_races_in_json(native_build: Build, tmp_path: Path) -> None:
    program = native_build("statistics.c", HOOKED)
    done = bohrbug(
        tmp_path, "run", "--json", "--executions", "20", "--strategy", "random", "--", str(program)
    )
    races = json.loads(done.stdout)["races"]
    assert {"hits", "flags"} == {race["label"] for race in races}
    assert {"lossy counter", "different bits"} <= {race["pattern"] for race in races}


@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_clang_links_its_runtime_into_the_program(tmp_path: Path) -> None:
    source = Path(__file__).parent / "programs" / "plain_lost_update.c"
    words = ["clang", "-g", "-pthread", HOOKED, "-D_GNU_SOURCE", str(source), "-o"]
    for extra in ((), ("-shared-libsan",)):
        target = tmp_path / f"program{len(extra)}"
        done = subprocess.run([*words, target, *extra], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("clang has no runtime for the thread sanitizer here")
    with pytest.raises(UnsupportedError, match="-shared-libsan"):
        explored(tmp_path / "program0")
    result = explored(tmp_path / "program1", strategy="random", executions=300)
    assert [f.outcome.kind for f in result.failures] == [OutcomeKind.ASSERTION]


def test_updates_are_operations_of_their_own(native_build: Build) -> None:
    program = native_build("reference_count.c", HOOKED, "-DFIXED")
    with runtime_of(Command((str(program),)), ExploreOptions()) as runtime:
        trace = runtime.execute(Plan()).trace
    counted = [operation for operation in trace.operations if operation.kind is UPDATE]
    assert {trace.resources[operation.resource].label for operation in counted} == {"atomic owners"}
    assert {operation.kind for operation in trace.operations}.isdisjoint({READ, WRITE})


RACY = """
#include <pthread.h>
static volatile int all[101];
static void *work(void *nothing) {
%s
    return nothing;
}
int main(void) {
    pthread_t other;
    pthread_create(&other, 0, work, 0);
    work(0);
    pthread_join(other, 0);
}
"""


def test_the_lines_of_many_races_are_looked_up_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_native()
    source, program = tmp_path / "racy.c", tmp_path / "racy"
    source.write_text(RACY % "\n".join(f"    all[{n}] = all[{n + 1}] + 1;" for n in range(100)))
    cc = compiler()
    assert cc is not None
    words = [cc, "-g", "-O1", "-pthread", "-fsanitize=thread", "-o", str(program), str(source)]
    subprocess.run(words, check=True)
    asked: list[int] = []

    def lines_of(path: str, offsets: Sequence[int]) -> dict[int, Site]:
        asked.append(len(offsets))
        return original(path, offsets)

    original = symbols.lines_of
    monkeypatch.setattr(symbols, "lines_of", lines_of)
    with runtime_for(program) as runtime:
        first = runtime.execute(Plan()).trace
        assert len(first.races) > 90
        assert len(asked) <= 2, asked
        for seed in range(3):
            again = runtime.execute(Plan(policy=UniformRandom(seed))).trace
        # What was made for one execution is right for another one.
        assert {race_key(race) for race in first.races} & {race_key(race) for race in again.races}
        lines = {access.operation.place.line for r in again.races for access in (r.first, r.second)}
        assert lines <= set(range(5, 105))
        assert len(asked) <= 5, asked
