"""Watchpoints: programs that were compiled without hooks."""

from __future__ import annotations

import errno
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.reproduction import read_reproduction
from bohrbug.exploration.result import Result, VerdictKind
from bohrbug.model.operation import CONTINUE, READ, WRITE
from bohrbug.model.outcome import OutcomeKind, RacePattern
from bohrbug.model.plan import Plan
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import native_explorer, replay_native, runtime_of
from bohrbug.runtime.posix import watchpoints
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.instructions import REGISTERS, disassembler, instructions_of
from tests.native.exploring import explored
from tests.native.test_command_line import bohrbug

Build = Callable[..., Path]

FAILING = (
    ("fees.c", "balance"),
    ("plain_flag.c", "ready"),
    ("check_then_act.c", "taken"),
    ("double_checked.c", "shared"),
)
"""Programs with a schedule in which an assertion fails, and what to watch for it."""


def watched(program: Path, *watch: str, **options: object) -> Result:
    return explored(program, watch=watch, **options)


@pytest.mark.parametrize(("name", "variable"), FAILING)
def test_a_program_fails_by_its_accesses(watching: Build, name: str, variable: str) -> None:
    result = watched(watching(name), variable, executions=500)
    assert [f.outcome.kind for f in result.failures] == [OutcomeKind.ASSERTION], result.verdict
    assert result.failures[0].confirmed == 3


@pytest.mark.parametrize(("name", "variable"), FAILING[:1] + FAILING[2:3])
def test_its_corrected_twin_neither_fails_nor_races(
    watching: Build, name: str, variable: str
) -> None:
    result = watched(watching(name, "-DFIXED"), variable, strategy="random", executions=30)
    assert not result.failures, result.failures[0].outcome
    assert not result.races, result.races
    assert not result.diverged, result.verdict


def test_it_is_not_found_without(native_build: Build) -> None:
    result = explored(native_build("fees.c"), executions=50)
    assert not result.failures
    assert not result.races


def test_an_access_is_a_step_with_a_point_behind_it(watching: Build) -> None:
    command = Command((str(watching("fees.c")),), exit_code=0, watch=("balance",))
    with runtime_of(command, ExploreOptions()) as runtime:
        trace = runtime.execute(Plan()).trace
    of_balance = f"+{balance_of(watching('fees.c')):x}"
    kinds = [each.kind for each in trace.operations if str(each.resource).endswith(of_balance)]
    assert kinds == [READ, CONTINUE, WRITE, CONTINUE] * 2


def balance_of(program: Path) -> int:
    return watchpoints.watchpoint("balance", str(program)).address


@pytest.mark.parametrize("flags", [(), ("-DCOPIES",)])
def test_both_sides_of_a_race_are_told(watching: Build, flags: tuple[str, ...]) -> None:
    program = watching("fees.c", *flags)
    result = watched(program, "balance", strategy="random", executions=60, keep_going=True)
    assert {race.label for race in result.races} == {"balance"}
    kinds = {frozenset(a.operation.kind for a in (r.first, r.second)) for r in result.races}
    assert frozenset({READ, WRITE}) in kinds
    for race in result.races:
        # Instructions of the C library are not looked at.
        assert race.may_be_atomic or flags
        for access in (race.first, race.second):
            assert access.stack[-1].site.function in ("load", "store", "deposit")
            assert not access.holding
        # Nobody has seen what was stored before a read.
        writes = race.first.operation.kind is race.second.operation.kind
        assert race.is_triangular is (False if writes else None)


def test_one_instruction_that_reads_and_writes_is_a_race(watching: Build) -> None:
    program = watching("plain_lost_update.c")
    result = watched(program, "balance", strategy="random", executions=30, races="fail")
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.RACE
    assert failure.outcome.race is not None
    assert failure.outcome.race.pattern is RacePattern.LOSSY_COUNTER
    assert not failure.outcome.race.may_be_atomic


def test_locked_instructions_are_meant_to_meet(watching: Build) -> None:
    if shutil.which("objdump") is None:
        pytest.skip("needs objdump")
    program = watching("reference_count.c", "-DFIXED")
    result = watched(program, "owners", strategy="random", executions=30)
    assert not result.races, result.races


def test_four_addresses_at_once(watching: Build) -> None:
    program = str(watching("fees.c"))
    base = watchpoints.PROGRAM_BASE + balance_of(Path(program))
    watch = ("balance:2", "balance+2:2", f"{base:#x}:1", f"{base + 1:#x}:1")
    result = watched(Path(program), *watch, strategy="random", executions=100)
    assert [f.outcome.kind for f in result.failures] == [OutcomeKind.ASSERTION], result.verdict


def test_a_replay_watches_the_same(watching: Build, tmp_path: Path) -> None:
    program = str(watching("fees.c"))
    result = bohrbug(
        tmp_path, "run", "-q", "-v", "--strategy=random", "--watch", "balance", "--", program
    )
    assert result.returncode == 1, result.stdout
    assert "Race on balance" in result.stdout
    path = re.search(r"\.bohrbug/[\w-]+\.json", result.stdout)
    assert path is not None
    replayed, _ = replay_native(read_reproduction(tmp_path / path[0]), times=3)
    assert replayed.reproduced == 3
    if shutil.which("gdb") is not None:
        stop_in_gdb(tmp_path, path[0])


def stop_in_gdb(folder: Path, file: str) -> None:
    """The program gets the signals of its registers, though gdb sees them first."""
    commands = "backtrace\ninfo locals\ncontinue\nquit\n"
    result = bohrbug(folder, "replay", "--gdb", file, stdin=commands)
    assert result.returncode == 0, result.stderr
    assert "is preempted here, before its going on past variable balance" in result.stdout
    assert "before = 0" in result.stdout
    assert "signal handler called" not in result.stdout
    assert "received signal SIGABRT" in result.stdout


def test_the_child_of_a_shell_is_watched(watching: Build) -> None:
    program = watching("fees.c")
    address = watchpoints.PROGRAM_BASE + balance_of(program)
    words = ("/bin/sh", "-c", f"{program}; exit $?")
    command = Command(words, exit_code=0, watch=(f"{address:#x}:4",))
    options = ExploreOptions(executions=12, strategy="random", hang_seconds=20, keep_going=True)
    explorer, _ = native_explorer(command, options)
    assert {race.label for race in explorer.explore().races} == {"balance"}


def test_a_forked_process_is_watched(watching: Build) -> None:
    program = watching("fees.c", "-DFORKED")
    result = watched(program, "balance", strategy="random", executions=20, keep_going=True)
    assert {race.label for race in result.races} == {"balance"}


def test_a_loop_on_watched_memory_ends(watching: Build) -> None:
    program = watching("spins_on_memory.c", "-DPLAIN")
    result = watched(program, "ready", strategy="dfs", executions=15)
    assert not result.failures, result.failures[0].outcome
    assert result.points < 1_000


@pytest.mark.parametrize(
    ("name", "flags"), [("pigz", ("-p", "2", "-c")), ("xz", ("-T2", "--block-size=40000", "-c"))]
)
def test_programs_of_the_system(watching: Build, name: str, flags: tuple[str, ...]) -> None:
    path = shutil.which(name)
    if path is None or disassembler() is None:
        pytest.skip(f"needs {name} and objdump")
    # They have no symbols: the variable that is named most often in the code.
    variables = Counter(
        each.end + each.operand.displacement
        for each in instructions_of(path).values()
        if each.operand.base == REGISTERS.index("rip") and each.operand.size == 8
    )
    watch = [f"{watchpoints.PROGRAM_BASE + at:#x}:8" for at, _ in variables.most_common(2)]
    data = str(watching("fees.c"))
    command = Command((path, *flags, data), same_output=True, watch=tuple(watch))
    options = ExploreOptions(executions=6, strategy="random", seconds=60.0)
    explorer, runtime = native_explorer(command, options)
    result = explorer.explore()
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND, result.verdict
    assert not result.diverged
    native = subprocess.run([path, *flags, data], capture_output=True, check=True).stdout
    assert runtime.printed.stdout == native


@pytest.mark.parametrize(
    ("watch", "message"),
    [
        ("balanse", "did you mean balance"),
        ("balance:3", "1, 2, 4 or 8"),
        ("balance:8", "has only 4 bytes"),
        ("balance+1:2", "multiple of 2"),
        ("0x1001:2", "multiple of 2"),
        (":4", "say SYMBOL"),
        ("mutex", "it has 40 bytes"),
    ],
)
def test_what_can_not_be_watched_is_refused(native_build: Build, watch: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        watchpoints.watchpoints((watch,), str(native_build("fees.c", "-DFIXED")))


def test_there_are_four_registers(native_build: Build) -> None:
    with pytest.raises(UnsupportedError, match="4 registers"):
        watchpoints.watchpoints(("balance",) * 5, str(native_build("fees.c")))


def test_accesses_have_to_be_seen(native_build: Build) -> None:
    with pytest.raises(UnsupportedError, match="--level sync"):
        watched(native_build("fees.c"), "balance", level="sync")


@pytest.mark.parametrize("strategy", ["dpor", "bpor"])
def test_accesses_that_are_done_are_not_put_into_another_order(
    native_build: Build, strategy: str
) -> None:
    with pytest.raises(UnsupportedError, match="known only when it is done"):
        watched(native_build("fees.c"), "balance", strategy=strategy)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.EACCES, "perf_event_paranoid"),
        (errno.ENOSPC, "debugger"),
        (errno.EINVAL, r"Linux 5\.13"),
        (errno.ENOSYS, "perf_event_open"),
        (errno.EBUSY, "busy"),
    ],
)
def test_what_the_kernel_refuses_is_explained(number: int, message: str) -> None:
    assert re.search(message, str(watchpoints.refused(number)))
