"""waitress 3.0.0: a request that follows a malformed one is carried out.

Promised: after a malformed request the connection is closed, as what follows can't be trusted.
Race: with ``channel_request_lookahead`` the main thread reads on while a thread answers. If it has
begun to read the next request before that thread says that the connection is to be closed
(channel.py:463), and adds it afterwards, the request is carried out.
Reported: CVE-2024-49768; fixed in 3.0.1.
"""

import socket
import threading

from waitress import create_server


def test_a_request_after_a_malformed_one() -> None:
    paths: list[str] = []

    def app(environ, start_response):
        paths.append(environ["PATH_INFO"])
        start_response("200 OK", [("Content-Length", "0")])
        return []

    server = create_server(app, host="127.0.0.1", port=0, threads=1, channel_request_lookahead=1)

    def serve() -> None:
        for _ in range(10):
            server.asyncore.poll(0.1, server._map)

    thread = threading.Thread(target=serve)
    thread.start()
    client = socket.create_connection(("127.0.0.1", server.effective_port))
    client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n")
    client.sendall(b"GET /second HTTP/1.1\r\nHost: x\r\n\r\n")
    thread.join()
    client.close()
    server.task_dispatcher.shutdown()
    server.close()
    assert paths == []
