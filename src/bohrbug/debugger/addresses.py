"""Where an editor finds a replay, and what is raised if it can't."""

from __future__ import annotations

from typing import NamedTuple


class Address(NamedTuple):
    """A host and a port, of which 0 means any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class DebugpyError(Exception):
    """debugpy can't be used; the message says what to do."""


DEFAULT_ADDRESS = Address("127.0.0.1", 5678)
"""What editors assume."""


def address_of(text: str) -> Address:
    """What ``PORT`` or ``HOST:PORT`` means.

    Raises:
        ValueError: it is neither; the message says what there is.
    """
    host, colon, port = text.rpartition(":")
    is_port = port.isascii() and port.isdigit() and int(port) <= 65_535
    if not is_port or (colon and not host):
        raise ValueError(
            f"{text!r} is not an address: give a port, or a host and a port, such as "
            f"{DEFAULT_ADDRESS}"
        )
    return Address(host.removeprefix("[").removesuffix("]") or DEFAULT_ADDRESS.host, int(port))
