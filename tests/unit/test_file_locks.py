"""``flock`` and ``lockf``, used by threads of one process and beside another one."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from tests.programs.together import together
from tests.unit.random_schedules import PASSED, kinds, values


def test_all_orders_of_a_lock_occur(tmp_path: Path) -> None:
    def attempt() -> str:
        order: list[str] = []

        def hold(name: str, unlocks: bool) -> None:
            with (tmp_path / "lock").open("w") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                order.append(name)
                order.append(name)
                if unlocks:
                    fcntl.flock(file, fcntl.LOCK_UN)

        together(lambda: hold("a", True), lambda: hold("b", True), lambda: hold("c", False))
        assert order[::2] == order[1::2]
        return "".join(order[::2])

    assert len(values(attempt, 60)) == 6


def test_without_waiting_it_fails_where_another_task_holds_it(tmp_path: Path) -> None:
    def attempt() -> int:
        failed: list[bool] = []

        def hold() -> None:
            with (tmp_path / "lock").open("w") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    time.sleep(0)
                except BlockingIOError:
                    failed.append(True)

        together(hold, hold)
        return len(failed)

    assert values(attempt) == {0, 1}


def test_shared_locks_keep_out_only_exclusive_ones(tmp_path: Path) -> None:
    def attempt() -> tuple[int, int]:
        inside: list[int] = []
        most = {fcntl.LOCK_SH: 0, fcntl.LOCK_EX: 0}

        def hold(kind: int) -> None:
            with (tmp_path / "lock").open("w") as file:
                fcntl.flock(file, kind)
                inside.append(kind)
                time.sleep(0)
                most[kind] = max(most[kind], len(inside))
                inside.remove(kind)
                fcntl.flock(file, fcntl.LOCK_UN)

        kinds_of_locks = (fcntl.LOCK_SH, fcntl.LOCK_SH, fcntl.LOCK_EX)
        together(*(partial(hold, kind) for kind in kinds_of_locks))
        return most[fcntl.LOCK_SH], most[fcntl.LOCK_EX]

    assert values(attempt, 100) == {(1, 1), (2, 1)}


def test_two_locks_in_two_orders_are_a_deadlock(tmp_path: Path) -> None:
    def attempt() -> None:
        def hold(first: str, second: str) -> None:
            with (tmp_path / first).open("w") as one, (tmp_path / second).open("w") as other:
                fcntl.flock(one, fcntl.LOCK_EX)
                fcntl.flock(other, fcntl.LOCK_EX)

        together(lambda: hold("a", "b"), lambda: hold("b", "a"))

    result = bohrbug.explore(attempt, executions=50, causes=0, predict=0, minimise=False)
    (failure,) = result.failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    labels = [resource.label for resource in failure.trace.resources.values()]
    assert {"file lock a", "file lock b"} <= set(labels)
    held = [blocked.holding for blocked in failure.outcome.blocked if blocked.holding]
    assert len(held) == 2


def test_locks_of_a_process_keep_no_task_out(tmp_path: Path) -> None:
    def attempt() -> None:
        def hold() -> None:
            with (tmp_path / "lock").open("w") as file:
                fcntl.lockf(file, fcntl.LOCK_EX)
                os.lockf(file.fileno(), os.F_LOCK, 0)

        together(hold, hold)

    assert kinds(attempt) == {PASSED}


HOLDER = """
import fcntl, sys, time
with open(sys.argv[1], "w") as file:
    (fcntl.flock if sys.argv[2] == "flock" else fcntl.lockf)(file, fcntl.LOCK_EX)
    print("locked", flush=True)
    time.sleep(0.3)
"""


WHOLE_FILE = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
"""What ``F_SETLKW`` locks, on Linux."""


def test_a_task_waits_for_another_process(tmp_path: Path) -> None:
    def test() -> None:
        for function in ("flock", "lockf", "fcntl"):
            path = tmp_path / function
            command = [sys.executable, "-c", HOLDER, str(path), function]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
                assert child.stdout is not None
                assert child.stdout.readline() == "locked\n"
                with path.open("w") as file:
                    if function == "fcntl":
                        fcntl.fcntl(file, fcntl.F_SETLKW, WHOLE_FILE)
                    else:
                        getattr(fcntl, function)(file, fcntl.LOCK_EX)

    result = bohrbug.explore(test, executions=1)
    assert not result.failures, result.failures[0].outcome.message


def _said_of(call: Callable[[], object]) -> str:
    try:
        call()
    except (OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "done"


@pytest.mark.parametrize("name", ["fcntl.flock", "fcntl.lockf", "os.lockf", "fcntl.fcntl"])
def test_every_command_is_answered_as_by_the_real_function(tmp_path: Path, name: str) -> None:
    """All arguments that there are, those that unlock and those that make no sense among them."""
    module, _, function = name.partition(".")

    def answers() -> list[str]:
        call = getattr({"fcntl": fcntl, "os": os}[module], function)
        told = []
        with (tmp_path / "lock").open("w") as file:
            if function == "fcntl":
                kinds_of_locks = (fcntl.F_WRLCK, fcntl.F_RDLCK, fcntl.F_UNLCK, 77)
                for kind in kinds_of_locks:
                    argument = struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 0, 0)
                    told.append(_said_of(partial(call, file, fcntl.F_SETLKW, argument)))
            elif module == "os":
                told += [_said_of(partial(call, file.fileno(), how, 0)) for how in range(6)]
            else:
                told += [_said_of(partial(call, file, how)) for how in range(16)]
        return told

    expected = answers()
    assert "done" in expected
    told: list[list[str]] = []
    assert kinds(lambda: told.append(answers()), 1) == {PASSED}
    assert told == [expected]


def _closed_by_with(path: Path, act: Callable[[], None]) -> None:
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        act()


def _closed_by_an_exception(path: Path, act: Callable[[], None]) -> None:
    with suppress(KeyError), path.open() as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        act()
        raise KeyError


def _closed_by_its_method(path: Path, act: Callable[[], None]) -> None:
    file = path.open()
    fcntl.flock(file, fcntl.LOCK_EX)
    act()
    file.close()


def _closed_by_nobody(path: Path, act: Callable[[], None]) -> None:
    file = path.open("rb", buffering=0)
    fcntl.flock(file, fcntl.LOCK_EX)
    act()
    del file


def _closed_by_its_number(path: Path, act: Callable[[], None]) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    act()
    os.close(descriptor)


def _closed_by_contextlib(path: Path, act: Callable[[], None]) -> None:
    with ExitStack() as stack:
        file = stack.enter_context(closing(path.open()))
        fcntl.flock(file, fcntl.LOCK_EX)
        act()


_CLOSING = [
    *(_closed_by_with, _closed_by_an_exception, _closed_by_its_method, _closed_by_nobody),
    *(_closed_by_its_number, _closed_by_contextlib),
]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("lock", _CLOSING)
def test_closing_a_locked_file_unlocks_it(
    tmp_path: Path, lock: Callable[[Path, Callable[[], None]], None]
) -> None:
    path = tmp_path / "lock"
    path.touch()

    def program() -> None:
        counts = [0]

        def count() -> None:
            counts[0] += 1

        together(lambda: lock(path, count), lambda: lock(path, count))
        assert counts[0] == 2

    verdict = bohrbug.explore(program).verdict
    assert verdict.kind is VerdictKind.HOLDS, verdict
    assert verdict.conditions is not None and not verdict.conditions.taking


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("lock", _CLOSING)
def test_what_comes_after_closing_is_not_locked(
    tmp_path: Path, lock: Callable[[Path, Callable[[], None]], None]
) -> None:
    path = tmp_path / "lock"
    path.touch()

    def program() -> None:
        counts = [0]

        def work() -> None:
            seen: list[int] = []
            lock(path, lambda: seen.append(counts[0]))
            counts[0] = seen[0] + 1

        together(work, work)
        assert counts[0] == 2

    assert bohrbug.explore(program).verdict.kind is VerdictKind.FAILED


def test_a_closed_file_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()

    def program() -> None:
        def work() -> None:
            with path.open() as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.close()
                assert file.closed
                assert "close" not in vars(file)
                file.close()

        together(work, work)

    assert bohrbug.explore(program).verdict.kind is VerdictKind.HOLDS
