"""httpcore 0.14.2: a request raises ValueError if another one closes the same connection.

Promised: a connection that the server has closed is replaced.
Order: two requests find that connection in the list of the pool, and each closes it, which takes a
turn of the loop, and then removes it (_async/connection_pool.py:277).
Reported: pull request #437; fixed in 0.14.3.
"""

import asyncio

import httpcore


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    writer.close()


def test_connections_that_the_server_closed_are_replaced() -> None:
    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with httpcore.AsyncConnectionPool() as pool:

            async def get() -> None:
                response = await pool.request("GET", f"http://127.0.0.1:{port}/")
                assert response.content == b"ok"

            await get()
            await asyncio.gather(get(), get())
        server.close()

    asyncio.run(main())
