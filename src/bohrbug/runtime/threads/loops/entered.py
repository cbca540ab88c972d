"""What coroutines have entered by ``async with`` and not left: only that tells who has a lock.

A lock of asyncio does not know its holder.  But whoever is within ``async with lock`` has the
lock's ``__aexit__`` on the stack of its frame, where the garbage collector finds it.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import repeat
from types import AsyncGeneratorType, CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from bohrbug.model.operation import Site
from bohrbug.runtime.threads.loops.coroutines import coroutines_of
from bohrbug.runtime.threads.source_statements import statements_around

_EXIT = "__aexit__"


class Entered(NamedTuple):
    """An ``async with`` in which a coroutine is, or which it is about to enter.

    Parameters:
        manager: the object entered.
        site: of the statement; ``None`` where the source does not tell.
    """

    manager: Any
    site: Site | None


def entered_by(coroutine: Any) -> list[Entered]:
    """All that a coroutine, and what it awaits, has entered, the outermost first."""
    found: list[Entered] = []
    for each, frame in coroutines_of(coroutine):
        managers = list(_managers(gc.get_referents(each)))
        code = frame.f_code
        lines = _lines_entered(code, frame.f_lineno) if managers else ()
        sites: Iterable[Site | None] = repeat(None)
        if len(lines) == len(managers):
            sites = [Site(code.co_filename, line, code.co_qualname) for line in lines]
        for manager, site in zip(managers, sites, strict=False):
            found.append(Entered(manager, site))
            # That of an ``asynccontextmanager``, which may be within others at its ``yield``.
            generator = getattr(manager, "gen", None)
            if type(generator) is AsyncGeneratorType:
                found += entered_by(generator)
    return found


def _managers(referents: list[Any]) -> Iterator[Any]:
    """The objects whose ``__aexit__`` is to be called."""
    for number, each in enumerate(referents):
        if type(each) is MethodType and each.__name__ == _EXIT:
            yield each.__self__
        elif type(each) is FunctionType and each.__name__ == _EXIT:
            # Since Python 3.14 the function and the object are beside each other on the stack.
            yield from referents[number + 1 : number + 2]


@lru_cache(maxsize=256)
def _lines_entered(code: CodeType, line: int) -> tuple[int, ...]:
    """The lines of the ``async with`` statements around a line of a function, from outside."""
    found: list[int] = []
    for statement in statements_around(code, line):
        if isinstance(statement, ast.AsyncWith):
            is_within = line >= statement.body[0].lineno
            found += [
                item.context_expr.lineno
                for item in statement.items
                if is_within or item.context_expr.lineno <= line
            ]
    return tuple(found)
