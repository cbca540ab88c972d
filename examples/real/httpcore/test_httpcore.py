"""httpcore 1.0.9: a request that is cancelled takes a connection out of the pool for good.

Promised: a pool makes up to ``max_connections`` connections, and those who wait for one get it when
another request has ended.
Order: a connection that a request gets when it is cancelled, and that it has not begun to use, is
neither closed nor idle, so that no other request can have it (_async/connection_pool.py:232). And a
request that is cancelled while its response is closed leaves its connection active
(_async/http11.py:239), as ``AsyncShieldCancellation`` does not hold off ``Task.cancel``.
Reported: issues #1093, #658; both are fixed in httpcore2, a fork (2.16.2).
"""

import asyncio

import httpcore


class Stream(httpcore.AsyncMockStream):
    """A connection to a server that takes a moment to answer."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        await asyncio.sleep(0)
        return await super().read(max_bytes, timeout)


class Network(httpcore.AsyncMockBackend):
    async def connect_tcp(self, *args, **kwargs) -> Stream:
        return Stream([b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"] * 3)


def pool_of_one() -> httpcore.AsyncConnectionPool:
    return httpcore.AsyncConnectionPool(max_connections=1, network_backend=Network([]))


def test_a_request_behind_one_that_is_cancelled_while_it_waits() -> None:
    async def main() -> None:
        async with pool_of_one() as pool:

            async def get(host: str) -> None:
                await pool.request("GET", f"http://{host}.example/")

            first, second = asyncio.create_task(get("one")), asyncio.create_task(get("two"))
            await asyncio.sleep(0)
            second.cancel()
            await asyncio.wait([first, second])
            await get("three")

    asyncio.run(main())


def test_a_request_behind_one_that_is_cancelled_at_its_end() -> None:
    async def main() -> None:
        async with pool_of_one() as pool:

            async def get() -> None:
                await pool.request("GET", "http://server.example/")

            await get()
            task = asyncio.create_task(get())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            await get()

    asyncio.run(main())
