"""All that differs between the bytecode of the supported versions of Python.

Which instructions there are, and what each means for shared data, is in :mod:`.instruction_table`.
"""

from __future__ import annotations

import dis
import opcode as opcode_names
import sys
from functools import lru_cache
from typing import Final

from bohrbug.runtime.threads.rewrite.codec import JUMPS, encode_instruction

PY312: Final = sys.version_info >= (3, 12)
PY313: Final = sys.version_info >= (3, 13)
PY314: Final = sys.version_info >= (3, 14)
PY315: Final = sys.version_info >= (3, 15)

NULL_FOLLOWS_CALLABLE: Final = PY313
"""A call finds ``callable, NULL, arguments`` on the stack, and not ``NULL, callable, ...``."""

ITERATOR_DEPTH: Final = 2 if PY315 else 1
"""How deep the iterator lies before ``FOR_ITER``; above it there may be an index that is no object,
which must never be passed to a hook. ``SEND`` has it so, too, below the value that is sent."""

STAR_CALL_HAS_KEYWORDS: Final = PY314
"""Whether ``CALL_FUNCTION_EX`` always finds a slot for keyword arguments, which may be ``NULL``."""

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


EXIT_HAS_SELF: Final = PY314
"""Whether the method that ends a ``with`` lies on the stack with its object, or ``NULL``."""

_ENTER: Final = 0
"""The number of ``__enter__`` for ``LOAD_SPECIAL``."""


def begins_with(opcode: int, arg: int) -> bool:
    """Whether an instruction looks up ``__enter__`` on what lies on top of the stack."""
    name = NAMES[opcode]
    return name == "BEFORE_WITH" or (name == "LOAD_SPECIAL" and arg == _ENTER)


def begin_call_of_same(hook: int, depth: int) -> bytes:
    """Push a hook, and with it the object, or ``NULL``, of a method that lies ``depth`` deep.

    The object is its first argument. The stack grows by two.
    """
    return encode_instruction(LOAD_CONST, hook) + encode_instruction(COPY, depth)


def end_call(arguments: int) -> bytes:
    """Call the hook with the arguments pushed since, and drop what it returns."""
    call = encode_instruction(CALL, arguments)
    if not PY312:
        call = encode_instruction(PRECALL, arguments) + call
    return call + _STACK_POP_TOP


def end_call_for_top(arguments: int) -> bytes:
    """Call the hook, and put what it returns in the place of what lies below it on the stack."""
    swapped = encode_instruction(SWAP, 2) + _STACK_POP_TOP
    return end_call(arguments).removesuffix(_STACK_POP_TOP) + swapped


def in_loop_of_send(spliced: bytes) -> bytes:
    """What is spliced in between ``SEND`` and the ``YIELD_VALUE`` of its loop.

    On Python 3.11 something that is thrown into a generator or coroutine that waits for another one
    goes back from ``YIELD_VALUE`` by one instruction, once the other one has returned, and takes
    from there how far the loop reaches.  So a ``SEND`` that never runs has to stand there.
    """
    if PY312:
        return spliced
    return (
        spliced
        + encode_instruction(dis.opmap["JUMP_FORWARD"], 1)
        # Behind it are YIELD_VALUE, RESUME and the jump back.
        + encode_instruction(dis.opmap["SEND"], 3)
    )


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


_BINARY_OPERATIONS: Final[tuple[str, ...]] = tuple(
    name
    for name, _ in opcode_names._nb_ops  # type: ignore[attr-defined]
)


def is_in_place(arg: int) -> bool:
    """Whether the argument of ``BINARY_OP`` stands for an augmented assignment."""
    return _BINARY_OPERATIONS[arg].startswith("NB_INPLACE_")


def multiplies(arg: int) -> bool:
    """Whether the argument of ``BINARY_OP`` stands for ``*`` or ``*=``, which repeat a list."""
    return _BINARY_OPERATIONS[arg] in ("NB_MULTIPLY", "NB_INPLACE_MULTIPLY")


def is_subscript(arg: int) -> bool:
    """Whether the argument of ``BINARY_OP`` stands for ``owner[key]``, as it may since 3.14."""
    return _BINARY_OPERATIONS[arg] == "NB_SUBSCR"


_RESUME_LOCATION: Final = 7 if PY315 else 3


def is_checking_resume(arg: int) -> bool:
    """Whether the interpreter looks at ``RESUME`` whether to switch threads.

    It does where a function begins and behind ``yield``, not behind ``yield from`` and ``await``.
    """
    return arg & _RESUME_LOCATION < 2


def arguments_above_callable(arg: int) -> int:
    """How many values ``CALL_FUNCTION_EX`` finds for its arguments: a sequence, and a mapping."""
    return 2 if STAR_CALL_HAS_KEYWORDS else 1 + (arg & 1)


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
    | {"LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT"}
    | {"MATCH_MAPPING", "MATCH_SEQUENCE", "CHECK_EG_MATCH", "WITH_EXCEPT_START"}
)
"""Instructions whose result's truth reads no container."""

LOADS_OF_LOCALS = frozenset(
    {"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR"}
)
"""Instructions that push the local variable that their argument names."""
