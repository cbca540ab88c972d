"""Tasks of an event loop that share something are not taken for such that share nothing."""

from __future__ import annotations

import types
from collections.abc import Callable

import pytest

import bohrbug

from . import sharing_tasks

PROGRAMS = [
    value
    for name, value in vars(sharing_tasks).items()
    if isinstance(value, types.FunctionType)
    and value.__module__ == sharing_tasks.__name__
    and not name.startswith("_")
]


@pytest.mark.parametrize("strategy", ["auto", "dpor"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_their_orders_are_tried(program: Callable[[], None], strategy: str) -> None:
    result = bohrbug.explore(program, strategy=strategy, executions=300, minimise=False, causes=0)
    assert result.failures
