"""websocket-client 1.3.1: closing an app while it ends by itself is an AttributeError.

Promised: ``WebSocketApp.close`` closes the connection, whoever calls it.
Race: both ``close`` (_app.py:212 to 214) and the end of ``run_forever`` (311 and 312) ask whether
there is a socket, close it, and then forget it; each may do so between two steps of the other.
Source: reading the source.
"""

import base64
import hashlib
import socket
import threading

import websocket

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def serve(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    request = b""
    while b"\r\n\r\n" not in request:
        request += connection.recv(4096)
    (key,) = (
        line.partition(b": ")[2]
        for line in request.split(b"\r\n")
        if line.lower().startswith(b"sec-websocket-key")
    )
    accepted = base64.b64encode(hashlib.sha1(key + GUID).digest())
    connection.sendall(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accepted + b"\r\n\r\n"
    )
    while connection.recv(4096):
        pass
    connection.close()


def test_closing_an_app() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    server = threading.Thread(target=serve, args=(listening,))
    server.start()
    errors: list[Exception] = []
    is_open = threading.Event()
    app = websocket.WebSocketApp(
        f"ws://127.0.0.1:{listening.getsockname()[1]}/",
        on_error=lambda app, error: errors.append(error),
        on_open=lambda app: is_open.set(),
    )
    running = threading.Thread(target=app.run_forever)
    running.start()
    is_open.wait()
    app.close()
    running.join()
    server.join()
    listening.close()
    assert not [error for error in errors if isinstance(error, AttributeError)]
