"""Programs under ``--memory tso``: what fails, what holds, and what is said of it."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.api import explore
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Result
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import native_explorer
from bohrbug.runtime.posix.build import UnsupportedError
from tests.native.exploring import explored
from tests.native.test_command_line import bohrbug

Build = Callable[..., Path]

HOOKED = "-fsanitize=thread"


def within_two_preemptions(program: Path, memory: str = "tso", **options: object) -> Result:
    """What a search of all schedules with few preemptions gives."""
    options = {"strategy": "ipb", "causes": 0, "executions": 20_000, **options}
    return explored(program, memory=memory, **options)


@pytest.mark.parametrize("algorithm", ["DEKKER", "PETERSON", "DEQUE"])
def test_a_load_that_must_not_overtake_a_store_needs_a_fence(
    native_build: Build, algorithm: str
) -> None:
    program = native_build("tso.c", HOOKED, f"-D{algorithm}")
    assert within_two_preemptions(program, "sc").verdict.kind is VerdictKind.HOLDS_WITHIN_BOUND
    (failure,) = within_two_preemptions(program).failures
    assert failure.trace.plan.conditions.memory == "tso"
    fenced = native_build("tso.c", HOOKED, f"-D{algorithm}", "-DFENCED")
    assert not within_two_preemptions(fenced, executions=6_000).failures


@pytest.mark.parametrize("algorithm", ["DOUBLE_CHECKED", "SEQLOCK", "MESSAGE"])
def test_the_order_of_stores_and_that_of_loads_needs_none(
    native_build: Build, algorithm: str
) -> None:
    result = within_two_preemptions(native_build("tso.c", HOOKED, f"-D{algorithm}"))
    assert result.verdict.kind is VerdictKind.HOLDS_WITHIN_BOUND
    assert "memory as x86 has it (total store order)" in str(result.verdict.conditions)


@pytest.mark.parametrize("level", ["racy", "all"])
def test_a_store_that_is_no_scheduling_point_does_not_overtake_one_that_is(
    native_build: Build, level: str
) -> None:
    result = within_two_preemptions(native_build("tso.c", HOOKED, "-DUNSEEN_STORE"), level=level)
    assert result.verdict.kind is VerdictKind.HOLDS_WITHIN_BOUND


def test_a_store_to_a_block_that_is_freed_does_not_come_after(native_build: Build) -> None:
    result = within_two_preemptions(native_build("tso.c", HOOKED, "-DFREED"))
    assert not result.failures


@pytest.mark.parametrize("strategy", ["random", "pct", "ipb"])
def test_more_stores_than_a_buffer_holds_wait_for_room(native_build: Build, strategy: str) -> None:
    program = native_build("tso.c", HOOKED, "-DFULL")
    result = within_two_preemptions(program, strategy=strategy, executions=150)
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert not result.verdict.caveats


@pytest.mark.parametrize("fibers", [True, False])
def test_stores_to_frames_that_are_gone_do_no_harm(native_build: Build, fibers: bool) -> None:
    explorer, _ = native_explorer(
        Command((str(native_build("tso.c", HOOKED, "-DFRAMES")),), exit_code=0, fibers=fibers),
        ExploreOptions(memory="tso", strategy="random", executions=300),
    )
    result = explorer.explore()
    assert result.verdict.kind is VerdictKind.NO_FAILURE_FOUND
    assert not result.verdict.caveats


def test_stores_to_variables_of_the_own_stack_wait_like_others(native_build: Build) -> None:
    program = native_build("tso.c", HOOKED, "-DSTACK", "-DTHREAD_FENCED")
    assert within_two_preemptions(program).failures
    assert not within_two_preemptions(program, "sc").failures
    fenced = within_two_preemptions(native_build("tso.c", HOOKED, "-DSTACK", "-DFENCED"))
    assert not fenced.failures
    assert "own stacks" not in str(fenced.verdict.conditions)


def test_programs_that_do_not_tell_of_their_stores_are_refused(native_build: Build) -> None:
    with pytest.raises(UnsupportedError, match="compile it with -fsanitize=thread"):
        explored(native_build("tso.c", "-DMESSAGE"), memory="tso")
    program = native_build("tso.c", HOOKED, "-DMESSAGE")
    with pytest.raises(UnsupportedError, match="needs to see all accesses"):
        explored(program, memory="tso", level="sync")
    with pytest.raises(UnsupportedError, match="needs to see all accesses"):
        explored(program, memory="tso", watch=("message",))


def test_a_failure_reads_like_a_sentence_and_is_replayed_with_its_memory(
    native_build: Build, tmp_path: Path
) -> None:
    program = str(native_build("tso.c", HOOKED, "-DDEKKER"))
    run = ("run", "-q", "--memory=tso", "--strategy=ipb", "--causes-seconds=60", "--", program)
    result = bohrbug(tmp_path, *run)
    assert result.returncode == 1, result.stdout + result.stderr
    text = " ".join(result.stdout.split())
    assert re.search(r"0\.[12]'s store to variable flag\S* reaches memory", text)
    assert "store buffer of 0.1" in text
    (file,) = (tmp_path / ".bohrbug").glob("*.json")
    saved = json.loads(file.read_text())
    assert saved["options"]["memory"] == "tso"
    replayed = bohrbug(tmp_path, "replay", "--times", "5", str(file))
    assert "reproduced in 5 of 5 replays" in replayed.stdout
    saved["options"]["memory"] = "sc"
    file.write_text(json.dumps(saved))
    assert "reproduced in 0 of 5" in bohrbug(tmp_path, "replay", "--times", "5", str(file)).stdout


def test_fences_in_assembly_are_a_caveat(native_build: Build) -> None:
    program = native_build("tso.c", HOOKED, "-DMESSAGE", "-DIN_ASSEMBLY")
    if platform.machine() != "x86_64":
        pytest.skip("no such instruction here")
    (caveat,) = within_two_preemptions(program).verdict.caveats
    assert "fences in assembly (mfence)" in str(caveat)
    assert not within_two_preemptions(program, "sc").verdict.caveats


def test_with_several_processes_there_are_no_store_buffers(native_build: Build) -> None:
    result = within_two_preemptions(native_build("tso.c", HOOKED, "-DPROCESSES"))
    assert not result.failures
    assert any("weak memory, which processes" in str(each) for each in result.verdict.caveats)


def test_python_tests_are_refused(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("print()")
    result = bohrbug(tmp_path, "run", "--memory=tso", "script.py")
    assert result.returncode == 2
    assert "for native programs only" in result.stderr
    with pytest.raises(ValueError, match="for native programs only"):
        explore(print, memory="tso")
