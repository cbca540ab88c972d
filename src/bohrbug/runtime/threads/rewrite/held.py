"""How many references there are to an iterator that nobody but the loop over it holds."""

from __future__ import annotations

import sys
from typing import Any

from bohrbug.accelerator import native


def _references_of_parameter(value: Any) -> int:
    return sys.getrefcount(value)


by_loop = 0
"""As a hook counts them: its parameter and, where the interpreter counts it, the argument of
getrefcount; and the stack of the looping frame."""

by_comprehension = 0
"""The same of the iterator of a comprehension that is a function, whose parameter it is as well."""

UNDER_ANOTHER = _references_of_parameter(iter([])) + 2
"""Those to an iterator that another one holds, while it is looked at: the list of referents, the
loop over it and, where it is counted, the argument of getrefcount; and the other one."""


def _count_references() -> None:
    global by_loop, by_comprehension
    by_loop = _references_of_parameter(iter([])) + 1
    of_stack = by_loop - (UNDER_ANOTHER - 1)
    by_comprehension = by_loop + 1 + of_stack
    if native is not None:
        native.hold_by_comprehension(by_comprehension - by_loop)


_count_references()


_evaluator: int | None = None
"""What evaluated frames when references were counted last; ``None``: that can't be asked."""


def by_loop_in_c() -> int:
    """As a hook in C counts them, whoever evaluates frames; asked only where there is one."""
    references: int = native.references_of_argument(iter([]))
    return references + 1


def evaluation_has_changed() -> None:
    """Others evaluate frames than before: count again.

    On Python 3.11 the stack of a caller holds the arguments as well, while somebody evaluates
    frames in the place of the interpreter. In the other versions nobody does.
    """
    global _evaluator
    if sys.version_info < (3, 12):
        evaluator = None if native is None else native.evaluator()
        if evaluator is None or evaluator != _evaluator:
            _evaluator = evaluator
            _count_references()
