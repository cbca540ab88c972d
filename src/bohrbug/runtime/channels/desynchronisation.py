"""The first difference between a replay and its log, and where it is told."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bohrbug.paths import is_library_file, is_own_file, is_standard_file
from bohrbug.runtime.channels.events import TaskId

DESYNCHRONISED = 3
"""Exit code of a strict replay that is desynchronised."""

REPORT = "desynchronisation"
"""File in the session's folder that the first desynchronisation is written to."""


@dataclass(frozen=True, slots=True)
class Desynchronisation:
    """The first difference between a replay and its log.

    Parameters:
        task: where it showed.
        number: of the task's event.
        expected: what the log says, in words.
        found: what the program did, in words.
        place: where in the program, as ``file:line``; empty if that is not known.
    """

    task: TaskId
    number: int
    expected: str
    found: str
    place: str = ""

    def __str__(self) -> str:
        at = f" at {self.place}" if self.place else ""
        return (
            f"task {self.task}, event {self.number + 1}{at}\n"
            f"  the log says   {self.expected}\n"
            f"  the program    {self.found}"
        )


class DesynchronisationError(RuntimeError):
    """A strict replay can't go on.

    Parameters:
        desynchronisation: the first difference.
    """

    def __init__(self, desynchronisation: Desynchronisation) -> None:
        super().__init__(f"the replay is desynchronised: {desynchronisation}")
        self.desynchronisation = desynchronisation


def read_report(folder: Path) -> Desynchronisation | None:
    """The first desynchronisation of a session, from its folder."""
    try:
        return Desynchronisation(**json.loads((folder / REPORT).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def place_outside() -> str:
    """The line of the program that called us, in the innermost of its own frames.

    Where there is none, as in a thread of a library, it is one of an installed package; neither
    the standard library's nor ours tell a user anything.
    """
    frame: Any = sys._getframe(1)
    of_package = ""
    while frame is not None:
        name = frame.f_code.co_filename
        place = f"{Path(name).name}:{frame.f_lineno}"
        if not is_library_file(name) and not is_own_file(name):
            return place
        if not of_package and not is_standard_file(name) and not is_own_file(name):
            of_package = place
        frame = frame.f_back
    return of_package
