"""How far a ``while`` loop is from its end, where a variable of its own counts towards it.

Only numbers are looked at, and no code of the program is called: ``i < n`` is ``n - i`` away from
its end.  A variable of the function is part of it, as nobody else can move that back.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Sized
from types import FrameType

_CONTAINERS = frozenset({list, tuple, dict, set, frozenset, str, bytes, bytearray, deque, range})

Number = int | float


def distances(test: ast.expr, frame: FrameType) -> tuple[Number, ...]:
    """How far the parts of a condition are from being false.

    Parameters:
        test: the condition of a loop.
        frame: of the function in which the loop stands.

    Returns:
        One for each part that ends the loop when it is false, and compares numbers or is one;
        nothing if there is no such part.
    """
    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            pass
        case _:
            parts = [test]
    found = (_distance(each, frame) for each in parts if _has_own_variable(each, frame))
    return tuple([each for each in found if each is not None])


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


def _distance(part: ast.expr, frame: FrameType) -> Number | None:
    match part:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            low, high = _number(left, frame), _number(right, frame)
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
        case ast.Name():
            number = _number(part, frame)
            return None if number is None else abs(number)
    return None


def _number(operand: ast.expr, frame: FrameType) -> Number | None:
    match operand:
        case ast.Constant(value=(int() | float()) as number):
            return number
        case ast.Name(id=name):
            value = _value(name, frame)
            # A subclass may have an arithmetic of its own.
            is_plain = type(value) is int or type(value) is float
            return value if is_plain and isinstance(value, Number) else None
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            negated = _number(inner, frame)
            return None if negated is None else -negated
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as operator, right=right):
            one, other = _number(left, frame), _number(right, frame)
            if one is None or other is None:
                return None
            return one + other if isinstance(operator, ast.Add) else one - other
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
            value = _value(name, frame)
            is_builtin = type(value) in _CONTAINERS
            return len(value) if is_builtin and isinstance(value, Sized) else None
    return None


def _value(name: str, frame: FrameType) -> object:
    variables = frame.f_locals
    return variables[name] if name in variables else frame.f_globals.get(name)
