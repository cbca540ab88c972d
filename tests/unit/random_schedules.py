"""What happens in a small program under random schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bohrbug.model.conditions import Conditions, Level
from bohrbug.model.outcome import Outcome
from bohrbug.model.plan import Plan, UniformRandom
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings

PASSED = "passed"
DEADLOCK = "deadlock"
EXCEPTION = "exception"


def outcomes(
    function: Callable[[], object], executions: int = 150, late_timeouts: bool = False
) -> list[Outcome]:
    """The outcomes of ``function`` under random schedules."""
    conditions = Conditions(late_timeouts=late_timeouts, max_steps=20_000)
    with threads_runtime(function, Settings(), Level.SYNC, Scope()) as runtime:
        return [
            runtime.execute(Plan((), UniformRandom(seed), conditions=conditions)).trace.outcome
            for seed in range(executions)
        ]


def kinds(
    function: Callable[[], object], executions: int = 150, late_timeouts: bool = False
) -> set[str]:
    """What kinds of outcomes occur."""
    return {outcome.kind.value for outcome in outcomes(function, executions, late_timeouts)}


def values(
    function: Callable[[], Any], executions: int = 150, late_timeouts: bool = False
) -> set[Any]:
    """What ``function`` returns under random schedules; it must always pass."""
    seen: list[Any] = []
    found = kinds(lambda: seen.append(function()), executions, late_timeouts)
    assert found == {PASSED}
    return set(seen)
