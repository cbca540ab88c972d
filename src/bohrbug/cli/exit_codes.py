"""With which codes commands end."""

from __future__ import annotations

NOTHING_FOUND, FOUND, USAGE, INCONCLUSIVE = 0, 1, 2, 3
