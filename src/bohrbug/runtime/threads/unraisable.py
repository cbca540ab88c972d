"""Exceptions that nobody can catch: those that end tasks are no news for anybody.

A task may be ended in the middle of a ``__del__``, which lets no exception out.  And what an
execution leaves that was cut short is no fault of the program: coroutines that nobody has come to
await, generators that find their descriptors closed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.control import current
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.task import TaskKilled


class _Silent:
    """A hook that leaves out what ends tasks, and calls another one for the rest."""

    hears_nothing = False

    def __init__(self, before: Callable[[Any], object]) -> None:
        self._before = before

    def __call__(self, unraisable: Any) -> object:
        execution = current.execution
        has_failed = execution is not None and execution.trace.outcome.is_failure
        if self.hears_nothing or has_failed or isinstance(unraisable.exc_value, TaskKilled):
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

_warn: Any = None
"""What warns of coroutines, while nobody is told of them."""


def fall_silent() -> None:
    """Between executions, from the first on that has failed in the midst of what its tasks did.

    What it leaves dies now or later, as tracebacks may hold it for some time.
    """
    global _warn
    _Silent.hears_nothing = True
    if _warn is None and (warn := getattr(warnings, _WARN, None)) is not None:
        _warn = warn
        setattr(warnings, _WARN, _ignore)


def hear_again() -> None:
    """The next execution begins, or the exploration is over."""
    global _warn
    _Silent.hears_nothing = False
    if _warn is not None:
        setattr(warnings, _WARN, _warn)
        _warn = None


_WARN = "_warn_unawaited_coroutine"
"""What the interpreter calls if a coroutine dies that was never awaited."""


def _ignore(_coroutine: object) -> None:
    pass
