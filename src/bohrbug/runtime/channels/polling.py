"""``select.select``, ``select.poll`` and ``select.epoll`` over sockets that are channels."""

from __future__ import annotations

import select
from typing import Any

from bohrbug.runtime.channels.descriptors import has_more, is_channel, wait_for
from bohrbug.runtime.channels.events import Kind, Status
from bohrbug.runtime.channels.replayed_stream import ReplayingStream, in_vain
from bohrbug.runtime.channels.session import active, current
from bohrbug.runtime.pollers import (
    READ,
    WRITE,
    Poller,
    number_of,
    real_epoll,
    real_poll,
    real_select,
    seconds,
)
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

FLAVOUR = "select.select"


def _select_ready(rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None, /) -> Any:
    stream = current()
    if stream is None:
        return real_select(rlist, wlist, xlist, timeout)
    lists = [list(rlist), list(wlist), list(xlist)]
    things = [thing for one in lists for thing in one]
    if not things or not all(is_channel(number_of(thing)) for thing in things):
        return real_select(lists[0], lists[1], lists[2], timeout)
    outcome = stream.expect(Kind.SELECT, None, FLAVOUR, fruitless=in_vain(timeout))
    if outcome is not None and isinstance(stream, ReplayingStream):
        chosen: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        for number in outcome.values:
            which, index = number % 3, number // 3
            if index < len(lists[which]):
                thing = lists[which][index]
                events = (READ, WRITE, 0)[which]
                wait_for(stream, number_of(thing), events)
                chosen[which].append(thing)
        return chosen
    result = real_select(lists[0], lists[1], lists[2], timeout)
    values = tuple(
        index * 3 + which
        for which, ready in enumerate(result)
        for index, thing in enumerate(lists[which])
        if thing in ready
    )
    status = Status.READY if values else Status.TIMED_OUT
    stream.note(Kind.SELECT, None, status, values, FLAVOUR)
    return result


patches.add(select, "select", _select_ready)


# -- poll and epoll ------------------------------------------------------------------------

_ONLY_CHANGES = getattr(select, "EPOLLET", 0) | getattr(select, "EPOLLONESHOT", 0)


class _Poller(Poller):
    """Stands in the place of a polling object.

    Parameters:
        real: the object in C.
        flavour: type of channel, for the log.
    """

    def __init__(self, real: Any, flavour: str) -> None:
        super().__init__(real)
        self._flavour = flavour

    def _ready(self, timeout: float | None, real: Any) -> list[tuple[int, int]]:
        stream = current()
        registered = list(self._registered)
        if stream is None or not registered or not self._all_channels():
            return list(real())
        fruitless = in_vain(seconds(timeout))
        outcome = stream.expect(Kind.SELECT, None, self._flavour, fruitless=fruitless)
        if outcome is not None and isinstance(stream, ReplayingStream):
            pairs = list(zip(outcome.values[::2], outcome.values[1::2], strict=True))
            if all(index < len(registered) for index, _ in pairs):
                for index, mask in pairs:
                    # An error or the end shows as something to read.
                    reads = READ if mask & ~WRITE else 0
                    wait_for(stream, registered[index], reads | (mask & WRITE))
                return [(registered[index], mask) for index, mask in pairs]
        early = [(descriptor, READ) for descriptor in registered if has_more(descriptor)]
        result = early or list(real())
        places = {descriptor: index for index, descriptor in enumerate(registered)}
        values = tuple(n for fd, mask in result for n in (places[fd], mask))
        status = Status.READY if values else Status.TIMED_OUT
        stream.note(Kind.SELECT, None, status, values, self._flavour)
        return result

    def _all_channels(self) -> bool:
        return all(
            is_channel(descriptor) and not mask & _ONLY_CHANGES
            for descriptor, mask in self._registered.items()
        )


class _Poll(_Poller):
    """Stands in the place of what ``select.poll()`` returns."""

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        """As of the real one; milliseconds."""
        return self._ready(timeout, lambda: self._real.poll(timeout))


class _Epoll(_Poller):
    """Stands in the place of a ``select.epoll``."""

    def poll(self, timeout: float | None = None, maxevents: int = -1) -> list[tuple[int, int]]:
        """As of the real one; seconds."""
        return self._ready(timeout, lambda: self._real.poll(timeout, maxevents))


if real_poll is not None:

    def _make_poll() -> Any:
        return real_poll() if active.session is None else _Poll(real_poll(), "select.poll")

    patches.add(select, "poll", _make_poll)

if real_epoll is not None:

    class _MakeEpoll(type):
        def __call__(cls, sizehint: int = -1, flags: int = 0) -> Any:
            real = real_epoll(sizehint, flags)
            return real if active.session is None else _Epoll(real, "select.epoll")

        def __instancecheck__(cls, thing: object) -> bool:
            return isinstance(thing, real_epoll | _Epoll)

    class _EpollClass(metaclass=_MakeEpoll):
        """Stands in the place of the class ``select.epoll``."""

        fromfd = real_epoll.fromfd

    _EpollClass.__name__ = _EpollClass.__qualname__ = "epoll"
    _EpollClass.__module__ = "select"
    patches.add(select, "epoll", _EpollClass)
