"""aiohttp 3.14.5: a request that is cancelled keeps the connection that it was to get.

Promised: a session makes up to ``limit`` connections, and the next request gets one that is free.
Order: ``BaseConnector._wait_for_available_connection`` raises the cancellation of a request that
``_release_waiter`` has woken already, as a connection is free, and wakes no other one; the next one
waits for ever, with nobody at the connection.
Reported: issue #9670, which 3.10.11 fixed in part; found in later versions by exploring this test.
"""

import asyncio
import socket

from aiohttp import BaseConnector, ClientSession, ClientTimeout


class Local(BaseConnector):
    """Connects to servers in this process, without a port that others could connect to."""

    allowed_protocol_schema_set = frozenset({"http"})

    def __init__(self, serve, limit: int) -> None:
        super().__init__(limit=limit)
        self.serve = serve
        self.tasks = []

    async def _create_connection(self, *args):
        ours, theirs = socket.socketpair()
        self.tasks.append(asyncio.create_task(self.serve(theirs)))
        _, protocol = await self._loop.create_connection(self._factory, sock=ours)
        return protocol


def test_the_third_request_is_sent() -> None:
    async def main() -> None:
        received = asyncio.Event()

        async def serve(connection: socket.socket) -> None:
            reader, writer = await asyncio.open_connection(sock=connection)
            while await reader.readline():
                while await reader.readline() != b"\r\n":
                    pass
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                received.set()
            writer.close()

        connector = Local(serve, limit=1)
        async with ClientSession(connector=connector, timeout=ClientTimeout()) as session:

            async def get() -> None:
                async with session.get("http://localhost/"):
                    pass

            first, second, third = [asyncio.create_task(get()) for _ in range(3)]
            await received.wait()
            await asyncio.sleep(0)
            second.cancel()
            await first
            await third

    asyncio.run(main())
