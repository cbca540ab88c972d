"""asyncio streams: 8 clients of a server in one loop; prints their order's digest, and seconds."""

import asyncio
import random
import time
import zlib

CLIENTS, EACH = 8, 100


async def run():
    heard = []

    async def serve(reader, writer):
        while data := await reader.read(256):
            heard.append(data)
            writer.write(data)
        writer.close()

    async def talk(port, name):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in range(EACH):
            writer.write(b"%d:%d " % (name, number))
            if number % 10 == 0:
                await asyncio.sleep(random.random() / 1_000)
            heard.append(await reader.read(256))
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*(talk(port, name) for name in range(CLIENTS)))
    server.close()
    return zlib.crc32(b"|".join(heard))


if __name__ == "__main__":
    begin = time.perf_counter()
    order = asyncio.run(run())
    print(order, time.perf_counter() - begin)
