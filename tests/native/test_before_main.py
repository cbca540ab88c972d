"""What a program does before main, or to its descriptors, is the same with all engines."""

from __future__ import annotations

import os
import resource
import signal
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.runtime.posix.engines import Engine
from bohrbug.search.random_walk import RandomWalk
from tests.native.exploring import executed, runtime_for

Build = Callable[..., Path]

WAYS: dict[str, dict[str, Any]] = {
    "fork-server": {"engine": "fork-server"},
    "fork-server on kernel threads": {"engine": "fork-server", "fibers": False},
    "snapshot": {"engine": "snapshot"},
    "snapshot on kernel threads": {"engine": "snapshot", "fibers": False},
}


@pytest.fixture
def input_file(tmp_path: Path) -> Iterator[None]:
    """Standard input is a file."""
    given, before = tmp_path / "input", os.dup(0)
    given.write_text("abcdefghijkl\n")
    with given.open() as opened:
        os.dup2(opened.fileno(), 0)
    yield
    os.dup2(before, 0)
    os.close(before)


def done_by(
    program: Path, arguments: list[str], ahead: bool, **settings: Any
) -> tuple[list[Any], Engine]:
    with runtime_for(program, arguments, **settings) as runtime:
        return executed(runtime, RandomWalk(5), 12, ahead), runtime.engine


@pytest.mark.usefixtures("input_file")
@pytest.mark.parametrize("more", [(), ("-DLEAVES_SOMETHING",)], ids=["", "leaves-something"])
@pytest.mark.parametrize(
    "what",
    [
        "PRINTS",
        "READS",
        "SHARES_MEMORY",
        "SHARES_PIPE",
        "HANDLES",
        "IGNORES_CHILDREN",
        "MINDS_FORKS",
        "SETS_TIMER",
        "MAKES_TIMER",
    ],
)
def test_what_comes_before_main_is_part_of_each_execution(
    native_build: Build, what: str, more: tuple[str, ...]
) -> None:
    program = native_build("before_main.c", f"-D{what}", *more)
    expected, _ = done_by(program, [], False, engine="anew")
    for name, way in WAYS.items():
        for ahead in (False, True):
            assert done_by(program, [], ahead, **way)[0] == expected, (name, ahead)


@pytest.mark.parametrize("what", ["position", "flags", "full", "too-full", "closed"])
def test_executions_do_not_share_what_is_done_to_standard_output(
    native_build: Build, what: str
) -> None:
    program = native_build("uses_standard_output.c")
    expected, _ = done_by(program, [what], False, engine="anew")
    assert len({str(each[-1]) for each in expected}) == 1
    for name, way in WAYS.items():
        assert done_by(program, [what], True, **way)[0] == expected, name


def test_a_child_has_the_handlers_of_its_parent(native_build: Build) -> None:
    """Without them, the handler ran while it was another task's turn, and the wait went on."""
    done, _ = done_by(native_build("inherits_handler.c"), [], False)
    printed = {each[-1].stdout for each in done}
    # The signal may come before the child waits: then it has the byte, too.
    assert b"0\n" in printed
    assert printed <= {b"0\n", b"100\n"}


def test_code_that_may_be_written_to_stays_so(native_build: Build, tmp_path: Path) -> None:
    program = tmp_path / "writes_to_its_code"
    data = bytearray(native_build("writes_to_its_code.c").read_bytes())
    (headers,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in range(headers, headers + size * count, size):
        kind, flags = struct.unpack_from("<II", data, at)
        if (kind, flags) == (1, 0b101):
            struct.pack_into("<I", data, at + 4, 0b111)
    program.write_bytes(data)
    program.chmod(0o700)
    for name, way in WAYS.items():
        done, engine = done_by(program, [], True, **way)
        assert {each[-1].stdout for each in done} == {b"3\n"}, name
        assert engine.value == way["engine"], name


def test_a_server_that_can_not_fork_is_left_at_once(native_build: Build) -> None:
    program = native_build("forks_fail.c")
    # Without an end of patience: the test would not come to its end.
    done, engine = done_by(program, [], True, engine="fork-server", hang_seconds=0.0)
    assert {each[1] for each in done} == {OutcomeKind.PASSED}
    assert engine is Engine.ANEW


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """Programs may have few of them open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("few_descriptors")
def test_where_few_descriptors_are_allowed_programs_are_started_anew(native_build: Build) -> None:
    _, engine = done_by(native_build("lost_update.c"), [], True)
    assert engine is Engine.ANEW


def test_a_fork_that_was_killed_while_it_waited_is_no_execution(native_build: Build) -> None:
    with runtime_for(native_build("lock_order.c", "-DFIXED"), engine="fork-server") as runtime:
        runtime.foresee(lambda most: [])
        for seed in range(12):
            orders = runtime.means.launcher.orders
            if seed == 5:
                assert orders.server is not None
                assert orders.server.pid is not None
                for child in children_of(orders.server.pid):
                    os.kill(child, signal.SIGKILL)
            trace = runtime.execute(Plan((), UniformRandom(seed))).trace
            assert trace.outcome.kind is OutcomeKind.PASSED
        assert runtime.engine is Engine.FORK_SERVER, runtime.engine_note


def children_of(pid: int) -> list[int]:
    """The processes that a process has forked."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
