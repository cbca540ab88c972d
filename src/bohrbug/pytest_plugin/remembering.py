"""Failing schedules of earlier runs: tried first, and forgotten when they are fixed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bohrbug.exploration.durations import FILE as DURATIONS
from bohrbug.exploration.durations import Durations
from bohrbug.exploration.memory import FILE, Memory
from bohrbug.exploration.remembered import Remembered
from bohrbug.exploration.result import Result, VerdictKind


def memory_of(config: pytest.Config) -> Memory | None:
    """The memory of a session; ``None`` if it is switched off."""
    if config.getoption("bohrbug_no_memory") or not config.getini("bohrbug_memory"):
        return None
    return Memory(config.rootpath / FILE)


def durations_of(config: pytest.Config) -> Durations | None:
    """How long tests took in earlier sessions; ``None`` if nothing is to be remembered."""
    if config.getoption("bohrbug_no_memory") or not config.getini("bohrbug_memory"):
        return None
    return Durations(config.rootpath / DURATIONS)


def update_memory(memory: Memory, result: Result, remembered: Sequence[Remembered]) -> list[str]:
    """Remember what failed, forget what is fixed.

    A remembered failure is fixed if its schedule passes now, and the exploration that
    followed found no failure, either.

    Parameters:
        memory: of the session.
        result: of a test.
        remembered: the schedules that were tried first.

    Returns:
        One line for each failure that is fixed.
    """
    memory.remember(result.test, result.failures)
    if result.failures or result.verdict.kind is VerdictKind.INCONCLUSIVE:
        if result.failures:
            # A schedule that no longer fails says nothing that the new one does not.
            memory.forget(result.test, [each.digest for each in remembered if not each.fails])
        return []
    memory.forget(result.test, [each.digest for each in remembered])
    return [f"{result.test}: {message}" for message in {each.message for each in remembered}]
