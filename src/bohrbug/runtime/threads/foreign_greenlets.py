"""gevent and eventlet: what they run in greenlets of theirs is not controlled, and that is said.

Once they have patched the library, threads are such greenlets, and nothing that is explored would
be what happens without us.
"""

from __future__ import annotations

import sys

from bohrbug.model.trace import Trace

NOTE = "ran greenlets of {}, in the order of its hub, which was not varied"


class NotControlledError(RuntimeError):
    """The threads of the program can't be controlled, for the reason that it names."""


def check_that_threads_are_controlled() -> None:
    """See that nobody has made something else of the threads of this program.

    Raises:
        NotControlledError: somebody has.
    """
    if why_not := why_not_controlled():
        raise NotControlledError(why_not)


def why_not_controlled() -> str:
    """Why the threads of this program can't be controlled; empty if they can be."""
    # Read with care: their versions differ, and one may be about to be imported.
    if getattr(sys.modules.get("gevent.monkey"), "saved", None):
        return _words("gevent.monkey", "gevent")
    if getattr(sys.modules.get("eventlet.patcher"), "already_patched", None):
        return _words("eventlet.monkey_patch", "eventlet")
    return ""


def _words(patch: str, library: str) -> str:
    return (
        f"{patch} has replaced parts of the standard library: what waits or sleeps is left to"
        f" {library} then, whose greenlets Bohrbug does not control"
    )


def note_hubs(trace: Trace) -> None:
    """After an execution: note whose greenlets may have run in it."""
    hub_of_gevent = getattr(sys.modules.get("gevent._hub_local"), "get_hub_if_exists", None)
    if hub_of_gevent is not None and hub_of_gevent() is not None:
        trace.uncontrolled.note(NOTE.format("gevent"))
    of_eventlet = getattr(sys.modules.get("eventlet.hubs"), "_threadlocal", None)
    if getattr(of_eventlet, "hub", None) is not None:
        trace.uncontrolled.note(NOTE.format("eventlet"))
