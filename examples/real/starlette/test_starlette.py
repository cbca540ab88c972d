"""starlette 0.36.3: a middleware raises RuntimeError if the client disconnects.

Promised: a request of a client that has disconnected ends in silence.
Order: the client disconnects after the inner middleware has begun its response, and before it has
passed it on; the outer one finds no response (starlette/middleware/base.py:166).
Reported: issue #2516; fixed in 0.38.4 (pull request #2620).
"""

import asyncio

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route


class Pass(BaseHTTPMiddleware):
    async def dispatch(self, request, call_next):
        return await call_next(request)


async def home(request):
    await asyncio.sleep(0)
    return PlainTextResponse("hello")


def test_a_client_that_disconnects() -> None:
    app = Starlette(routes=[Route("/", home)], middleware=[Middleware(Pass), Middleware(Pass)])
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "query_string": b"",
        "headers": [],
    }

    async def main() -> None:
        messages = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive():
            if messages:
                return messages.pop()
            await asyncio.sleep(0)
            return {"type": "http.disconnect"}

        async def send(message) -> None:
            await asyncio.sleep(0)

        await app(scope, receive, send)

    asyncio.run(main())
