"""Programs of makers whose system calls can't be seen: refused, and told of as children."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.posix.build import UnsupportedError, compiler
from bohrbug.runtime.posix.commands import command_of
from bohrbug.runtime.posix.elf import interpreter_of
from tests.native.building import need_native
from tests.native.exploring import runtime_for

PLAIN = "int main(void) { return 3; }"

OF_GO = (
    PLAIN
    + r"""
__asm__(".pushsection .note.go.buildid,\"a\",%note\n"
        ".long 4, 4, 4\n"
        ".byte 0x47, 0x6f, 0, 0\n"
        ".long 1\n"
        ".popsection");
"""
)
"""With the note that the compiler of Go leaves, in programs with parts in C, too."""


def compiled(folder: Path, source: str, *flags: str) -> Path:
    need_native()
    cc = compiler()
    assert cc is not None
    (folder / "program.c").write_text(source)
    subprocess.run([cc, *flags, "-o", folder / "program", folder / "program.c"], check=True)
    return folder / "program"


def runs_outside(trace: Trace) -> bool:
    return any("can't be controlled" in what for what in trace.uncontrolled.counts)


def of_another_library(folder: Path) -> Path:
    """A program that asks for another library's loader, under whose name ours is here."""
    plain = compiled(folder, PLAIN)
    loader = interpreter_of(plain)
    assert loader is not None
    other = folder / "ld-musl-this.so.1"
    other.symlink_to(Path(loader).resolve())
    return compiled(folder, PLAIN, f"-Wl,--dynamic-linker={other}")


def of_go(folder: Path) -> Path:
    return compiled(folder, OF_GO)


def test_a_program_of_another_c_library_is_refused(tmp_path: Path) -> None:
    program = of_another_library(tmp_path)
    with pytest.raises(UnsupportedError, match=r"another C library .*/ld-musl-this"):
        command_of([str(program)])


@pytest.mark.parametrize("flags", [(), ("-static",)])
def test_a_program_of_go_is_refused(tmp_path: Path, flags: tuple[str, ...]) -> None:
    with pytest.raises(UnsupportedError, match="is a Go program"):
        command_of([str(compiled(tmp_path, OF_GO, *flags))])


@pytest.mark.parametrize("made", [of_another_library, of_go])
def test_as_children_they_run_outside(tmp_path: Path, made: Callable[[Path], Path]) -> None:
    program = made(tmp_path)
    with runtime_for(Path("/bin/sh"), ["-c", f"{program}"], exit_code=3) as runtime:
        trace = runtime.execute(Plan()).trace
    assert trace.outcome.kind is OutcomeKind.PASSED, trace.outcome
    assert runs_outside(trace)


def test_other_programs_have_neither(tmp_path: Path) -> None:
    program = compiled(tmp_path, PLAIN)
    with runtime_for(Path("/bin/sh"), ["-c", f"{program}"], exit_code=3) as runtime:
        trace = runtime.execute(Plan()).trace
    assert trace.outcome.kind is OutcomeKind.PASSED, trace.outcome
    assert not runs_outside(trace)
