"""Programs around parts of exceptions, functions and classes, each with a lock or with none.

With a lock each is correct, without one some interleaving breaks it.
"""

from __future__ import annotations

import contextlib
import traceback
from typing import Any

from tests.programs.together import together

Guard = contextlib.AbstractContextManager[Any]


def cause_of_a_shared_error(guard: Guard) -> None:
    """The cause is that of the other task."""
    shared = RuntimeError("shared")
    same: list[bool] = []

    def work() -> None:
        mine = ValueError("mine")
        with guard:
            try:
                raise shared from mine
            except RuntimeError as error:
                same.append(error.__cause__ is mine)

    together(work, work)
    assert same == [True, True]


def cause_that_is_set(guard: Guard) -> None:
    """The cause is that of the other task."""
    shared = RuntimeError("shared")
    same: list[bool] = []

    def work() -> None:
        mine = ValueError("mine")
        with guard:
            shared.__cause__ = mine
            same.append(shared.__cause__ is mine)

    together(work, work)
    assert same == [True, True]


def context_of_a_shared_error(guard: Guard) -> None:
    """The context is that of the other task."""
    shared = RuntimeError("shared")
    same: list[bool] = []

    def work() -> None:
        mine = ValueError("mine")
        with guard:
            try:
                try:
                    raise mine
                except ValueError:
                    raise shared
            except RuntimeError as error:
                same.append(error.__context__ is mine)

    together(work, work)
    assert same == [True, True]


def traceback_of_a_shared_error(guard: Guard) -> None:
    """The traceback has a frame of the other task."""
    shared = RuntimeError("shared")
    lengths: list[int] = []

    def work() -> None:
        with guard:
            try:
                raise shared.with_traceback(None)
            except RuntimeError as error:
                lengths.append(len(traceback.extract_tb(error.__traceback__)))

    together(work, work)
    assert lengths == [1, 1]


def notes_of_a_shared_error(guard: Guard) -> None:
    """A note of the other task comes in between."""
    shared = RuntimeError("shared")
    added: list[int] = []

    def work() -> None:
        with guard:
            before = len(getattr(shared, "__notes__", ()))
            shared.add_note("a note")
            added.append(len(shared.__notes__) - before)

    together(work, work)
    assert added == [1, 1]
