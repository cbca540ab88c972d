"""Which commands can be explored."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.elf import (
    MACHINES,
    defines,
    header_of,
    interpreter_of,
    is_elf,
    is_of_go,
)

OTHER_LOADER = "/ld-musl-"
"""In the path of a dynamic loader that is not the GNU C library's."""

MOST_INTERPRETERS = 4
"""Scripts that are interpreters of scripts; as many as Linux has."""


def command_of(words: Sequence[str]) -> list[str]:
    """A command with the path of its program found, as a shell would.

    Raises:
        UnsupportedError: there is no such program, or it can't be controlled.
    """
    program = words[0]
    if not program:
        raise UnsupportedError("the name of the program is empty")
    path = shutil.which(program)
    if path is None:
        if Path(program).is_dir():
            raise UnsupportedError(f"{program} is a directory, not a program")
        if Path(program).is_file():
            raise UnsupportedError(_why_not_found(program))
        raise UnsupportedError(f"there is no program {program}")
    _check(program, Path(path).resolve())
    return [path, *words[1:]]


_SOURCES = {".c": "cc", ".cc": "c++", ".cpp": "c++", ".cxx": "c++"}
"""What compiles source files that a hurried hand gives in place of the program."""


def _why_not_found(program: str) -> str:
    """Why a file that exists is not what a shell would start."""
    path = Path(program)
    if os.access(program, os.X_OK):
        return f"{program} is not on the PATH; for the one in this folder: ./{program}"
    if compiler := _SOURCES.get(path.suffix):
        name = shlex.quote(path.stem)
        return (
            f"{program} is source; compile it, and explore the program: "
            f"{compiler} -g -pthread -o {name} {shlex.quote(program)}"
        )
    return f"{program} may not be executed: chmod +x {program}"


def _check(program: str, file: Path) -> None:
    """See that the file of a program, or the interpreter of a script, can be controlled."""
    name, runs = program, file
    for _ in range(MOST_INTERPRETERS):
        if is_elf(runs):
            break
        runs = _interpreter_of_script(name, runs)
        name = f"{runs}, which runs {program},"
    _check_elf(name, runs)
    if runs.stat().st_mode & 0o6000 and os.getuid() != 0:
        raise UnsupportedError(
            f"{name} is setuid or setgid, and the loader ignores LD_PRELOAD for it"
        )


def _interpreter_of_script(name: str, file: Path) -> Path:
    with file.open("rb") as opened:
        first = opened.readline(256)
    words = first.removeprefix(b"#!").split(maxsplit=1)
    if not first.startswith(b"#!") or not words:
        raise UnsupportedError(
            f"{name} is neither a program nor a script whose first line says what runs it: put a "
            "line such as #!/bin/sh there, or run it as an argument, as in -- sh SCRIPT"
        )
    interpreter = Path(os.fsdecode(words[0]))
    if not interpreter.is_file():
        raise UnsupportedError(
            f"there is no {interpreter}, which the first line of {name} says is to run it"
        )
    return interpreter.resolve()


def _check_elf(name: str, file: Path) -> None:
    header = header_of(file)
    machine = platform.machine()
    if header is None:
        raise UnsupportedError(f"{name} is no program that this machine can run: it is damaged")
    if header.bits != 64 or (machine in MACHINES and header.machine != MACHINES[machine]):
        raise UnsupportedError(
            f"{name} is a program of {header.bits} bits for another kind of machine than this "
            f"({machine}), and only programs for this kind can be controlled"
        )
    loader = interpreter_of(file)
    if is_of_go(file):
        raise UnsupportedError(
            f"{name} is a Go program, whose runtime makes its system calls itself, and only "
            "programs that make them through the C library can be controlled"
        )
    if loader and OTHER_LOADER in loader:
        raise UnsupportedError(
            f"{name} uses another C library ({loader}), and only programs that use the GNU C "
            "library can be controlled: compile it for that one"
        )
    if loader is None:
        raise UnsupportedError(
            f"{name} is linked statically, and only programs that use the C library as a shared "
            "library can be controlled"
        )
    if defines(file, "__tsan_init"):
        raise UnsupportedError(
            f"{name} has the runtime of the thread sanitizer linked into itself, which Bohrbug "
            "has to stand in for: link it with clang -fsanitize=thread -shared-libsan, or use gcc"
        )
