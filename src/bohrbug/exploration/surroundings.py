"""What surrounds an exploration: its observers, and what is kept from one to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bohrbug.exploration.progress import TellProgress
from bohrbug.exploration.remembered import Remembered
from bohrbug.exploration.saving import Keeper


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an explorer gets from its caller; none of it changes what is found.

    Parameters:
        progress: called with the progress, or ``None``.
        on_stuck: called with a message, in a thread of its own, if an execution
            hangs and can't be ended: for example to end the process.
        settle: called in each worker process with its number, before it begins: for example to
            give it a place of its own for what the test writes.
        keeper: keeps the exploration in a file, so that it can be resumed.
        remembered: failing schedules of earlier runs, tried first.
        more_seconds: asked when the budget in seconds is used up, with whether something new was
            seen lately; returns the seconds to go on for.
    """

    progress: TellProgress | None = None
    on_stuck: Callable[[str], object] | None = None
    settle: Callable[[int], object] | None = None
    keeper: Keeper | None = None
    remembered: Sequence[Remembered] = ()
    more_seconds: Callable[[bool], float] | None = None
