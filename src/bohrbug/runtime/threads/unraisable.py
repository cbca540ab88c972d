"""Exceptions that nobody can catch: those that end tasks are no news for anybody.

A task may be ended in the middle of a ``__del__``, which lets no exception out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.task import TaskKilled


def _silent_about_ends(before: Callable[[Any], object]) -> Callable[[Any], object]:
    def hook(unraisable: Any) -> object:
        if isinstance(unraisable.exc_value, TaskKilled):
            return None
        return before(unraisable)

    return hook


class _Hook(Patches):
    """Replaces the hook that is there when control is taken."""

    def prepare(self) -> None:
        """See :meth:`Patches.prepare`."""
        self._wanted = [(sys, "unraisablehook", _silent_about_ends(sys.unraisablehook))]


patches = _Hook()
