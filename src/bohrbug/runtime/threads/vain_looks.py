"""Loops that do nothing but look, and whether a look has found all as it was.

A task that spins changes nothing, so that each round of its loop is as good as the one before: once
it is certain that one has led back to where it began, the task may as well yield at once (CHESS,
section 4.3).  Certain it is only of a ``while`` loop whose source shows that a round consists of
looks, and if all that the task can reach is equal after a round; see
:mod:`~bohrbug.runtime.threads.within_reach`.  What can't be told from that is how often a ``for``
loop, or code in C, still calls what has the loop: such loops are left alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from functools import lru_cache
from itertools import pairwise
from random import Random
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple, Protocol

from bohrbug.runtime.threads.local_variables import local_variables
from bohrbug.runtime.threads.rewrite.classes import MISSING, look_up
from bohrbug.runtime.threads.source_statements import (
    lambdas_of,
    loops_around,
    statements_around,
)
from bohrbug.runtime.threads.standing import is_counted
from bohrbug.runtime.threads.thread_state import RealLocal, local
from bohrbug.runtime.threads.within_reach import Contents, frames_around, within_reach

LOOKS = (2, 3)
"""Looks at one place, with nothing changed by the task in between, at which is found out what it
can reach: if that is equal at both, all further ones are in vain."""

MOST_OBJECTS = 1_000
"""Objects that are looked at each time; they take a millisecond."""

_BUILTINS = frozenset({"abs", "all", "any", "bool", "isinstance", "len", "max", "min", "sum"})
"""Functions that change nothing, whatever they are given, but iterators."""

_METHODS = frozenset(
    {"is_set", "isSet", "locked", "done", "cancelled", "running", "is_alive"}
    | {"empty", "full", "qsize"}
)
"""Methods without arguments by which a program looks at what the standard library has."""

_EXPRESSIONS = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.List),
    *(ast.UnaryOp, ast.BoolOp, ast.BinOp, ast.Compare, ast.IfExp),
    *(ast.expr_context, ast.unaryop, ast.boolop, ast.operator, ast.cmpop),
)
_LEAVING = (ast.Break, ast.Return, ast.Raise)
_OWN = "bohrbug."


class Clock(Protocol):
    """What is asked of an execution's clock."""

    @property
    def now(self) -> float:
        """Seconds of virtual time."""
        ...

    def read_since(self, moment: float) -> bool:
        """Whether the program has read it since then, in seconds."""
        ...


class _Surroundings(NamedTuple):
    """What a task could reach when it looked.

    Parameters:
        contents: what was found.
        moment: when it looked, in seconds of virtual time.
    """

    contents: Contents
    moment: float


def is_in_vain(looks: dict[Any, Any], busy_places: set[Any], key: Any, clock: Clock) -> bool:
    """Whether the running task has come back to where it was when it last looked there.

    Parameters:
        looks: how often it has looked where, since it last changed anything; what it could reach
            at the first of the :data:`LOOKS` is kept there, too, as that is out of date then.
        busy_places: where tasks do more than look, for all that can be told; added to.
        key: of the place at which it has just looked, for one of :data:`LOOKS`.
        clock: of the execution.
    """
    kept = (_Surroundings, key)
    if looks[key] == LOOKS[0]:
        contents = _contents()
        if contents is None:
            busy_places.add(key)
        else:
            looks[kept] = _Surroundings(contents, clock.now)
        return False
    before: _Surroundings | None = looks.pop(kept, None)
    return (
        before is not None
        and not clock.read_since(before.moment)
        and _contents() == before.contents
    )


def _contents() -> Contents | None:
    """What the running task can reach, if it stands in a loop that only looks."""
    frames = list(frames_around(sys._getframe()))
    if not frames or not _only_looks(frames[0]):
        return None
    if not all(_calls(outer, inner) for inner, outer in pairwise(frames)):
        return None
    contents = within_reach(frames, MOST_OBJECTS)
    if contents is None or any(map(_hides_its_state, contents)):
        return None
    return contents


def _only_looks(frame: FrameType) -> bool:
    """Whether a frame stands in a loop of which each round only looks."""
    called = _called_in_loop(frame.f_code, frame.f_lineno or 0)
    return called is not None and not (
        called and (called & frame.f_globals.keys() or called & local_variables(frame).keys())
    )


@lru_cache(maxsize=1024)
def _called_in_loop(code: CodeType, line: int) -> frozenset[str] | None:
    """The builtin functions that are called in a loop which only looks; ``None``: it is none."""
    loops = loops_around(code, line)
    if not loops or not all(map(_shows_its_rounds, loops)):
        return None
    innermost = loops[-1]
    if not isinstance(innermost, ast.While):
        return None
    called: set[str] = set()
    if not all(
        _is_look(node, called)
        for part in _parts_of_round(innermost.test, innermost.body)
        for node in _nodes(part)
    ):
        return None
    return frozenset(called)


def _parts_of_round(test: ast.expr, body: list[ast.stmt]) -> Iterator[ast.AST]:
    """What a round does, if it is not the last one."""
    yield test
    for statement in body:
        if isinstance(statement, ast.If):
            for branch in (statement.body, statement.orelse):
                if branch and isinstance(branch[-1], _LEAVING) and not _goes_on(branch):
                    # Whatever it does, it does once.
                    continue
                yield from _parts_of_round(statement.test, branch)
        elif isinstance(statement, ast.Expr):
            yield statement.value
        elif not isinstance(statement, (ast.Pass, ast.Continue, *_LEAVING)):
            yield statement


def _goes_on(branch: list[ast.stmt]) -> bool:
    """Whether there may be another round after all."""
    return any(isinstance(node, ast.Continue) for each in branch for node in ast.walk(each))


def _nodes(part: ast.AST) -> Iterator[ast.AST]:
    """A part of a round, and what it consists of; of calls what they are given."""
    waiting = [part]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.Call):
            waiting += node.args
            if isinstance(node.func, ast.Attribute):
                waiting.append(node.func.value)
        else:
            waiting += ast.iter_child_nodes(node)


def _is_look(node: ast.AST, called: set[str]) -> bool:
    if not isinstance(node, ast.Call):
        return isinstance(node, _EXPRESSIONS)
    if node.keywords:
        return False
    if isinstance(node.func, ast.Name):
        called.add(node.func.id)
        return node.func.id in _BUILTINS
    return isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and not node.args


def _calls(frame: FrameType, inner: FrameType) -> bool:
    """Whether a frame itself has called another, and its variables tell one call from the next."""
    caller = inner.f_back
    while caller is not None and str(caller.f_globals.get("__name__")).startswith(_OWN):
        caller = caller.f_back
    if caller is not frame:
        return False
    code, names = inner.f_code, _called_by(frame.f_code, frame.f_lineno or 0)
    if code.co_name in names:
        return True
    own = local_variables(frame)
    called = [own.get(name, frame.f_globals.get(name)) for name in names]
    return any(type(each) is FunctionType and each.__code__ is code for each in called)


@lru_cache(maxsize=1024)
def _called_by(code: CodeType, line: int) -> frozenset[str]:
    """The names of what is called at a line; none if that may be called again unnoticed."""
    if code.co_name == "<lambda>":
        found = [_called_in(each.body, line) for each in lambdas_of(code)]
        return frozenset.intersection(*found) if found else frozenset()
    statements = list(statements_around(code, line))
    if not statements or not all(map(_shows_its_rounds, loops_around(code, line))):
        return frozenset()
    if isinstance(statements[-1], ast.With):
        return frozenset({"__enter__"})
    return _called_in(statements[-1], line)


def _called_in(node: ast.AST, line: int) -> frozenset[str]:
    return frozenset(
        name
        for each in ast.walk(node)
        if isinstance(each, ast.Call) and each.lineno <= line <= (each.end_lineno or each.lineno)
        for name in (getattr(each.func, "id", None), getattr(each.func, "attr", None))
        if name is not None
    )


def _shows_its_rounds(loop: ast.AST) -> bool:
    """Whether variables tell one round from the next: a ``while`` loop, or one over numbers."""
    if isinstance(loop, ast.While):
        return True
    return (
        isinstance(loop, ast.For)
        and isinstance(loop.target, ast.Name)
        and isinstance(loop.iter, ast.Call)
        and isinstance(loop.iter.func, ast.Name)
        and loop.iter.func.id == "range"
    )


def _hides_its_state(kind: object) -> bool:
    """Whether something is a type of objects that change as nothing within reach shows."""
    if not isinstance(kind, type):
        return False
    if issubclass(kind, (ContextVar, local, RealLocal, Random)):
        return True
    return look_up(kind, "__next__") is not MISSING and not is_counted(kind)
