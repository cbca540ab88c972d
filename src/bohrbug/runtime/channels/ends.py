"""The two ends of channels between processes: connections and sockets know both directions."""

from __future__ import annotations

from typing import Any

from bohrbug.runtime.channels.events import ChannelId
from bohrbug.runtime.channels.session import Session
from bohrbug.runtime.channels.streams import Channel, Stream


class Ends:
    """What a connection carries along when it goes to another process.

    Parameters:
        incoming: channel that it receives from.
        outgoing: channel that it sends to.
        flavour: type of channel.
    """

    __slots__ = ("flavour", "incoming", "outgoing")

    def __init__(
        self, incoming: ChannelId | None, outgoing: ChannelId | None, flavour: str
    ) -> None:
        self.incoming = incoming
        self.outgoing = outgoing
        self.flavour = flavour

    def __reduce__(self) -> tuple[Any, ...]:
        return Ends, (self.incoming, self.outgoing, self.flavour)


def channel_named(session: Session, id: ChannelId | None, flavour: str) -> Channel | None:
    """The channel of this id in this process; made at its first use."""
    if id is None:
        return None
    channel: Channel | None = session.named.get(id)
    if channel is None:
        channel = session.named.setdefault(id, Channel(session, id, flavour))
    return channel


def incoming(stream: Stream, end: Any) -> Channel | None:
    """The channel that a connection receives from."""
    ends: Ends | None = getattr(end, "_bohrbug_ends", None)
    if ends is None:
        return None
    return channel_named(stream.session, ends.incoming, ends.flavour)


def outgoing(stream: Stream, end: Any) -> Channel | None:
    """The channel that a connection sends to."""
    ends: Ends | None = getattr(end, "_bohrbug_ends", None)
    if ends is None:
        return None
    return channel_named(stream.session, ends.outgoing, ends.flavour)


def rebuild(function: Any, args: Any, ends: Ends) -> Any:
    """Unpickle a connection together with its ends.

    Here and not beside the other functions for connections: those may only be loaded after
    ``multiprocessing.connection``, which the arguments are of.
    """
    end = function(*args)
    end._bohrbug_ends = ends
    return end
