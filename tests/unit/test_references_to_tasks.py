"""Weak references and proxies to what tasks of event loops have."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import bohrbug
from bohrbug.runtime.threads.loops.references import OwnReference, callback_of, references_to


class Connection:
    """Says that it is what it is not, as a mock does."""

    def __init__(self) -> None:
        self.sent: list[int] = []

    @property
    def __class__(self) -> type:
        return OwnReference

    def __call__(self) -> None:
        """So that there are both kinds of proxies."""


def note(_: object) -> None:
    """A callback."""


@pytest.mark.parametrize("refer", [weakref.ref, weakref.proxy])
@pytest.mark.parametrize("make", [set, Connection])
def test_callbacks_are_found(make: Callable[[], Any], refer: Callable[..., Any]) -> None:
    value = make()
    silent = refer(value)
    assert callback_of(silent) is None
    told = refer(value, note)
    assert callback_of(told) is note
    assert len(references_to(value)) == 2


def test_references_of_ours_are_told_from_others() -> None:
    value = set[int]()
    own = OwnReference(value)
    assert references_to(value) == []
    kept = weakref.ref(value)
    assert references_to(value) == [kept]
    assert own() is value


def each_has_a_proxy() -> None:
    """As a connection of websockets has, for what its timers call."""

    class Plain:
        def __init__(self) -> None:
            self.sent = 0
            self.proxy = weakref.proxy(self)

        def send(self) -> None:
            self.sent += 1

    async def use(connection: Plain) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(2):
            loop.call_soon(connection.send)
            await asyncio.sleep(0)

    async def main() -> None:
        connections = [Plain(), Plain()]
        await asyncio.gather(*map(use, connections))
        await asyncio.sleep(0)
        assert [each.sent for each in connections] == [2, 2]

    asyncio.run(main())


def test_tasks_may_have_proxies() -> None:
    result = bohrbug.explore(each_has_a_proxy, executions=200)
    assert not result.failures
    assert result.verdict.kind is bohrbug.VerdictKind.HOLDS
