"""How executions on the threads runtime are run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

EXTERNAL_PATIENCE = 5.0
"""Seconds of real time to wait for something outside our control, unless told otherwise."""


class Level(str, Enum):
    """Which operations are scheduling points."""

    SYNC = "sync"
    """Synchronisation only."""
    RACY = "racy"
    """And accesses at places that took part in a data race (CHESS, section 3.5)."""
    ALL = "all"
    """And accesses at places that touch variables shared by tasks, ordered or not."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How executions are run.

    Parameters:
        late_timeouts: a timeout fires only when no task is enabled; otherwise
            that it fires is a choice.
        max_steps: steps after which an execution is ended as a livelock.
        leak_steps: steps that tasks may still do after the test has ended.
        epoch: the virtual ``time.time()`` at the beginning, in seconds.
        gil: only places where a build with the GIL can switch threads are
            scheduling points.
        watch_breakers: the rewritten code tells these places.
        external_patience: seconds of real time to wait for something outside our
            control before an execution is given up.
        real_entropy: what the system gives at random is not the same in each execution.
    """

    late_timeouts: bool = False
    max_steps: int = 1_000_000
    leak_steps: int = 20_000
    epoch: float = 1_700_000_000.0
    gil: bool = False
    watch_breakers: bool = False
    external_patience: float = EXTERNAL_PATIENCE
    real_entropy: bool = False
