"""How many references there are to an iterator that nobody but the loop over it holds."""

from __future__ import annotations

import sys
from typing import Any


def _references_of_parameter(value: Any) -> int:
    return sys.getrefcount(value)


def _references_of_parameter_twice(value: Any) -> int:
    return _references_of_parameter(value)


by_loop = 0
"""As a hook counts them: its parameter and, where the interpreter counts it, the argument of
getrefcount; and the stack of the looping frame."""

by_comprehension = 0
"""The same of the iterator of a comprehension that is a function, whose parameter it is as well."""

UNDER_ANOTHER = _references_of_parameter(iter([])) + 2
"""Those to an iterator that another one holds, while it is looked at: the list of referents, the
loop over it and, where it is counted, the argument of getrefcount; and the other one."""


def count_references() -> None:
    """Count them where hooks are called, as an execution begins.

    On Python 3.11 the stack of a caller holds the arguments as well, while somebody evaluates
    frames in the place of the interpreter.
    """
    global by_loop, by_comprehension
    by_loop = _references_of_parameter(iter([])) + 1
    by_comprehension = _references_of_parameter_twice(iter([])) + 1


count_references()
