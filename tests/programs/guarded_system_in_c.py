"""What the library's own code and the system share: links, folders, time zones, timers, codecs."""

from __future__ import annotations

import codecs
import datetime
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.programs.guarding import Guard
from tests.programs.together import together

Look = Callable[[], object]


def always_the_same(guard: Guard, look: Look, change: Look) -> None:
    """One task changes something and changes it back, the other one looks at it."""
    before, seen = look(), []

    def change_and_back() -> None:
        with guard:
            change()

    def look_once() -> None:
        with guard:
            seen.append(look())

    together(change_and_back, look_once)
    assert seen == [before]


def linked(guard: Guard, link: Callable[[Path, Path], object]) -> None:
    """A file is written to by one name and read by another one."""
    with tempfile.TemporaryDirectory() as folder:
        path, other = Path(folder, "a"), Path(folder, "b")
        path.touch()
        link(path, other)

        def change() -> None:
            path.write_text("1")
            path.write_text("")

        always_the_same(guard, other.read_text, change)


def symbolic_link(guard: Guard) -> None:
    """Of a file."""
    linked(guard, os.symlink)


def hard_link(guard: Guard) -> None:
    """Of a file."""
    linked(guard, os.link)


def link_to_a_folder(guard: Guard) -> None:
    """A file is made by a path through the link."""
    with tempfile.TemporaryDirectory() as folder:
        real, link = Path(folder, "a"), Path(folder, "b")
        real.mkdir()
        link.symlink_to(real)

        def change() -> None:
            (link / "file").touch()
            (link / "file").unlink()

        always_the_same(guard, (real / "file").exists, change)


def path_in_a_folder(guard: Guard) -> None:
    """A file is made by the descriptor of its folder."""
    with tempfile.TemporaryDirectory() as folder:
        descriptor = os.open(folder, os.O_RDONLY)

        def change() -> None:
            os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=descriptor))
            os.unlink("file", dir_fd=descriptor)

        try:
            always_the_same(guard, lambda: os.path.exists(f"{folder}/file"), change)
        finally:
            os.close(descriptor)


def renamed_in_folders(guard: Guard) -> None:
    """A file is moved by the descriptors of two folders."""
    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder, "a"), Path(folder, "b")
        one.mkdir()
        two.mkdir()
        (one / "file").touch()
        first, second = os.open(one, os.O_RDONLY), os.open(two, os.O_RDONLY)

        def change() -> None:
            os.rename("file", "file", src_dir_fd=first, dst_dir_fd=second)
            os.rename("file", "file", src_dir_fd=second, dst_dir_fd=first)

        try:
            always_the_same(guard, (two / "file").exists, change)
        finally:
            os.close(first)
            os.close(second)


def _in_time_zone(guard: Guard, look: Look) -> None:
    before = os.environ.get("TZ")

    def go_to(zone: str | None) -> None:
        if zone is None:
            os.environ.pop("TZ", None)
        else:
            os.environ["TZ"] = zone
        time.tzset()

    def change() -> None:
        go_to("ABC-5")
        go_to("UTC")

    go_to("UTC")
    try:
        always_the_same(guard, look, change)
    finally:
        go_to(before)


def name_of_the_time_zone(guard: Guard) -> None:
    """An attribute of the module."""
    _in_time_zone(guard, lambda: time.tzname)


def date_of_a_moment(guard: Guard) -> None:
    """In local time."""
    _in_time_zone(guard, lambda: datetime.datetime.fromtimestamp(0))


def day_of_a_moment(guard: Guard) -> None:
    """In local time."""
    _in_time_zone(guard, lambda: datetime.date.fromtimestamp(80_000))


def moment_of_a_date(guard: Guard) -> None:
    """Of one in local time."""
    _in_time_zone(guard, datetime.datetime(2020, 1, 1).timestamp)


def date_with_a_time_zone(guard: Guard) -> None:
    """It gets the local one."""
    _in_time_zone(guard, lambda: datetime.datetime(2020, 1, 1).astimezone().utcoffset())


def _coded(guard: Guard, name: str) -> None:
    decoder = codecs.getincrementaldecoder(name)()

    def change() -> None:
        decoder.decode("a".encode(name)[:1])
        decoder.reset()

    always_the_same(guard, decoder.getstate, change)


def decoder(guard: Guard) -> None:
    """Of a codec whose decoder has a state of its own."""
    _coded(guard, "utf-16")


def plain_decoder(guard: Guard) -> None:
    """Of another one, which has decoded a half."""
    utf_8 = codecs.getincrementaldecoder("utf-8")()

    def change() -> None:
        utf_8.decode(b"\xc3")
        utf_8.reset()

    always_the_same(guard, utf_8.getstate, change)


def encoder(guard: Guard) -> None:
    """It has written the mark of the order of bytes, or not."""
    utf_16 = codecs.getincrementalencoder("utf-16")()

    def change() -> None:
        utf_16.encode("a")
        utf_16.reset()

    always_the_same(guard, utf_16.getstate, change)


PROGRAMS: list[Callable[[Guard], None]] = [
    *(symbolic_link, hard_link, link_to_a_folder, path_in_a_folder, renamed_in_folders),
    *(name_of_the_time_zone, date_of_a_moment, day_of_a_moment, moment_of_a_date),
    *(date_with_a_time_zone, decoder, plain_decoder, encoder),
]
