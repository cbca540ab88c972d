"""Native programs on the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bohrbug.exploration.native import Command, words_of
from bohrbug.runtime.posix.elf import is_elf
from bohrbug.runtime.posix.runtime import Printed


def is_native(program: str, arguments: Sequence[str], raw: Sequence[str]) -> bool:
    """Whether a command line means a native program.

    It does after ``--``, unless what follows is a Python script or a function; and without it
    where the file is a program for this machine.

    Parameters:
        program: the first word that is no option.
        arguments: what follows it.
        raw: the command line as it was given.
    """
    if program.endswith(".py"):
        return False
    words = [program, *arguments]
    if list(raw[-len(words) - 1 :]) == ["--", *words]:
        return not _is_function(program)
    return is_elf(Path(program))


def _is_function(program: str) -> bool:
    module, colon, _ = program.partition(":")
    return bool(colon) and "/" not in module and not Path(program).exists()


def command(
    program: str,
    arguments: Sequence[str],
    check: str | None,
    same_output: bool,
    exit_code: int | None,
) -> Command:
    """The test that a command line means."""
    return Command(
        (program, *arguments),
        exit_code,
        same_output,
        tuple(words_of(check)) if check else (),
    )


def printed_text(printed: Printed | None) -> str:
    """What an execution printed, as one text."""
    if printed is None:
        return ""
    return (printed.stdout + printed.stderr).decode("utf-8", "replace")


def show_printed(printed: Printed) -> None:
    """Pass on what an execution printed."""
    sys.stdout.buffer.write(printed.stdout)
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(printed.stderr)
    sys.stderr.buffer.flush()
