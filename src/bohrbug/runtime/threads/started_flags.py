"""The event by which a ``threading.Thread`` tells that it has started: made half at first.

Each event has a condition with a lock and a queue of who waits.  Nobody waits for a thread that is
started under control, so that this condition is made only when somebody asks for it.
"""

from __future__ import annotations

import threading
from typing import Any

from bohrbug.runtime.threads.patches import Patches

_Event = threading.Event
_fill_event = _Event.__init__


class _MadeWhenAskedFor:
    """Stands for ``Event._cond`` where that is not set yet."""

    def __get__(self, event: Any, cls: type | None = None) -> Any:
        if event is None:
            return self
        return _condition_of(event)


def _condition_of(event: Any) -> Any:
    has_started = event._flag
    _fill_event(event)
    event._flag = has_started
    return vars(event)["_cond"]


class _FlagPatches(Patches):
    """Completes the flags of threads that live on when control is given back."""

    def restore(self) -> None:
        """See :class:`Patches`."""
        for thread in list(threading._dangling):  # type: ignore[attr-defined]
            event = vars(thread).get("_started")
            if type(event) is _Event and "_cond" not in vars(event):
                _condition_of(event)
        super().restore()


patches = _FlagPatches()
patches.add(_Event, "_cond", _MadeWhenAskedFor())
