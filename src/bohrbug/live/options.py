"""What live rounds can be told."""

from __future__ import annotations

import os
from dataclasses import dataclass

_cpus = os.cpu_count


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """How rounds are made.

    Parameters:
        budget: the percentage of the run's time that rounds may take.
        window: steps of a fragment.
        fragments: how many are executed in a round; the first goes on as the program would.
        rounds: after so many there are no more; ``None``: no limit.
        seconds: after so many seconds of real time there are no more; ``None``: no limit.
        workers: fragments that are executed at the same time; ``None``: one for each processor.
        patience: seconds of real time after which a fragment is ended.
        history: steps that are kept, at least; a run with more than twice as many has no whole
            reproduction.
        seed: of what fragments do.
        debug: open a debugger where an exception leaves a task.

    Raises:
        ValueError: a value makes no sense.
    """

    budget: float = 20.0
    window: int = 400
    fragments: int = 4
    rounds: int | None = None
    seconds: float | None = None
    workers: int | None = None
    patience: float = 0.5
    history: int = 200_000
    seed: int = 0
    debug: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.budget <= 99:
            raise ValueError(f"budget must be from 1 to 99 (per cent), not {self.budget:g}")
        for name in ("window", "fragments", "history"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("rounds", "seconds", "workers"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} must be more than 0, not {value:g}")
        if self.patience <= 0:
            raise ValueError(f"patience must be more than 0, not {self.patience:g}")

    @property
    def at_once(self) -> int:
        """How many fragments are executed at the same time."""
        return min(self.workers or _cpus() or 1, self.fragments)
