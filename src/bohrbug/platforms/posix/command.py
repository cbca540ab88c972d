"""Native programs as tests: what a command line or a reproduction file says of one.

To know this, nothing is needed of what controls native programs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bohrbug.runtime.posix import enumerations
from bohrbug.runtime.posix.engines import AUTO

KIND = "command"
"""The kind of target of a native program in reproduction files."""

FAULTS = tuple(enumerations.FAULTS)
"""The calls that can be made to fail."""

ALLOWABLE_MISUSES = enumerations.ALLOWABLE_MISUSES
"""The kinds of misuse behind which an execution can go on."""


@dataclass(frozen=True, slots=True)
class Command:
    """A native program as a test.

    Parameters:
        words: the program and its arguments.
        exit_code: what it should exit with; ``None``: as in the first execution.
        same_output: it should print the same in every execution.
        check: a command that must exit with 0 after each execution.
        epoch: what the real-time clock says at the beginning of each execution, in seconds.
        faults: the calls that may fail, see :data:`FAULTS`.
        most_faults: how many of them fail in one execution.
        watch: memory whose accesses the processor tells of, as ``--watch`` names it.
        sample: at how many instructions that access memory tasks are held in each execution.
        engine: what executes it, see :data:`bohrbug.runtime.posix.engines.ENGINES`.
        fibers: one kernel thread may wear all tasks.
        allowed_misuses: the kinds of misuse that are no failure, see :data:`ALLOWABLE_MISUSES`.
    """

    words: tuple[str, ...]
    exit_code: int | None = None
    same_output: bool = False
    check: tuple[str, ...] = ()
    epoch: int = field(default_factory=lambda: int(time.time()))
    faults: tuple[str, ...] = ()
    most_faults: int = 1
    watch: tuple[str, ...] = ()
    sample: int = 0
    engine: str = AUTO
    fibers: bool = True
    allowed_misuses: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """How reports call the test."""
        return Path(self.words[0]).name

    def target(self) -> dict[str, Any]:
        """How a reproduction file names it."""
        target: dict[str, Any] = {
            "kind": KIND,
            "command": list(self.words),
            "directory": os.getcwd(),
            "exit_code": self.exit_code,
            "same_output": self.same_output,
            "check": list(self.check),
            "epoch": self.epoch,
            "faults": list(self.faults),
            "most_faults": self.most_faults,
            "watch": list(self.watch),
            "sample": self.sample,
            "allowed_misuses": list(self.allowed_misuses),
        }
        # All ways do the same: they are kept only for those who asked.
        if self.engine != AUTO:
            target["engine"] = self.engine
        if not self.fibers:
            target["fibers"] = False
        return target


def command_from(target: dict[str, Any]) -> Command:
    """The test that a reproduction file names."""
    return Command(
        tuple(target["command"]),
        target["exit_code"],
        target["same_output"],
        tuple(target["check"]),
        target["epoch"],
        # Older files have none.
        tuple(target.get("faults", ())),
        target.get("most_faults", 1),
        tuple(target.get("watch", ())),
        target.get("sample", 0),
        target.get("engine", AUTO),
        target.get("fibers", True),
        tuple(target.get("allowed_misuses", ())),
    )


def words_of(text: str) -> Sequence[str]:
    """The words of a command that was given as one text, run by a shell where it needs one."""
    return ("/bin/sh", "-c", text)
