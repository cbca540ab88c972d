"""What the library's own code and the system share is seen."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import bohrbug
from bohrbug import VerdictKind

from .guarded_system_in_c import PROGRAMS
from .guarding import Guard
from .together import together


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_change_is_found(program: Callable[[Guard], None]) -> None:
    result = bohrbug.explore(
        lambda: program(contextlib.nullcontext()),
        strategy="dpor",
        executions=200,
        minimise=False,
        causes=0,
    )
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict


@pytest.mark.parametrize("program", PROGRAMS)
def test_with_a_lock_it_holds_without_a_condition(program: Callable[[Guard], None]) -> None:
    result = bohrbug.explore(lambda: program(threading.Lock()), strategy="dpor", executions=200)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking


def test_whether_a_child_has_ended_may_be_seen_before_and_after() -> None:
    seen: set[int | None] = set()

    def program() -> None:
        child = subprocess.Popen([sys.executable, "-S", "-c", ""])
        together(child.wait, lambda: seen.add(child.returncode))
        assert child.returncode == 0

    result = bohrbug.explore(program, strategy="dpor", executions=30)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert seen == {None, 0}


def _change_arguments(timer: Any, given: list[int], got: list[int]) -> None:
    given[0] = 2


def _change_function(timer: Any, given: list[int], got: list[int]) -> None:
    timer.function = lambda _: got.append(2)


@pytest.mark.parametrize("change", [_change_arguments, _change_function])
def test_a_timer_may_fire_before_and_after_a_change(
    change: Callable[[Any, list[int], list[int]], None],
) -> None:
    seen: set[int] = set()

    def program() -> None:
        got: list[int] = []
        given = [1]
        timer = threading.Timer(0, lambda number: got.append(number), given)
        timer.start()
        change(timer, given, got)
        timer.join()
        seen.update(got)

    result = bohrbug.explore(program, strategy="dpor", executions=30)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert seen == {1, 2}


def common_keys(guard: Guard) -> None:
    """A view of a dict is combined with a generator: it looks for one item after the other."""
    mapping = {2: "a"}
    found: list[set[int]] = []

    def look() -> None:
        with guard:
            found.append(mapping.keys() & (key for key in (1, 2)))

    def change() -> None:
        with guard:
            mapping[1] = "a"
            del mapping[2]

    together(look, change)
    assert found[0]


def test_a_dict_changes_while_a_generator_gives_what_is_looked_for_in_it() -> None:
    for guard, expected in (
        (contextlib.nullcontext, VerdictKind.FAILED),
        (threading.Lock, VerdictKind.HOLDS),
    ):
        result = bohrbug.explore(
            lambda guard=guard: common_keys(guard()),  # type: ignore[misc]
            strategy="dpor",
            executions=100,
            minimise=False,
            causes=0,
        )
        assert result.verdict.kind is expected, result.verdict
