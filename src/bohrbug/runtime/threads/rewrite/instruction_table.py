"""What every instruction means for data that tasks share: its accesses are told, or it has none.

Nothing is passed over in silence. An instruction that is not in the table of the running version,
or an argument of one that nobody has thought about, makes :func:`unknown_reason` answer; such code
is not rewritten, and the verdict says so.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Final

from bohrbug.runtime.threads.rewrite.instruction_sets import INSTRUCTION_SETS, Version

TOLD: Final = "its accesses are told"

_OWN_FRAME = "touches only the stack and the local variables of its own frame"
_JUMP = "passes control on within its frame"
_NEW = "makes an object that no other task has seen"
_CALLEE = "hands over to code that tells its accesses itself"
_TYPE = "looks only at the type of an object"
_FUNCTION = "begins, suspends or ends the frame that it is in"
_EXCEPTION = "raises, catches or drops an exception of its own frame"
_OWN_CONTAINER = "adds to a container that the compiler keeps to the frame"
_IMPORTS = "the import system does it, under locks of its own"
_NAMESPACE = "works on the namespace of a class body or module that is being made"
_CONSTANTS = "looks at constants of the interpreter"
_NEVER_IN_CODE = "the interpreter's own, in no code object"

_REASONS: Mapping[str, str] = {
    _OWN_FRAME: """
        NOP POP_TOP PUSH_NULL COPY SWAP CACHE EXTENDED_ARG NOT_TAKEN KW_NAMES
        LOAD_CONST LOAD_SMALL_INT LOAD_CLOSURE MAKE_CELL COPY_FREE_VARS
        LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_BORROW LOAD_FAST_LOAD_FAST
        LOAD_FAST_BORROW_LOAD_FAST_BORROW STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST
        DELETE_FAST END_FOR END_SEND POP_ITER
        """,
    _JUMP: """
        JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT
        POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE
        POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE
        POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE
        """,
    _NEW: """
        BUILD_LIST BUILD_MAP BUILD_SET BUILD_SLICE BUILD_STRING BUILD_TUPLE BUILD_CONST_KEY_MAP
        BUILD_INTERPOLATION BUILD_TEMPLATE LIST_TO_TUPLE ASYNC_GEN_WRAP
        MAKE_FUNCTION SET_FUNCTION_ATTRIBUTE
        """,
    _CALLEE: """
        BEFORE_ASYNC_WITH GET_AITER GET_ANEXT GET_AWAITABLE
        """,
    _TYPE: "IS_OP MATCH_MAPPING MATCH_SEQUENCE CHECK_EXC_MATCH",
    _FUNCTION: "RESUME RETURN_VALUE RETURN_CONST RETURN_GENERATOR YIELD_VALUE",
    _EXCEPTION: """
        RERAISE PUSH_EXC_INFO POP_EXCEPT PREP_RERAISE_STAR CLEANUP_THROW
        CHECK_EG_MATCH END_ASYNC_FOR
        """,
    _OWN_CONTAINER: "LIST_APPEND SET_ADD MAP_ADD",
    _IMPORTS: "IMPORT_NAME IMPORT_STAR",
    _NAMESPACE: "SETUP_ANNOTATIONS LOAD_LOCALS",
    _CONSTANTS: "LOAD_BUILD_CLASS LOAD_ASSERTION_ERROR LOAD_COMMON_CONSTANT PRINT_EXPR",
    _NEVER_IN_CODE: "RESERVED INTERPRETER_EXIT EXIT_INIT_CHECK ENTER_EXECUTOR TRACE_RECORD",
    "does what its argument says, see ARGUMENTS": "CALL_INTRINSIC_2",
    TOLD: """
        LOAD_ATTR LOAD_METHOD LOAD_SUPER_ATTR STORE_ATTR DELETE_ATTR IMPORT_FROM MATCH_CLASS
        LOAD_GLOBAL LOAD_NAME LOAD_FROM_DICT_OR_GLOBALS STORE_GLOBAL DELETE_GLOBAL STORE_NAME
        DELETE_NAME LOAD_DEREF LOAD_CLASSDEREF LOAD_FROM_DICT_OR_DEREF STORE_DEREF DELETE_DEREF
        BINARY_SUBSCR STORE_SUBSCR DELETE_SUBSCR BINARY_SLICE STORE_SLICE CONTAINS_OP COMPARE_OP
        BINARY_OP GET_ITER GET_YIELD_FROM_ITER FOR_ITER SEND UNPACK_SEQUENCE UNPACK_EX LIST_EXTEND
        SET_UPDATE DICT_UPDATE DICT_MERGE GET_LEN MATCH_KEYS FORMAT_VALUE FORMAT_SIMPLE
        FORMAT_WITH_SPEC CONVERT_VALUE PRECALL CALL CALL_KW CALL_FUNCTION_EX
        UNARY_INVERT UNARY_NEGATIVE UNARY_POSITIVE
        TO_BOOL UNARY_NOT JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP
        POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_BACKWARD_IF_FALSE
        POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE RAISE_VARARGS
        CALL_INTRINSIC_1 BEFORE_WITH WITH_EXCEPT_START LOAD_SPECIAL
        """,
}

_EXCEPTIONS: Sequence[tuple[Version, Version, str, str]] = (
    ((3, 11), (3, 11), "CALL", "PRECALL has told its accesses"),
    (
        (3, 13),
        (3, 15),
        "UNARY_NOT POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE",
        "takes the bool that TO_BOOL or a comparison has made",
    ),
)
"""Where an instruction means something else from one version to another, both included."""

_BINARY = (
    *("ADD", "AND", "FLOOR_DIVIDE", "LSHIFT", "MATRIX_MULTIPLY", "MULTIPLY", "REMAINDER", "OR"),
    *("POWER", "RSHIFT", "SUBTRACT", "TRUE_DIVIDE", "XOR"),
)

ARGUMENTS: Mapping[str, Sequence[str]] = {
    "BINARY_OP": (
        *(f"NB_{name}" for name in _BINARY),
        *(f"NB_INPLACE_{name}" for name in _BINARY),
        "NB_SUBSCR",
    ),
    # Values of the interpreter; special methods, which are looked up on the type.
    "LOAD_COMMON_CONSTANT": (
        *("AssertionError", "NotImplementedError", "tuple", "all", "any", "list", "set"),
        *("None", "''", "True", "False", "-1"),
    ),
    "LOAD_SPECIAL": ("__enter__", "__exit__", "__aenter__", "__aexit__"),
    # Print shows what a line typed at a prompt computes; a star import fills the namespace of a
    # module that is being made; unary plus is told as the other unary operators; all others make
    # something new or move values of their frame.
    "CALL_INTRINSIC_1": (
        *("INTRINSIC_1_INVALID", "INTRINSIC_PRINT", "INTRINSIC_IMPORT_STAR"),
        *("INTRINSIC_STOPITERATION_ERROR", "INTRINSIC_ASYNC_GEN_WRAP", "INTRINSIC_UNARY_POSITIVE"),
        *("INTRINSIC_LIST_TO_TUPLE", "INTRINSIC_TYPEVAR", "INTRINSIC_PARAMSPEC"),
        *("INTRINSIC_TYPEVARTUPLE", "INTRINSIC_SUBSCRIPT_GENERIC", "INTRINSIC_TYPEALIAS"),
    ),
    "CALL_INTRINSIC_2": (
        *("INTRINSIC_2_INVALID", "INTRINSIC_PREP_RERAISE_STAR", "INTRINSIC_TYPEVAR_WITH_BOUND"),
        *("INTRINSIC_TYPEVAR_WITH_CONSTRAINTS", "INTRINSIC_SET_FUNCTION_TYPE_PARAMS"),
        "INTRINSIC_SET_TYPEPARAM_DEFAULT",
    ),
}
"""Instructions whose argument says what they do: the arguments that are known, from 0 on."""


def instruction_table(version: Version) -> dict[str, str]:
    """For each instruction of a version :data:`TOLD`, or why it accesses nothing shared.

    Parameters:
        version: one of :data:`~.instruction_sets.INSTRUCTION_SETS`.

    Raises:
        KeyError: for an instruction of the version that the table does not know.
    """
    meanings = {name: reason for reason, names in _REASONS.items() for name in names.split()}
    for first, last, names, reason in _EXCEPTIONS:
        if first <= version <= last:
            meanings.update(dict.fromkeys(names.split(), reason))
    instructions = INSTRUCTION_SETS[version]
    return {
        **{name: meanings[name] for name in instructions.plain},
        **dict.fromkeys(instructions.specialised, "co_code has the instruction it stands for"),
        **dict.fromkeys(instructions.instrumented, "co_code has the instruction it stands for"),
        **dict.fromkeys(instructions.pseudo, "the compiler's own, in no code object"),
    }


_HERE: Final = instruction_table(sys.version_info[:2])


def is_told(name: str) -> bool:
    """Whether the running version has the instruction and its accesses are told."""
    return _HERE.get(name) == TOLD


def unknown_reason(name: str, argument: int) -> str:
    """Why code with an instruction can't be judged; empty if it is known.

    Parameters:
        name: of the instruction, as in ``dis.opname``.
        argument: of it, complete.
    """
    if name not in _HERE:
        return f"nothing is known of its instruction {name}"
    known = ARGUMENTS.get(name)
    if known is not None and argument >= len(known):
        return f"nothing is known of its instruction {name} {argument}"
    return ""
