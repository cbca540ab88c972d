"""freezegun replaces the clocks in all modules; it knows them by the addresses that they had.

It takes down the addresses when it is imported, and which modules hold what has one of them when it
freezes the time.  Under control modules hold what stands for the clocks: ``from time import time``
would go on to tell the virtual time.
"""

from __future__ import annotations

import sys
from typing import Any

_API = "freezegun.api"
_ADDRESSES, _HOLDERS = "_real_time_object_ids", "_GLOBAL_MODULES_CACHE"
_REAL = "real_"

_holders: dict[bool, dict[str, Any]] = {}


def tell_what_modules_hold(in_control: bool) -> None:
    """Let freezegun, if it is there, know the clocks that modules hold from now on.

    Parameters:
        in_control: whether these are what stands for the real ones.
    """
    api = sys.modules.get(_API)
    if api is None or not isinstance(getattr(api, _ADDRESSES, None), set):
        return
    # Its own references to the clocks were exchanged as were those of all modules.
    clocks = [value for name, value in vars(api).items() if name.startswith(_REAL)]
    getattr(api, _ADDRESSES).update(id(clock) for clock in clocks if callable(clock))
    if isinstance(getattr(api, _HOLDERS, None), dict):
        # To look through all modules again each time would take long.
        setattr(api, _HOLDERS, _holders.setdefault(in_control, {}))
