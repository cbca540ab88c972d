"""What is told of the instructions that call, raise, and enter and leave ``with`` blocks."""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable
from types import FunctionType
from typing import Any
from weakref import ReferenceType

from bohrbug.runtime.threads.rewrite import (
    c_code,
    constructors,
    keyword_arguments,
    opcodes,
    raising,
    with_statements,
)
from bohrbug.runtime.threads.rewrite.attributes import (
    STORED_SPECIAL_METHODS,
    is_stored,
    stores_parts_of_functions,
)
from bohrbug.runtime.threads.rewrite.classes import FOREIGN
from bohrbug.runtime.threads.rewrite.codec import Instruction, encode_instruction
from bohrbug.runtime.threads.rewrite.functions_table import reads_items
from bohrbug.runtime.threads.rewrite.operands import READING, Operands
from bohrbug.runtime.threads.rewrite.producers import Producer
from bohrbug.runtime.threads.rewrite.rewriting import Rewriting

_CONSTANT_LOADS = frozenset(
    dis.opmap[name]
    for name in ("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT")
    if name in dis.opmap
)

_HARMLESS_BUILTINS = frozenset(map(id, (id, ord, chr, globals, locals)))


def call_function(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    """A call with positional arguments, and perhaps keyword arguments behind them."""
    name = opcodes.NAMES[instruction.opcode]
    count = positional = instruction.arg
    skipped = 0
    first = index
    keywords: tuple[str, ...] | None = ()
    if name == "CALL_KW":
        skipped = 1
        keywords = _keywords(into, stack[-1])
    elif index and opcodes.NAMES[into.instructions[index - 1].opcode] == "KW_NAMES":
        first = index - 1
        keywords = into.code.co_consts[into.instructions[first].arg]
    if keywords is None:
        return
    positional -= len(keywords)
    bottom = len(stack) - skipped - count - 2
    if bottom < 0 or positional < 0:
        return
    top = len(stack)
    if _ends_with(into, first, stack[bottom]):
        _tell_exit(into, first, instruction, top - bottom)
        return
    callable_depth: int | None
    if _has_self(into, stack, bottom):
        # Which is the first argument, as that of a decorator is.
        callable_depth = top - bottom
        bottom, count, positional = bottom - 1, count + 1, positional + 1
        if _is_of_python(into, stack[-callable_depth]):
            return
    else:
        callable_depth = _callable_depth(into, stack, bottom)
    if callable_depth is None:
        return
    if positional and not _IN_FOLDERS.isdisjoint(keywords):
        _tell_call_in_folders(into, first, instruction, callable_depth, top - bottom - 2, keywords)
        return
    numbers = list(range(min(positional, 3)))
    if not positional and not keyword_arguments.FIRST.isdisjoint(keywords):
        numbers = [next(at for at, name in enumerate(keywords) if name in keyword_arguments.FIRST)]
        numbers += [at for at, name in enumerate(keywords) if name in keyword_arguments.SECOND][:1]
    if positional == 1 and "mode" in keywords:
        # Of functions with a keyword "mode", such as "open", that is the second argument.
        numbers.append(1 + keywords.index("mode"))
    by_count = (c_code.call0, c_code.call1, c_code.call2, c_code.call3)
    hook: Callable[..., None] = by_count[len(numbers)]
    if not positional and {"file", "mode"} <= {*keywords}:
        # Of "open".
        numbers = [keywords.index("file"), keywords.index("mode")]
        hook = c_code.call2
    elif "file" in keywords:
        # Of "print", of "open" that reads, or of "pickle.dump".
        has_one = positional == 1 or (not positional and bool(numbers))
        numbers = [*(numbers[:1] if has_one else ()), positional + keywords.index("file")]
        hook = (
            keyword_arguments.call_with_one_and_file
            if has_one
            else keyword_arguments.call_with_file
        )
    depths = tuple(top - (bottom + 2 + number) for number in numbers)
    place = into.place(instruction)
    for number in range(count):
        depth = top - (bottom + 2 + number)
        if depth not in depths and not _is_constant(into, stack[-depth]):
            before = into.call(c_code.further_argument, (callable_depth, depth), place)
            into.put(first, before=before)
    # The last one, just before the call: by that it is known what begins in its middle.
    into.put(first, before=into.call(hook, (callable_depth, *depths), place))


_IN_FOLDERS = frozenset({"dir_fd", "src_dir_fd", "dst_dir_fd"})
"""Keywords of functions whose paths are relative to the folder that a descriptor is of."""


def _tell_call_in_folders(
    into: Rewriting,
    first: int,
    instruction: Instruction,
    callable_depth: int,
    depth: int,
    keywords: tuple[str, ...],
) -> None:
    """A call with such keywords; ``depth`` is that of its first argument."""
    positional = instruction.arg - len(keywords)
    count = min(positional, 2)
    # Of the two paths of "symlink" the second is that of a file, and it has a "dir_fd".
    folders = [("src_dir_fd", "dir_fd"), ("dst_dir_fd", "dir_fd")][:count]
    output = opcodes.begin_call(into.constant(keyword_arguments.call_in_folder))
    pushed = 2
    for each in (callable_depth, *(depth - number for number in range(count))):
        output += encode_instruction(opcodes.COPY, each + pushed)
        pushed += 1
    for names in folders:
        at = next((keywords.index(name) for name in names if name in keywords), None)
        if at is None:
            output += encode_instruction(opcodes.LOAD_CONST, into.constant(None))
        else:
            output += encode_instruction(opcodes.COPY, depth - positional - at + pushed)
        pushed += 1
    output += encode_instruction(opcodes.LOAD_CONST, into.constant(into.place(instruction)))
    into.put(first, before=output + opcodes.end_call(pushed - 2 + 1))


def begin_with(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    """A ``with`` block is entered."""
    if opcodes.begins_with(instruction.opcode, instruction.arg):
        place = into.place(instruction)
        into.put(index, before=into.call(with_statements.enter_block, (1,), place))


def leave_with(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    """The block of a ``with`` ends by an exception."""
    _tell_exit(into, index, instruction, 5 if opcodes.EXIT_HAS_SELF else 4)


def _ends_with(into: Rewriting, first: int, bottom: Producer | None) -> bool:
    """Whether a call is that of an ``__exit__``, and that of the end of the block."""
    if bottom is None or opcodes.NAMES[bottom[1]] not in ("BEFORE_WITH", "LOAD_SPECIAL"):
        return False
    loads = into.instructions[first - 3 : first]
    return all(instruction.opcode in _CONSTANT_LOADS for instruction in loads)


def _tell_exit(into: Rewriting, index: int, instruction: Instruction, depth: int) -> None:
    place = into.place(instruction)
    if not opcodes.EXIT_HAS_SELF:
        into.put(index, before=into.call(with_statements.leave_block, (depth,), place))
        return
    output = opcodes.begin_call_of_same(into.constant(with_statements.leave_block), depth)
    output += encode_instruction(opcodes.COPY, depth + 2)
    output += encode_instruction(opcodes.LOAD_CONST, into.constant(place))
    into.put(index, before=output + opcodes.end_call(2))


def _is_constant(into: Rewriting, producer: Producer | None) -> bool:
    return producer is not None and producer[1] in _CONSTANT_LOADS


def _keywords(into: Rewriting, producer: Producer | None) -> tuple[str, ...] | None:
    """The names of the keyword arguments, if they are known."""
    if producer is None or producer[1] != opcodes.LOAD_CONST:
        return None
    names = into.code.co_consts[into.instructions[producer[0]].arg]
    return names if isinstance(names, tuple) else None


def _callable_depth(into: Rewriting, stack: Any, bottom: int) -> int | None:
    """How deep the callable lies, or ``None`` where the slot for ``self`` may be used.

    The slot must be known to hold ``NULL``, which must never be passed to a hook.
    """
    callable_slot, null_slot = (
        (bottom, bottom + 1) if opcodes.NULL_FOLLOWS_CALLABLE else (bottom + 1, bottom)
    )
    null, callable_ = stack[null_slot], stack[callable_slot]
    if null is None:
        return None
    if opcodes.NAMES[null[1]] != "PUSH_NULL" and (
        not _makes_pair(into, null) or null[2] != null_slot - bottom
    ):
        return None
    return None if _is_of_python(into, callable_) else len(stack) - callable_slot


def _makes_pair(into: Rewriting, producer: Producer) -> bool:
    """Whether an instruction leaves a callable, and ``NULL`` or the object of a method."""
    source = into.instructions[producer[0]]
    is_global = opcodes.NAMES[producer[1]] == "LOAD_GLOBAL" and bool(source.arg & 1)
    return is_global or opcodes.is_method_load(source.opcode, source.arg)


def _has_self(into: Rewriting, stack: Any, bottom: int) -> bool:
    """Whether the slot that may be ``NULL`` is known to hold a value, so that both are in use."""
    producer = stack[bottom + 1 if opcodes.NULL_FOLLOWS_CALLABLE else bottom]
    return (
        producer is not None
        and opcodes.NAMES[producer[1]] not in _MAY_LEAVE_NULL
        and not _makes_pair(into, producer)
    )


_MAY_LEAVE_NULL = frozenset(
    {"PUSH_NULL", "LOAD_SPECIAL", "BEFORE_WITH", "BEFORE_ASYNC_WITH", "LOAD_FAST_AND_CLEAR"}
)


def _is_of_python(into: Rewriting, producer: Producer | None) -> bool:
    """Whether what is called is for ever a function written in Python, which tells for itself."""
    if producer is None:
        return False
    name, arg = opcodes.NAMES[producer[1]], into.instructions[producer[0]].arg
    if name == "LOAD_GLOBAL":
        return _is_python_global(into, into.code.co_names[arg >> 1])
    return name in _MAKES_NOTHING_IN_C


_MAKES_NOTHING_IN_C = frozenset(
    {"MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT"}
)
"""Instructions that leave a function in Python, or ``AssertionError``, if it is called."""


def _is_python_global(into: Rewriting, name: str) -> bool:
    """Whether a global is for ever a function written in Python, so that calls tell nothing."""
    if into.view.may_change(name):
        return False
    value: Any = into.view.namespace.get(name, vars(builtins).get(name))
    return (
        (type(value) is FunctionType and not stores_parts_of_functions())
        or id(value) in _HARMLESS_BUILTINS
        or (value is callable and not STORED_SPECIAL_METHODS)
        or (value is issubclass and not is_stored("__bases__"))
        or (
            issubclass(type(value), type)
            and not issubclass(value, type)
            and not reads_items(value)
            and not STORED_SPECIAL_METHODS
            and not (value in READING and Operands.are_there())
            and not issubclass(value, ReferenceType)
            and not FOREIGN[value]
            and constructors.TELLERS[value] is None
        )
    )


def raise_error(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    """``raise``, with an exception and perhaps its cause."""
    if instruction.arg:
        hook = raising.raise_error if instruction.arg == 1 else raising.raise_with_cause
        into.put(index, before=into.call(hook, (instruction.arg,), into.place(instruction)))


def call_with_star(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    """``function(*arguments, **keywords)``."""
    arguments = opcodes.arguments_above_callable(instruction.arg)
    callable_depth = arguments + (2 if opcodes.NULL_FOLLOWS_CALLABLE else 1)
    place = into.place(instruction)
    if arguments == 2 and stack[-1] is not None and opcodes.NAMES[stack[-1][1]] != "PUSH_NULL":
        hook = keyword_arguments.call_star_with_keywords
        into.put(index, before=into.call(hook, (callable_depth, arguments, 1), place))
        return
    before = into.call(c_code.call_star, (callable_depth, arguments), place)
    into.put(index, before=before)
