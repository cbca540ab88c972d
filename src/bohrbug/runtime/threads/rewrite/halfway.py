"""Functions that code in C calls in the middle of an access.

``lru_cache`` and the factory of a ``defaultdict`` look at a variable, call a function, and store
what it returns. Between the two another task may come in: where that function begins is a place to
tell of the store.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType

from bohrbug.runtime.threads.rewrite.place import Place

expected: tuple[CodeType, Callable[[Place], None]] | None = None
"""The code object of a function that is expected to be entered so, and how to tell of it."""


def enter(place: Place) -> None:
    """A function begins; told only if it is called in the middle of an access."""
    if expected is not None:
        _enter(place)


def _enter(place: Place) -> None:
    global expected
    assert expected is not None
    code, tell = expected
    expected = None
    # The frames of this function and of the hook lie above the one that begins.
    if sys._getframe(2).f_code is code:
        tell(place)
