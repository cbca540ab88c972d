"""What other programs of the machine are asked: compilers, linkers and readers of ELF files."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

PATIENCE = 60.0
"""Seconds of real time that an answer may take."""

LONG_PATIENCE = 600.0
"""The same for what takes longer with larger programs, such as compiling one."""


def said_by(command: Sequence[str], given: str = "", patience: float = PATIENCE) -> str | None:
    """What a tool prints to its standard output.

    Parameters:
        command: its path and arguments.
        given: its standard input.
        patience: seconds of real time after which it is killed.

    Returns:
        ``None`` if it can't be started, or does not end in time; else what it printed, whatever
        it exits with.
    """
    try:
        return subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=patience,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
