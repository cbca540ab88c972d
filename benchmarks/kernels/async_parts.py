"""What the kernels for asyncio have in common.

A context that is cancelled is a task that is cancelled.  A task that is leaked is waited for by its
group, so that a leak is a deadlock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from kernel import Kernel, kernel


def async_kernel(
    upstream: str, kind: str
) -> Callable[[Callable[[bool], Coroutine[Any, Any, None]]], Kernel]:
    """A kernel of a coroutine function."""

    def decorate(program: Callable[[bool], Coroutine[Any, Any, None]]) -> Kernel:
        @wraps(program)
        def run(fixed: bool) -> None:
            asyncio.run(program(fixed))

        return kernel(upstream, f"async, {kind}")(run)

    return decorate


async def arrives() -> None:
    """Stand for something from outside, which takes one turn of the event loop or more.

    Without that, an event loop runs its tasks in the one order in which they became ready.
    """
    await asyncio.sleep(0)


class Rendezvous:
    """A channel without a buffer: a sender waits for a receiver."""

    def __init__(self) -> None:
        self._offers: asyncio.Queue[tuple[Any, asyncio.Future[None]]] = asyncio.Queue()

    async def send(self, value: object = None) -> None:
        taken = asyncio.get_running_loop().create_future()
        self._offers.put_nowait((value, taken))
        await taken

    async def receive(self) -> Any:
        value, taken = await self._offers.get()
        taken.set_result(None)
        return value
