"""Whether the hot paths run in C: decided here and nowhere else.

The Python code is the reference and does everything.  A class whose methods are called at every
scheduling point or access passes itself to the C module, if there is one, which
replaces those methods with *fast paths*: functions that handle the common case
and call the Python method that they replace for everything else.

Set ``BOHRBUG_PURE_PYTHON=1`` to turn it off.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _load() -> tuple[Any, str]:
    """The C module, or ``None``, and what ``bohrbug --version`` says about it."""
    if os.environ.get("BOHRBUG_PURE_PYTHON", "") not in ("", "0"):
        return None, "pure Python, as BOHRBUG_PURE_PYTHON asks for"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None, "pure Python, as the accelerator needs the GIL"
    try:
        return import_module("bohrbug.accelerator._accelerator"), "accelerated in C"
    except ImportError as problem:
        if isinstance(problem, ModuleNotFoundError):
            return None, "pure Python, as the accelerator was not compiled"
        return None, f"pure Python, as the accelerator can't be loaded: {problem}"


native: Any
"""The C module; ``None``: everything is done in Python."""
description: str
"""Which of the two is in use, and why, as text."""
native, description = _load()


def with_fast_path(function: _Function) -> _Function:
    """Decorator: the function of that name in C if there is one, otherwise the function itself."""
    return function if native is None else getattr(native, function.__name__, function)


def with_fast_path_before(function: _Function) -> _Function:
    """Decorator: the function of that name in C, which calls this one for what it leaves to it."""
    if native is not None:
        native.use_reference(function.__name__, function)
    return with_fast_path(function)


def never(*_arguments: object) -> bool:
    """Replaces a function in C that tries something and says whether it has done it."""
    return False
