"""Functions that are not there before the test begins, by default options: what is broken is
found, and the same with a lock holds without a condition."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext

import pytest

import bohrbug
from bohrbug import VerdictKind

from .made_code import PROGRAMS, Guard

Program = Callable[[Guard], None]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_without_a_lock_it_fails(program: Program) -> None:
    result = bohrbug.explore(lambda: program(nullcontext()), minimise=False, causes=0)
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_with_a_lock_it_holds(program: Program) -> None:
    result = bohrbug.explore(lambda: program(threading.Lock()))
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert not result.verdict.caveats
