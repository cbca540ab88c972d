"""What the source calls a container, read off the expression that accesses it."""

from __future__ import annotations

import ast
import linecache
from dis import opname

from bohrbug.model.site import qualified, span_of
from bohrbug.runtime.threads.data.places import Place

_LONGEST = 60

_OF_THE_FIRST = ("heap", "bisect", "insort")
"""How functions begin that work on the container that is their first argument."""

_OF_TWO = frozenset(
    {
        *(
            "extend",
            "extendleft",
            "update",
            "union",
            "join",
            "isdisjoint",
            "issubset",
            "issuperset",
        ),
        *("difference", "difference_update", "intersection", "intersection_update"),
        *("symmetric_difference", "symmetric_difference_update"),
    }
)
"""Methods whose argument may be the container that is meant, too."""


_STATEMENTS = ("for ", "assert ", "if ", "while ")
"""How statements begin whose own instructions access something. Up to Python 3.11 it is the whole
statement that a jump stands for, and not what is tested."""

names_of_bound: dict[int, str] = {}
"""By the identities of places at which the tool calls a function in C that it was given: the name
that the program has for the object that the function is bound to. Those places stay."""


def accessed_name(place: Place) -> str:
    """The name that the source has for the container that is accessed at a place.

    Parameters:
        place: where a subscript, a call of a method, a loop or the like is.

    Returns:
        ``results``, ``Bank.accounts`` for ``self.accounts`` in a method of ``Bank``; empty where
        the expression has no such name for it or might mean another one, and where there is no
        source.
    """
    if known := names_of_bound.get(id(place)):
        return known
    code = code_at(place)
    accessed = None if code is None else _accessed_by(code)
    return _name(None if accessed is None else _seen_through(accessed), place)


def holder_name(place: Place) -> str:
    """The name that the source has for the object whose attribute is accessed at a place.

    Returns:
        ``Bank`` for ``self.total`` in a method of ``Bank``; empty where the instruction accesses
        no attribute, or where the source has no such name.
    """
    code, offset = place
    if opname[code.co_code[offset]] not in _OF_ATTRIBUTES:
        return ""
    expression = code_at(place)
    name = _name(expression.value if isinstance(expression, ast.Attribute) else None, place)
    if "." in name:
        return name
    # What a method calls ``self`` is known by its class.
    return qualified(f"{name}.attribute", code.co_qualname).rpartition(".")[0] if name else ""


_OF_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR"})


def _name(expression: ast.expr | None, place: Place) -> str:
    if expression is None or not _is_name(expression):
        return ""
    name = qualified(ast.unparse(expression), place[0].co_qualname)
    return name if len(name) <= _LONGEST else ""


def code_at(place: Place) -> ast.AST | None:
    """The expression, or the loop, that an instruction belongs to.

    Parameters:
        place: of the instruction.

    Returns:
        ``None`` where there is no source, or it can't be told.
    """
    span = span_of(place)
    if span is None:
        return None
    first, last, start, end = span
    filename = place[0].co_filename
    lines = [linecache.getline(filename, line).encode() for line in range(first, last + 1)]
    if not all(lines):
        return None
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        text = b"".join(lines).decode()
        if text.startswith(_STATEMENTS):
            return ast.parse(text).body[0]
        # Within brackets lines may be broken anywhere.
        return ast.parse(f"({text}\n)", mode="eval").body
    except (SyntaxError, UnicodeDecodeError):
        return None


def _accessed_by(code: ast.AST) -> ast.expr | None:
    match code:
        case ast.For(iter=accessed) | ast.Subscript(value=accessed):
            return accessed
        case ast.Assert(test=tested) | ast.If(test=tested) | ast.While(test=tested):
            return _accessed_by(tested) if isinstance(tested, ast.UnaryOp) else tested
        case ast.IfExp(test=accessed) | ast.UnaryOp(op=ast.Not(), operand=accessed):
            return accessed
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return code.generators[0].iter
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[accessed]):
            return accessed
        case ast.Call(func=ast.Attribute(attr=function) | ast.Name(id=function)) if (
            function.startswith(_OF_THE_FIRST)
        ):
            return code.args[0] if code.args else None
        case ast.Call(func=ast.Attribute(value=accessed, attr=method)):
            return None if method in _OF_TWO else accessed
        case ast.Call(args=[accessed], keywords=[]):  # len(container)
            return accessed
        case ast.Name() | ast.Attribute():  # if container
            return code
    return None


_VIEWS = frozenset({"keys", "values", "items"})
"""Methods whose results show a dict as it is: who goes through them accesses the dict."""


def _seen_through(expression: ast.expr) -> ast.expr:
    """The container behind a view of it: ``jobs`` for ``jobs.values()``."""
    match expression:
        case ast.Call(func=ast.Attribute(value=inner, attr=method), args=[], keywords=[]) if (
            method in _VIEWS
        ):
            return inner
    return expression


def _is_name(expression: ast.expr) -> bool:
    """Whether it is ``name``, ``name.attribute``, ``name['key']`` and so on."""
    match expression:
        case ast.Name():
            return True
        case ast.Attribute(value=inner) | ast.Subscript(value=inner, slice=ast.Constant()):
            return _is_name(inner)
    return False
