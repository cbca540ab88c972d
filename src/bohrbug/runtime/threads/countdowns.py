"""How far a ``while`` loop is from its end, where a variable of its own counts towards it.

Only numbers are looked at, and no code of the program is called: ``i < n`` is ``n - i`` away from
its end.  A variable of the function is part of it, as nobody else can move that back; where others
can, as in ``self.n < n``, that it comes nearer once says little.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Sized
from types import FrameType
from typing import NamedTuple

from bohrbug.runtime.threads.local_variables import local_variables
from bohrbug.runtime.threads.rewrite.classes import instance_dict, look_up

_CONTAINERS = frozenset({list, tuple, dict, set, frozenset, str, bytes, bytearray, deque, range})

Number = int | float


def distances(
    test: ast.expr, frame: FrameType, *, may_be_shared: bool = False
) -> tuple[Number, ...]:
    """How far the parts of a condition are from being false.

    Parameters:
        test: the condition of a loop.
        frame: of the function in which the loop stands.
        may_be_shared: whether parts count, too, that other tasks may change.

    Returns:
        One for each part that ends the loop when it is false, and compares numbers or is one;
        nothing if there is no such part.
    """
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            pass
        case _:
            parts = [test]
    look = _Looking(frame, may_be_shared)
    found = (
        _distance(each, look) for each in parts if may_be_shared or _has_own_variable(each, frame)
    )
    return tuple([each for each in found if each is not None])


class _Looking(NamedTuple):
    """How the operands of a condition are looked at.

    Parameters:
        frame: of the function.
        into_objects: whether attributes and items are looked at, too.
    """

    frame: FrameType
    into_objects: bool


def is_nearer(earlier: tuple[Number, ...], later: tuple[Number, ...]) -> bool:
    """Whether one of the parts of a condition is nearer to being false than it was."""
    return any(after < before for before, after in zip(earlier, later, strict=False))


def _has_own_variable(part: ast.expr, frame: FrameType) -> bool:
    code = frame.f_code
    return any(
        isinstance(node, ast.Name)
        and node.id in code.co_varnames
        and node.id not in code.co_cellvars
        for node in ast.walk(part)
    )


def _distance(part: ast.expr, look: _Looking) -> Number | None:
    match part:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            low, high = _number(left, look), _number(right, look)
            if low is None or high is None:
                return None
            match operator:
                case ast.Lt() | ast.LtE():
                    return high - low
                case ast.Gt() | ast.GtE():
                    return low - high
                case ast.NotEq():
                    return abs(high - low)
            return None
        case ast.Name() | ast.Attribute() | ast.Subscript():
            number = _number(part, look)
            return None if number is None else abs(number)
    return None


def _number(operand: ast.expr, look: _Looking) -> Number | None:
    match operand:
        case ast.Constant(value=(int() | float()) as number):
            return number
        case ast.Name() | ast.Attribute() | ast.Subscript():
            value = _value(operand, look)
            # A subclass may have an arithmetic of its own.
            is_plain = type(value) is int or type(value) is float
            return value if is_plain and isinstance(value, Number) else None
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            negated = _number(inner, look)
            return None if negated is None else -negated
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
            one, other = _number(left, look), _number(right, look)
            if one is None or other is None:
                return None
            return one + other if isinstance(operator, ast.Add) else one - other
        case ast.Call(func=ast.Name(id="len"), args=[container]):
            value = _value(container, look)
            is_builtin = type(value) in _CONTAINERS
            return len(value) if is_builtin and isinstance(value, Sized) else None
    return None


def _value(operand: ast.expr, look: _Looking) -> object:
    match operand:
        case ast.Name(id=name):
            variables = local_variables(look.frame)
            return variables[name] if name in variables else look.frame.f_globals.get(name)
        case ast.Attribute(value=inner, attr=name) if look.into_objects:
            return _attribute(_value(inner, look), name)
        case ast.Subscript(value=inner, slice=ast.Constant(value=key)) if look.into_objects:
            owner = _value(inner, look)
            if type(owner) is dict and type(key) is str:
                return owner.get(key)
            if type(owner) is list and type(key) is int and key < len(owner):
                return owner[key]
    return None


def _attribute(owner: object, name: str) -> object:
    """An attribute of an object, or of a class, that no code computes."""
    if isinstance(owner, type):
        return look_up(owner, name)
    namespace = instance_dict(owner)
    if namespace is not None and name in namespace:
        return namespace[name]
    return look_up(type(owner), name)
