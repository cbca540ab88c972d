"""Coroutines that wait in between: nobody guards it."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_coroutines


def counter_across_an_await() -> None:
    """One of two increments is lost: who waits in between lets the other one in."""
    guarded_coroutines.counter_across_an_await(contextlib.nullcontext())


def asynchronous_generator_of_two() -> None:
    """RuntimeError: it is running already."""
    guarded_coroutines.asynchronous_generator_of_two(contextlib.nullcontext())


def coroutines_from_other_threads() -> None:
    """One of two increments is lost: they run in one loop, but wait in between."""
    guarded_coroutines.coroutines_from_other_threads(contextlib.nullcontext())


def value_made_across_an_await() -> None:
    """Both make it."""
    guarded_coroutines.value_made_across_an_await(contextlib.nullcontext())
