"""Coroutines that wait in between, with a lock."""

from __future__ import annotations

import asyncio

from tests.programs import guarded_coroutines


def locked_counter_across_an_await() -> None:
    """See ``guarded_coroutines.counter_across_an_await``: with a lock it is correct."""
    guarded_coroutines.counter_across_an_await(asyncio.Lock())


def locked_asynchronous_generator_of_two() -> None:
    """See ``guarded_coroutines.asynchronous_generator_of_two``: with a lock it is correct."""
    guarded_coroutines.asynchronous_generator_of_two(asyncio.Lock())


def locked_coroutines_from_other_threads() -> None:
    """See ``guarded_coroutines.coroutines_from_other_threads``: with a lock it is correct."""
    guarded_coroutines.coroutines_from_other_threads(asyncio.Lock())


def locked_value_made_across_an_await() -> None:
    """See ``guarded_coroutines.value_made_across_an_await``: with a lock it is correct."""
    guarded_coroutines.value_made_across_an_await(asyncio.Lock())
