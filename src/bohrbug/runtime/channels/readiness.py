"""``selectors``: which of several sockets are ready."""

from __future__ import annotations

import selectors
import sys
from typing import Any

from bohrbug.runtime import pollers
from bohrbug.runtime.channels.descriptors import has_more, is_channel, wait_for
from bohrbug.runtime.channels.events import Kind, Status
from bohrbug.runtime.channels.replayed_stream import ReplayingStream, in_vain
from bohrbug.runtime.channels.session import current
from bohrbug.runtime.interposed import classes_with
from bohrbug.runtime.pollers import READ, WRITE
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

FLAVOUR = "selectors.select"
_POLL_MASKS = (0, READ, WRITE, READ | WRITE)
"""By ``EVENT_READ`` and ``EVENT_WRITE`` or both."""


def _patch_select(cls: Any) -> None:
    real = cls.select

    @patches.method(cls, "select")
    def ready(self: Any, timeout: float | None = None) -> Any:
        stream = current()
        keys = list(self.get_map().values()) if stream is not None else []
        # What else is in there is no channel: an event loop's own pipe, a child's output.
        if stream is None or not keys or not all(is_channel(key.fd) for key in keys):
            return real(self, timeout)
        outcome = stream.expect(Kind.SELECT, None, FLAVOUR, fruitless=in_vain(timeout))
        if outcome is not None and isinstance(stream, ReplayingStream):
            pairs = list(zip(outcome.values[::2], outcome.values[1::2], strict=True))
            if all(index < len(keys) for index, _ in pairs):
                for index, events in pairs:
                    wait_for(stream, keys[index].fd, _POLL_MASKS[events])
                return [(keys[index], events) for index, events in pairs]
        early = [(key, selectors.EVENT_READ) for key in keys if has_more(key.fd)]
        result = early or real(self, timeout)
        indices = {key.fd: index for index, key in enumerate(keys)}
        values = tuple(n for key, events in result for n in (indices[key.fd], events))
        status = Status.READY if values else Status.TIMED_OUT
        stream.note(Kind.SELECT, None, status, values, FLAVOUR)
        return result


# What a selector uses itself stays the real thing.
if sys.platform != "win32":
    patches.add(selectors.SelectSelector, "_select", staticmethod(pollers.real_select))
for _name, _real in (("PollSelector", "real_poll"), ("EpollSelector", "real_epoll")):
    if hasattr(selectors, _name):
        _function = getattr(pollers, _real)
        patches.add(getattr(selectors, _name), "_selector_cls", _function)

# PollSelector and DevpollSelector have theirs from _PollLikeSelector.
for _class in classes_with(selectors, "select"):
    _patch_select(_class)
