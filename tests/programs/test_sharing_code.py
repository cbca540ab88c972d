"""Tasks of an event loop of which one changes code are not taken for tasks that share nothing."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import bohrbug
from bohrbug import VerdictKind

from . import sharing_code

PROGRAMS: list[Callable[[], sharing_code.Looks]] = [
    value
    for name, value in vars(sharing_code).items()
    if isinstance(value, types.FunctionType)
    and value.__module__ == sharing_code.__name__
    and not name.startswith("looked_at_")
]


def _name_of(program: Callable[[], object]) -> str:
    return program.__name__


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    mathematics: Any = math
    vars(mathematics).pop("seen", None)


@pytest.mark.parametrize("strategy", ["auto", "dpor"])
@pytest.mark.parametrize("program", PROGRAMS, ids=_name_of)
def test_what_changes_in_between_is_seen(
    program: Callable[[], sharing_code.Looks], strategy: str
) -> None:
    result = bohrbug.explore(
        lambda: sharing_code.looked_at_twice(program),
        strategy=strategy,
        executions=100,
        minimise=False,
        causes=0,
    )
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict


@pytest.mark.parametrize("program", PROGRAMS, ids=_name_of)
def test_what_a_lock_guards_does_not_change_in_between(
    program: Callable[[], sharing_code.Looks],
) -> None:
    result = bohrbug.explore(
        lambda: sharing_code.looked_at_under_a_lock(program), strategy="dpor", executions=100
    )
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking
