"""Under which conditions an execution runs, beside the choices that are made in it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

PlaceKey = tuple[str, str, int, int]
"""A place as plain data: file name, function, its first line, byte offset in its code."""


FunctionKey = tuple[str, str, str, int]
"""A function as plain data: module, file name, name, and its first line."""


def place_key(place: Any) -> PlaceKey:
    """What names a place, a code object and a byte offset, in another process."""
    code, offset = place
    return (code.co_filename, code.co_qualname, code.co_firstlineno, offset)


SC = "sc"
"""Memory is sequentially consistent."""
TSO = "tso"
"""Total store order: a task's stores reach memory later, in their order (x86)."""
RELAXED = "relaxed"
"""Memory is as C11 has it: loads of atomics may see older stores, as their memory orders allow."""


class Level(str, Enum):
    """Which operations are scheduling points."""

    SYNC = "sync"
    """Synchronisation only."""
    RACY = "racy"
    """And accesses at places that took part in a data race (CHESS, section 3.5)."""
    ALL = "all"
    """And accesses at places that touch variables shared by tasks, ordered or not."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What an execution runs under, beside the choices that are made in it.

    What never changes from one execution of a test to the next (the epoch, the source of
    randomness, the calls that may fail) belongs to the runtime of the test.

    Parameters:
        points: the data accesses that are scheduling points.
        late_timeouts: a timeout fires only when no task is enabled, or once it is due; otherwise
            that it fires is a choice.
        most_stall: seconds for which all other tasks may have to stand still for a timeout to fire
            early; a timeout for which they would have to longer is late.
        gil: control passes only where a build of Python with the GIL can switch threads.
        max_steps: steps after which the execution is ended as a livelock.
        origin: names the process; part of the ids of objects older than the execution, which
            another process may meet in another order.
        memory: ``sc``: memory is sequentially consistent; ``tso``: each task has a store buffer, as
            processors of the x86 family have it; ``relaxed``: loads of atomics may see older
            stores, as far as C11 allows.
    """

    points: frozenset[PlaceKey] = frozenset()
    late_timeouts: bool = False
    most_stall: float = math.inf
    gil: bool = False
    max_steps: int = 300_000
    origin: str = ""
    memory: str = SC

    def with_timeouts_of(self, recorded: Conditions) -> Conditions:
        """The same, but timeouts are at least as late as under those that a file tells of."""
        return replace(
            self,
            late_timeouts=self.late_timeouts or recorded.late_timeouts,
            most_stall=min(self.most_stall, recorded.most_stall),
        )


@dataclass(frozen=True, slots=True)
class Growth:
    """At a step of an execution that runs only once, more of it became visible.

    The functions that were called up to then were rewritten.

    Parameters:
        step: the number of the step that came next.
        points: the data accesses that were scheduling points from there on, beside those before.
        functions: that were rewritten then, although they were only about to be called.
        quiet: functions without a point no longer tell their accesses when they are called; and if
            there is no point at all, nothing is told.
    """

    step: int
    points: frozenset[PlaceKey] = frozenset()
    functions: frozenset[FunctionKey] = frozenset()
    quiet: bool = False


ORDINARY = Conditions()
"""The conditions of a plan of which nobody has said any."""
