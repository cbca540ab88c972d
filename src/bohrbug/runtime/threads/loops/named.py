"""What code names: by these names it gets to objects that its frames do not hold."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import NamedTuple

_REFUSED = frozenset(
    {
        "STORE_GLOBAL",
        "DELETE_GLOBAL",
        "LOAD_NAME",
        "STORE_NAME",
        "DELETE_NAME",
        "IMPORT_NAME",
        "IMPORT_STAR",
        "IMPORT_FROM",
        "LOAD_BUILD_CLASS",
        "LOAD_LOCALS",
        "LOAD_FROM_DICT_OR_GLOBALS",
        "LOAD_CLASSDEREF",
        "LOAD_FROM_DICT_OR_DEREF",
    }
)
"""Instructions that reach a namespace otherwise than by reading a global variable."""

_DUNDERS = frozenset(
    {
        *("__aenter__", "__aexit__", "__class__", "__doc__", "__enter__", "__eq__", "__exit__"),
        *("__hash__", "__init__", "__iter__", "__len__", "__name__", "__new__", "__next__"),
        *("__post_init__", "__qualname__", "__repr__", "__str__"),
    }
)
"""Attributes with such names that lead to nothing that is changed, or that is looked at: code that
stores them is not plain."""

_INNER = frozenset(
    {
        *("cr_frame", "cr_await", "cr_code", "gi_frame", "gi_yieldfrom", "ag_frame", "ag_await"),
        *("f_back", "f_locals", "f_globals", "f_builtins", "tb_frame", "tb_next"),
        *("get_stack", "print_stack", "get_name", "set_name", "get_context", "_loop"),
        *("_callbacks", "_children", "_fut_waiter", "_asyncio_awaited_by"),
    }
)
"""Attributes that lead from an object to what has made it, or runs it."""

_STORING = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_OTHER_ATTRIBUTES = _STORING | {"LOAD_SUPER_ATTR", "LOAD_SPECIAL"}


class Global(NamedTuple):
    """A global variable that code reads.

    Parameters:
        name: its name.
        attribute: that is asked of its value at once; ``None``: something else is done with it.
        of_zero: what this is, is called with the constant 0.
    """

    name: str
    attribute: str | None
    of_zero: bool


class Named(NamedTuple):
    """What a code object names, with all functions within it.

    Parameters:
        is_plain: it reads global variables and does nothing else with namespaces.
        reads: the global variables that it reads.
        attributes: whose names are in it.
        rebinds: it gives new values to variables that it shares with other functions.
    """

    is_plain: bool
    reads: frozenset[Global]
    attributes: frozenset[str]
    rebinds: bool


@lru_cache(maxsize=4096)
def named_in(code: CodeType) -> Named:
    """What a code object names, with the functions that it makes."""
    is_plain, rebinds = True, False
    reads: set[Global] = set()
    attributes: set[str] = set()
    instructions = [each for each in dis.get_instructions(code) if each.opname not in _SILENT]
    for index, each in enumerate(instructions):
        name = each.opname
        if name in _REFUSED:
            is_plain = False
        elif name == "LOAD_GLOBAL":
            reads.add(_global(instructions, index))
        elif name in _STORING and str(each.argval).startswith("__"):
            # Of a function or a class: what it is called, its code, its bases.
            is_plain = False
        elif name in ("LOAD_ATTR", "LOAD_METHOD") or name in _OTHER_ATTRIBUTES:
            attributes.add(str(each.argval))
        elif name in ("STORE_DEREF", "DELETE_DEREF"):
            rebinds = True
    for inner in _codes_in(code):
        found = named_in(inner)
        is_plain = is_plain and found.is_plain
        reads |= found.reads
        attributes |= found.attributes
        rebinds = rebinds or found.rebinds
    for attribute in attributes:
        if attribute in _INNER or (attribute.startswith("__") and attribute not in _DUNDERS):
            is_plain = False
    return Named(is_plain, frozenset(reads), frozenset(attributes), rebinds)


_SILENT = frozenset({"CACHE", "EXTENDED_ARG", "PRECALL", "PUSH_NULL", "NOP", "RESUME"})


def _global(instructions: list[dis.Instruction], index: int) -> Global:
    """The global variable that an instruction reads, with what is done with it at once."""
    following = instructions[index + 1 : index + 4]
    attribute = None
    if following and following[0].opname in ("LOAD_ATTR", "LOAD_METHOD"):
        attribute = str(following.pop(0).argval)
    of_zero = (
        len(following) > 1
        and following[0].opname in ("LOAD_CONST", "LOAD_SMALL_INT")
        and following[0].argval == 0
        and following[1].opname == "CALL"
        and following[1].arg == 1
    )
    return Global(str(instructions[index].argval), attribute, of_zero)


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
