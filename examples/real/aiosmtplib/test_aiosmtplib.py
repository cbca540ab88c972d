"""aiosmtplib 5.1.3: after a command is cancelled the next one gets its answer.

Promised: a command returns the answer of the server to it.
Order: a task is cancelled while it waits for the answer to its command (protocol.py:300), which is
still to come then; the next command waits for an answer, and gets that one.
Found by exploring.
"""

import asyncio

import aiosmtplib


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As much of a server as these commands need: the answer to each is its name."""
    writer.write(b"220 ready\r\n")
    while line := await reader.readline():
        writer.write(b"250 %b\r\n" % line.split()[0])
    writer.close()


def test_an_answer_belongs_to_its_command() -> None:
    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = aiosmtplib.SMTP(hostname="127.0.0.1", port=port, start_tls=False)
        await client.connect()

        async def read_and_ask() -> None:
            await asyncio.sleep(0)
            await client.noop()

        task = asyncio.create_task(read_and_ask())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        if client.is_connected:
            assert (await client.rset()).message == "RSET"
        client.close()
        server.close()

    asyncio.run(main())
