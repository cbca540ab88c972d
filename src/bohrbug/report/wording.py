"""Figures in words.  Commands that load little else use it, so it loads nothing."""

from __future__ import annotations


def plural(count: int, word: str) -> str:
    """``1 failure``, ``1,200 failures``."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def seconds_in_words(seconds: float) -> str:
    """Wall time for people: ``0.02 s``, ``3.4 s``, ``12 min 5 s``."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"


def rate_in_words(rate: float) -> str:
    """How many a second: ``0.11``, ``3.4``, ``1,200``."""
    if 0 < rate < 1:
        return f"{rate:.2g}"
    return f"{rate:.1f}" if 0 < rate < 9.95 else f"{rate:,.0f}"
