"""The native part of an operation: what happens within is no event, and errors end an event."""

from __future__ import annotations

from types import TracebackType

from bohrbug.runtime.channels.events import Kind, Status
from bohrbug.runtime.channels.streams import Channel, Stream


class natively:
    """``with natively(stream):`` nothing that is done within is an event of its own.

    Parameters:
        stream: of the task that does it.
    """

    __slots__ = ("_stream",)

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __enter__(self) -> None:
        self._stream.inside += 1

    def __exit__(self, *exc_info: object) -> None:
        self._stream.inside -= 1


class noting:
    """``with noting(...):`` an operation that ends with one of some errors is noted as it ends.

    Parameters:
        stream: of the task whose operation it is.
        kind: of the operation.
        channel: that it is for.
        endings: what each error means, the special ones before their bases.
    """

    __slots__ = ("_channel", "_endings", "_kind", "_stream")

    def __init__(
        self,
        stream: Stream,
        kind: Kind,
        channel: Channel,
        *endings: tuple[type[BaseException], Status],
    ) -> None:
        self._stream = stream
        self._kind = kind
        self._channel = channel
        self._endings = endings

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            for expected, status in self._endings:
                if isinstance(error, expected):
                    self._stream.note(self._kind, self._channel, status)
                    return
