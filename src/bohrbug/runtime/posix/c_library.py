"""The C library of this process, for what Python has no function for."""

from __future__ import annotations

import ctypes
from functools import cache


@cache
def c_library() -> ctypes.CDLL:
    """Loaded at the first use: these modules are imported where there is none, on Windows, too."""
    return ctypes.CDLL(None, use_errno=True)
