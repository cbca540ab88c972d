"""The statements of functions that are running, as their sources have them."""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

Loop = ast.For | ast.AsyncFor | ast.While | ast.comprehension

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_NAMES_OF_COMPREHENSIONS: dict[str, type[_Comprehension]] = {
    "<listcomp>": ast.ListComp,
    "<setcomp>": ast.SetComp,
    "<dictcomp>": ast.DictComp,
    "<genexpr>": ast.GeneratorExp,
}


def statements_around(code: CodeType, line: int) -> Iterator[ast.stmt]:
    """The statements of a function, or of a module, around one of its lines, from outside.

    Parameters:
        code: of the function; nothing is yielded if its source can't be had.
        line: of the file, from one.
    """
    tree = _tree_of(code.co_filename)
    if code.co_name == "<module>":
        yield from _around(tree.body, line)
        return
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == code.co_firstlineno:
                yield from _around(node.body, line)
                return


def lambdas_of(code: CodeType) -> list[ast.Lambda]:
    """The ``lambda`` expressions that begin on the line of a code object, which is one of them."""
    return [
        node
        for node in ast.walk(_tree_of(code.co_filename))
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno
    ]


@lru_cache(maxsize=256)
def loops_around(code: CodeType, line: int) -> tuple[Loop, ...]:
    """The loops of a function around one of its lines, the outermost first.

    Parameters:
        code: of the function, the comprehension or the module.
        line: of the file, from one.
    """
    comprehension = _NAMES_OF_COMPREHENSIONS.get(code.co_name)
    if comprehension is not None:
        return tuple(
            part
            for node in ast.walk(_tree_of(code.co_filename))
            if isinstance(node, comprehension) and node.lineno == code.co_firstlineno
            for part in node.generators
        )
    found: list[Loop] = []
    innermost: ast.stmt | None = None
    for innermost in statements_around(code, line):
        if isinstance(innermost, ast.For | ast.AsyncFor | ast.While) and not (
            innermost.orelse and line >= innermost.orelse[0].lineno
        ):
            found.append(innermost)
    # Since Python 3.12 a comprehension is part of the function that it stands in.
    for node in () if innermost is None else ast.walk(innermost):
        if isinstance(node, _Comprehension) and _spans(node, line):
            found += node.generators
    return tuple(found)


@lru_cache(maxsize=4)
def _tree_of(filename: str) -> ast.Module:
    try:
        tree = compile(_source_of(filename), filename, "exec", ast.PyCF_ONLY_AST, True)
    except (SyntaxError, ValueError, OSError):
        return ast.Module([], [])
    assert isinstance(tree, ast.Module)
    return tree


def _source_of(filename: str) -> str | bytes:
    """The source in a file, or in the cache that doctests and shells put theirs into.

    Tasks may be running, of which this is no part: the functions of ``linecache`` would count as
    called by them, and so would the reading of a file.
    """
    cached = linecache.cache.get(filename)
    if cached is not None and len(cached) > 1:
        return "".join(cached[2])
    descriptor = _real_open(filename, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = b""
        while more := _real_read(descriptor, _MOST_READ):
            found += more
        return found
    finally:
        _real_close(descriptor)


_MOST_READ = 1 << 20
_real_open, _real_read, _real_close = os.open, os.read, os.close


def _around(body: list[ast.stmt], line: int) -> Iterator[ast.stmt]:
    for statement in body:
        if not _spans(statement, line):
            continue
        if isinstance(statement, _FUNCTIONS | ast.ClassDef):
            return
        yield statement
        for name in ("body", "orelse", "handlers", "finalbody", "cases"):
            for part in getattr(statement, name, []):
                inner = [part] if isinstance(part, ast.stmt) else getattr(part, "body", [])
                yield from _around(inner, line)


def _spans(node: ast.stmt | ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)
