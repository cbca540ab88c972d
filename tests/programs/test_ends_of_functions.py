"""What code in C stores where a function in Python ends that it has called."""

from __future__ import annotations

import contextlib
import threading

import pytest

import bohrbug
from bohrbug import VerdictKind

from .guarded_ends import COMPUTED, never_stale


@pytest.mark.parametrize("name", COMPUTED)
def test_a_change_between_computing_and_storing_is_found(name: str) -> None:
    result = bohrbug.explore(
        lambda: never_stale(contextlib.nullcontext(), COMPUTED[name]),
        strategy="dpor",
        executions=300,
        minimise=False,
        causes=0,
    )
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict


@pytest.mark.parametrize("name", COMPUTED)
def test_with_a_lock_it_holds_without_a_condition(name: str) -> None:
    result = bohrbug.explore(
        lambda: never_stale(threading.Lock(), COMPUTED[name]), strategy="dpor", executions=300
    )
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking
