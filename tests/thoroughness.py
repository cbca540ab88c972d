"""How many examples the property tests try.

A usual run keeps to a few minutes; ``BOHRBUG_TEST_EXAMPLES=10`` tries ten times as many of each.
"""

from __future__ import annotations

import os

_FACTOR = float(os.environ.get("BOHRBUG_TEST_EXAMPLES", "1"))


def examples(usual: int) -> int:
    """The number of examples of a test that tries so many in a usual run."""
    return max(1, round(usual * _FACTOR))
