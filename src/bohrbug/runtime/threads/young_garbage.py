"""How old the garbage of the first execution can be, so that older objects need no look.

Automatic collections are off while a test is explored. So all that an execution makes stays in the
youngest generation, unless somebody collects. A full collection would look at all that a session
has loaded: in a suite of some size it takes longer than the test itself.

Older objects of which an execution has let go are left alone by this. Whatever finds them weakly
found them in the first execution, too, and finds them in all others.
"""

from __future__ import annotations

import gc

YOUNGEST, OLDEST = 0, 2


class YoungGarbage:
    """Tells whether there was a collection since an exploration began."""

    def __init__(self) -> None:
        self._collections = 0

    def begin(self) -> None:
        """Automatic collections are off from now on."""
        self._collections = _collections()

    def generation(self) -> int:
        """The generation whose collection finds all garbage that was made since then."""
        return YOUNGEST if _collections() == self._collections else OLDEST


def _collections() -> int:
    return sum(int(generation["collections"]) for generation in gc.get_stats())
