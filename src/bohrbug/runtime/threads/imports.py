"""Imports are atomic: no task loses control in the middle of loading a module."""

from __future__ import annotations

import importlib
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.patches import Patches

patches = Patches()

_bootstrap: Any = importlib._bootstrap
_find_and_load = _bootstrap._find_and_load


def find_and_load(name: str, import_: Any) -> Any:
    """Stands for the function that the import statement calls for a module not loaded yet."""
    execution = controlled()
    if execution is None:
        return _find_and_load(name, import_)
    execution.atomic += 1
    try:
        return _find_and_load(name, import_)
    finally:
        execution.atomic -= 1


patches.add(_bootstrap, "_find_and_load", find_and_load)
