"""Which instructions made the values that lie on the stack before each instruction.

The rewriter asks where it matters: whether a slot of a call is empty, which must never be passed
to a hook; whether a value is a constant, or the result of a comparison.
"""

from __future__ import annotations

import dis
from types import CodeType

from bohrbug.runtime.threads.rewrite import opcodes
from bohrbug.runtime.threads.rewrite.codec import JUMPS, Instruction, decode_exception_table

Producer = tuple[int, int, int]
"""What made a value on the stack: index of the instruction, its opcode, which of its results."""


class CannotRewrite(Exception):
    """A code object that is left as it is; the message says why."""


def stack_producers(
    code: CodeType, instructions: list[Instruction]
) -> list[tuple[Producer | None, ...] | None]:
    """For each instruction, which instructions made the values on the stack before it.

    ``None`` for instructions that can't be reached.
    """
    index_at = {instruction.start: index for index, instruction in enumerate(instructions)}
    states: list[tuple[Producer | None, ...] | None] = [None] * (len(instructions) + 1)
    handlers: dict[int, list[tuple[int, int, int]]] = {}
    for entry in decode_exception_table(code.co_exceptiontable):
        start, target = index_at[entry.start], index_at[entry.target]
        if target <= start:
            states[target] = (None,) * (entry.depth + entry.push_offset + 1)
        else:
            handlers.setdefault(start, []).append((target, entry.depth, entry.push_offset + 1))
    current: tuple[Producer | None, ...] | None = ()
    for index, instruction in enumerate(instructions):
        opcode = instruction.opcode
        known = states[index]
        if current is None:
            current = known
        elif known is None:
            states[index] = current
        elif len(known) == len(current):
            # Where branches join, a value has one producer only if both agree.
            if known != current:
                current = states[index] = tuple(
                    one if one == other else None for one, other in zip(known, current, strict=True)
                )
        else:
            raise CannotRewrite(f"stack depth unclear at offset {instruction.offset}")
        for target, depth, pushed in handlers.get(index, ()):
            # What lay on the stack before the block is still there where an exception is handled:
            # the ``__exit__`` of a ``with`` around it, say.
            kept = (None,) * depth if current is None else current[:depth]
            _join(states, target, (*kept, *(None,) * pushed))
        if current is None:
            continue
        if opcode in JUMPS:
            target = index_at[instruction.jump_target]
            if target > index:
                _join(states, target, _after(current, index, instruction, True))
        current = (
            None if opcode in opcodes.ENDS_BLOCK else _after(current, index, instruction, False)
        )
    return states[: len(instructions)]


def _join(
    states: list[tuple[Producer | None, ...] | None],
    target: int,
    after: tuple[Producer | None, ...],
) -> None:
    """An instruction can also be reached with these values on the stack."""
    other = states[target]
    if other is None:
        states[target] = after
    elif len(other) == len(after):
        states[target] = tuple(
            one if one == two else None for one, two in zip(other, after, strict=True)
        )


PUSHES_NOTHING = frozenset(
    op
    for op, name in enumerate(dis.opname)
    if name.startswith(("STORE_", "DELETE_", "POP_", "RETURN_", "JUMP", "END_", "COPY_FREE"))
    or name
    in (
        *("LIST_APPEND", "SET_ADD", "MAP_ADD", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE"),
        *("DICT_MERGE", "RAISE_VARARGS", "RERAISE", "NOP", "RESUME", "MAKE_CELL", "KW_NAMES"),
        *("PRECALL", "SETUP_ANNOTATIONS", "CLEANUP_THROW", "FOR_ITER", "NOT_TAKEN"),
        *("CACHE", "EXTENDED_ARG", "INTERPRETER_EXIT", "PRINT_EXPR", "IMPORT_STAR"),
    )
)
"""Instructions that leave nothing on the stack of their own; the others that take as many values as
they leave, or more, leave one, or several if they are taken apart below."""


_CONSUME_ONE = frozenset(
    {"UNPACK_SEQUENCE", "UNPACK_EX", "LOAD_SPECIAL", "BEFORE_WITH", "BEFORE_ASYNC_WITH"}
    | ({"GET_ITER"} if opcodes.PY315 else set())
)


def _consumed(name: str, opcode: int, arg: int) -> int:
    """How many values an instruction takes from the stack that leaves more than it found."""
    return int(name in _CONSUME_ONE or opcodes.is_method_load(opcode, arg))


def _after(
    stack: tuple[Producer | None, ...], index: int, instruction: Instruction, jump: bool
) -> tuple[Producer | None, ...]:
    opcode, arg = instruction.opcode, instruction.arg
    name = opcodes.NAMES[opcode]
    effect = opcodes.stack_effect(opcode, arg, jump)
    me = (index, opcode, 0)
    if name == "SWAP":
        values = list(stack)
        values[-1], values[-arg] = values[-arg], values[-1]
        return tuple(values)
    if name == "COPY":
        return (*stack, stack[-arg])
    if name == "STORE_FAST_LOAD_FAST":
        return (*stack[:-1], me)
    if effect > 0:
        consumed = _consumed(name, opcode, arg)
        results = ((index, opcode, number) for number in range(effect + consumed))
        return (*stack[: len(stack) - consumed], *results)
    kept = len(stack) + effect
    if kept < 0:
        raise CannotRewrite(f"stack underflow at offset {instruction.offset}")
    if opcode in PUSHES_NOTHING or not kept or (name == "UNPACK_SEQUENCE" and not arg):
        return stack[:kept]
    if opcodes.is_method_load(opcode, arg):
        return (*stack[: kept - 2], me, (index, opcode, 1))
    return (*stack[: kept - 1], me)
