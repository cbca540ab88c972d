"""Which commands can be explored, and what is said of those that can't."""

from __future__ import annotations

import platform
import struct
from pathlib import Path

import pytest

from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.commands import command_of

pytestmark = pytest.mark.skipif(platform.system() != "Linux", reason="for programs of Linux")

EXECUTABLE = 2


def elf(bits: int, machine: int) -> bytes:
    """The header of a program without anything behind it."""
    start = b"\x7fELF" + bytes([bits // 32, 1, 1]) + bytes(9)
    return start + struct.pack("<HH", EXECUTABLE, machine) + bytes(44)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"echo hello\n", "is neither a program nor a script"),
        (b"", "is neither a program nor a script"),
        (b"#!/no/such/shell\n", "there is no /no/such/shell, which the first line"),
        (b"#! \n", "is neither a program nor a script"),
        (b"\x7fELF and more", "it is damaged"),
        (elf(32, 3), "a program of 32 bits for another kind of machine"),
        (elf(64, 2), "a program of 64 bits for another kind of machine"),
    ],
)
def test_what_no_machine_runs_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    program = tmp_path / "program"
    program.write_bytes(content)
    program.chmod(0o755)
    with pytest.raises(UnsupportedError, match=message):
        command_of([str(program)])


def test_a_script_is_what_runs_it(tmp_path: Path) -> None:
    static, script, again = tmp_path / "static", tmp_path / "script", tmp_path / "again"
    static.write_bytes(elf(64, {"x86_64": 62, "aarch64": 183}.get(platform.machine(), 0)))
    script.write_text(f"#!{static} --flag\n")
    again.write_text(f"#! {script}\n")
    for file in (static, script, again):
        file.chmod(0o755)
    with pytest.raises(UnsupportedError, match=f"{static}, which runs .*again, is linked static"):
        command_of([str(again), "argument"])
    script.write_text("#!/bin/sh\n")
    assert command_of([str(again), "argument"]) == [str(again), "argument"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "name of the program is empty"), (".", "is a directory"), ("no-such", "no program no-s")],
)
def test_what_is_no_file_is_refused(name: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        command_of([name])


def test_a_file_that_may_not_be_executed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "program").write_text("#!/bin/sh\n")
    with pytest.raises(UnsupportedError, match="chmod"):
        command_of([str(tmp_path / "program")])
