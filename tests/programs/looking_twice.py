"""Programs of two tasks: one looks at something twice, the other changes it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

import bohrbug
from bohrbug import VerdictKind

from .guarding import Guard
from .together import together

Looks = tuple[Callable[[], object], Callable[[], object]]
"""What looks at something, and what changes it."""


def name_of(make: Callable[[], object]) -> str:
    """What a test of something that is made is called."""
    return make.__name__.strip("_")


def _seen_twice(guard: Guard, make: Callable[[], Looks]) -> None:
    look, change = make()

    def look_twice() -> None:
        with guard:
            first, second = look(), look()
        # Not in the assertion: where a variable named CI is set, pytest would compare all of a
        # file of a database line by line, which takes longer than a step of a task may.
        is_as_before = first == second
        assert is_as_before

    def change_once() -> None:
        with guard:
            change()

    together(look_twice, change_once)


def check_that_it_is_found(make: Callable[[], Looks]) -> None:
    """Without a lock both looks may see something else."""
    result = bohrbug.explore(
        lambda: _seen_twice(contextlib.nullcontext(), make),
        strategy="dpor",
        executions=100,
        minimise=False,
        causes=0,
    )
    assert result.verdict.kind is VerdictKind.FAILED, result.verdict


def check_that_it_holds(make: Callable[[], Looks]) -> None:
    """With a lock it is correct, and nothing has to be taken for granted."""
    result = bohrbug.explore(
        lambda: _seen_twice(threading.Lock(), make), strategy="dpor", executions=100
    )
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    assert not result.verdict.conditions.taking
