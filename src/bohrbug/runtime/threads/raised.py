"""When the exception was raised that made a test fail.

It may leave its task much later, after ``finally`` clauses and the ends of ``with`` blocks, or
leave another task, which asked a future for its result. What comes in between did not lead to it.
"""

from __future__ import annotations

from bohrbug.model.outcome import Frame
from bohrbug.model.site import site_of
from bohrbug.model.trace import Raised
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.leftovers import forgotten_afterwards
from bohrbug.runtime.threads.rewrite.errors import Raising
from bohrbug.runtime.threads.rewrite.place import Place

_raised: dict[Place, Raised] = {}
"""The last exception that each place has raised in this execution."""

forgotten_afterwards(_raised)


def _note(place: Place) -> None:
    execution = controlled()
    if execution is not None:
        _raised[place] = Raised(execution.current.id, execution.steps)


Raising.tell = staticmethod(_note)


def forget_raised() -> None:
    """Let go of all that was noted so far, in the middle of an execution."""
    _raised.clear()


def raised_at(stack: tuple[Frame, ...]) -> Raised | None:
    """Who raised an exception, and when.

    Parameters:
        stack: of the exception, where it was raised last.

    Returns:
        ``None`` if no ``raise`` that was seen has raised it: code in C has, or accesses were not
        watched.
    """
    if not _raised or not stack:
        return None
    where = stack[-1].site[:3]
    found = [raised for place, raised in _raised.items() if _line_of(place) == where]
    return max(found, key=lambda raised: raised.steps, default=None)


def _line_of(place: Place) -> tuple[object, ...]:
    site = site_of(place)
    return () if site is None else site[:3]
