"""Buffered files that tasks share, over raw files in which they can lose control."""

from __future__ import annotations

import _io
import functools
import gzip
import io
import socket
from pathlib import Path

import pytest

import bohrbug
from bohrbug.exploration.result import VerdictKind
from tests.programs.together import together
from tests.unit.random_schedules import outcomes, values


def test_two_tasks_read_lines_from_one_socket() -> None:
    def attempt() -> tuple[bytes, ...]:
        ours, theirs = socket.socketpair()
        got: dict[str, bytes] = {}
        with ours, theirs, ours.makefile("rb") as file:

            def read(name: str) -> None:
                got[name] = file.readline()

            together(lambda: read("a"), lambda: read("b"), lambda: theirs.sendall(b"x\ny\n"))
        return got["a"], got["b"]

    assert values(attempt) == {(b"x\n", b"y\n"), (b"y\n", b"x\n")}


def test_each_call_is_a_scheduling_point() -> None:
    """All ways to divide four lines that have come already among two readers."""

    def attempt() -> str:
        ours, theirs = socket.socketpair()
        read_by: dict[bytes, str] = {}
        with ours, theirs, ours.makefile("rb") as file:
            theirs.sendall(b"1\n2\n3\n4\n")

            def reader(name: str) -> None:
                for _ in range(2):
                    read_by[file.readline()] = name

            together(lambda: reader("a"), lambda: reader("b"))
        return "".join(read_by[line] for line in sorted(read_by))

    assert values(attempt, 200) == {"aabb", "abab", "abba", "baab", "baba", "bbaa"}


def test_two_tasks_read_one_compressed_file(tmp_path: Path) -> None:
    """Between the two buffers and the file is Python code, whose accesses are scheduling points."""
    path = tmp_path / "file.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"x\ny\n")

    def test() -> None:
        with gzip.open(path, "rb") as file:
            got: list[bytes] = []

            def read() -> None:
                got.append(file.readline())

            together(read, read)
            assert sorted(got) == [b"x\n", b"y\n"]

    result = bohrbug.explore(test, level="all", executions=60)
    assert result.verdict.kind is not VerdictKind.FAILED, result.failures


def test_closing_waits_until_the_other_task_has_read() -> None:
    def attempt() -> str:
        ours, theirs = socket.socketpair()
        said: list[str] = []
        with ours, theirs:
            file = ours.makefile("rb")

            def read() -> None:
                try:
                    said.append(file.readline().decode())
                except ValueError as error:
                    said.append(str(error))

            together(read, file.close, lambda: theirs.sendall(b"x\n"))
        return said[0]

    assert {text.strip() for text in values(attempt)} == {"x", "readline of closed file"}


def test_halves_of_a_pair_do_not_wait_for_each_other() -> None:
    def test() -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            raw = socket.SocketIO(ours, "rw")
            pair = io.BufferedRWPair(raw, raw)  # type: ignore[type-var]

            def write() -> None:
                pair.write(b"question")
                pair.flush()

            def answer() -> None:
                assert theirs.recv(8) == b"question"
                theirs.sendall(b"answer")

            together(lambda: pair.read(6), write, answer)

    assert [str(outcome) for outcome in outcomes(test) if outcome.is_failure] == []


def test_a_buffer_that_is_called_from_within_itself_still_complains() -> None:
    class Raw(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: object) -> int:
            self.outer.read(1)
            return 0

    def test() -> None:
        raw = Raw()
        raw.outer = io.BufferedReader(raw)
        with pytest.raises(RuntimeError, match="reentrant call"):
            raw.outer.read(1)

    assert [outcome.traceback for outcome in outcomes(test, 1) if outcome.is_failure] == []


def test_the_classes_look_like_those_in_c(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    # Only by its id: references to the class are exchanged for those to what stands for it.
    real = id(_io.BufferedReader)

    def test() -> None:
        assert io.BufferedReader is _io.BufferedReader
        assert id(io.BufferedReader) != real
        ours, theirs = socket.socketpair()
        with ours, theirs, ours.makefile("rb") as file, path.open("rb") as other:
            assert id(type(other)) == real
            assert isinstance(other, io.BufferedReader)
            assert not isinstance(other, io.BufferedWriter)
            assert isinstance(file, io.BufferedReader)
            assert isinstance(file, io.BufferedIOBase)
            assert repr(file).startswith("<_io.BufferedReader name=")
            with io.BufferedReader(io.FileIO(path)) as plain:
                assert id(type(plain)) == real

            class Own(io.BufferedReader):
                pass

            assert isinstance(Own(io.BytesIO(b"x")), io.BufferedReader)  # type: ignore[arg-type]
            assert not isinstance(file, Own)

    assert [outcome.traceback for outcome in outcomes(test, 1) if outcome.is_failure] == []
    assert id(io.BufferedReader) == real


def test_singledispatch_knows_them(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")

    def test() -> None:
        class Own(io.BufferedReader):
            pass

        @functools.singledispatch
        def name(file: object) -> str:
            return "object"

        for cls in (io.BufferedWriter, io.BufferedIOBase, io.BufferedReader, Own):
            name.register(cls, lambda file, cls=cls: cls.__name__)
        ours, theirs = socket.socketpair()
        with ours, theirs, ours.makefile("rb") as made, path.open("rb") as opened:
            assert name(made) == name(opened) == "BufferedReader"
        assert name(Own(io.BytesIO(b"x"))) == "Own"  # type: ignore[arg-type]
        assert name(io.BytesIO(b"x")) == "BufferedIOBase"
        assert name("x") == "object"

    assert [outcome.traceback for outcome in outcomes(test, 1) if outcome.is_failure] == []
