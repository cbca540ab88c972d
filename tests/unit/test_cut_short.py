"""What an execution leaves that was cut short dies in silence: it is no fault of the program."""

from __future__ import annotations

import asyncio
import sys
import warnings
from typing import Any

import pytest

import bohrbug


class Loud:
    """Raises as it dies."""

    def __del__(self) -> None:
        raise OSError("Bad file descriptor")


async def job() -> None:
    pass


async def leaves_things(fails: bool) -> None:
    left: list[Any] = [job(), Loud()]
    left.append(left)
    if fails:
        await asyncio.Future()


@pytest.mark.parametrize("fails", [False, True])
def test_only_what_was_cut_short_is_silent(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: heard.append(str(told.exc_value)))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        result = bohrbug.explore(lambda: asyncio.run(leaves_things(fails)), executions=5)
    heard += [str(each.message) for each in warned]
    assert bool(result.failures) == fails
    if fails:
        assert heard == []
    else:
        assert {"Bad file descriptor", "coroutine 'job' was never awaited"} <= set(heard)
