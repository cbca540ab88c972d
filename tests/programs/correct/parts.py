"""Parts of functions, classes and exceptions, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_parts


def locked_cause_of_a_shared_error() -> None:
    """See ``guarded_parts.cause_of_a_shared_error``: with a lock it is correct."""
    guarded_parts.cause_of_a_shared_error(threading.Lock())


def locked_cause_that_is_set() -> None:
    """See ``guarded_parts.cause_that_is_set``: with a lock it is correct."""
    guarded_parts.cause_that_is_set(threading.Lock())


def locked_context_of_a_shared_error() -> None:
    """See ``guarded_parts.context_of_a_shared_error``: with a lock it is correct."""
    guarded_parts.context_of_a_shared_error(threading.Lock())


def locked_traceback_of_a_shared_error() -> None:
    """See ``guarded_parts.traceback_of_a_shared_error``: with a lock it is correct."""
    guarded_parts.traceback_of_a_shared_error(threading.Lock())


def locked_notes_of_a_shared_error() -> None:
    """See ``guarded_parts.notes_of_a_shared_error``: with a lock it is correct."""
    guarded_parts.notes_of_a_shared_error(threading.Lock())
