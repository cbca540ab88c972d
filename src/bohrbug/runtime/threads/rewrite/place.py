"""Where in the original code an access is."""

from __future__ import annotations

from typing import Any


class Place(tuple[Any, ...]):
    """``(original code object, offset in bytes of the instruction)``.

    Made once for each instruction, so it is compared and hashed by identity; hashing a code object
    would cost more than all the rest of an access.
    """

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__
    __ne__ = object.__ne__
