"""anyio 4.11.0: a call into an event loop goes on although its future was cancelled.

Promised: cancelling the future of ``BlockingPortal.start_task_soon`` cancels the call.
Order: if the future is cancelled in one thread before ``_call_func`` (from_thread.py:240) asks in
the other one to be told of that, it is told at once, and takes itself for its own loop's thread.
Reported: issue #1011; fixed in 4.12.0.
"""

import anyio
from anyio.from_thread import start_blocking_portal


def test_a_call_that_is_cancelled_ends() -> None:
    async def wait() -> None:
        await anyio.Event().wait()

    with start_blocking_portal() as portal:
        portal.start_task_soon(wait).cancel()
