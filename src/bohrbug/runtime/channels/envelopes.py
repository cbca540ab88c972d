"""Messages between processes: an item, and who sent it."""

from __future__ import annotations

from typing import Any

from bohrbug.runtime.channels.events import TaskId
from bohrbug.runtime.channels.session import active


class Envelope:
    """An item that is pickled together with its sender's id.

    Parameters:
        message: who sent it, and how many the sender had sent to the channel before.
        item: what the program sends.
    """

    __slots__ = ("item", "message")

    def __init__(self, message: tuple[TaskId | None, int], item: Any) -> None:
        self.message = message
        self.item = item

    def __reduce__(self) -> tuple[Any, ...]:
        return opened, (*self.message, self.item)


def opened(sender: TaskId | None, number: int, item: Any) -> Any:
    """What a receiver unpickles: the bare item in a process that takes no part."""
    if active.session is None:
        return item
    return Envelope((sender, number), item)
