"""Arguments that functions in C are given by keyword; tables know them by their positions."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from bohrbug.runtime.threads.rewrite import actions, by_value, c_code, halfway, tell
from bohrbug.runtime.threads.rewrite.place import Place

FIRST = frozenset(
    {"a", "bytes", "fd", "initial_bytes", "iterable", "obj", "object", "path", "source", "src"}
)
"""What functions in C call their first argument, where that may be given by keyword."""

SECOND = frozenset({"dst", "flags", "selectors"})
"""The same of the second one, as far as something depends on it."""


def call_star_with_keywords(
    callable_: Any, arguments: Any, keywords: dict[str, Any], place: Place
) -> None:
    """``callable_(*arguments, **keywords)`` is about to be called."""
    halfway.end_here()
    if not tell.active:
        return
    if type(callable_) is not FunctionType and c_code.CALLED[type(callable_)]:
        # What else it may be, such as a ``map``, must not be gone through here.
        if type(arguments) is tuple and not arguments:
            first = [name for name in keywords if name in FIRST][:1]
            arguments = tuple([keywords[name] for name in first])
        else:
            first = []
        for name, value in keywords.items():
            if name == "file" and callable_ is print:
                actions.print_to(value, place)
            elif name not in first:
                c_code.further_argument(callable_, value, place)
        if callable_ is print and "file" in keywords and type(arguments) is tuple:
            by_value.read(arguments, place)
            return
    c_code.call_star(callable_, arguments, place)
