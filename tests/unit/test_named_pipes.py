"""Opening named pipes, which waits for who opens the other end."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from tests.programs.together import together


@contextmanager
def _pipes(*names: str) -> Iterator[list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in names]
        for path in paths:
            os.mkfifo(path)
        yield paths


def _write_all(path: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    os.write(descriptor, b"some text")
    os.close(descriptor)


def _read_all(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY)
    text = os.read(descriptor, 100)
    os.close(descriptor)
    return text.decode()


def _write_file(path: str) -> None:
    with open(path, "w") as file:
        file.write("some text")


def _read_file(path: str) -> str:
    with open(path) as file:
        return file.read()


@pytest.mark.parametrize("write", [_write_all, _write_file])
@pytest.mark.parametrize("read", [_read_all, _read_file])
def test_both_ends_wait_for_each_other(
    write: Callable[[str], None], read: Callable[[str], str]
) -> None:
    def program() -> None:
        texts: list[str] = []
        with _pipes("a") as (path,):
            together(lambda: write(path), lambda: texts.append(read(path)))
        assert texts == ["some text"]

    verdict = bohrbug.explore(program).verdict
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.conditions is not None and not verdict.conditions.taking


def test_pipes_opened_in_one_order_hold() -> None:
    def program() -> None:
        with _pipes("a", "b") as (first, second):
            together(
                lambda: (_write_file(first), _write_file(second)),
                lambda: (_read_file(first), _read_file(second)),
            )

    # A busy machine takes long for some hundred executions that wait in the kernel.
    assert bohrbug.explore(program, seconds=120).verdict.kind is VerdictKind.HOLDS


def test_pipes_opened_in_two_orders_are_a_deadlock() -> None:
    def program() -> None:
        with _pipes("a", "b") as (first, second):
            together(
                lambda: (_write_file(first), _write_file(second)),
                lambda: (_read_file(second), _read_file(first)),
            )

    failures = bohrbug.explore(program).failures
    assert failures and failures[0].outcome.kind is OutcomeKind.DEADLOCK


def test_a_reader_that_comes_too_late_waits_for_ever() -> None:
    def program() -> None:
        with _pipes("a") as (path,):
            together(
                lambda: _write_file(path),
                lambda: _read_file(path),
                lambda: _read_file(path),
            )

    failures = bohrbug.explore(program, minimise=False, causes=0).failures
    assert failures and failures[0].outcome.kind is OutcomeKind.DEADLOCK


def test_without_waiting_nothing_changes() -> None:
    def program() -> None:
        with _pipes("a") as (path,):

            def look() -> None:
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
                os.close(os.open(path, os.O_RDWR))
                with pytest.raises(OSError):
                    os.open(path, os.O_WRONLY | os.O_NONBLOCK)

            together(look)

    assert bohrbug.explore(program).verdict.kind is VerdictKind.HOLDS


def test_a_file_on_a_pipe_has_its_name() -> None:
    def program() -> None:
        names: list[object] = []
        with _pipes("a") as (path,):

            def write() -> None:
                with open(path, "wb") as file:
                    names.append(file.name)

            together(write, lambda: _read_file(path))
            assert names == [path]

    assert bohrbug.explore(program).verdict.kind is VerdictKind.HOLDS


def test_somebody_outside_may_open_the_other_end(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    texts: list[str] = []

    def program() -> None:
        together(lambda: texts.append(_read_file(str(path))))

    with subprocess.Popen(
        ["sh", "-c", 'while :; do echo text > "$1"; sleep 0.01; done', "sh", path]
    ) as writer:
        try:
            result = bohrbug.explore(program, executions=3)
        finally:
            writer.kill()
    assert not result.failures
    # It writes once more if it comes back before the file is closed.
    assert texts and all(text.startswith("text\n") for text in texts)
