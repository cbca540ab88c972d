"""Bytes that the kernel keeps back on their way from one socket of this process to another.

Of small pieces it sends the second only when the first is acknowledged, which takes up to 40 ms
(Nagle, RFC 896, with delayed acknowledgements, RFC 1122).  A handshake that found the queue of the
listener full is repeated after a second.  Virtual time must not jump over either.
"""

from __future__ import annotations

import fcntl
import socket
import struct
import sys
from collections.abc import Iterator
from typing import Any

from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.channels import (
    RawSocket,
    channels_of,
    names_of,
    own_descriptors,
)
from bohrbug.runtime.threads.io.waiting import READABLE, is_ready
from bohrbug.runtime.threads.outside import OnItsWay

_real_ioctl = fcntl.ioctl


LONGEST = 1.5
"""Real seconds after which what is still on its way is taken to be stuck."""

_UNSENT = 0x894B
"""The request ``SIOCOUTQNSD`` of Linux: how many bytes are not sent."""

_TCP_INFO = getattr(socket, "TCP_INFO", 11)
_SYN_SENT = 2


def connections() -> Iterator[tuple[int, Any, Any]]:
    """The TCP sockets of this process that have a peer, or ask for one, with both addresses."""
    for descriptor in own_descriptors():
        family, own, peer = names_of(descriptor)
        if family in (socket.AF_INET, socket.AF_INET6) and own and own[1]:
            yield descriptor, own[:2], peer[:2] if peer else None


def _unsent(descriptor: int) -> int:
    try:
        answer = _real_ioctl(descriptor, _UNSENT, b"\0" * 4)
    except OSError:
        # No TCP socket, or gone since it was listed.
        return 0
    return int(struct.unpack("i", answer)[0])


def _is_asking(descriptor: int) -> bool:
    """Whether a connection is asked for, and nobody has answered."""
    probe = RawSocket(fileno=descriptor)
    try:
        return bool(probe.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 1)[0] == _SYN_SENT)
    except OSError:
        return False
    finally:
        probe.detach()


def patience(execution: Execution) -> float:
    """Real seconds that it is worth waiting for what is on its way; 0 if nothing is.

    Parameters:
        execution: no task of which can go on.
    """
    if sys.platform != "linux" or not channels_of(execution).ports:
        return 0.0
    known = list(connections())
    empty = {(own, peer) for descriptor, own, peer in known if not is_ready(descriptor, READABLE)}
    for descriptor, own, peer in known:
        if peer is None:
            if _is_asking(descriptor):
                return LONGEST
        elif (peer, own) in empty and _unsent(descriptor):
            # The other end has room.
            return LONGEST
    return 0.0


OnItsWay.patience = staticmethod(patience)
