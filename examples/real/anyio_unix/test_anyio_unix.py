"""anyio 4.14.2: closing a UNIX socket raises InvalidStateError while a reader is being cancelled.

Promised: ``aclose`` closes the stream.
Order: the future of a task that waits in ``receive`` is cancelled; until that task runs, ``aclose``
(_backends/_asyncio.py:1443) still finds the future, and sets its result.
Reported: issue #1267; fixed in 4.15.0.
"""

import asyncio
import contextlib
import tempfile

import anyio


def test_a_stream_is_closed_while_a_reader_is_cancelled() -> None:
    async def main(path: str) -> None:
        listener = await anyio.create_unix_listener(path)

        async def serve(stream: anyio.abc.SocketStream) -> None:
            async with stream:
                with contextlib.suppress(anyio.EndOfStream):
                    await stream.receive()

        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, serve)
            stream = await anyio.connect_unix(path)
            reader = asyncio.create_task(stream.receive())
            await asyncio.sleep(0)
            reader.cancel()
            await stream.aclose()
            await asyncio.wait([reader])
            group.cancel_scope.cancel()
        await listener.aclose()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(f"{folder}/socket"))
