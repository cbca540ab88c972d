"""What many programs do under a guard, which is a lock or guards nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tests.programs.together import together

Guard = contextlib.AbstractContextManager[Any]


def made_once(guard: Guard, get: Callable[[], object]) -> None:
    """Two tasks get what is made when it is first asked for."""
    got: list[object] = []

    def work() -> None:
        with guard:
            made = get()
        got.append(made)

    together(work, work)
    assert got[0] is got[1]


def counted(guard: Guard, count: Callable[[], object], total: Callable[[], int]) -> None:
    """Each of two tasks counts one."""

    def work() -> None:
        with guard:
            count()

    together(work, work)
    assert total() == 2


def once(guard: Guard, is_there: Callable[[], object], take: Callable[[], object]) -> None:
    """Two tasks take what only one of them can, if it is there."""

    def work() -> None:
        with guard:
            if is_there():
                take()

    together(work, work)
