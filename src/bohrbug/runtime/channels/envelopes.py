"""Messages between processes: an item travels together with who sent it.

An envelope is a plain tuple, which is pickled and unpickled several times as fast as an object of
a class of ours, and pickled in fewer bytes.
"""

from __future__ import annotations

from typing import Any

from bohrbug.runtime.channels.events import TaskId

MARK = "\0bohrbug message"
"""What envelopes begin with."""

Envelope = tuple[str, TaskId | None, int, Any]


def enclosed(sender: TaskId | None, number: int, item: Any) -> Envelope:
    """An item with its sender's id, and how many the sender had sent to the channel before."""
    return MARK, sender, number, item


def is_envelope(thing: Any) -> bool:
    """Whether something that came through a pipe is an item in an envelope."""
    return type(thing) is tuple and len(thing) == 4 and type(thing[0]) is str and thing[0] == MARK


def item_of(thing: Any) -> Any:
    """What the program sent, with or without an envelope."""
    return thing[3] if is_envelope(thing) else thing
