"""What stands for a function written in C."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

from bohrbug.accelerator import native


class Function:
    """A replacement of a C function: like one, and unlike a Python one, it does not bind.

    Classes keep C functions as attributes and call them through ``self``
    (``selectors.SelectSelector._select``).
    """

    def __init__(self, function: Callable[..., Any], original: Any) -> None:
        functools.update_wrapper(self, original)
        # It would become one to this very object, which ``inspect`` would follow without an end.
        del vars(self)["__wrapped__"]
        # For ``inspect.signature``; the second says that the first names a module.
        self.__text_signature__ = getattr(original, "__text_signature__", None)
        self.__self__ = getattr(original, "__self__", None)
        self._class = BuiltinFunctionType if type(original) is BuiltinFunctionType else Function
        # References to the original itself become some to what stands for it.
        self.identity_of_original = id(original)
        self._function = function
        self._text, self._name = repr(original), str(getattr(original, "__qualname__", ""))
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

    def __repr__(self) -> str:
        """As the original is shown."""
        return self._text

    def __reduce__(self) -> str:
        """By its name, as functions are pickled and copied."""
        return self._name


class FramelessFunction(Function):
    """The same without a frame of its own, neither in tracebacks nor for who looks at callers.

    Programs leave out the frame that executes something, and expect what was executed behind it
    (``code.InteractiveInterpreter``, Jinja); and replacements look for the place that calls them.
    Only for where there is an accelerator.
    """

    if native is not None:
        __call__ = native.without_frame()


_standing: dict[tuple[Callable[..., Any], Any], FramelessFunction] = {}


def as_in_c(function: Callable[..., Any], original: Any) -> Callable[..., Any]:
    """What stands for a function in C where that is replaced by one in Python.

    It is the same wherever the function is found: ``threading.get_ident is _thread.get_ident``.

    Parameters:
        function: the one in Python; itself, where there is no accelerator.
        original: the one in C.
    """
    if native is None:
        return function
    known = _standing.get((function, original))
    if known is None:
        known = _standing[function, original] = FramelessFunction(function, original)
    return known
