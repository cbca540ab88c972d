"""What stands for a function written in C."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Function:
    """A replacement of a C function: like one, and unlike a Python one, it does not bind.

    Classes keep C functions as attributes and call them through ``self``
    (``selectors.SelectSelector._select``).
    """

    def __init__(self, function: Callable[..., Any], original: Any) -> None:
        functools.update_wrapper(self, original)
        self._class = type(original)
        # References to the original itself become some to what stands for it.
        self.identity_of_original = id(original)
        self._function = function
        # What the function keeps of the originals is its own, see ``Installation``.
        self.__closure__ = getattr(function, "__closure__", None)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What the original is to ``isinstance``: pyfakefs asks before it replaces ``open``."""
        return self._class

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the replacement."""
        return self._function(*args, **kwargs)
