"""``multiprocessing.connection`` and ``ssl`` under control, once they are imported."""

from __future__ import annotations

import os
from sys import _getframe
from typing import Any

from bohrbug.model.operation import CLOSE, CONNECT, RECEIVE, SEND
from bohrbug.runtime.interposed import CONTROL, wrapped_alike
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.io.channels import RawSocket
from bohrbug.runtime.threads.io.handed_buffers import filled_by, read_by
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.io.pipes import read, write
from bohrbug.runtime.threads.io.waiting import (
    READABLE,
    WRITABLE,
    await_descriptor,
    place_outside,
    point,
)


@patches.when_imported("multiprocessing.connection")
def _wrap_multiprocessing(module: Any) -> None:
    """Its connections keep the real ``os.read`` and ``os.write`` as defaults."""
    cls = module.Connection
    if not hasattr(cls, "_recv") or os.name == "nt":
        return
    original_receive, original_send = cls._recv, cls._send

    _wrap_buffers(module._ConnectionBase)

    @patches.method(cls, "_recv")
    def receive(self: Any, size: int, read: Any = read) -> Any:
        return original_receive(self, size, read)

    @patches.method(cls, "_send")
    def send_(self: Any, buf: Any, write: Any = write) -> Any:
        return original_send(self, buf, write)


def _wrap_buffers(cls: Any) -> None:
    original_send, original_receive = cls.send_bytes, cls.recv_bytes_into

    @patches.method(cls, "send_bytes")
    def send_bytes(self: Any, buf: Any, *args: Any, **kwargs: Any) -> Any:
        read_by("Connection.send_bytes", buf)
        return original_send(self, buf, *args, **kwargs)

    @patches.method(cls, "recv_bytes_into")
    def recv_bytes_into(self: Any, buf: Any, *args: Any, **kwargs: Any) -> Any:
        if controlled() is not None:
            # Who waits has not touched the buffer yet. Another task may take what there is.
            self.poll(None)
            filled_by("Connection.recv_bytes_into", buf)
        return original_receive(self, buf, *args, **kwargs)


@patches.when_imported("ssl")
def _wrap_ssl(module: Any) -> None:
    """Encrypted sockets: try without waiting, and wait for what OpenSSL asks for."""
    cls = module.SSLSocket
    for name, _ in wrapped_alike("ssl:SSLSocket", CONTROL):
        _wrap_ssl_method(cls, name, module.SSLWantReadError, module.SSLWantWriteError)


_SSL_KINDS = {"do_handshake": CONNECT, "read": RECEIVE, "write": SEND, "unwrap": CLOSE}


def _wrap_ssl_method(cls: Any, name: str, wants_read: Any, wants_write: Any) -> None:
    original = getattr(cls, name)

    @patches.method(cls, name)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        execution = controlled()
        timeout = self.gettimeout()
        if execution is None or timeout == 0 or self.fileno() < 0:
            return original(self, *args, **kwargs)
        end = None if timeout is None else execution.clock.now + timeout
        place, kind = place_outside(_getframe(1)), _SSL_KINDS[name]
        point(execution, self.fileno(), place, kind)
        while True:
            RawSocket.settimeout(self, 0)
            try:
                return original(self, *args, **kwargs)
            except wants_read:
                mask = READABLE
            except wants_write:
                mask = WRITABLE
            finally:
                if self.fileno() >= 0:
                    RawSocket.settimeout(self, timeout)
            left = None if end is None else max(end - execution.clock.now, 0.0)
            if not await_descriptor(execution, self.fileno, mask, left, place, kind):
                raise TimeoutError(f"The {name} operation timed out")
