"""Exploring and replaying native programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from bohrbug.exploration.explorer import Explorer
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.platform import Platform
from bohrbug.exploration.progress import TellProgress
from bohrbug.exploration.replaying import Replay, repeated
from bohrbug.exploration.reproduction import Reproduction
from bohrbug.exploration.saving import Keeper
from bohrbug.exploration.surroundings import Surroundings
from bohrbug.model.conditions import SC
from bohrbug.model.native_resources import CONDITION
from bohrbug.model.operation import WAIT
from bohrbug.model.outcome import Race
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.platforms.posix.command import Command, command_from
from bohrbug.platforms.posix.outcomes import Expectation, NativeExplainer
from bohrbug.platforms.posix.races import described
from bohrbug.platforms.posix.strategies import (
    native_strategy,
    strategy_for_samples,
    strategy_for_watchpoints,
)
from bohrbug.runtime.posix.build import UnsupportedError
from bohrbug.runtime.posix.ended import Printed
from bohrbug.runtime.posix.runtime import NativeRuntime
from bohrbug.runtime.posix.settings import NativeSettings

OnPrinted = Callable[[Printed], object]


def runtime_of(
    command: Command,
    options: ExploreOptions,
    on_printed: OnPrinted | None = None,
    on_replayed: OnPrinted | None = None,
) -> NativeRuntime:
    """The runtime for a native program.

    Parameters:
        command: the program and what is expected of it.
        options: of the exploration.
        on_printed, on_replayed: see :class:`NativeRuntime`.

    Raises:
        UnsupportedError: it can't be controlled.
    """
    if options.memory != SC and (command.watch or command.sample or options.level == "sync"):
        raise UnsupportedError(
            f"--memory {options.memory} needs to see all accesses to memory: without --level sync, "
            "--watch and --sample-accesses"
        )
    expectation = Expectation(
        command.exit_code, command.same_output, command.check, check_seconds=options.hang_seconds
    )
    return NativeRuntime(
        command.words,
        replace(
            settings_of(options),
            epoch=command.epoch,
            faults=command.faults,
            most_faults=command.most_faults,
            watch=command.watch,
            sample=command.sample,
            engine=command.engine,
            fibers=command.fibers,
            allowed_misuses=command.allowed_misuses,
        ),
        NativeExplainer(expectation),
        on_printed=on_printed,
        on_replayed=on_replayed,
    )


def settings_of(options: ExploreOptions) -> NativeSettings:
    """How executions of a native program are run, from the options of an exploration."""
    return NativeSettings(
        max_steps=options.max_steps,
        after_release=options.level != "sync",
        hang_seconds=options.hang_seconds,
        level=options.level,
        seed=options.seed,
        memory=options.memory,
    )


class NativePlatform(Platform):
    """A native program.

    Parameters:
        runtime: executes plans of it.
        explainer: tells how its executions ended.
    """

    def __init__(self, runtime: NativeRuntime, explainer: NativeExplainer) -> None:
        super().__init__(runtime)
        self._program = runtime
        self._explainer = explainer

    def complete_races(self, trace: Trace, races: Sequence[Race]) -> list[Race]:
        """See :class:`Platform`."""
        return described(self._program, trace, races)

    def classified(self, races: Iterable[Race]) -> list[Race]:
        """See :class:`Platform`; those with both stacks are classified already."""
        return list(races)

    def spurious_wakes(self, trace: Trace) -> Sequence[int]:
        """See :class:`Platform`."""
        if self._program.settings.faults:
            # Where calls may fail, the values of a plan are for these.
            return ()
        conditions = {
            name for name, resource in trace.resources.items() if resource.type == CONDITION
        }
        # A task that waits for a signal does so, too, and for no resource.
        return [
            step
            for step, operation in enumerate(trace.operations)
            if operation.kind is WAIT and operation.resource in conditions
        ]

    def take_doubted(self) -> Sequence[Plan]:
        """See :class:`Platform`."""
        return self._explainer.take_doubted()


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
        on_printed: given what each execution of the search printed.
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
    runtime = runtime_of(command, options, on_printed)
    assert isinstance(runtime.explainer, NativeExplainer)
    surroundings = Surroundings(
        progress,
        settle=runtime.settle,
        # What an execution shows depends on all before it.
        keeper=keeper if not command.sample else None,
    )
    platform = NativePlatform(runtime, runtime.explainer)
    return Explorer(platform, command.name, options, surroundings, strategy), runtime


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
    runtime = runtime_of(command, reproduction.options, on_replayed=on_printed)
    runtime.want_points(reproduction.points)
    recorded, conditions = reproduction.failure, reproduction.conditions
    expected = replace(recorded, plan=recorded.plan.under(conditions))
    with runtime:
        # It shows what is expected.
        runtime.execute(Plan(conditions=conditions))
        return repeated(runtime, expected, times), runtime
