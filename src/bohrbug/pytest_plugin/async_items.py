"""Async tests: in which event loop each execution runs, and which tests no execution can run.

A loop of pytest-asyncio that is wider than one test outlives executions: what one of them leaves in
it (callbacks, tasks, worker threads) the next would find.  So each execution gets a loop of its own
in its place, as if the test ran alone.  Whatever else lives in such a loop, above all async
fixtures of wider scopes, can't be made afresh: such tests are run as always.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from bohrbug.pytest_plugin import internals

_WIDE_SCOPES = ("class", "module", "package", "session")


def why_as_always(item: pytest.Function) -> str | None:
    """Why no execution can run an async test afresh; ``None`` if one can."""
    if not internals.is_async(item):
        return None
    for name, definition in internals.wide_fixtures_of(item).items():
        if _is_event_loop(name):
            return "the fixture event_loop keeps one event loop for several of them"
        if _is_async(definition):
            return "async fixtures of wider scopes keep their event loop"
    return None


def is_in_wide_loop(item: pytest.Function) -> bool:
    """Whether a test runs in a loop of pytest-asyncio that other tests run in, too."""
    return getattr(item, "_loop_scope", "function") in _WIDE_SCOPES


@contextmanager
def own_loops(item: pytest.Function) -> Generator[None]:
    """Within it, loops of pytest-asyncio that are wider than the test are made for each execution.

    Wide loops that are there already stay, for those who run as always.
    """
    names = [f"_{scope}_scoped_runner" for scope in _WIDE_SCOPES]
    if not internals.is_async(item):
        names.clear()
    with internals.narrowed(item, names):
        yield


def _is_event_loop(name: str) -> bool:
    """Up to release 0.26 of pytest-asyncio; ``<event_loop>`` belongs to a module or class."""
    return name == "event_loop" or name.endswith("<event_loop>")


def _is_async(definition: pytest.FixtureDef[Any]) -> bool:
    function = definition.func
    return (
        inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
        # An ordinary function that pytest-asyncio calls with its loop set.
        or getattr(function, "_force_asyncio_fixture", False)
    )
