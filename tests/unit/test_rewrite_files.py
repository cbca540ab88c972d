"""What rewritten functions tell of the files that they use."""

from __future__ import annotations

import fcntl
import io
import mmap
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads import leftovers
from bohrbug.runtime.threads.rewrite import Place, Rewriter, set_sink
from bohrbug.runtime.threads.rewrite.named import Named

REWRITER = Rewriter()


class FileSink:
    """A sink that writes down what is done with files, and nothing else."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.accesses: list[tuple[str, bool]] = []

    def attribute(self, owner: object, name: str, is_write: bool, place: Place) -> None:
        if isinstance(owner, Named):
            assert owner.label.startswith("names in folder")
            self.accesses.append((f"name {name}", is_write))

    def item(self, owner: object, key: object, is_write: bool, place: Place) -> None:
        """No file."""

    def whole(self, owner: object, is_write: bool, place: Place) -> None:
        if isinstance(owner, Named):
            label = owner.label.removesuffix(self.folder).rstrip("0123456789 ")
            self.accesses.append((label, is_write))
        elif isinstance(owner, io.IOBase):
            self.accesses.append(("stream", is_write))


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., object]]:
    """What a function tells that is given the path of a file, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "file"
    path.write_text("text")

    def of(function: Callable[[Path], object]) -> list[tuple[str, bool]]:
        REWRITER.install_function(function)  # type: ignore[arg-type]
        sink = FileSink(tmp_path.name)
        set_sink(sink)
        try:
            function(path)
        finally:
            set_sink(None)
        return sink.accesses

    yield of
    REWRITER.restore()
    leftovers.forget_all()


READ, WRITE = ("file file", False), ("file file", True)
DESCRIPTOR = ("descriptor", True)
CONTENTS_READ, CONTENTS_WRITE = ("contents of a file", False), ("contents of a file", True)
FLAGS_READ, FLAGS_WRITE = ("flags of descriptor", False), ("flags of descriptor", True)
STREAM = (("stream", True), FLAGS_READ, DESCRIPTOR)
"""An open file, whether its descriptor is open, and where that is."""
CLOSED = (*STREAM, FLAGS_WRITE)
WRITTEN_OUT = (*STREAM, CONTENTS_WRITE, FLAGS_WRITE)
"""A file that is closed: what waits in its buffer is written."""
FOLDER_READ = (("file", False), ("names in folder", False))
CLOSE = (FLAGS_WRITE, DESCRIPTOR)


def looks(path: Path) -> None:
    os.stat(path)
    os.stat(os.fsencode(path))
    os.listdir(path.parent)


def opens(path: Path) -> None:
    open(path).close()
    open(path, encoding="utf-8").close()
    open(path, mode="a", encoding="utf-8").close()
    open(path, "r+").close()


def opens_by_flags(path: Path) -> None:
    os.close(os.open(path, os.O_RDONLY))
    os.close(os.open(path, os.O_RDWR))


def reads_and_writes(path: Path) -> None:
    with open(path) as file:
        file.read()
    with open(path, "wb") as file:
        file.write(b"text")


def moves_in_streams(path: Path) -> None:
    with open(path) as file:
        file.seek(0)
        file.tell()
        next(iter(file.readlines()))


def moves_in_descriptors(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.pread(descriptor, 1, 0)
    os.pwrite(descriptor, b"t", 0)
    os.read(descriptor, 1)
    os.write(descriptor, b"e")
    os.close(descriptor)


def looks_at_descriptors(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fstat(descriptor)
    os.set_inheritable(descriptor, os.get_inheritable(descriptor))
    os.dup2(descriptor, descriptor)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL))
    os.close(descriptor)


def uses_pipes(path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"t")
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)


def options_of_sockets(path: Path) -> None:
    with socket.socket() as connection:
        connection.settimeout(connection.gettimeout())


def makes_and_removes(path: Path) -> None:
    open(path, "w").close()
    open(path.with_name("other"), "w").close()
    os.remove(path.with_name("other"))
    os.mkdir("other")
    os.rmdir("other")


def maps(path: Path) -> None:
    with open(path, "r+b") as file:
        one = mmap.mmap(file.fileno(), 0)
        view = memoryview(mmap.mmap(file.fileno(), 0))
    one[0] = 1
    view[0]
    view.release()


def maps_for_itself(path: Path) -> None:
    with open(path, "r+b") as file:
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)[0] = 1


def moves(path: Path) -> None:
    os.replace(path, path.with_name("other"))


def knows_files_by_their_paths(path: Path) -> None:
    os.stat("file")
    os.stat("./file")


def goes_elsewhere(path: Path) -> None:
    os.chdir(path.parent)
    os.getcwd()


def uses_descriptors(path: Path) -> None:
    descriptor = os.open(path.parent, os.O_RDONLY)
    os.stat("file", dir_fd=descriptor)
    os.stat(descriptor)
    os.close(descriptor)


CURRENT_READ = ("the current folder", False)
UMASK = ("the umask", False)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (opens, [READ, *CLOSED, READ, *CLOSED, WRITE, *WRITTEN_OUT, WRITE, *WRITTEN_OUT]),
        (opens_by_flags, [READ, *CLOSE, WRITE, *CLOSE]),
        (
            reads_and_writes,
            [
                *(READ, *STREAM, CONTENTS_READ, READ, *CLOSED),
                *(WRITE, *STREAM, CONTENTS_WRITE, WRITE, *WRITTEN_OUT),
            ],
        ),
        (
            moves_in_streams,
            [READ, *STREAM, *STREAM, *STREAM, CONTENTS_READ, READ, *CLOSED],
        ),
        (
            moves_in_descriptors,
            [
                *(WRITE, FLAGS_READ, DESCRIPTOR),
                *(FLAGS_READ, CONTENTS_READ, FLAGS_READ, CONTENTS_WRITE),
                *(FLAGS_READ, DESCRIPTOR, CONTENTS_READ),
                *(FLAGS_READ, DESCRIPTOR, CONTENTS_WRITE, *CLOSE),
            ],
        ),
        (
            looks_at_descriptors,
            [
                *(READ, FLAGS_READ, CONTENTS_READ, FLAGS_READ, CONTENTS_READ, FLAGS_WRITE),
                *(FLAGS_READ, FLAGS_WRITE, DESCRIPTOR, FLAGS_READ, FLAGS_WRITE, *CLOSE),
            ],
        ),
        (uses_pipes, [FLAGS_READ, FLAGS_READ, FLAGS_WRITE, FLAGS_WRITE]),
        (options_of_sockets, [FLAGS_READ, FLAGS_WRITE]),
        (
            makes_and_removes,
            [
                *(WRITE, *WRITTEN_OUT, ("name other", True), UMASK, ("file other", True)),
                *WRITTEN_OUT,
                *(("name other", True), ("file other", True)),
                *(CURRENT_READ, ("name other", True), ("file other", True), UMASK),
                *(CURRENT_READ, ("names in folder other", True)),
                *(CURRENT_READ, ("name other", True), ("file other", True)),
            ],
        ),
        (
            maps,
            [
                *(WRITE, CONTENTS_READ, *WRITTEN_OUT),
                *(CONTENTS_WRITE, CONTENTS_READ, CONTENTS_WRITE),
            ],
        ),
        (maps_for_itself, [WRITE, *WRITTEN_OUT]),
        (moves, [("name file", True), WRITE, ("name other", True), ("file other", True)]),
        (knows_files_by_their_paths, [CURRENT_READ, READ, CURRENT_READ, READ]),
    ],
)
def test_accesses_to_files_are_told(
    function: Callable[[Path], object],
    expected: list[tuple[str, bool]],
    told: Callable[..., object],
) -> None:
    assert told(function) == expected


def test_a_path_is_told_in_any_form(told: Callable[..., object], tmp_path: Path) -> None:
    assert told(looks) == [READ, READ, *FOLDER_READ]


def test_the_current_folder_is_a_variable(told: Callable[..., object], tmp_path: Path) -> None:
    assert told(goes_elsewhere) == [("file", False), ("the current folder", True), CURRENT_READ]


def test_paths_relative_to_a_descriptor_are_told(
    told: Callable[..., object], tmp_path: Path
) -> None:
    assert told(uses_descriptors) == [("file", False), READ, FLAGS_WRITE]


@pytest.mark.parametrize(
    ("read", "taking"),
    [
        (lambda file: file.read(1), ("_io.BufferedRandom.tell as one step",)),
        # Nobody moves in it.
        (lambda file: file.fileno(), ()),
    ],
)
def test_where_a_buffered_file_is_read_meanwhile_a_look_at_the_position_is_a_condition(
    read: Callable[[io.BufferedRandom], object], taking: tuple[str, ...]
) -> None:
    def test() -> None:
        with tempfile.TemporaryFile() as file:
            file.write(b"abcdef")
            file.seek(2)
            threads = [
                threading.Thread(target=lambda: read(file)),
                threading.Thread(target=lambda: file.tell()),
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    verdict = bohrbug.explore(test).verdict
    assert verdict.kind is VerdictKind.HOLDS
    assert verdict.conditions is not None
    assert verdict.conditions.taking == taking
