"""Looks at how full a channel is: what they showed when they were recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bohrbug.runtime.channels.events import Kind, Status
from bohrbug.runtime.channels.native_parts import natively
from bohrbug.runtime.channels.replayed_stream import ReplayingStream
from bohrbug.runtime.channels.streams import Channel, Stream
from bohrbug.runtime.interposed import MESSAGES, owner_named, wrapped_alike
from bohrbug.runtime.threads.patches import Patches

_AGREES: Mapping[str, Callable[[int, int], bool]] = {
    "qsize": lambda recorded, now: recorded <= now,
    "empty": lambda recorded, now: recorded >= now,
    "full": lambda recorded, now: True,
}
"""By methods of queues: whether there is as much to receive as recorded."""


def shown(stream: Stream, channel: Channel, name: str, real: Callable[[], Any]) -> int:
    """What a look shows now, in a replay with what is kept for somebody.

    Parameters:
        stream: of the task that looks.
        channel: that is looked at.
        name: of the method.
        real: looks natively.
    """
    with natively(stream):
        value = int(real())
    kept = len(channel.arrived)
    if not kept or name == "full":
        return value
    return value + kept if name == "qsize" else 0


def look(
    stream: Stream, channel: Channel, name: str, real: Callable[[], Any], *, waits: bool = True
) -> int:
    """What a look shows: what it showed when it was recorded, if that is replayed.

    The parameters are those of :func:`shown`, and whether the task may wait.
    """

    def now() -> int:
        return shown(stream, channel, name, real)

    at_end = not waits and isinstance(stream, ReplayingStream) and stream.at_end
    outcome = None if at_end else stream.expect(Kind.LOOK, channel)
    if outcome is not None:
        recorded, agrees = outcome.values[0], _AGREES[name]
        if stream.comes_to_be(lambda: agrees(recorded, now()), waits=waits):
            return recorded
    value = now()
    stream.note(Kind.LOOK, channel, Status.VALUE, (value,))
    return value


def patch_looks(
    patches: Patches,
    owner: str,
    seen: Callable[[Any], tuple[Stream, Channel] | None],
    *,
    waits: bool = True,
    **others: Callable[[Any], Any],
) -> None:
    """Record, and replay, what looks at a queue show.

    Parameters:
        patches: to add to.
        owner: the queue's class, as in the table.
        seen: from a queue, who looks at which channel; ``None`` if that is no event.
        waits: whether the task may wait, in a replay.
        others: by name, what is to look in place of a method of the queue.
    """
    for name, _ in wrapped_alike(owner, MESSAGES):
        _patch_look(patches, owner_named(owner), name, seen, waits, others.get(name))


def _patch_look(patches: Patches, cls: Any, name: str, seen: Any, waits: bool, other: Any) -> None:
    real = getattr(cls, name)
    convert = int if name == "qsize" else bool

    @patches.method(cls, name)
    def method(self: Any) -> Any:
        found = seen(self)
        if found is None:
            return real(self)
        stream, channel = found
        return convert(look(stream, channel, name, lambda: (other or real)(self), waits=waits))
