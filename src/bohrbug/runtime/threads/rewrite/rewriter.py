"""From a code object to one that tells its accesses to shared data before making them."""

from __future__ import annotations

from types import CodeType
from typing import Any

from bohrbug.runtime.threads.rewrite import halfway, hooks, opcodes, tell
from bohrbug.runtime.threads.rewrite.codec import Instruction, splice
from bohrbug.runtime.threads.rewrite.instruction_table import unknown_reason
from bohrbug.runtime.threads.rewrite.module_globals import GlobalsView
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.producers import CannotRewrite, stack_producers
from bohrbug.runtime.threads.rewrite.rewriting import Rewriting
from bohrbug.runtime.threads.rewrite.told_instructions import HANDLERS

EXTRA_STACK = 9
"""The deepest hook call: hook, NULL, callable, two arguments, two folders, place, and a spare."""


def rewrite(
    code: CodeType,
    view: GlobalsView,
    *,
    breakers: bool = False,
    accesses: bool = True,
    constant_cells: frozenset[str] = frozenset(),
) -> CodeType:
    """A code object that does the same and tells its accesses.

    Parameters:
        code: the original; code nested in it is rewritten too.
        view: the globals it runs with.
        breakers: also tell where a GIL build could switch threads.
        accesses: tell accesses; without them no hook is called where such a build could not
            switch, as the call of a hook lets it switch, too.
        constant_cells: free variables known never to be bound again; not told.

    Code that can't be rewritten comes back as it is, and ``view.skipped`` says why. ``view.made``
    remembers what was rewritten, so that asking again costs nothing.
    """
    known = view.made.get(id(code))
    if known is not None:
        return known[1]
    try:
        result = _rewritten(Rewriting(code, view, constant_cells), breakers, accesses)
    except CannotRewrite as reason:
        view.skipped[code] = str(reason)
        return code
    view.made[id(code)] = (code, result)
    return result


def _rewritten(into: Rewriting, breakers: bool, accesses: bool) -> CodeType:
    """The code object with all that is inserted; parameters as of :func:`rewrite`."""
    code = into.code
    constant_cells = into.own_constant_cells | into.constant_cells
    for number, constant in enumerate(code.co_consts):
        if isinstance(constant, CodeType):
            into.constants[number] = rewrite(
                constant,
                into.view,
                breakers=breakers,
                accesses=accesses,
                constant_cells=constant_cells & frozenset(constant.co_freevars),
            )
    _check_instructions(into)
    producers = stack_producers(code, into.instructions)
    for index, instruction in enumerate(into.instructions):
        stack = producers[index]
        if stack is None:
            continue
        if accesses:
            _tell_accesses(into, index, instruction, stack)
        if breakers:
            _break(into, index, instruction)
        if accesses and into.is_entered and opcodes.NAMES[instruction.opcode] == "RESUME":
            _enter(into, index, instruction)
    return splice(code, into.instructions, into.splices, tuple(into.constants), EXTRA_STACK)


def _tell_accesses(into: Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    handler = HANDLERS.get(instruction.opcode)
    if handler is not None:
        handler(into, index, instruction, stack)
    if into.view.has_weak_references and opcodes.NAMES[instruction.opcode] in _DROPPING:
        # A place of its own: it is not told in all executions, on which what else is told of
        # the instruction must not depend.
        place = Place((into.code, instruction.offset + 1))
        into.put(index, before=into.call(hooks.drop, (), place))
    if into.is_entered and opcodes.NAMES[instruction.opcode] in _LEAVING:
        _leave(into, index, instruction)


def _check_instructions(into: Rewriting) -> None:
    """Raise :class:`CannotRewrite` if something of the code is not understood."""
    for instruction in into.instructions:
        reason = unknown_reason(opcodes.NAMES[instruction.opcode], instruction.arg)
        if reason:
            raise CannotRewrite(reason)


def _enter(into: Rewriting, index: int, instruction: Instruction) -> None:
    # Not behind it, where it would make the line of the "def" one that is executed.
    if opcodes.is_checking_resume(instruction.arg):
        into.put(index + 1, before=into.call(halfway.enter, (), into.place(instruction)))


def _leave(into: Rewriting, index: int, instruction: Instruction) -> None:
    name, place = opcodes.NAMES[instruction.opcode], into.place(instruction)
    if name == "YIELD_VALUE" or (name == "RETURN_VALUE" and not into.is_generator):
        told = into.call(halfway.leave, (1,), place)
    else:
        value = halfway.NOTHING if into.is_generator else into.code.co_consts[instruction.arg]
        told = into.call(halfway.leave, (), value, place)
    if index and opcodes.NAMES[into.instructions[index - 1].opcode] == "SEND":
        told = opcodes.in_loop_of_send(told)
    into.put(index, before=told)


def _break(into: Rewriting, index: int, instruction: Instruction) -> None:
    opcode = instruction.opcode
    if opcode in opcodes.CHECKING_JUMPS:
        into.put(index, before=into.call(tell.breaker, ()))
    elif opcodes.NAMES[opcode] == "RESUME":
        # Not behind it, where it would make the line of the "def" one that is executed.
        if opcodes.is_checking_resume(instruction.arg):
            into.put(index + 1, before=into.call(tell.breaker, ()))
    elif opcodes.NAMES[opcode] in ("CALL", "CALL_KW", "CALL_FUNCTION_EX"):
        into.put(index, after=into.call(tell.breaker, ()))


_LEAVING = frozenset({"RETURN_VALUE", "RETURN_CONST", "YIELD_VALUE"})

_DROPPING = frozenset(
    {"DELETE_FAST", "STORE_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"}
    | {"RETURN_VALUE", "RETURN_CONST"}
)
"""Instructions that let go of local variables; told where weak references are used."""
