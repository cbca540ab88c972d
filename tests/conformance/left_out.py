"""CPython tests that are not run under control, each with the reason."""
from __future__ import annotations

import fnmatch

LEFT_OUT: dict[str, dict[str, str]] = {}


def reason_for(module: str, test: str) -> str | None:
    """Why a test is left out, or ``None``."""
    for pattern, reason in LEFT_OUT.get(module, {}).items():
        if fnmatch.fnmatchcase(test, pattern):
            return reason
    return None
