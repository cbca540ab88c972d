"""What explorations of generated programs come to."""

from __future__ import annotations

from pathlib import Path

from bohrbug.exploration.options import ExploreOptions
from bohrbug.model.outcome import OutcomeKind
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import native_explorer
from tests.native.random_programs import DEADLOCK, Program


def outcomes_under_control(
    program: Program,
    executable: Path,
    strategy: str,
    *,
    executions: int | None = 50_000,
    seconds: float | None = None,
) -> tuple[set[str], bool]:
    """What a program gives in the executions of a strategy, and whether these were all.

    Parameters:
        program: the program.
        executable: the same, compiled with its flags.
        strategy: the strategy, which should execute all that there is.
        executions, seconds: after which it is ended all the same.
    """
    found: set[str] = set()
    options = ExploreOptions(
        strategy=strategy,
        executions=executions,
        seconds=seconds,
        bound=None,
        max_steps=20_000,
        keep_going=True,
        minimise=False,
        causes=0,
        predict=0,
    )
    explorer, _ = native_explorer(
        Command((str(executable),), exit_code=0, allowed_misuses=program.allowed_misuses),
        options,
        on_printed=lambda printed: found.add(printed.stdout.decode()),
    )
    result = explorer.explore()
    # Whoever is in a deadlock has printed nothing.
    found.discard("")
    for failure in result.failures:
        is_deadlock = failure.outcome.kind is OutcomeKind.DEADLOCK
        found.add(DEADLOCK if is_deadlock else failure.outcome.message)
    return found, explorer.strategy.complete
