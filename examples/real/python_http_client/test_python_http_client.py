"""python-http-client 3.3.7: a request is sent with the headers of another request.

Promised: ``client.get(request_headers=...)`` sends the request with these headers.
Race: ``Client.request_headers`` is one dictionary for the client and for all clients built from it.
``http_request`` merges the headers of the call into it (client.py:243, ``_update_headers`` at
client.py:145) and reads it again when it builds the request (client.py:262). A thread that merges
its own headers in between has them sent with the request of the other thread.
Reported: sendgrid-python pull request #318 describes that headers of one call stay in the client
for the calls that follow.

The opener, which the test does not use, is left out: natively the test fails often from Python 3.12
on, because building the opener reads certificates from the disk in the middle of the race.
"""

import threading
from unittest import mock
from urllib.request import Request

from python_http_client.client import Client


class FakeReply:
    def getcode(self) -> int:
        return 200

    def read(self) -> bytes:
        return b""

    def info(self) -> dict[str, str]:
        return {}


class RecordingClient(Client):
    """A client that keeps its requests instead of sending them."""

    def __init__(self) -> None:
        super().__init__(host="https://api.example")
        self.requests: list[Request] = []

    def _make_request(self, opener: object, request: Request, timeout: object = None) -> FakeReply:
        self.requests.append(request)
        return FakeReply()


def test_each_request_carries_its_own_headers() -> None:
    client = RecordingClient()

    def fetch(user: str) -> None:
        client.get(query_params={"user": user}, request_headers={"Authorization": user})

    with mock.patch("urllib.request.build_opener", lambda: None):
        threads = [threading.Thread(target=fetch, args=(user,)) for user in ("ada", "bob")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    sent = {request.full_url: request.get_header("Authorization") for request in client.requests}
    assert sent == {"https://api.example?user=ada": "ada", "https://api.example?user=bob": "bob"}
