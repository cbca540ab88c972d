"""Exceptions that futures keep and that nobody has asked them for: a deadlock tells of them.

Neither a future nor its exception is held for that, as both keep objects of the program alive.
"""

from __future__ import annotations

from typing import Any

from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.leftovers import forgotten_afterwards
from bohrbug.runtime.threads.tracebacks import stack_in_words

_PLAIN = (str, int, float, bool, type(None))
_PRINTED_BY_PYTHON = (BaseException.__str__, KeyError.__str__, OSError.__str__)


_kept: dict[int, str] = {}
"""By the identities of futures: who ended with what, in words."""
forgotten_afterwards(_kept)


def keep(execution: Execution, future: Any) -> None:
    """A future has its result, or an exception."""
    error = future._exception
    if not isinstance(error, BaseException):
        # No failure: tests also keep a number there. Another future may have had its identity.
        _kept.pop(id(future), None)
        return
    stack = stack_in_words(error.__traceback__)
    _kept[id(future)] = (
        f"A call in task {execution.current.id} ended with an exception that nobody has asked its"
        f" future for:\n{stack}{_in_words(error)}\n"
    )


def ask(future: Any) -> None:
    """Somebody is told of what a future keeps."""
    _kept.pop(id(future), None)


def kept_by_now() -> list[str]:
    """What futures keep in this execution, in words and with tracebacks."""
    return [*_kept.values()]


def _in_words(error: BaseException) -> str:
    """As Python prints it, unless that would run code of the program."""
    cls = type(error)
    name = cls.__qualname__
    is_printed_by_python = cls.__str__ in _PRINTED_BY_PYTHON
    if not is_printed_by_python or not all(type(each) in _PLAIN for each in error.args):
        return name
    words = str(error)
    return f"{name}: {words}" if words else name
