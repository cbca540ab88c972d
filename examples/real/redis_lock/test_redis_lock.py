"""redis 7.1.0: after a task that releases a lock is cancelled nobody can release the lock.

Promised: who has acquired a lock can release it.
Order: ``release`` (asyncio/lock.py:274) forgets the token, and then sends the command; if it is
cancelled before that, the lock stays in Redis, and ``release`` raises LockError from then on.
Reported: pull request #3900; fixed in 7.2.0.
"""

import asyncio

from redis.asyncio import Redis


def test_a_lock_is_free_after_a_cancelled_release() -> None:
    values: dict[bytes, bytes] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """As much of a server as a lock needs."""
        while header := await reader.readline():
            words = []
            for _ in range(int(header[1:])):
                await reader.readline()
                words.append((await reader.readline()).strip())
            if words[0] == b"SET":
                values[words[1]] = words[2]
            elif words[0] == b"EVALSHA":
                values.pop(words[3], None)
            writer.write(b":1\r\n" if words[0] == b"EVALSHA" else b"+OK\r\n")
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Redis(host="127.0.0.1", port=port, protocol=2)
        lock = client.lock("lock")
        await lock.acquire()

        async def read_and_release() -> None:
            await asyncio.sleep(0)
            await lock.release()

        task = asyncio.create_task(read_and_release())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        if lock.local.token is not None:
            await lock.release()
        await client.aclose()
        assert not values
        server.close()

    asyncio.run(main())
