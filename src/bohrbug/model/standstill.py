"""For how long a busy machine lets tasks stand still."""

from __future__ import annotations

LONG_STALL = 1.0
"""Seconds for which a busy machine lets all other tasks stand still, at most."""

UNNOTICED_STALL = 0.0
"""Seconds, to the millisecond, for which tasks stand still on any machine, however idle it is."""


def is_long(stall: float, limit: float = LONG_STALL) -> bool:
    """Whether no machine is so busy that all other tasks stand still for so many seconds."""
    return round(stall, 3) > limit
