"""Bohrbug itself, through the function that its users call."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from programs import Program

import bohrbug
from peers import Batch, Finding, Judgement

FINDINGS = {
    "holds": Finding.HOLDS,
    "holds within a bound": Finding.HOLDS,
    "no failure found": Finding.NOTHING_FOUND,
    "failed": Finding.FAILED,
    "inconclusive": Finding.INCONCLUSIVE,
}


def version() -> str:
    """The installed version, or a word for a checkout that is not installed."""
    try:
        return metadata.version("bohrbug")
    except metadata.PackageNotFoundError:
        return "checkout"


def _strategy_option(strategy: str) -> dict[str, Any]:
    return {} if strategy == "default" else {"strategy": strategy}


def explore(program: Program, strategy: str, executions: int, seed: int, seconds: float) -> Batch:
    """Explore, going on after failures."""
    result = bohrbug.explore(
        program.run,
        executions=executions,
        seconds=None,
        seed=seed,
        keep_going=True,
        # What follows a failure: the peers have no such thing, or it is switched off, too.
        minimise=False,
        causes=0,
        **_strategy_option(strategy),
    )
    return Batch(result.executions, failed=result.failed)


def judge(program: Program, strategy: str, seconds: float) -> Judgement:
    """Explore the test with the budget that a user has by default."""
    result = bohrbug.explore(program.test, seconds=seconds, **_strategy_option(strategy))
    detail = result.failures[0].outcome.kind.value if result.failures else ""
    return Judgement(FINDINGS[result.verdict.kind.value], result.executions, detail)
