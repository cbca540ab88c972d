"""Async tests: in which event loop each execution runs, and which tests no execution can run.

A loop of pytest-asyncio that is wider than one test outlives executions: what one of them leaves in
it (callbacks, tasks, worker threads) the next would find.  So each execution gets a loop of its own
in its place, as if the test ran alone.  Whatever else lives in such a loop, above all async
fixtures of wider scopes, can't be made afresh: such tests are run as always.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from bohrbug.pytest_plugin import internals

_WIDE_SCOPES = ("class", "module", "package", "session")

_LOOPS = tuple(f"_{scope}_scoped_runner" for scope in _WIDE_SCOPES)
"""Fixtures of pytest-asyncio that make loops for several tests."""

_FIRST = (1, 2)
"""The first release of pytest-asyncio whose wide loops can be made for one test."""


def why_as_always(item: pytest.Function) -> str | None:
    """Why no execution can run an async test afresh; ``None`` if one can."""
    if not internals.is_async(item):
        return None
    for name, definition in internals.wide_fixtures_of(item).items():
        if _is_event_loop(name):
            return "the fixture event_loop keeps one event loop for several of them"
        if _is_async(definition):
            return "async fixtures of wider scopes keep their event loop"
    if is_in_wide_loop(item) and _release() < _FIRST:
        return "this release of pytest-asyncio keeps one event loop for several of them"
    return None


def is_in_wide_loop(item: pytest.Function) -> bool:
    """Whether a test runs in a loop of pytest-asyncio that other tests run in, too."""
    marker = item.get_closest_marker("asyncio")
    if marker is None or not internals.is_async(item):
        return False
    scope = marker.kwargs.get("loop_scope") or marker.kwargs.get("scope")
    return (scope or _usual_scope(item.config)) in _WIDE_SCOPES


def _usual_scope(config: pytest.Config) -> object:
    try:
        return config.getini("asyncio_default_test_loop_scope")
    except ValueError:
        # Older releases have no such setting.
        return "function"


def _release() -> tuple[int, ...]:
    version = getattr(sys.modules.get("pytest_asyncio"), "__version__", "0")
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


@contextmanager
def own_loops(item: pytest.Function) -> Generator[None]:
    """Within it, loops of pytest-asyncio that are wider than the test are made for each execution.

    Wide loops that are there already stay, for those who run as always.
    """
    with internals.narrowed(item, _LOOPS if internals.is_async(item) else ()):
        yield


def _is_event_loop(name: str) -> bool:
    """Before release 1.0 of pytest-asyncio; ``<event_loop>`` belongs to a module or class."""
    return name == "event_loop" or name.endswith("<event_loop>")


def _is_async(definition: pytest.FixtureDef[Any]) -> bool:
    function = definition.func
    return (
        inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
        # An ordinary function that pytest-asyncio calls with its loop set.
        or getattr(function, "_force_asyncio_fixture", False)
    )


def forget_runner() -> None:
    """Let anyio's plugin forget a runner that could not be closed, as its execution was ended.

    It keeps one as long as somebody uses it.  The next execution would find its event loop closed.
    """
    plugin: Any = sys.modules.get("anyio.pytest_plugin")
    if plugin is not None and getattr(plugin, "_runner_leases", None) == 0:
        plugin._current_runner = plugin._runner_stack = None
