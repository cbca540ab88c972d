"""What the runtime assumes of code that it can't look into, and of types that it models."""

from __future__ import annotations

import os

from bohrbug.model.outcome import Access, Race
from bohrbug.model.trace import Trace
from bohrbug.runtime.threads.monitoring import RaceDetector
from bohrbug.runtime.threads.rewrite import unknown
from bohrbug.runtime.threads.rewrite.classes import module_of


def note_assumptions(trace: Trace, detector: RaceDetector) -> None:
    """Code in C that no table knows may have met another task: say what that is taken for."""
    for place in detector.racy_places:
        name = unknown.taken_as_one_step(place)
        if name is not None:
            trace.uncontrolled.assume(f"{name} as one step")


def is_assumed(access: Access) -> bool:
    """Whether it is not known what an access does."""
    return unknown.assumed_at(access.operation.place) is not None


def may_be_told(race: Race) -> bool:
    """Whether a data race is one of the program, of which it is known what its accesses do.

    Pools of ``multiprocessing`` look without a lock at whether they are closed.
    """
    places = [access.operation.place for access in (race.first, race.second)]
    return not any(is_assumed(access) for access in (race.first, race.second)) and not all(
        place[0].co_filename.endswith(_POOLS) for place in places
    )


def is_synchronisation(cls: type) -> bool:
    """Types whose attributes are not variables of the program: they are modelled as a whole."""
    return module_of(cls) in _MODELLED_MODULES


_POOLS = os.path.join("multiprocessing", "pool.py")

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
