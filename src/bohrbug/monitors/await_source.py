"""What the source says of a read before an await and a write after it: does the write rest on it?

It does if the value that was read goes into what is written (a lost update, if another task has
written meanwhile), or if the write is only made because of a test of that value (check, then act).
Both are read off the syntax tree of one function.  Where read or write are made by functions that
it calls, such as ``get`` and ``set`` of an object, these must return what they read, and write what
they are given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bohrbug.model.outcome import RacePattern
from bohrbug.model.site import site_of, span_of
from bohrbug.monitors.access_source import SourceTree, tree_of
from bohrbug.runtime.threads.loops.access_log import Touch

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Leaving = ast.Return | ast.Raise | ast.Continue | ast.Break


@dataclass(frozen=True, slots=True)
class Spot:
    """An expression or statement in the source.

    Parameters:
        tree: of the file.
        node: where in it.
    """

    tree: SourceTree
    node: ast.AST

    @property
    def function(self) -> ast.AST:
        """The function that it is in, or the module."""
        return self.tree.function(self.node)

    @property
    def statement(self) -> ast.stmt | None:
        """The statement that it is in."""
        return self.tree.statement(self.node)


def spot_at(place: Any) -> Spot | None:
    """What stands at a place; ``None`` if there is no source, or nothing that is known there.

    Parameters:
        place: code and offset.
    """
    span, site = span_of(place), site_of(place)
    tree = None if site is None else tree_of(site.filename)
    if span is None or tree is None:
        return None
    nodes = tree.by_span.get(span, ())
    if not nodes:
        return None
    # A statement that is nothing but an expression is the same stretch of text.
    node = next((node for node in nodes if isinstance(node, ast.expr)), nodes[0])
    return Spot(tree, node.value if isinstance(node, ast.Await) else node)


def rests_on(write: Touch, read: Touch) -> RacePattern | None:
    """Whether a write rests on an earlier read of the same task, and how.

    Parameters:
        write, read: the two.

    Returns:
        ``LOST_UPDATE``, ``CHECK_THEN_ACT``, or ``None``: not as far as the source tells.
    """
    common = _common(write, read)
    return _rests_on(_below(write, common), _below(read, common)) if common else None


def _common(write: Touch, read: Touch) -> int:
    """How many frames two accesses have in common, the outermost ones."""
    common = 0
    for one, other in zip(read.around, write.around, strict=False):
        if one[:2] != other[:2]:
            break
        common += 1
    return common


_Places = tuple[tuple[Any, int], ...]


def _below(touch: Touch, common: int) -> _Places:
    """Where the innermost common function stands, and what it has called, down to the access."""
    calls = tuple((code, offset) for _, code, offset in touch.around[common - 1 : -1])
    return (*calls, touch.place)


@lru_cache(maxsize=1024)
def _rests_on(write: _Places, read: _Places) -> RacePattern | None:
    if not all(map(_is_returned, read[1:])):
        return None
    source, sink = spot_at(read[0]), spot_at(write[0])
    if source is None or sink is None or source.function is not sink.function:
        return None
    names = names_given(source)
    if _value_reaches(source, sink, names) and all(map(_is_written_as_given, write[1:])):
        return RacePattern.LOST_UPDATE
    if any(_is_looked_at(test, source, names) for test in tests_before(sink)):
        return RacePattern.CHECK_THEN_ACT
    return None


# -- where a value goes --------------------------------------------------------------


def names_given(source: Spot) -> frozenset[str]:
    """The local names that are given a value made of that of an expression, directly or not."""
    found: set[str] = set()
    inner: ast.AST = source.node
    for node in (source.node, *source.tree.ancestors(source.node)):
        if node is source.function:
            break
        match node:
            case ast.NamedExpr(target=ast.Name(id=name)):
                found.add(name)
            case ast.Assign(targets=targets, value=value) if inner is value:
                found.update(name for target in targets for name in _names(target))
            case ast.AnnAssign(target=target, value=value) if inner is value:
                found.update(_names(target))
            case ast.AugAssign(target=ast.Name(id=name), value=value) if inner is value:
                found.add(name)
            case ast.For(target=target, iter=iterated) if inner is iterated:
                found.update(_names(target))
            case ast.withitem(context_expr=context, optional_vars=ast.expr() as target) if (
                inner is context
            ):
                found.update(_names(target))
        inner = node
    while found:
        more = {
            name
            for node in ast.walk(source.function)
            if isinstance(node, ast.Assign) and _loads(node.value) & found
            for target in node.targets
            for name in _names(target)
        } - found
        if not more:
            break
        found |= more
    return frozenset(found)


def _names(target: ast.AST) -> Iterator[str]:
    """The names that an assignment gives a value, without owners of attributes and items."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _names(element)
        case ast.Starred(value=value):
            yield from _names(value)


def _loads(node: ast.AST) -> set[str]:
    """The names that an expression reads."""
    return {
        inner.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    }


def _parts_written(sink: Spot) -> list[ast.AST]:
    """Of what a write is made: the assigned value and keys, or the arguments of a call."""
    for node in (sink.node, *sink.tree.ancestors(sink.node)):
        match node:
            case ast.Call(args=arguments, keywords=keywords):
                return [*arguments, *keywords]
            case ast.Assign(value=value, targets=targets):
                return [value, *(t.slice for t in targets if isinstance(t, ast.Subscript))]
            case ast.AugAssign(value=value, target=target):
                key = [target.slice] if isinstance(target, ast.Subscript) else []
                return [value, target, *key]
            case ast.AnnAssign(value=ast.expr() as value):
                return [value]
            case ast.Delete(targets=targets):
                return [t.slice for t in targets if isinstance(t, ast.Subscript)]
            case ast.stmt():
                return []
    return []


def _value_reaches(source: Spot, sink: Spot, names: frozenset[str]) -> bool:
    """Whether what is written is made of what was read."""
    return any(
        bool(_loads(part) & names) or any(node is source.node for node in ast.walk(part))
        for part in _parts_written(sink)
    )


# -- on which tests a write depends ----------------------------------------------------


def tests_before(sink: Spot) -> Iterator[ast.AST]:
    """The tests that have decided that a statement or expression is executed.

    Those around it, and those before it whose branch leaves what it stands in.
    """
    inner: ast.AST = sink.node
    for node in sink.tree.ancestors(sink.node):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if (
                inner is not test
            ):
                yield test
            case ast.Match(subject=subject) if inner is not subject:
                yield subject
            case ast.Try(body=body, handlers=handlers) if inner in handlers:
                yield from body
        if isinstance(inner, ast.stmt):
            yield from _left_before(node, inner)
        if isinstance(node, _Function):
            return
        inner = node


def _left_before(node: ast.AST, statement: ast.stmt) -> Iterator[ast.AST]:
    """What stands before a statement in the same block, and may have left it."""
    for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
        if not isinstance(block, list) or statement not in block:
            continue
        for before in block[: block.index(statement)]:
            match before:
                case ast.If(test=test, body=body, orelse=orelse) if _leaves(body) or _leaves(
                    orelse
                ):
                    yield test
                case ast.Try(body=body) if _leaves(body):
                    yield from body


def _leaves(block: list[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], _Leaving)


def _is_looked_at(test: ast.AST, source: Spot, names: frozenset[str]) -> bool:
    return bool(_loads(test) & names) or any(node is source.node for node in ast.walk(test))


def is_loop_test(write: Touch, read: Touch) -> bool:
    """Whether a read is made by the test of a loop, and a write in its body."""
    common = _common(write, read)
    source, sink = spot_at(_below(read, common)[0]), spot_at(_below(write, common)[0])
    return (
        source is not None
        and sink is not None
        and any(
            isinstance(node, ast.While) and any(n is source.node for n in ast.walk(node.test))
            for node in sink.tree.ancestors(sink.node)
        )
    )


# -- functions in between ----------------------------------------------------------------


def _is_returned(place: Any) -> bool:
    """Whether the value of what stands at a place goes into what its function returns."""
    source = spot_at(place)
    if source is None:
        return False
    names = names_given(source)
    if isinstance(source.function, ast.Lambda):
        return True
    return any(
        isinstance(node, ast.Return)
        and node.value is not None
        and _is_looked_at(node.value, source, names)
        for node in ast.walk(source.function)
    )


def _is_written_as_given(place: Any) -> bool:
    """Whether what is written, or handed on, at a place is made of its function's parameters."""
    sink = spot_at(place)
    if sink is None or not isinstance(sink.function, _Function):
        return False
    arguments = sink.function.args
    given = {
        argument.arg
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    } - {"self", "cls"}
    return any(_loads(part) & given for part in _parts_written(sink))
