"""asgiref 3.13.0: what an async function sets in its context is lost on the way back.

Promised: context variables that a function called by ``async_to_sync`` sets are set for its caller.
Order: called in a thread of ``sync_to_async`` it runs in the main thread's loop.  If the thread
restores its context (sync.py:371) before ``main_wrap``, which has set the result, has copied the
new one (sync.py:424), it restores the old one.
Reported: not yet; asgiref's own ``tests/test_local.py`` fails in the same way.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

from asgiref.sync import async_to_sync, sync_to_async

language: ContextVar[str] = ContextVar("language", default="en")


async def activate() -> None:
    language.set("fr")


async def main() -> None:
    await sync_to_async(async_to_sync(activate))()
    assert language.get() == "fr"


def test_what_is_set_in_the_context_stays_set() -> None:
    asyncio.run(main())
