"""What stands for a function written in C."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any


class Function:
    """A replacement of a C function: like one, and unlike a Python one, it does not bind.

    Classes keep C functions as attributes and call them through ``self``
    (``selectors.SelectSelector._select``).
    """

    def __init__(self, function: Callable[..., Any], original: Any) -> None:
        functools.update_wrapper(self, original)
        self._class = BuiltinFunctionType if type(original) is BuiltinFunctionType else Function
        # References to the original itself become some to what stands for it.
        self.identity_of_original = id(original)
        self._function = function
        # What the function keeps of the originals is its own, see ``Installation``.
        self.__closure__ = getattr(function, "__closure__", None)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """For ``isinstance``: pyfakefs replaces ``open`` only if that is a builtin function.

        What replaces a function in Python has no code to be looked at, and is none itself.
        """
        return self._class

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the replacement."""
        return self._function(*args, **kwargs)
