"""``select.select`` over sockets that are channels."""

from __future__ import annotations

import select
import selectors
from typing import Any

from bohrbug.runtime.channels.events import Kind, Status
from bohrbug.runtime.channels.replaying import ReplayingStream, in_vain
from bohrbug.runtime.channels.session import current
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

FLAVOUR = "select.select"
_select = select.select


def _descriptor(thing: Any) -> int:
    return thing if isinstance(thing, int) else thing.fileno()


def _select_ready(rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None) -> Any:
    stream = current()
    if stream is None:
        return _select(rlist, wlist, xlist, timeout)
    from bohrbug.runtime.channels.descriptors import is_channel
    from bohrbug.runtime.channels.readiness import wait_for

    lists = [list(rlist), list(wlist), list(xlist)]
    things = [thing for one in lists for thing in one]
    if not things or not all(is_channel(_descriptor(thing)) for thing in things):
        return _select(lists[0], lists[1], lists[2], timeout)
    outcome = stream.expect(Kind.SELECT, None, FLAVOUR, fruitless=in_vain(timeout))
    if outcome is not None and isinstance(stream, ReplayingStream):
        chosen: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        for number in outcome.values:
            which, index = number % 3, number // 3
            if index < len(lists[which]):
                thing = lists[which][index]
                events = (selectors.EVENT_READ, selectors.EVENT_WRITE, 0)[which]
                wait_for(stream, _descriptor(thing), events)
                chosen[which].append(thing)
        return chosen
    result = _select(lists[0], lists[1], lists[2], timeout)
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
EXCHANGED = {_select: _select_ready}
