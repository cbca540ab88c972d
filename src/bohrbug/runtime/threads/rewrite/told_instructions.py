"""What is told of each instruction, and by which hook; of calls see :mod:`.told_calls`."""

from __future__ import annotations

import dis
from collections.abc import Callable, Mapping
from typing import Any

from bohrbug.runtime.threads.rewrite import (
    class_patterns,
    executed,
    hooks,
    iteration,
    methods_in_c,
    opcodes,
    operators,
    told_calls,
)
from bohrbug.runtime.threads.rewrite.attributes import (
    STORED_SPECIAL_METHODS,
    is_stored,
    note_stored,
    read_kinds,
    write_kinds,
)
from bohrbug.runtime.threads.rewrite.codec import Instruction, encode_instruction
from bohrbug.runtime.threads.rewrite.instruction_table import ARGUMENTS, is_told
from bohrbug.runtime.threads.rewrite.operands import Operands
from bohrbug.runtime.threads.rewrite.producers import Producer
from bohrbug.runtime.threads.rewrite.rewriting import Rewriting

_UNARY_POSITIVE = ARGUMENTS["CALL_INTRINSIC_1"].index("INTRINSIC_UNARY_POSITIVE")

Handler = Callable[[Rewriting, int, Instruction, Any], None]


def _load_attribute(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    opcode, arg = instruction.opcode, instruction.arg
    name = into.code.co_names[opcodes.attribute_name_index(opcode, arg)]
    instead = None
    if opcodes.is_method_load(opcode, arg):
        instead = opcodes.plain_attribute_load(opcode, arg)
    before = into.call(hooks.read_attribute, (1,), name, read_kinds(name), into.place(instruction))
    into.put(index, before=before, instead=instead)


def _import_from(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    name = into.code.co_names[instruction.arg]
    values = (name, read_kinds(name), into.place(instruction))
    into.put(index, before=into.call(hooks.read_attribute, (1,), *values))


def _load_super_attribute(
    into: Rewriting, index: int, instruction: Instruction, stack: Any
) -> None:
    opcode, arg = instruction.opcode, instruction.arg
    name = into.code.co_names[opcodes.attribute_name_index(opcode, arg)]
    is_method = opcodes.is_method_load(opcode, arg)
    instead = opcodes.plain_attribute_load(opcode, arg) if is_method else None
    before = b""
    # The special methods of a base are hardly ever exchanged, and often called.
    if not is_method or name[:2] != "__" or is_stored(name):
        place = into.place(instruction)
        before = into.call(hooks.read_super_attribute, (2, 1), name, place)
    into.put(index, before=before, instead=instead)


def _store_attribute(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    name = into.code.co_names[instruction.arg]
    note_stored(name)
    before = into.call(
        hooks.write_attribute, (1,), name, write_kinds(name), into.place(instruction)
    )
    into.put(index, before=before)
    if methods_in_c.may_be_called(name) and opcodes.NAMES[instruction.opcode] == "STORE_ATTR":
        # What is stored lies below its owner.
        swap = encode_instruction(opcodes.SWAP, 2)
        told = opcodes.begin_call(into.constant(methods_in_c.telling_for_owner))
        told += encode_instruction(opcodes.COPY, 3) + encode_instruction(opcodes.COPY, 5)
        told += encode_instruction(opcodes.LOAD_CONST, into.constant(name))
        into.put(index, before=swap + told + opcodes.end_call_for_top(3) + swap)


def _load_global(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    _read_global(into, index, instruction, into.code.co_names[instruction.arg >> 1])


def _load_name(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    name = into.code.co_names[instruction.arg]
    if into.is_module and into.view.may_change(name):
        _touch_global(into, executed.read_name, index, instruction, name)
    elif name not in into.class_names:
        _read_global(into, index, instruction, name)


def _load_from_dict_or_globals(
    into: Rewriting, index: int, instruction: Instruction, stack: Any
) -> None:
    _read_global(into, index, instruction, into.code.co_names[instruction.arg])


def _read_global(into: Rewriting, index: int, instruction: Instruction, name: str) -> None:
    if into.view.may_change(name):
        is_builtin = into.view.is_builtin(name)
        hook = hooks.read_builtin if is_builtin else hooks.read_global
        _touch_global(into, hook, index, instruction, name)


def _touch_global(
    into: Rewriting, hook: Callable[..., None], index: int, instruction: Instruction, name: str
) -> None:
    before = into.call(hook, (), into.view.holder, name, into.place(instruction))
    into.put(index, before=before)


def _store_global(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    name = into.code.co_names[instruction.arg]
    _touch_global(into, hooks.write_global, index, instruction, name)


def _store_name(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    name = into.code.co_names[instruction.arg]
    if into.is_module:
        _touch_global(into, executed.write_name, index, instruction, name)
    elif not _makes_function(into, index):
        told = opcodes.begin_call(into.constant(methods_in_c.telling_for_class))
        told += encode_instruction(opcodes.COPY, 3)
        told += encode_instruction(opcodes.LOAD_CONST, into.constant(name))
        into.put(index, before=told + opcodes.end_call_for_top(2))


def _makes_function(into: Rewriting, index: int) -> bool:
    """Whether what an instruction stores is a function in Python, or a constant."""
    return index > 0 and opcodes.NAMES[into.instructions[index - 1].opcode] in (
        *("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "LOAD_CONST", "LOAD_SMALL_INT"),
    )


def _load_cell(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    _touch_cell(into, hooks.read_cell, index, instruction)


def _store_cell(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    _touch_cell(into, hooks.write_cell, index, instruction)


def _touch_cell(
    into: Rewriting, hook: Callable[..., None], index: int, instruction: Instruction
) -> None:
    name = into.variables[instruction.arg]
    is_constant = name in into.own_constant_cells | into.constant_cells
    if name == "__class__" or (is_constant and not is_stored("cell_contents")):
        return
    before = opcodes.begin_call(into.constant(hook))
    before += encode_instruction(opcodes.LOAD_CELL, instruction.arg)
    number = into.constant(into.place(instruction))
    before += encode_instruction(opcodes.LOAD_CONST, number)
    into.put(index, before=before + opcodes.end_call(2))


def _binary_operation(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    hook: Callable[..., None]
    if opcodes.is_subscript(instruction.arg):
        hook = hooks.read_item
    elif not opcodes.multiplies(instruction.arg) and (
        _is_scalar(into, stack[-1]) or _is_scalar(into, stack[-2])
    ):
        return
    elif opcodes.is_in_place(instruction.arg):
        hook = operators.binary_in_place
    else:
        hook = operators.binary
    into.put(index, before=into.call(hook, (2, 1), into.place(instruction)))


def _intrinsic(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    if instruction.arg == _UNARY_POSITIVE:
        into.put(index, before=into.call(hooks.read_whole, (1,), into.place(instruction)))


def _store_subscript(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    if _is_slice(into, stack[-1]):
        before = into.call(operators.store_slice, (3, 2), into.place(instruction))
    else:
        before = into.call(hooks.write_item, (2, 1), into.place(instruction))
    into.put(index, before=before)


def _is_slice(into: Rewriting, producer: Producer | None) -> bool:
    if producer is None:
        return False
    if opcodes.NAMES[producer[1]] == "BUILD_SLICE":
        return True
    return producer[1] == opcodes.LOAD_CONST and isinstance(
        into.code.co_consts[into.instructions[producer[0]].arg], slice
    )


def _compare(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    if not (_is_scalar(into, stack[-1]) or _is_scalar(into, stack[-2])):
        into.put(index, before=into.call(operators.compare, (2, 1), into.place(instruction)))


def _is_scalar(into: Rewriting, producer: Producer | None) -> bool:
    """Whether a value is a constant that containers are combined with by ``*`` only, if at all."""
    if producer is None or STORED_SPECIAL_METHODS or Operands.are_there():
        return False
    if opcodes.NAMES[producer[1]] in ("LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT"):
        return True
    if producer[1] != opcodes.LOAD_CONST:
        return False
    value = into.code.co_consts[into.instructions[producer[0]].arg]
    return isinstance(value, int | float | complex | None)


def _match_class(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    """``case Class(...)``: reads the attributes that the pattern names, or its positions."""
    place = into.place(instruction)
    before = into.call(class_patterns.match_class, (3, 2, 1), instruction.arg, place)
    into.put(index, before=before)


def _loads_implicit_parameter(into: Rewriting, index: int) -> bool:
    """Whether an instruction pushes ``.0``, what a comprehension iterates over."""
    instruction = into.instructions[index]
    if opcodes.NAMES[instruction.opcode] == "GET_ITER":
        # Since Python 3.15 a generator expression does it itrewriting.
        return _loads_implicit_parameter(into, index - 1)
    return (
        opcodes.NAMES[instruction.opcode] in opcodes.LOADS_OF_LOCALS
        and into.variables[instruction.arg] == ".0"
    )


def _test_truth(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    producer = stack[-1]
    if producer is not None:
        name = opcodes.NAMES[producer[1]]
        if name in opcodes.BOOLEAN_RESULTS or name == "COMPARE_OP":
            return
    into.put(index, before=into.call(hooks.read_whole, (1,), into.place(instruction)))


def _format_value(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    with_specification = opcodes.NAMES[instruction.opcode] == "FORMAT_WITH_SPEC" or (
        opcodes.NAMES[instruction.opcode] == "FORMAT_VALUE" and bool(instruction.arg & 4)
    )
    depth = 2 if with_specification else 1
    into.put(index, before=into.call(operators.format_value, (depth,), into.place(instruction)))


def _peeking(hook: Callable[..., None], *depths: int) -> Handler:
    """A handler that gives a hook values from fixed depths of the stack."""

    def handle(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
        into.put(index, before=into.call(hook, depths, into.place(instruction)))

    return handle


def _step_of_loop(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    producer = stack[-opcodes.ITERATOR_DEPTH]
    # The iterator of a comprehension is also its parameter, called ".0".
    implicit = producer is not None and _loads_implicit_parameter(into, producer[0])
    hook = iteration.step_of_comprehension if implicit else iteration.step
    depths = (opcodes.ITERATOR_DEPTH,)
    into.put(index, before=into.call(hook, depths, into.place(instruction)))


BY_NAME: Mapping[str, Handler] = {
    "LOAD_ATTR": _load_attribute,
    "LOAD_METHOD": _load_attribute,
    "LOAD_SUPER_ATTR": _load_super_attribute,
    "IMPORT_FROM": _import_from,
    "MATCH_CLASS": _match_class,
    "STORE_ATTR": _store_attribute,
    "DELETE_ATTR": _store_attribute,
    "LOAD_GLOBAL": _load_global,
    "LOAD_NAME": _load_name,
    "LOAD_FROM_DICT_OR_GLOBALS": _load_from_dict_or_globals,
    "STORE_GLOBAL": _store_global,
    "DELETE_GLOBAL": _store_global,
    "STORE_NAME": _store_name,
    "DELETE_NAME": _store_name,
    "LOAD_DEREF": _load_cell,
    "LOAD_CLASSDEREF": _load_cell,
    "LOAD_FROM_DICT_OR_DEREF": _load_cell,
    "STORE_DEREF": _store_cell,
    "DELETE_DEREF": _store_cell,
    "BINARY_SUBSCR": _peeking(hooks.read_item, 2, 1),
    "STORE_SUBSCR": _store_subscript,
    "DELETE_SUBSCR": _peeking(hooks.delete_item, 2, 1),
    "BINARY_SLICE": _peeking(hooks.read_slice, 3, 2, 1),
    "STORE_SLICE": _peeking(operators.store_slice, 4, 3),
    "CONTAINS_OP": _peeking(operators.contains, 2, 1),
    "COMPARE_OP": _compare,
    "BINARY_OP": _binary_operation,
    **dict.fromkeys(
        ("UNARY_INVERT", "UNARY_NEGATIVE", "UNARY_POSITIVE"), _peeking(hooks.read_whole, 1)
    ),
    "CALL_INTRINSIC_1": _intrinsic,
    "GET_ITER": _peeking(iteration.iterate, 1),
    "GET_YIELD_FROM_ITER": _peeking(iteration.iterate, 1),
    "FOR_ITER": _step_of_loop,
    "SEND": _peeking(iteration.step, opcodes.ITERATOR_DEPTH + 1),
    "UNPACK_SEQUENCE": _peeking(iteration.consume, 1),
    "UNPACK_EX": _peeking(iteration.consume, 1),
    "LIST_EXTEND": _peeking(iteration.consume, 1),
    "SET_UPDATE": _peeking(iteration.consume, 1),
    "DICT_UPDATE": _peeking(iteration.consume, 1),
    "DICT_MERGE": _peeking(iteration.consume, 1),
    "GET_LEN": _peeking(hooks.read_whole, 1),
    "MATCH_KEYS": _peeking(hooks.read_whole, 2),
    "FORMAT_VALUE": _format_value,
    "FORMAT_SIMPLE": _format_value,
    "FORMAT_WITH_SPEC": _format_value,
    "CONVERT_VALUE": _format_value,
    "PRECALL": told_calls.call_function,
    "CALL": told_calls.call_function,
    "CALL_KW": told_calls.call_function,
    "CALL_FUNCTION_EX": told_calls.call_with_star,
    "RAISE_VARARGS": told_calls.raise_error,
    "BEFORE_WITH": told_calls.begin_with,
    "LOAD_SPECIAL": told_calls.begin_with,
    "WITH_EXCEPT_START": told_calls.leave_with,
    **dict.fromkeys(
        (
            *("TO_BOOL", "UNARY_NOT", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"),
            *("POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_FORWARD_IF_TRUE"),
            *("POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_TRUE"),
            *("POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE"),
        ),
        _test_truth,
    ),
}
"""One for each instruction that is :data:`~.instruction_table.TOLD` in some version."""

HANDLERS: Mapping[int, Handler] = {
    dis.opmap[name]: handler for name, handler in BY_NAME.items() if is_told(name)
}
