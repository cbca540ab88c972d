"""waitress 2.1.1: a client that disconnects ends the server.

Promised: an error of one connection is no error of the server.
Race: a thread that sends a response and fails closes the socket (wasyncore.py), which the main
thread is about to look at with ``select``: that raises OSError, and nothing catches it.
Reported: CVE-2022-31015, pull request #377; fixed in 2.1.2.
"""

import socket
import struct
import threading

from waitress import create_server


def app(environ, start_response):
    start_response("200 OK", [("Content-Length", "200")])
    return [b"x" * 100, b"y" * 100]


def test_a_client_that_disconnects() -> None:
    server = create_server(app, host="127.0.0.1", port=0, threads=1, send_bytes=1)
    errors: list[Exception] = []

    def serve() -> None:
        try:
            for _ in range(8):
                server.asyncore.poll(0.1, server._map)
        except OSError as error:
            errors.append(error)

    thread = threading.Thread(target=serve)
    thread.start()
    client = socket.create_connection(("127.0.0.1", server.effective_port))
    client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    # The connection is reset, so that sending to it fails.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    thread.join()
    server.task_dispatcher.shutdown()
    server.close()
    assert not errors
