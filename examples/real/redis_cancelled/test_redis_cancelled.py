"""redis 4.5.3: after a command is cancelled, the next one gets its answer.

Promised: ``get`` returns the value of the key that it was asked for.
Order: a task that is cancelled between sending its command and reading the answer leaves its
connection as it is (asyncio/client.py:514), and the answer is still to come on it.
Reported: issues #2624, #2665; fixed in 4.5.4.
"""

import asyncio

from redis.asyncio import Redis


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As much of a server as ``get`` needs: the value of each key is its name."""
    while header := await reader.readline():
        words = []
        for _ in range(int(header[1:])):
            await reader.readline()
            words.append((await reader.readline()).strip())
        writer.write(b"$%d\r\n%b\r\n" % (len(words[-1]), words[-1]))
    writer.close()


def test_each_key_has_its_own_value() -> None:
    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Redis(host="127.0.0.1", port=port, single_connection_client=True)
        await client.get("a key")

        async def read_and_get() -> None:
            await asyncio.sleep(0)
            await client.get("one")

        task = asyncio.create_task(read_and_get())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        value = await client.get("two")
        await client.close()
        server.close()
        assert value == b"two"

    asyncio.run(main())
