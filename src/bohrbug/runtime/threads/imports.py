"""Imports are atomic, and what needs patches gets them at once.

No task loses control in the middle of loading a module.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.timing import real_functions

patches = Patches()

_bootstrap: Any = importlib._bootstrap
_find_and_load = _bootstrap._find_and_load

_now = time.perf_counter

after_import: list[Callable[[], object]] = []
"""Called whenever a module was loaded while we are in control."""


class Loading:
    """The real time that executions spend on loading modules, which later ones don't.

    ``at_end`` is called whenever it is over, with a module or without one.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self.is_under_way = False
        self.at_end: list[Callable[[], object]] = []

    def load(self, name: str, import_: Any, options: dict[str, Any]) -> Any:
        """Load a module, perhaps while another one is loaded that imports it."""
        if self.is_under_way:
            return _find_and_load(name, import_, **options)
        __tracebackhide__ = True
        began = _now()
        self.is_under_way = True
        try:
            return _find_and_load(name, import_, **options)
        finally:
            self.is_under_way = False
            self._seconds += _now() - began
            for look in self.at_end:
                look()

    def seconds(self) -> float:
        """How long it took since this was last asked."""
        seconds, self._seconds = self._seconds, 0.0
        return seconds


loading = Loading()


def find_and_load(name: str, import_: Any, **options: Any) -> Any:
    """Stands for the function that the import statement calls for a module not loaded yet.

    From Python 3.15 on it has an option for submodules that are imported lazily.
    """
    execution = controlled()
    __tracebackhide__ = True
    if name == "_time_machine":
        # It writes into the functions of ``time``, which have to be those in C.
        with real_functions():
            return _find_and_load(name, import_, **options)
    if execution is None:
        module = _find_and_load(name, import_, **options)
    else:
        execution.atomic += 1
        try:
            module = loading.load(name, import_, options)
        finally:
            execution.atomic -= 1
    for look in after_import:
        look()
    return module


patches.add(_bootstrap, "_find_and_load", find_and_load)
