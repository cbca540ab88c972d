"""For how long a busy machine lets tasks stand still."""

from __future__ import annotations

LONG_STALL = 1.0
"""Seconds for which a busy machine lets all other tasks stand still, at most."""


def is_long(stall: float, limit: float = LONG_STALL) -> bool:
    """Whether no machine is so busy that all other tasks stand still for so many seconds."""
    return round(stall, 3) > limit
