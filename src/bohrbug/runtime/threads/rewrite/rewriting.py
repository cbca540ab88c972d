"""A code object being rewritten: what is inserted before, behind and for its instructions."""

from __future__ import annotations

import dis
from collections.abc import Callable
from inspect import CO_NEWLOCALS, CO_OPTIMIZED
from types import CodeType
from typing import Any

from bohrbug.runtime.threads.rewrite import halfway, opcodes
from bohrbug.runtime.threads.rewrite.codec import Instruction, Splice, decode, encode_instruction
from bohrbug.runtime.threads.rewrite.frame_slots import cells_bound_once, variable_names
from bohrbug.runtime.threads.rewrite.module_globals import GlobalsView
from bohrbug.runtime.threads.rewrite.place import Place


class Rewriting:
    """One code object being rewritten: what is inserted, and the constants of that.

    Parameters:
        code: the original.
        view: the globals it runs with.
        constant_cells: free variables known never to be bound again.
    """

    def __init__(
        self,
        code: CodeType,
        view: GlobalsView,
        constant_cells: frozenset[str],
    ) -> None:
        self.code = code
        self.view = view
        self.constants: list[Any] = list(code.co_consts)
        self.numbers: dict[int, int] = {}
        self.splices: dict[int, Splice] = {}
        self.instructions = decode(code)
        self.variables = variable_names(code)
        self.constant_cells = constant_cells
        self.own_constant_cells = cells_bound_once(code)
        self.is_function = bool(code.co_flags & CO_OPTIMIZED)
        # Other code than rewritten one can call it, or let it go on.
        self.is_entered = self.is_function and (
            code.co_name[0] != "<" or code.co_name in ("<lambda>", "<genexpr>")
        )
        self.is_generator = halfway.is_generator(code)
        self.is_module = not code.co_flags & CO_NEWLOCALS and code.co_name == "<module>"
        self.class_names = self._names_stored_locally()

    def constant(self, value: Any) -> int:
        """The number of a constant that is compared by identity."""
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.constants)
            self.constants.append(value)
        return number

    def call(self, hook: Callable[..., None], depths: tuple[int, ...], *values: Any) -> bytes:
        """A call of a hook.

        Parameters:
            hook: what is called.
            depths: the values on the stack that it is given, 1 for the top.
            values: the constants that it is given after them.
        """
        output = opcodes.begin_call(self.constant(hook))
        for count, depth in enumerate(depths):
            output += encode_instruction(opcodes.COPY, depth + 2 + count)
        for value in values:
            output += encode_instruction(opcodes.LOAD_CONST, self.constant(value))
        return output + opcodes.end_call(len(depths) + len(values))

    def place(self, instruction: Instruction) -> Place:
        """Where an instruction is."""
        return Place((self.code, instruction.offset))

    def put(
        self, index: int, before: bytes = b"", instead: bytes | None = None, after: bytes = b""
    ) -> None:
        """Splice code around an instruction."""
        old = self.splices.get(index, Splice())
        self.splices[index] = Splice(
            old.before + before, old.instead if instead is None else instead, old.after + after
        )

    def _names_stored_locally(self) -> frozenset[str]:
        if self.is_function:
            return frozenset()
        store = dis.opmap["STORE_NAME"]
        return frozenset(
            self.code.co_names[instruction.arg]
            for instruction in self.instructions
            if instruction.opcode == store
        )
