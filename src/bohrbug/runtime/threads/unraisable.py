"""Exceptions that nobody can catch: those that end tasks are no news for anybody.

A task may be ended in the middle of a ``__del__``, which lets no exception out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.task import TaskKilled


class _Silent:
    """A hook that leaves out what ends tasks, and calls another one for the rest."""

    def __init__(self, before: Callable[[Any], object]) -> None:
        self._before = before

    def __call__(self, unraisable: Any) -> object:
        if isinstance(unraisable.exc_value, TaskKilled):
            return None
        return self._before(unraisable)


class _Hook(Patches):
    """Replaces the hook that is there when control is taken."""

    def prepare(self) -> None:
        """See :meth:`Patches.prepare`."""
        self._wanted = [(sys, "unraisablehook", _Silent(sys.unraisablehook))]

    def catch_up(self) -> None:
        """Replace one that was set since, as pytest does after us."""
        if not isinstance(sys.unraisablehook, _Silent):
            self.prepare()
            self._replace(self._wanted)


patches = _Hook()
