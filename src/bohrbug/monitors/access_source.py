"""What the source says of one access to a variable: read off the syntax tree around it."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bohrbug.model.site import Span, site_of, span_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module


class SourceTree:
    """The syntax tree of a file, with parents."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.parents: dict[ast.AST, ast.AST] = {}
        self.by_span: dict[Span, list[ast.AST]] = {}
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            span = _span(node)
            if span is not None:
                self.by_span.setdefault(span, []).append(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, the innermost first."""
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def function(self, node: ast.AST) -> _Function:
        """The function that a node is in, or the module."""
        for ancestor in self.ancestors(node):
            if isinstance(ancestor, _Function):
                return ancestor
        return self.tree

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement that a node is in."""
        if isinstance(node, ast.stmt):
            return node
        return next((a for a in self.ancestors(node) if isinstance(a, ast.stmt)), None)


def _span(node: ast.AST) -> Span | None:
    if not isinstance(node, ast.expr | ast.stmt):
        return None
    if node.end_lineno is None or node.end_col_offset is None:
        return None
    return (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)


# A tree has tens of objects for each line, and each exploration looks at all there are.
@lru_cache(maxsize=8)
def _parsed(text: str) -> SourceTree | None:
    try:
        return SourceTree(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return None


def tree_of(filename: str) -> SourceTree | None:
    """The syntax tree of a source file; ``None`` if there is none to be had."""
    lines = linecache.getlines(filename)
    return _parsed("".join(lines)) if lines else None


def variable_name(node: ast.AST | None) -> str | None:
    """What an expression that stands for a variable or container calls it, without its owner.

    ``balance`` for ``self.balance``, ``cache`` for ``self.cache[key]`` and
    ``self.cache.pop(key)``; ``None`` for anything else.
    """
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return variable_name(value)
        case ast.Call(func=ast.Attribute(value=value)):
            return variable_name(value)
        case ast.Call(func=ast.Name(), args=[value, *_]):
            return variable_name(value)
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[value]):
            return variable_name(value)
        case ast.Starred(value=value):
            return variable_name(value)
    return None


def mentions(node: ast.AST, variable: str) -> bool:
    """Whether an expression reads a variable of that name, or an item of such a container."""
    return any(
        isinstance(inner, ast.Name | ast.Attribute)
        and isinstance(inner.ctx, ast.Load)
        and variable_name(inner) == variable
        for inner in ast.walk(node)
    )


@dataclass(frozen=True, slots=True)
class AccessSource:
    """One access in the source.

    Parameters:
        tree: of the file.
        node: the expression that makes the access.
        variable: what the source calls the variable.
        is_write: whether the access writes.
    """

    tree: SourceTree
    node: ast.AST
    variable: str
    is_write: bool

    @property
    def statement(self) -> ast.stmt | None:
        """The statement that it is in."""
        return self.tree.statement(self.node)

    @property
    def function(self) -> _Function:
        """The function that it is in."""
        return self.tree.function(self.node)


def access_source(place: Any, is_write: bool) -> AccessSource | None:
    """What the source says of an access; ``None`` if it can't be found.

    Parameters:
        place: ``(code object, offset)`` of the access.
        is_write: whether it writes.
    """
    span, site = span_of(place), site_of(place)
    if span is None or site is None:
        return None
    tree = tree_of(site.filename)
    if tree is None:
        return None
    for node in tree.by_span.get(span, ()):
        variable = variable_name(node)
        if variable is None and isinstance(node, ast.expr):
            # Iteration, or another use as a whole.
            variable = next(filter(None, map(variable_name, ast.walk(node))), None)
        if variable is not None:
            return AccessSource(tree, node, variable, is_write)
    return None
