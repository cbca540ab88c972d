"""Which commands can be explored."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.elf import defines, interpreter_of, is_elf


def command_of(words: Sequence[str]) -> list[str]:
    """A command with the path of its program found, as a shell would.

    Raises:
        UnsupportedError: there is no such program, or it can't be controlled.
    """
    program = words[0]
    path = shutil.which(program)
    if path is None:
        if Path(program).is_file():
            raise UnsupportedError(f"{program} may not be executed: chmod +x {program}")
        raise UnsupportedError(f"there is no program {program}")
    file = Path(path).resolve()
    if is_elf(file) and interpreter_of(file) is None:
        raise UnsupportedError(
            f"{program} is linked statically, and only programs that use the C library as a shared "
            "library can be controlled (Go programs, too, make their system calls themselves)"
        )
    if is_elf(file) and defines(file, "__tsan_init"):
        raise UnsupportedError(
            f"{program} has the runtime of the thread sanitizer linked into itself, which Bohrbug "
            "has to stand in for: link it with clang -fsanitize=thread -shared-libsan, or use gcc"
        )
    if file.stat().st_mode & 0o6000 and os.getuid() != 0:
        raise UnsupportedError(
            f"{program} is setuid or setgid, and the loader ignores LD_PRELOAD for it"
        )
    return [path, *words[1:]]
