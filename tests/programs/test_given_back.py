"""What code in C does with what functions in Python give back to it is seen."""

from __future__ import annotations

import contextlib
import threading

import pytest

import bohrbug
from bohrbug import VerdictKind

from .given_back import SEES_BOTH_ALIKE, looked_at


@pytest.mark.parametrize("name", SEES_BOTH_ALIKE)
def test_what_is_seen_in_the_middle_of_a_change_is_found(name: str) -> None:
    is_alike = SEES_BOTH_ALIKE[name]
    result = bohrbug.explore(
        lambda: looked_at(contextlib.nullcontext(), is_alike),
        strategy="dpor",
        executions=300,
        minimise=False,
        causes=0,
    )
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict


@pytest.mark.parametrize("name", SEES_BOTH_ALIKE)
def test_with_a_lock_it_holds_without_a_condition(name: str) -> None:
    is_alike = SEES_BOTH_ALIKE[name]
    result = bohrbug.explore(
        lambda: looked_at(threading.Lock(), is_alike), strategy="dpor", executions=300
    )
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking
