"""What is known of the stack before an instruction: a call of unknown slots is not told."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType

import pytest

from bohrbug.runtime.threads.rewrite import opcodes
from bohrbug.runtime.threads.rewrite.codec import decode
from bohrbug.runtime.threads.rewrite.producers import PUSHES_NOTHING, stack_producers

_LEAVES_ITS_RESULT = frozenset(
    """
    UNARY_POSITIVE UNARY_NEGATIVE UNARY_NOT UNARY_INVERT TO_BOOL BINARY_SUBSCR BINARY_SLICE
    BINARY_OP COMPARE_OP IS_OP CONTAINS_OP CHECK_EXC_MATCH CHECK_EG_MATCH GET_AITER GET_ITER
    GET_YIELD_FROM_ITER GET_AWAITABLE LIST_TO_TUPLE YIELD_VALUE ASYNC_GEN_WRAP PREP_RERAISE_STAR
    UNPACK_SEQUENCE UNPACK_EX SWAP BUILD_TUPLE BUILD_LIST BUILD_SET BUILD_MAP BUILD_CONST_KEY_MAP
    BUILD_SLICE BUILD_STRING BUILD_TEMPLATE BUILD_INTERPOLATION LOAD_ATTR LOAD_SUPER_ATTR
    LOAD_FROM_DICT_OR_GLOBALS LOAD_FROM_DICT_OR_DEREF IMPORT_NAME SEND MAKE_FUNCTION
    SET_FUNCTION_ATTRIBUTE CALL CALL_KW CALL_FUNCTION_EX CALL_INTRINSIC_1 CALL_INTRINSIC_2
    MATCH_CLASS FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE
    """.split()
)
"""Instructions that take at least as many values as they leave, and leave one."""

_NEVER_IN_CODE = frozenset({"RESERVED", "EXIT_INIT_CHECK", "ENTER_EXECUTOR"})


def _effects(opcode: int) -> Iterator[int]:
    for arg in range(6):
        for jump in (False, True):
            try:
                yield opcodes.stack_effect(opcode, arg, jump)
            except ValueError:
                continue


def test_each_instruction_is_known_to_leave_a_value_or_none() -> None:
    """A new one that leaves none made the values below it unknown: NOT_TAKEN, of Python 3.14."""
    in_code = {
        opcode: name
        for name, opcode in dis.opmap.items()
        if opcode < dis.opmap.get("INSTRUMENTED_RESUME", 256)
        and not name.startswith("INSTRUMENTED")
    }
    unknown = {
        name
        for opcode, name in in_code.items()
        if opcode not in PUSHES_NOTHING
        and name not in _LEAVES_ITS_RESULT | _NEVER_IN_CODE
        and min(_effects(opcode), default=1) <= 0
    }
    assert not unknown


_CALLS = {
    "condition": "f(1 if a else 2)",
    "two conditions": "f(1 if a else 2, b if a else c)",
    "or": "f(a or b)",
    "and": "f(a and b, c)",
    "comparisons": "f(1 < a < b < 3)",
    "not": "f(not a, not b)",
    "by keyword": "f(a, key=1 if a else 2)",
    "of a method": "a.f(1 if a else 2)",
    "on a condition": "(a if b else c).f(1 if a else 2)",
    "of a condition": "(a.f if b else c.f)(1)",
    "comprehension": "f([each for each in a if each])",
    "comprehension with calls": "f({each: g(each) for each in a if g(each)})",
    "expression": "f(each for each in a if each)",
    "lambda": "f(lambda: g(1 if a else 2))",
    "name": "f(d := a or b)",
    "text": "f(f'{a if b else c:{1 if a else 2}}')",
    "call": "f(g(1 if a else 2), g(a or b, key=c and a))",
    "item": "f(a[b or c], a[b:c or 1])",
    "attribute": "f((a or b).c, not (a and b).c)",
    "loop": "for a in b:\n  if a: f(a or 1)\n  else: continue\n  f(b if a else c)",
    "with": "with a as b, c:\n  f(a or b)",
    "with and return": "def inner():\n with a:\n  try: f(a or b)\n  except b: return c",
    "with and finally": "def inner():\n with a:\n  try: f(a)\n  finally: f(c or b)",
    "with and except": "with a:\n try: f(a)\n except b: g(1 if b else 2)",
    "with in a loop": "for a in b:\n with c:\n  try: f(a)\n  except b: continue\n  except c: break",
    "with in with": "def inner():\n with a:\n  with b:\n   try: f(a)\n   except c: return f(b)",
    "decorator": "@a.f\ndef inner(): ...",
    "decorators": "@a\n@b(1 if a else 2)\nclass Inner: ...",
    "await": "async def inner():\n f(await a or await b)\n async with a: f(b or c)",
    "yield": "def inner():\n f((yield a) or (yield b))",
    "match": "match a:\n case [b, *c] if f(b or c): g(a or b)\n case {'b': b}: f(b)",
    "super": "class Inner(b):\n def inner(self): super().f(a or b)",
    "assertion": "assert a, f(b or c)",
}


# Up to Python 3.11 the arguments are gone once the instruction before the call is over.
_CALLING = ("PRECALL",) if "PRECALL" in dis.opmap else ("CALL", "CALL_KW")


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


@pytest.mark.parametrize("place", ["module", "function"])
@pytest.mark.parametrize("text", _CALLS.values(), ids=_CALLS)
def test_what_lies_in_the_slots_of_a_call_is_known(text: str, place: str) -> None:
    if place == "function":
        lines = "\n ".join(["async def outer(a, b, c, f, g):", *text.splitlines()])
        text = f"{lines}\n"
    for code in _codes(compile(text, "<text>", "exec")):
        instructions = decode(code)
        for instruction, stack in zip(
            instructions, stack_producers(code, instructions), strict=True
        ):
            name = opcodes.NAMES[instruction.opcode]
            if stack is None or name not in _CALLING:
                continue
            above = instruction.arg + (1 if name == "CALL_KW" else 0)
            slots = stack[len(stack) - above - 2 : len(stack) - above]
            slot = slots[1 if opcodes.NULL_FOLLOWS_CALLABLE else 0]
            assert slot is not None, (code.co_name, instruction.offset, sys.version_info)
