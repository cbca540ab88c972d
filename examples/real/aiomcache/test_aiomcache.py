"""aiomcache 0.8.2: after a command is cancelled, the next one gets its answer.

Promised: ``get`` returns the value of the key that it was asked for.
Order: a task that is cancelled between sending its command and reading the answer gives its
connection back to the pool (client.py:42), and the answer is still to come on it: ``except
Exception`` (39) does not catch ``CancelledError``.
Reported: issue #489.
"""

import asyncio

from aiomcache import Client


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As much of a server as ``get`` needs: the value of each key is its name."""
    while line := await reader.readline():
        key = line.split()[1]
        writer.write(b"VALUE %b 0 %d\r\n%b\r\nEND\r\n" % (key, len(key), key))
    writer.close()


def test_each_key_has_its_own_value() -> None:
    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Client("127.0.0.1", port, pool_size=1)
        await client.get(b"a_key")

        async def read_and_get() -> None:
            await asyncio.sleep(0)
            await client.get(b"one")

        task = asyncio.create_task(read_and_get())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        value = await client.get(b"two")
        await client.close()
        server.close()
        assert value == b"two"

    asyncio.run(main())
