"""Arguments that functions in C are given by keyword; tables know them by their positions."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from bohrbug.runtime.threads.rewrite import actions, by_value, c_code, files, halfway, tell
from bohrbug.runtime.threads.rewrite.place import Place

# A test may put something else in the place of the builtin.
_length = len

FIRST = frozenset(
    {"a", "bytes", "fd", "initial_bytes", "iterable", "obj", "object", "path", "source", "src"}
)
"""What functions in C call their first argument, where that may be given by keyword."""

SECOND = frozenset({"dst", "flags", "selectors"})
"""The same of the second one, as far as something depends on it."""

PLAIN = frozenset({str, bytes, int, float, bool, type(None)})
"""Classes of values in which tasks can't meet, and that call nothing."""


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
        # There may be a thousand of them, as where ``sysconfig`` formats with all that it knows.
        plain = () if c_code.minds_plain_values(callable_) else PLAIN
        for name, value in keywords.items():
            if type(value) in plain:
                continue
            if name == "file" and callable_ is print:
                actions.print_to(value, place)
            elif name not in first:
                c_code.further_argument(callable_, value, place)
        if callable_ is print and "file" in keywords and type(arguments) is tuple:
            by_value.read(arguments, place)
            return
    c_code.call_star(callable_, arguments, place)


def call_with_file(callable_: Any, file: Any, place: Place) -> None:
    """``callable_`` is about to be called with a keyword argument ``file``."""
    halfway.end_here()
    if callable_ is not print:
        if tell.active and c_code.CALLED[type(callable_)]:
            c_code.call(callable_, (file,), place)
    elif file is not None and tell.active:
        actions.print_to(file, place)


def call_with_one_and_file(callable_: Any, first: Any, file: Any, place: Place) -> None:
    """The same, with one more argument: ``print(text, file=file)``, or ``pickle.dump``."""
    if callable_ is print or not tell.active:
        c_code.further_argument(callable_, first, place)
        call_with_file(callable_, file, place)
        return
    halfway.end_here()
    if c_code.CALLED[type(callable_)]:
        c_code.call(callable_, (first, file), place)


def call_in_folder(callable_: Any, *given: Any) -> None:
    """``callable_`` is about to be called with paths in folders of which it is given descriptors.

    Parameters:
        callable_: such as ``os.open``.
        given: at most two arguments, a descriptor for each of them or ``None``, and the place.
    """
    halfway.end_here()
    *both, place = given
    if tell.active and c_code.CALLED[type(callable_)]:
        count = _length(both) // 2
        paths = [files.in_folder(both[count + at], both[at]) for at in range(count)]
        c_code.call(callable_, tuple(paths), place)
