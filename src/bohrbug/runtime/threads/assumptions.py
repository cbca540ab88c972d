"""What the runtime assumes of code that it can't look into, and of types that it models."""

from __future__ import annotations

from bohrbug.model.outcome import Access
from bohrbug.model.trace import Trace
from bohrbug.runtime.threads.monitoring import RaceDetector
from bohrbug.runtime.threads.rewrite import unknown


def note_assumptions(trace: Trace, detector: RaceDetector) -> None:
    """Code in C that no table knows may have met another task: say what that is taken for."""
    for place in detector.racy_places:
        name = unknown.taken_as_one_step(place)
        if name is not None:
            trace.uncontrolled.assume(f"{name} as one step")


def is_assumed(access: Access) -> bool:
    """Whether it is not known what an access does."""
    return unknown.assumed_at(access.operation.place) is not None


def is_synchronisation(cls: type) -> bool:
    """Types whose attributes are not variables of the program: they are modelled as a whole."""
    return cls.__module__ in _MODELLED_MODULES


_MODELLED_MODULES = frozenset(
    {
        "_thread",
        "threading",
        "queue",
        "_queue",
        "concurrent.futures._base",
        "concurrent.futures.thread",
    }
)
