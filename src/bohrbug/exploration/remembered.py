"""Failing schedules of earlier runs."""

from __future__ import annotations

from dataclasses import dataclass

from bohrbug.model.conditions import PlaceKey
from bohrbug.model.plan import Plan

REMEMBERED = "remembered"
"""What reports name as the strategy that found such a failure."""


@dataclass(slots=True)
class Remembered:
    """A schedule under which a test has failed.

    Parameters:
        test: the name of the test.
        digest: names the schedule.
        plan: the plan.
        points: the data accesses that were scheduling points.
        message: how it failed.
        found: when, in seconds since 1970.
        fails: whether it did again; ``False`` until it was tried.
    """

    test: str
    digest: str
    plan: Plan
    points: tuple[PlaceKey, ...]
    message: str
    found: float
    fails: bool = False
