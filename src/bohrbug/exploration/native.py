"""Exploring and replaying native programs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bohrbug.exploration.explorer import Explorer
from bohrbug.exploration.native_outcomes import Expectation, NativeExplainer
from bohrbug.exploration.native_strategies import (
    native_strategy,
    strategy_for_samples,
    strategy_for_watchpoints,
)
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.progress import TellProgress
from bohrbug.exploration.replaying import Replay, repeated
from bohrbug.exploration.reproduction import Reproduction
from bohrbug.exploration.saving import Keeper
from bohrbug.exploration.surroundings import Surroundings
from bohrbug.model.plan import Plan
from bohrbug.runtime.posix import layout
from bohrbug.runtime.posix.ended import Printed
from bohrbug.runtime.posix.engines import AUTO
from bohrbug.runtime.posix.runtime import NativeRuntime
from bohrbug.runtime.posix.settings import NativeSettings

KIND = "command"
"""The kind of target of a native program in reproduction files."""

FAULTS = tuple(layout.FAULTS)
"""The calls that can be made to fail."""

ALLOWABLE_MISUSES = layout.ALLOWABLE_MISUSES
"""The kinds of misuse behind which an execution can go on."""

OnPrinted = Callable[[Printed], object]


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

    def runtime(
        self, options: ExploreOptions, on_printed: OnPrinted | None = None
    ) -> NativeRuntime:
        """The runtime for it.

        Raises:
            UnsupportedError: it can't be controlled.
        """
        expectation = Expectation(
            self.exit_code, self.same_output, self.check, check_seconds=options.hang_seconds
        )
        return NativeRuntime(
            self.words,
            replace(
                settings_of(options),
                epoch=self.epoch,
                faults=self.faults,
                most_faults=self.most_faults,
                watch=self.watch,
                sample=self.sample,
                engine=self.engine,
                fibers=self.fibers,
                allowed_misuses=self.allowed_misuses,
            ),
            NativeExplainer(expectation),
            on_printed=on_printed,
        )


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


def settings_of(options: ExploreOptions) -> NativeSettings:
    """How executions of a native program are run, from the options of an exploration."""
    return NativeSettings(
        late_timeouts=options.timeouts == "late",
        max_steps=options.max_steps,
        after_release=options.level != "sync",
        hang_seconds=options.hang_seconds,
        level=options.level,
        seed=options.seed,
    )


def native_explorer(
    command: Command,
    options: ExploreOptions,
    progress: TellProgress | None = None,
    on_printed: OnPrinted | None = None,
    keeper: Keeper | None = None,
) -> tuple[Explorer, NativeRuntime]:
    """An explorer for a native program.

    Parameters:
        command: the program and what is expected of it.
        options: of the exploration; ``scope``, ``interpreter`` and ``invariant``
            mean nothing here.
        progress: called several times a second with how far it has come.
        on_printed: given what each execution printed.
        keeper: keeps the exploration in a file, so that it can be resumed.

    Raises:
        UnsupportedError: it can't be controlled, or not with that strategy.
    """
    strategy_of = native_strategy
    if command.watch:
        strategy_of = strategy_for_watchpoints
    if command.sample:
        strategy_of = strategy_for_samples
    strategy = strategy_of(options)
    runtime = command.runtime(options, on_printed)
    surroundings = Surroundings(
        progress,
        settle=runtime.settle,
        # What an execution shows depends on all before it.
        keeper=keeper if not command.sample else None,
    )
    return Explorer(runtime, command.name, options, surroundings, strategy), runtime


def replay_native(
    reproduction: Reproduction, times: int = 1, on_printed: OnPrinted | None = None
) -> tuple[Replay, NativeRuntime]:
    """Replay a reproduction of a native program.

    Parameters:
        reproduction: from the file.
        times: how often to replay.
        on_printed: given what each replay printed.

    Raises:
        UnsupportedError: the program can't be controlled any more.
    """
    command = command_from(reproduction.target)
    runtime = command.runtime(reproduction.options, on_printed)
    runtime.want_points(reproduction.points)
    with runtime:
        # It shows what is expected.
        runtime.execute(Plan())
        return repeated(runtime, reproduction.failure, times), runtime


def words_of(text: str) -> Sequence[str]:
    """The words of a command that was given as one text, run by a shell where it needs one."""
    return ("/bin/sh", "-c", text)
