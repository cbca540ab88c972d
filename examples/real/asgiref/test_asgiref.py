"""asgiref 3.13.0: a thread goes on with the result of an async function that has not ended yet.

Promised: context variables that a function called by ``async_to_sync`` sets are set for its caller;
and a caller is not cancelled if that function has held the cancellation off, and answered.
Order: called in a thread of ``sync_to_async`` it runs in the main thread's loop, in ``main_wrap``.
If the thread restores its context (sync.py:371) before ``main_wrap``, which has set the result, has
copied the new one (sync.py:424), it restores the old one.  And if the thread has ended by then,
``SyncToAsync.__call__``, which was cancelled, finds its future done (sync.py:593), and raises.
Reported: not yet; asgiref's own ``tests/test_local.py`` and ``tests/test_sync.py``
(``test_inner_shield_...``) fail in the same way.
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


async def respond(started: asyncio.Event) -> str:
    """A view that ends what it has begun, also if its client hangs up."""
    answer = asyncio.ensure_future(asyncio.sleep(0, "answer"))
    started.set()
    try:
        return await asyncio.shield(answer)
    except asyncio.CancelledError:
        return await answer


async def hang_up() -> None:
    started = asyncio.Event()
    request = asyncio.create_task(sync_to_async(async_to_sync(respond))(started))
    await started.wait()
    request.cancel()
    await asyncio.wait([request])
    assert not request.cancelled()


def test_a_view_that_is_shielded_from_cancellation_answers() -> None:
    asyncio.run(hang_up())
