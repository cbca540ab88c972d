"""All that differs between the bytecode of Python 3.11, 3.12 and 3.13."""

from __future__ import annotations

import dis
import sys
from functools import lru_cache
from typing import Final

from bohrbug.runtime.threads.rewrite.codec import JUMPS, encode_instruction

PY312: Final = sys.version_info >= (3, 12)
PY313: Final = sys.version_info >= (3, 13)

NULL_FOLLOWS_CALLABLE: Final = PY313
"""A call finds ``callable, NULL, arguments`` on the stack, and not ``NULL, callable, ...``."""

NAMES: Final = tuple(dis.opname)


def _opcode(name: str) -> int:
    return dis.opmap.get(name, -1)


LOAD_CONST = _opcode("LOAD_CONST")
COPY = _opcode("COPY")
SWAP = _opcode("SWAP")
PUSH_NULL = _opcode("PUSH_NULL")
POP_TOP = _opcode("POP_TOP")
PRECALL = _opcode("PRECALL")
CALL = _opcode("CALL")
LOAD_ATTR = _opcode("LOAD_ATTR")
LOAD_SUPER_ATTR = _opcode("LOAD_SUPER_ATTR")
LOAD_CELL = _opcode("LOAD_FAST") if PY313 else _opcode("LOAD_CLOSURE")

_STACK_POP_TOP = encode_instruction(POP_TOP)


def begin_call(hook: int) -> bytes:
    """Push a hook; ``hook`` is the number of its constant. The stack grows by two."""
    if NULL_FOLLOWS_CALLABLE:
        return encode_instruction(LOAD_CONST, hook) + encode_instruction(PUSH_NULL)
    return encode_instruction(PUSH_NULL) + encode_instruction(LOAD_CONST, hook)


def end_call(arguments: int) -> bytes:
    """Call the hook with the arguments pushed since, and drop what it returns."""
    call = encode_instruction(CALL, arguments)
    if not PY312:
        call = encode_instruction(PRECALL, arguments) + call
    return call + _STACK_POP_TOP


def is_method_load(opcode: int, arg: int) -> bool:
    """Whether an attribute load pushes a function and its ``self``, or else ``NULL``."""
    if PY312:
        return opcode in (LOAD_ATTR, LOAD_SUPER_ATTR) and bool(arg & 1)
    return NAMES[opcode] == "LOAD_METHOD"


def attribute_name_index(opcode: int, arg: int) -> int:
    """Number in ``co_names`` of the attribute that a load names."""
    if opcode == LOAD_SUPER_ATTR:
        return arg >> 2
    if PY312 and opcode == LOAD_ATTR:
        return arg >> 1
    return arg


def plain_attribute_load(opcode: int, arg: int) -> bytes:
    """A method load as an attribute load, and the ``NULL`` that a call expects with it."""
    if opcode == LOAD_SUPER_ATTR:
        load = encode_instruction(LOAD_SUPER_ATTR, arg & ~1)
    elif PY312:
        load = encode_instruction(LOAD_ATTR, arg & ~1)
    else:
        load = encode_instruction(LOAD_ATTR, arg)
    load += encode_instruction(PUSH_NULL)
    if not NULL_FOLLOWS_CALLABLE:
        load += encode_instruction(SWAP, 2)
    return load


def is_in_place(arg: int) -> bool:
    """Whether the argument of ``BINARY_OP`` stands for an augmented assignment."""
    return arg >= 13


_TAKES_ARGUMENT: Final = frozenset(
    getattr(dis, "hasarg", range(dis.HAVE_ARGUMENT, 256))  # 3.11 has no dis.hasarg
)


@lru_cache(maxsize=8192)
def stack_effect(opcode: int, arg: int, jump: bool) -> int:
    """By how much an instruction makes the stack deeper."""
    if NAMES[opcode] == "RETURN_GENERATOR":
        # The generator's frame goes on with a value to drop, which 3.11 and 3.12 do not count.
        return 1
    takes_argument = opcode in _TAKES_ARGUMENT
    return dis.stack_effect(opcode, arg if takes_argument else None, jump=jump)


ENDS_BLOCK = frozenset(
    dis.opmap[name]
    for name in (
        "RETURN_VALUE",
        "RETURN_CONST",
        "RAISE_VARARGS",
        "RERAISE",
        "JUMP_FORWARD",
        "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT",
        "INTERPRETER_EXIT",
    )
    if name in dis.opmap
)
"""Instructions behind which control does not go on."""

CHECKING_JUMPS = frozenset(
    op for op in JUMPS if "BACKWARD" in NAMES[op] and "NO_INTERRUPT" not in NAMES[op]
)
"""Jumps at which the interpreter looks whether to switch threads."""

BOOLEAN_RESULTS = frozenset(
    {"CONTAINS_OP", "IS_OP", "UNARY_NOT", "LOAD_CONST", "CHECK_EXC_MATCH", "MATCH_CLASS"}
    | {"MATCH_MAPPING", "MATCH_SEQUENCE", "CHECK_EG_MATCH", "WITH_EXCEPT_START"}
)
"""Instructions whose result's truth reads no container."""

TRUTH_TESTS = (
    frozenset({"TO_BOOL"})
    if PY313
    else frozenset(
        {"UNARY_NOT"}
        | {
            name
            for name in NAMES
            if name.startswith(("POP_JUMP_", "JUMP_IF_")) and "NONE" not in name
        }
    )
)
"""Instructions that take the truth of the top of the stack."""
