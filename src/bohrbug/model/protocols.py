"""Protocols that objects are checked against while the program under test can look."""

from __future__ import annotations

from typing import TypeVar

P = TypeVar("P", bound=type)


def leaves_typing_alone(protocol: P) -> P:
    """Class decorator above ``runtime_checkable``: checks leave ``typing.Generic`` as it was.

    Up to Python 3.12 a check looks into ``__annotations__`` of all bases of the object's class,
    and a class that has none is given an empty dict by that.  So every generic class of the
    program would have one from then on, by inheritance from ``typing.Generic``.  The check by
    class that does so is left out here; what remains is the check of the object itself, with
    the same result.

    Parameters:
        protocol: used with ``isinstance`` only, not with ``issubclass``.

    Returns:
        the same class.
    """

    def says_nothing(*_: type) -> object:
        return NotImplemented

    type.__setattr__(protocol, "__subclasshook__", classmethod(says_nothing))
    return protocol
