"""Parts of functions, classes and exceptions: nobody guards them."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_parts


def cause_of_a_shared_error() -> None:
    """The cause is that of the other task."""
    guarded_parts.cause_of_a_shared_error(contextlib.nullcontext())


def cause_that_is_set() -> None:
    """The cause is that of the other task."""
    guarded_parts.cause_that_is_set(contextlib.nullcontext())


def context_of_a_shared_error() -> None:
    """The context is that of the other task."""
    guarded_parts.context_of_a_shared_error(contextlib.nullcontext())


def traceback_of_a_shared_error() -> None:
    """The traceback has a frame of the other task."""
    guarded_parts.traceback_of_a_shared_error(contextlib.nullcontext())


def notes_of_a_shared_error() -> None:
    """A note of the other task comes in between."""
    guarded_parts.notes_of_a_shared_error(contextlib.nullcontext())
