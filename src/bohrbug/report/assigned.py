"""What the source calls a thing, read off the line that makes it."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator

from bohrbug.model.operation import Site
from bohrbug.model.site import qualified
from bohrbug.report.sources import source_line

_ASSIGNED = re.compile(r"^([A-Za-z_][\w.]*(?:\[[^\]=]*\])?)\s*(?::[^=]*)?=(?!=)")
"""Serves where a line is no statement by itself, and languages other than Python."""
_USED = re.compile(
    r"^(?:async )?with ([A-Za-z_][\w.]*):"
    r"|([A-Za-z_][\w.]*)\.(?:acquire|release|wait|wait_for|notify|notify_all|set|is_set|put|get|join)\("
)


_MODULES = frozenset(
    {"asyncio", "anyio", "trio", "futures", "concurrent.futures", "connection", "os"}
)
"""Of which functions are called as methods of the others are: ``asyncio.wait(tasks)``."""


def assigned_name(site: Site) -> str:
    """The name of what is made at a place: ``Account.lock`` for ``self.lock = Lock()``.

    Parameters:
        site: where it is made.

    Returns:
        the name, or an empty string if it is given none there.
    """
    line = source_line(site)
    try:
        # A block may begin there.
        statements = ast.parse(f"{line} pass" if line.rstrip().endswith(":") else line).body
    except (SyntaxError, ValueError):
        match = _ASSIGNED.match(line)
        return qualified(match[1], site.function) if match else ""
    pairs = [pair for statement in statements for pair in _assignments(statement)]
    if site.column:
        column = site.column - 1 - _indentation(site)
        pairs = [(target, value) for target, value in pairs if _covers(value, column)]
    return qualified(ast.unparse(pairs[0][0]), site.function) if pairs else ""


def used_name(site: Site) -> str:
    """The name of the one thing that a line synchronises on: ``lock`` for ``with lock:``.

    Parameters:
        site: where it is used.

    Returns:
        the name, or an empty string if the line speaks of none or of several.
    """
    names = set(_USED.findall(source_line(site)))
    if len(names) != 1:
        return ""
    (found,) = names
    if found[1] in _MODULES:
        return ""
    return qualified(found[0] or found[1], site.function)


def _assignments(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets and their values; ``a, b = Lock(), Lock()`` are two."""
    match statement:
        case ast.With(items=items) | ast.AsyncWith(items=items):
            for item in items:
                if item.optional_vars is not None:
                    yield item.optional_vars, item.context_expr
        case ast.Assign(targets=[ast.Tuple() as names, *_], value=ast.Tuple() as values) if len(
            names.elts
        ) == len(values.elts):
            yield from zip(names.elts, values.elts, strict=True)
        case ast.Assign(targets=[target, *_], value=value):
            yield target, value
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield target, value


def _indentation(site: Site) -> int:
    line = linecache.getline(site.filename, site.line)
    return len(line) - len(line.lstrip())


def _covers(expression: ast.expr, column: int) -> bool:
    end = expression.end_col_offset
    return end is not None and expression.col_offset <= column < end
