"""From a code object and an instruction offset to a place in the source."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from types import CodeType
from typing import Any, Protocol, runtime_checkable

from bohrbug.model.operation import Site


@runtime_checkable
class Unresolved(Protocol):
    """A place that another runtime will look up when somebody asks for it."""

    def resolve(self) -> Site:
        """The place in the source."""
        ...


@lru_cache(maxsize=65536)
def _site(code: CodeType, offset: int) -> Site:
    start_line, _, column, _ = next(
        islice(code.co_positions(), offset // 2, None), (None, None, None, None)
    )
    line = start_line if start_line is not None else code.co_firstlineno
    return Site(code.co_filename, line, code.co_qualname, 0 if column is None else column + 1)


def site_of(place: Any) -> Site | None:
    """The source place of an operation.

    Parameters:
        place: a :class:`Site`, a ``(code, offset in bytes)`` pair, something
            :class:`Unresolved`, or ``None``.
    """
    if place is None or isinstance(place, Site):
        return place
    if not isinstance(place, tuple) and isinstance(place, Unresolved):
        return place.resolve()
    code, offset = place
    return _site(code, max(offset, 0))
