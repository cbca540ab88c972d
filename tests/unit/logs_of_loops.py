"""What the tasks of an async function log, in any order that an event loop can have."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import bohrbug
from bohrbug.exploration.result import Result
from bohrbug.exploration.verdicts import VerdictKind

Main = Callable[[list[Any]], Awaitable[None]]


def explored(main: Callable[[], Awaitable[None]]) -> Result:
    """What the exploration of an async function returns."""
    return bohrbug.explore(lambda: asyncio.run(main()), timeouts="late")  # type: ignore[arg-type]


def reached(main: Main, **options: Any) -> set[tuple[Any, ...]]:
    """The logs of all executions of an async function, to the end of the search."""
    found = set()

    def test() -> None:
        log: list[Any] = []
        asyncio.run(main(log))  # type: ignore[arg-type]
        found.add(tuple(log))

    options = {"strategy": "dfs", "timeouts": "late", "executions": 5_000, "bound": None, **options}
    result = bohrbug.explore(test, **options)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    return found
