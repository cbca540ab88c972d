"""From a code object and an instruction offset to a place in the source."""

from __future__ import annotations

import copyreg
from collections.abc import Callable
from itertools import islice
from types import CodeType
from typing import Any, Protocol, runtime_checkable

from bohrbug.accelerator import native
from bohrbug.model.operation import Operation, Point, Site


@runtime_checkable
class Unresolved(Protocol):
    """A place that another runtime will look up when somebody asks for it."""

    def resolve(self) -> Site:
        """The place in the source."""
        ...

    def unresolved(self) -> Site:
        """It, named by what is known already, such as where it lies in the program."""
        ...


_MOST_SITES = 1 << 16

_sites: dict[tuple[int, int], tuple[CodeType, Site]] = {}
"""Sites by code object and offset; comparing code objects would take longer than all else.

Each entry keeps its code object alive, so that no other one gets its address.
"""


def _site(code: CodeType, offset: int) -> Site:
    key = (id(code), offset)
    found = _sites.get(key)
    if found is None:
        start_line, _, column, _ = next(
            islice(code.co_positions(), max(offset, 0) // 2, None), (None, None, None, None)
        )
        line = start_line if start_line is not None else code.co_firstlineno
        column = 0 if column is None else column + 1
        if len(_sites) >= _MOST_SITES:
            _sites.clear()
        found = _sites[key] = (code, Site(code.co_filename, line, code.co_qualname, column))
    return found[1]


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
    return _site(code, offset)


def quick_site_of(place: Any) -> Site | None:
    """What tells a place from others: as :func:`site_of`, but nothing is looked up.

    For people it may mean little.
    """
    if place is None or isinstance(place, tuple):
        return site_of(place)
    return place.unresolved() if isinstance(place, Unresolved) else None


def _reduced(operation: Operation) -> tuple[Any, ...]:
    # Code objects, and what another runtime looks up, stay in the process.
    return Operation, (operation.kind, operation.resource, site_of(operation.place))


copyreg.pickle(Operation, _reduced)


def qualified(name: str, function: str) -> str:
    """What a name in a function is called outside of it: ``Account.lock`` for ``self.lock``.

    Parameters:
        name: as the source has it.
        function: qualified name of the function that it stands in.
    """
    first, _, rest = name.partition(".")
    if first not in ("self", "cls") or not rest:
        return name
    owner = function.rpartition("<locals>.")[2].rpartition(".")[0]
    return f"{owner}.{rest}" if owner else name


Span = tuple[int, int, int, int]
"""First line, last line, first column, last column; as in ``ast``, columns in bytes from 0."""


def span_of(place: Any) -> Span | None:
    """The stretch of source text that an operation stands for.

    Parameters:
        place: a ``(code, offset in bytes)`` pair.

    Returns:
        ``None`` for other places, and where the interpreter has no columns.
    """
    if isinstance(place, Site) or not isinstance(place, tuple):
        return None
    code, offset = place
    found = next(islice(code.co_positions(), max(offset, 0) // 2, None), None)
    if found is None or None in found:
        return None
    first, last, start, end = found
    return (first, last, start, end)


def _point_of(operation: Operation) -> Point:
    place = operation.place
    if isinstance(place, Site):
        return place
    if not isinstance(place, tuple):
        # Unknown, or of another runtime, where looking it up takes long.
        return operation.resource
    code, offset = place
    return _site(code, offset)


point_of: Callable[[Operation], Point] = _point_of
"""What an operation is recognised by in another execution: its site, else its resource."""
if native is not None:
    point_of = native.use_points(_sites, _point_of)
