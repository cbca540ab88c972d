"""What tasks share beside locks and the memory that code with hooks accesses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.trace_reading import EXIT_HANDLERS
from tests.native.exploring import explored

Build = Callable[..., Path]

HOOKED = ("-fsanitize=thread", "-fno-builtin")

PROCESS_WIDE = ("folder", "path", "mask", "environment", "locale", "handler", "inherited")
FILES = ("position", "size", "name", "renamed", "content", "stream", "lines", "processes")
STREAMS = ("numbers", "wide", "peeked", "position-of-stream")
FOLDERS = ("read-folder", "listed-folder")
COPIES = ("copied", "sent")
BLOCKS = ("strcpy", "strncpy", "memcpy", "snprintf", "read", "write", "qsort")
MEMORY = ("mmap", "shmat")

PROGRAMS = [
    *(("process_wide.c", (), mode) for mode in PROCESS_WIDE),
    *(("shared_files.c", (), mode) for mode in (*FILES, *STREAMS, *FOLDERS, *COPIES)),
    *(("blocks_of_bytes.c", HOOKED, mode) for mode in BLOCKS),
    *(("memory_of_processes.c", HOOKED, mode) for mode in MEMORY),
]


@pytest.mark.parametrize(("source", "flags", "mode"), PROGRAMS)
def test_what_comes_between_is_found(
    native_build: Build, source: str, flags: tuple[str, ...], mode: str
) -> None:
    [failure] = explored(native_build(source, *flags), mode, causes=0).failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION


@pytest.mark.parametrize(
    ("source", "flags", "mode"),
    [each for each in PROGRAMS if each[2] not in (*MEMORY, "processes")],
)
def test_under_a_lock_nothing_comes_between(
    native_build: Build, source: str, flags: tuple[str, ...], mode: str
) -> None:
    program = native_build(source, *flags)
    result = explored(program, mode, "guarded", strategy="dpor", predict=0)
    assert not result.failures
    assert result.verdict.reason.startswith("every schedule was executed")


@pytest.mark.parametrize("mode", FOLDERS)
def test_listing_a_folder_depends_on_the_names_in_it(native_build: Build, mode: str) -> None:
    program = native_build("shared_files.c")
    result = explored(program, mode, strategy="dpor", predict=0, causes=0, minimise=False)
    assert [failure.outcome.kind for failure in result.failures] == [OutcomeKind.ASSERTION]


@pytest.mark.parametrize("mode", ["right", "waits-for-more"])
def test_formats_are_read_from_pipes(native_build: Build, mode: str) -> None:
    result = explored(native_build("scans_pipes.c"), mode, strategy="dfs", executions=300)
    if mode == "right":
        assert not result.failures
    else:
        assert result.failures[0].outcome.kind is OutcomeKind.DEADLOCK


@pytest.mark.parametrize("mode", MEMORY)
def test_memory_of_processes_under_a_lock_holds(native_build: Build, mode: str) -> None:
    program = native_build("memory_of_processes.c", *HOOKED)
    result = explored(program, mode, "guarded", strategy="dfs", predict=0)
    assert not result.failures
    assert result.verdict.kind is VerdictKind.HOLDS


def test_a_file_of_processes_under_its_lock_does_not_fail(native_build: Build) -> None:
    program = native_build("shared_files.c")
    options = {"strategy": "random", "executions": 60, "predict": 0}
    assert not explored(program, "processes", "guarded", **options).failures


def test_where_a_path_begins_another_task_may_change(native_build: Build) -> None:
    program = native_build("process_wide.c")
    [failure] = explored(program, "path", causes=0, strategy="dpor", predict=0).failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION


def test_the_lock_of_a_stream_holds_several_calls_together(native_build: Build) -> None:
    program = native_build("shared_files.c")
    result = explored(program, "locked-stream", strategy="dpor", predict=0)
    assert not result.failures
    assert result.verdict.reason.startswith("every schedule was executed")
    # Were a task to block in the C library, there would be far more: each time somebody is nudged.
    assert result.executions < 100


def test_a_program_that_lacks_a_function_is_refused(native_build: Build) -> None:
    program = native_build("lacks_a_function.c", "-fsanitize=thread", "-Wl,-z,lazy")
    with pytest.raises(UnsupportedError, match=r"can't be executed under control: .*symbol lookup"):
        explored(program)


def test_what_a_process_does_at_its_end_is_a_condition_where_others_are_alive(
    native_build: Build,
) -> None:
    program = native_build("ends_beside_others.c")
    verdict = explored(program, strategy="dfs", predict=0).verdict
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.conditions.taking == (EXIT_HANDLERS,)
    for joined in (("joined",), ("joined", "alarm")):
        result = explored(program, *joined, strategy="dfs", predict=0)
        assert result.verdict.kind is VerdictKind.HOLDS
        assert not result.verdict.conditions.taking


OBJECTS = ("semaphore", "memory", "queue", "keys-semaphore", "keys-memory", "keys-queue")
RIGHTS = ("rights", "rights-by-name")


@pytest.mark.parametrize("what", [*OBJECTS, *RIGHTS])
@pytest.mark.parametrize("strategy", ["dpor", "auto"])
def test_names_are_shared_by_those_who_check_and_make_them(
    native_build: Build, what: str, strategy: str
) -> None:
    program = native_build("object_names.c")
    [failure] = explored(program, what, "checked", causes=0, strategy=strategy).failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION
    result = explored(program, what, "at-once", causes=0, strategy=strategy)
    assert not result.failures
    assert result.verdict.kind is not VerdictKind.INCONCLUSIVE, result.verdict


@pytest.mark.parametrize("what", OBJECTS)
def test_a_name_may_be_taken_away_before_it_is_looked_up(native_build: Build, what: str) -> None:
    [failure] = explored(native_build("object_names.c"), what, "removed", causes=0).failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION


@pytest.mark.parametrize("reached", ["0", "1"])
@pytest.mark.parametrize("mode", ["connect", "sendto", "sendmsg", "bind"])
def test_who_uses_a_socket_by_its_name_depends_on_who_takes_that_away(
    native_build: Build, mode: str, reached: str
) -> None:
    program = native_build("socket_names.c")
    options = {"strategy": "dpor", "predict": 0, "causes": 0, "minimise": False}
    [failure] = explored(program, mode, reached, **options).failures
    assert failure.outcome.kind is OutcomeKind.ASSERTION
