"""Explorations of the native programs of the tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Result
from bohrbug.model.trace import Trace
from bohrbug.platforms.posix.command import Command
from bohrbug.platforms.posix.exploring import native_explorer
from bohrbug.platforms.posix.outcomes import Expectation, NativeExplainer
from bohrbug.runtime.posix.engines import AUTO
from bohrbug.runtime.posix.runtime import NativeRuntime
from bohrbug.runtime.posix.settings import NativeSettings
from bohrbug.search.strategy import Foresighted, Strategy


def explored(
    program: Path,
    *arguments: str,
    faults: tuple[str, ...] = (),
    watch: tuple[str, ...] = (),
    sample: int = 0,
    engine: str = AUTO,
    allowed_misuses: tuple[str, ...] = (),
    **options: object,
) -> Result:
    """What an exploration of a program gives, which should exit with 0.

    Parameters:
        program: the program.
        arguments: its own.
        faults: the calls that may fail.
        watch: memory that the processor watches.
        sample: at how many accesses tasks are held.
        engine: what executes it.
        allowed_misuses: kinds of misuse that are no failure.
        options: of the exploration, beside those that suit small programs.
    """
    settings = {
        "executions": 3_000,
        "seconds": 60.0,
        "max_steps": 20_000,
        "hang_seconds": 10.0,
        **options,
    }
    explorer, _ = native_explorer(
        Command(
            (str(program), *arguments),
            exit_code=0,
            faults=faults,
            watch=watch,
            sample=sample,
            engine=engine,
            allowed_misuses=allowed_misuses,
        ),
        ExploreOptions(**settings),  # type: ignore[arg-type]
    )
    return explorer.explore()


@contextmanager
def runtime_for(
    program: Path, arguments: Sequence[str] = (), exit_code: int = 0, **settings: object
) -> Iterator[NativeRuntime]:
    """A runtime for a small program.

    Parameters:
        program: the program.
        arguments: its own.
        exit_code: with which each execution should end, the first one, too.
        settings: fields of the settings.
    """
    chosen = NativeSettings(**{"max_steps": 20_000, **settings})  # type: ignore[arg-type]
    expected = Expectation(exit_code)
    runtime = NativeRuntime([str(program), *arguments], chosen, NativeExplainer(expected))
    with runtime:
        yield runtime


def shape(trace: Trace) -> list[object]:
    """What two executions of the same schedule have in common."""
    return [
        (step.task, step.operation.kind.name, step.operation.resource, step.enabled, step.timed)
        for step in trace.steps()
    ]


def executed(runtime: NativeRuntime, strategy: Strategy, executions: int, ahead: bool) -> list[Any]:
    """The plans that a strategy proposes, and what came of each."""
    assert isinstance(strategy, Foresighted)
    runtime.foresee(strategy.lookahead_plans if ahead else None)
    done: list[Any] = []
    while len(done) < executions and (plan := strategy.next_plan()) is not None:
        trace = runtime.execute(plan).trace
        strategy.observe(trace)
        outcome = trace.outcome.kind
        done.append((plan, outcome, trace.choices, shape(trace), runtime.printed))
    return done
