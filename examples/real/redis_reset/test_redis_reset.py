"""redis 7.1.0: a pipeline that is cancelled while it is reset keeps its connection.

Promised: leaving the block of a pipeline gives its connection back to the pool.
Order: ``Pipeline.reset`` (asyncio/client.py:1377) is cancelled while it waits for the answer to
UNWATCH, and does not come to the line that gives the connection back.
Reported: pull request #4123; fixed in 8.1.0.
"""

import asyncio

from redis.asyncio import Redis


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As much of a server as these commands need."""
    while header := await reader.readline():
        for _ in range(int(header[1:])):
            await reader.readline()
            await reader.readline()
        writer.write(b"+OK\r\n")
    writer.close()


def test_a_connection_after_a_cancelled_pipeline() -> None:
    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Redis(host="127.0.0.1", port=port, max_connections=1, protocol=2)
        await client.set("key", 1)

        async def watch() -> None:
            async with client.pipeline() as pipe:
                await pipe.watch("key")

        task = asyncio.create_task(watch())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert await client.set("key", 2)
        await client.aclose()
        server.close()

    asyncio.run(main())
