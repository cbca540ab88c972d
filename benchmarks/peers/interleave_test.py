"""interleave-test 0.1.0: one OS thread for each task, a switch at every bytecode."""

from __future__ import annotations

from importlib import metadata
from time import perf_counter

import interleave_test  # type: ignore[import-not-found]
from programs import Program

from peers import Batch, Finding, Judgement

DEFAULT_ITERATIONS = 100
PROBED_ITERATIONS = 30
"""As it takes no limit on the wall time, so many are made to see how many fit."""


def version() -> str:
    """The installed version."""
    return metadata.version("interleave-test")


def explore(program: Program, strategy: str, executions: int, seed: int, seconds: float) -> Batch:
    """Explore; it takes no limit on the wall time, and always stops at a failure."""
    result = interleave_test.explore(
        program.run,
        strategy=strategy,
        iterations=executions,
        seed=seed,
        raise_on_failure=False,
    )
    return Batch(result.schedules_run, failed=not result.ok)


def judge(program: Program, strategy: str, seconds: float) -> Judgement:
    """Explore the test; ``dfs``, which its default would cut short, for about ``seconds``."""
    iterations = DEFAULT_ITERATIONS
    if strategy == "dfs":
        started = perf_counter()
        interleave_test.explore(
            program.run,
            strategy=strategy,
            iterations=PROBED_ITERATIONS,
            seed=0,
            raise_on_failure=False,
        )
        rate = PROBED_ITERATIONS / (perf_counter() - started)
        iterations = max(iterations, round(rate * seconds))
    result = interleave_test.explore(
        program.test,
        strategy=strategy,
        iterations=iterations,
        seed=0,
        raise_on_failure=False,
    )
    if result.failure is not None:
        return Judgement(Finding.FAILED, result.schedules_run, result.failure.kind)
    finding = Finding.HOLDS if result.exhausted else Finding.NOTHING_FOUND
    return Judgement(finding, result.schedules_run)
