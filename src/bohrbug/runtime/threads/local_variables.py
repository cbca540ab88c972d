"""The local variables of a frame, looked at without keeping alive what they refer to."""

from __future__ import annotations

import sys
from inspect import CO_OPTIMIZED
from types import FrameType

_ARE_KEPT = sys.version_info < (3, 13)
"""Whether a frame keeps, until it ends, the dictionary of its variables that it was asked for."""

_BY_NOBODY_ELSE = 3
"""References to such a dictionary: of the frame, of who asks, and of the call that counts."""


def local_variables(frame: FrameType) -> dict[str, object]:
    """Those of a frame; what they are now lives no longer for having been looked at."""
    held = frame.f_locals
    found = dict(held)
    is_copy = _ARE_KEPT and frame.f_code.co_flags & CO_OPTIMIZED
    # The program has it, too, if it has called ``locals()``.
    if is_copy and sys.getrefcount(held) == _BY_NOBODY_ELSE:
        held.clear()
    return found


def is_of_module(frame: FrameType) -> bool:
    """Whether its variables are the globals, of which there may be many."""
    return not frame.f_code.co_flags & CO_OPTIMIZED and frame.f_locals is frame.f_globals
