"""The variables of a frame: in which slots they are, and which of them are bound only once."""

from __future__ import annotations

from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType

from bohrbug.runtime.threads.rewrite import opcodes
from bohrbug.runtime.threads.rewrite.codec import decode


def variable_names(code: CodeType) -> tuple[str, ...]:
    """Names of a frame's slots: locals, then cells that are not locals, then free variables."""
    locals_ = code.co_varnames
    cells = tuple(name for name in code.co_cellvars if name not in locals_)
    return locals_ + cells + code.co_freevars


def cells_bound_once(code: CodeType) -> frozenset[str]:
    """Names of the cells of a code object that keep the value they came with.

    They are parameters that nobody stores, neither it nor code nested in it.
    """
    if not code.co_cellvars:
        return frozenset()
    stored = _stored_cells(code)
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    parameters = code.co_varnames[:count]
    return frozenset(name for name in code.co_cellvars if name not in stored and name in parameters)


def _stored_cells(code: CodeType) -> set[str]:
    """Names of the cells that a code object, or code nested in it, stores."""
    names: set[str] = set()
    slots = variable_names(code)
    for instruction in decode(code):
        if opcodes.NAMES[instruction.opcode] in ("STORE_DEREF", "DELETE_DEREF"):
            names.add(slots[instruction.arg])
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _stored_cells(constant)
    return names
