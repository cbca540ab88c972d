"""From a code object to one that tells its accesses to shared data before making them."""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Mapping
from inspect import CO_NEWLOCALS, CO_OPTIMIZED
from types import CodeType, FunctionType
from typing import Any
from weakref import ReferenceType

from bohrbug.runtime.threads.rewrite import (
    c_code,
    class_patterns,
    constructors,
    executed,
    halfway,
    hooks,
    iteration,
    opcodes,
    operators,
    raising,
)
from bohrbug.runtime.threads.rewrite.attributes import (
    is_stored,
    note_stored,
    read_kinds,
    stores_parts_of_functions,
    write_kinds,
)
from bohrbug.runtime.threads.rewrite.classes import FOREIGN
from bohrbug.runtime.threads.rewrite.codec import (
    Instruction,
    Splice,
    decode,
    encode_instruction,
    splice,
)
from bohrbug.runtime.threads.rewrite.frame_slots import cells_bound_once, variable_names
from bohrbug.runtime.threads.rewrite.functions_table import CONSTRUCTORS
from bohrbug.runtime.threads.rewrite.instruction_table import ARGUMENTS, is_told, unknown_reason
from bohrbug.runtime.threads.rewrite.module_globals import GlobalsView
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.producers import CannotRewrite, Producer, stack_producers

EXTRA_STACK = 8
"""The deepest hook call: hook, NULL, callable, three arguments, place, and one to spare."""


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
        result = _Rewriting(code, view, breakers, accesses, constant_cells).run()
    except CannotRewrite as reason:
        view.skipped[code] = str(reason)
        return code
    view.made[id(code)] = (code, result)
    return result


class _Rewriting:
    """One code object being rewritten."""

    def __init__(
        self,
        code: CodeType,
        view: GlobalsView,
        breakers: bool,
        accesses: bool,
        constant_cells: frozenset[str],
    ) -> None:
        self.code = code
        self.view = view
        self.breakers = breakers
        self.accesses = accesses
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
        self.leave = halfway.leave if halfway.is_called_by_c(code) else halfway.give_back
        self.is_module = not code.co_flags & CO_NEWLOCALS and code.co_name == "<module>"

    def run(self) -> CodeType:
        """The rewritten code object."""
        nested_constant_cells = self.own_constant_cells | self.constant_cells
        for number, constant in enumerate(self.code.co_consts):
            if isinstance(constant, CodeType):
                self.constants[number] = rewrite(
                    constant,
                    self.view,
                    breakers=self.breakers,
                    accesses=self.accesses,
                    constant_cells=nested_constant_cells & frozenset(constant.co_freevars),
                )
        self._check_instructions()
        producers = stack_producers(self.code, self.instructions)
        self.class_names = self._names_stored_locally()
        for index, instruction in enumerate(self.instructions):
            stack = producers[index]
            if stack is None:
                continue
            if self.accesses:
                self._tell_accesses(index, instruction, stack)
            if self.breakers:
                self._break(index, instruction)
            if self.accesses and self.is_entered and opcodes.NAMES[instruction.opcode] == "RESUME":
                self._enter(index, instruction)
        return splice(
            self.code, self.instructions, self.splices, tuple(self.constants), EXTRA_STACK
        )

    def _tell_accesses(self, index: int, instruction: Instruction, stack: Any) -> None:
        handler = _HANDLERS.get(instruction.opcode)
        if handler is not None:
            handler(self, index, instruction, stack)
        if self.view.has_weak_references and opcodes.NAMES[instruction.opcode] in _DROPPING:
            # A place of its own: it is not told in all executions, on which what else is told of
            # the instruction must not depend.
            place = Place((self.code, instruction.offset + 1))
            self.put(index, before=self.call(hooks.drop, (), place))
        if self.is_entered and opcodes.NAMES[instruction.opcode] in _LEAVING:
            self._leave(index, instruction)

    def _check_instructions(self) -> None:
        """Raise :class:`CannotRewrite` if something of the code is not understood."""
        for instruction in self.instructions:
            reason = unknown_reason(opcodes.NAMES[instruction.opcode], instruction.arg)
            if reason:
                raise CannotRewrite(reason)

    # --- Building blocks

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

    def _enter(self, index: int, instruction: Instruction) -> None:
        # Not behind it, where it would make the line of the "def" one that is executed.
        if opcodes.is_checking_resume(instruction.arg):
            self.put(index + 1, before=self.call(halfway.enter, (), self.place(instruction)))

    def _leave(self, index: int, instruction: Instruction) -> None:
        name, place = opcodes.NAMES[instruction.opcode], self.place(instruction)
        if name == "YIELD_VALUE" or (name == "RETURN_VALUE" and not self.is_generator):
            told = self.call(self.leave, (1,), place)
        else:
            value = halfway.NOTHING if self.is_generator else self.code.co_consts[instruction.arg]
            told = self.call(self.leave, (), value, place)
        if index and opcodes.NAMES[self.instructions[index - 1].opcode] == "SEND":
            told = opcodes.in_loop_of_send(told)
        self.put(index, before=told)

    def _break(self, index: int, instruction: Instruction) -> None:
        opcode = instruction.opcode
        if opcode in opcodes.CHECKING_JUMPS:
            self.put(index, before=self.call(hooks.breaker, ()))
        elif opcodes.NAMES[opcode] == "RESUME":
            # Not behind it, where it would make the line of the "def" one that is executed.
            if opcodes.is_checking_resume(instruction.arg):
                self.put(index + 1, before=self.call(hooks.breaker, ()))
        elif opcodes.NAMES[opcode] in ("CALL", "CALL_KW", "CALL_FUNCTION_EX"):
            self.put(index, after=self.call(hooks.breaker, ()))

    # --- Handlers, one for each group of instructions

    def load_attribute(self, index: int, instruction: Instruction, stack: Any) -> None:
        opcode, arg = instruction.opcode, instruction.arg
        name = self.code.co_names[opcodes.attribute_name_index(opcode, arg)]
        instead = None
        if opcodes.is_method_load(opcode, arg):
            instead = opcodes.plain_attribute_load(opcode, arg)
        before = self.call(
            hooks.read_attribute, (1,), name, read_kinds(name), self.place(instruction)
        )
        self.put(index, before=before, instead=instead)

    def import_from(self, index: int, instruction: Instruction, stack: Any) -> None:
        name = self.code.co_names[instruction.arg]
        values = (name, read_kinds(name), self.place(instruction))
        self.put(index, before=self.call(hooks.read_attribute, (1,), *values))

    def load_super_attribute(self, index: int, instruction: Instruction, stack: Any) -> None:
        opcode, arg = instruction.opcode, instruction.arg
        name = self.code.co_names[opcodes.attribute_name_index(opcode, arg)]
        is_method = opcodes.is_method_load(opcode, arg)
        instead = opcodes.plain_attribute_load(opcode, arg) if is_method else None
        before = b""
        # The special methods of a base are hardly ever exchanged, and often called.
        if not is_method or name[:2] != "__" or is_stored(name):
            place = self.place(instruction)
            before = self.call(hooks.read_super_attribute, (2, 1), name, place)
        self.put(index, before=before, instead=instead)

    def store_attribute(self, index: int, instruction: Instruction, stack: Any) -> None:
        name = self.code.co_names[instruction.arg]
        note_stored(name)
        before = self.call(
            hooks.write_attribute, (1,), name, write_kinds(name), self.place(instruction)
        )
        self.put(index, before=before)

    def load_global(self, index: int, instruction: Instruction, stack: Any) -> None:
        self._read_global(index, instruction, self.code.co_names[instruction.arg >> 1])

    def load_name(self, index: int, instruction: Instruction, stack: Any) -> None:
        name = self.code.co_names[instruction.arg]
        if self.is_module and self.view.may_change(name):
            self._touch_global(executed.read_name, index, instruction, name)
        elif name not in self.class_names:
            self._read_global(index, instruction, name)

    def load_from_dict_or_globals(self, index: int, instruction: Instruction, stack: Any) -> None:
        self._read_global(index, instruction, self.code.co_names[instruction.arg])

    def _read_global(self, index: int, instruction: Instruction, name: str) -> None:
        if self.view.may_change(name):
            is_builtin = self.view.is_builtin(name)
            hook = hooks.read_builtin if is_builtin else hooks.read_global
            self._touch_global(hook, index, instruction, name)

    def _touch_global(
        self, hook: Callable[..., None], index: int, instruction: Instruction, name: str
    ) -> None:
        before = self.call(hook, (), self.view.holder, name, self.place(instruction))
        self.put(index, before=before)

    def store_global(self, index: int, instruction: Instruction, stack: Any) -> None:
        name = self.code.co_names[instruction.arg]
        self._touch_global(hooks.write_global, index, instruction, name)

    def store_name(self, index: int, instruction: Instruction, stack: Any) -> None:
        if self.is_module:
            name = self.code.co_names[instruction.arg]
            self._touch_global(executed.write_name, index, instruction, name)

    def load_cell(self, index: int, instruction: Instruction, stack: Any) -> None:
        self._touch_cell(hooks.read_cell, index, instruction)

    def store_cell(self, index: int, instruction: Instruction, stack: Any) -> None:
        self._touch_cell(hooks.write_cell, index, instruction)

    def _touch_cell(self, hook: Callable[..., None], index: int, instruction: Instruction) -> None:
        name = self.variables[instruction.arg]
        is_constant = name in self.own_constant_cells | self.constant_cells
        if name == "__class__" or (is_constant and not is_stored("cell_contents")):
            return
        before = opcodes.begin_call(self.constant(hook))
        before += encode_instruction(opcodes.LOAD_CELL, instruction.arg)
        number = self.constant(self.place(instruction))
        before += encode_instruction(opcodes.LOAD_CONST, number)
        self.put(index, before=before + opcodes.end_call(2))

    def binary_operation(self, index: int, instruction: Instruction, stack: Any) -> None:
        hook: Callable[..., None]
        if opcodes.is_subscript(instruction.arg):
            hook = hooks.read_item
        elif self._is_scalar(stack[-1]) or self._is_scalar(stack[-2]):
            return
        elif opcodes.is_in_place(instruction.arg):
            hook = operators.binary_in_place
        else:
            hook = operators.binary
        self.put(index, before=self.call(hook, (2, 1), self.place(instruction)))

    def intrinsic(self, index: int, instruction: Instruction, stack: Any) -> None:
        if instruction.arg == _UNARY_POSITIVE:
            self.put(index, before=self.call(hooks.read_whole, (1,), self.place(instruction)))

    def store_subscript(self, index: int, instruction: Instruction, stack: Any) -> None:
        if self._is_slice(stack[-1]):
            before = self.call(operators.store_slice, (3, 2), self.place(instruction))
        else:
            before = self.call(hooks.write_item, (2, 1), self.place(instruction))
        self.put(index, before=before)

    def _is_slice(self, producer: Producer | None) -> bool:
        if producer is None:
            return False
        if opcodes.NAMES[producer[1]] == "BUILD_SLICE":
            return True
        return producer[1] == opcodes.LOAD_CONST and isinstance(
            self.code.co_consts[self.instructions[producer[0]].arg], slice
        )

    def compare(self, index: int, instruction: Instruction, stack: Any) -> None:
        if not (self._is_scalar(stack[-1]) or self._is_scalar(stack[-2])):
            self.put(index, before=self.call(operators.compare, (2, 1), self.place(instruction)))

    def _is_scalar(self, producer: Producer | None) -> bool:
        """Whether a value is a constant that no container is combined with item by item."""
        if producer is None:
            return False
        if opcodes.NAMES[producer[1]] in ("LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT"):
            return True
        if producer[1] != opcodes.LOAD_CONST:
            return False
        value = self.code.co_consts[self.instructions[producer[0]].arg]
        return isinstance(value, int | float | complex | None)

    def match_class(self, index: int, instruction: Instruction, stack: Any) -> None:
        """``case Class(...)``: reads the attributes that the pattern names, or its positions."""
        place = self.place(instruction)
        before = self.call(class_patterns.match_class, (3, 2, 1), instruction.arg, place)
        self.put(index, before=before)

    def loads_implicit_parameter(self, index: int) -> bool:
        """Whether an instruction pushes ``.0``, what a comprehension iterates over."""
        instruction = self.instructions[index]
        if opcodes.NAMES[instruction.opcode] == "GET_ITER":
            # Since Python 3.15 a generator expression does it itself.
            return self.loads_implicit_parameter(index - 1)
        return (
            opcodes.NAMES[instruction.opcode] in opcodes.LOADS_OF_LOCALS
            and self.variables[instruction.arg] == ".0"
        )

    def test_truth(self, index: int, instruction: Instruction, stack: Any) -> None:
        producer = stack[-1]
        if producer is not None:
            name = opcodes.NAMES[producer[1]]
            if name in opcodes.BOOLEAN_RESULTS or name == "COMPARE_OP":
                return
        self.put(index, before=self.call(hooks.read_whole, (1,), self.place(instruction)))

    def format_value(self, index: int, instruction: Instruction, stack: Any) -> None:
        with_specification = opcodes.NAMES[instruction.opcode] == "FORMAT_WITH_SPEC" or (
            opcodes.NAMES[instruction.opcode] == "FORMAT_VALUE" and bool(instruction.arg & 4)
        )
        depth = 2 if with_specification else 1
        self.put(index, before=self.call(operators.format_value, (depth,), self.place(instruction)))

    def call_function(self, index: int, instruction: Instruction, stack: Any) -> None:
        """A call with positional arguments, and perhaps keyword arguments behind them."""
        name = opcodes.NAMES[instruction.opcode]
        count = positional = instruction.arg
        skipped = 0
        first = index
        keywords: tuple[str, ...] | None = ()
        if name == "CALL_KW":
            skipped = 1
            keywords = self._keywords(stack[-1])
        elif index and opcodes.NAMES[self.instructions[index - 1].opcode] == "KW_NAMES":
            first = index - 1
            keywords = self.code.co_consts[self.instructions[first].arg]
        # A path that a "dir_fd" belongs to means nothing without it.
        if keywords is None or "dir_fd" in keywords:
            return
        positional -= len(keywords)
        bottom = len(stack) - skipped - count - 2
        if bottom < 0 or positional < 0:
            return
        callable_depth = self._callable_depth(stack, bottom)
        if callable_depth is None:
            return
        top = len(stack)
        numbers = list(range(min(positional, 3)))
        if positional == 1 and "mode" in keywords:
            # Of functions with a keyword "mode", such as "open", that is the second argument.
            numbers.append(1 + keywords.index("mode"))
        by_count = (c_code.call0, c_code.call1, c_code.call2, c_code.call3)
        hook: Callable[..., None] = by_count[len(numbers)]
        if "file" in keywords:
            # Of "print".
            numbers = [positional + keywords.index("file")]
            hook = c_code.call_with_file
        depths = tuple(top - (bottom + 2 + number) for number in numbers)
        place = self.place(instruction)
        for number in range(count):
            depth = top - (bottom + 2 + number)
            if depth not in depths and not self._is_constant(stack[-depth]):
                before = self.call(c_code.further_argument, (callable_depth, depth), place)
                self.put(first, before=before)
        # The last one, just before the call: by that it is known what begins in its middle.
        self.put(first, before=self.call(hook, (callable_depth, *depths), place))

    def _is_constant(self, producer: Producer | None) -> bool:
        return producer is not None and producer[1] in _CONSTANT_LOADS

    def _keywords(self, producer: Producer | None) -> tuple[str, ...] | None:
        """The names of the keyword arguments, if they are known."""
        if producer is None or producer[1] != opcodes.LOAD_CONST:
            return None
        names = self.code.co_consts[self.instructions[producer[0]].arg]
        return names if isinstance(names, tuple) else None

    def _callable_depth(self, stack: Any, bottom: int) -> int | None:
        """How deep the callable lies, or ``None`` where the slot for ``self`` may be used.

        The slot must be known to hold ``NULL``, which must never be passed to a hook.
        """
        callable_slot, null_slot = (
            (bottom, bottom + 1) if opcodes.NULL_FOLLOWS_CALLABLE else (bottom + 1, bottom)
        )
        null, callable_ = stack[null_slot], stack[callable_slot]
        if null is None:
            return None
        if opcodes.NAMES[null[1]] != "PUSH_NULL":
            source = self.instructions[null[0]]
            is_pair = (
                opcodes.NAMES[null[1]] == "LOAD_GLOBAL" and source.arg & 1
            ) or opcodes.is_method_load(source.opcode, source.arg)
            if not is_pair or null[2] != null_slot - bottom:
                return None
        if callable_ is not None and opcodes.NAMES[callable_[1]] == "LOAD_GLOBAL":
            source = self.instructions[callable_[0]]
            if self._is_python_global(self.code.co_names[source.arg >> 1]):
                return None
        return len(stack) - callable_slot

    def _is_python_global(self, name: str) -> bool:
        """Whether a global is for ever a function written in Python, so that calls tell nothing."""
        if self.view.may_change(name):
            return False
        value = self.view.namespace.get(name, vars(builtins).get(name))
        return (
            (isinstance(value, FunctionType) and not stores_parts_of_functions())
            or value in _HARMLESS_BUILTINS
            or (
                isinstance(value, type)
                and value is not type
                and value not in CONSTRUCTORS
                and not issubclass(value, ReferenceType)
                and not FOREIGN[value]
                and constructors.TELLERS[value] is None
            )
        )

    def raise_error(self, index: int, instruction: Instruction, stack: Any) -> None:
        if instruction.arg:
            hook = raising.raise_error if instruction.arg == 1 else raising.raise_with_cause
            self.put(index, before=self.call(hook, (instruction.arg,), self.place(instruction)))

    def call_with_star(self, index: int, instruction: Instruction, stack: Any) -> None:
        arguments = opcodes.arguments_above_callable(instruction.arg)
        callable_depth = arguments + (2 if opcodes.NULL_FOLLOWS_CALLABLE else 1)
        place = self.place(instruction)
        before = self.call(c_code.call_star, (callable_depth, arguments), place)
        self.put(index, before=before)


_CONSTANT_LOADS = frozenset(
    dis.opmap[name]
    for name in ("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT")
    if name in dis.opmap
)

_UNARY_POSITIVE = ARGUMENTS["CALL_INTRINSIC_1"].index("INTRINSIC_UNARY_POSITIVE")

_LEAVING = frozenset({"RETURN_VALUE", "RETURN_CONST", "YIELD_VALUE"})

_DROPPING = frozenset(
    {"DELETE_FAST", "STORE_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"}
    | {"RETURN_VALUE", "RETURN_CONST"}
)
"""Instructions that let go of local variables; told where weak references are used."""

_HARMLESS_BUILTINS: frozenset[Any] = frozenset(
    {issubclass, callable, id, hash, ord, chr, globals, locals}
)

Handler = Callable[[_Rewriting, int, Instruction, Any], None]


def _peeking(hook: Callable[..., None], *depths: int) -> Handler:
    """A handler that gives a hook values from fixed depths of the stack."""

    def handle(self: _Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
        self.put(index, before=self.call(hook, depths, self.place(instruction)))

    return handle


def _step_of_loop(self: _Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    producer = stack[-opcodes.ITERATOR_DEPTH]
    # The iterator of a comprehension is also its parameter, called ".0".
    implicit = producer is not None and self.loads_implicit_parameter(producer[0])
    hook = iteration.step_of_comprehension if implicit else iteration.step
    depths = (opcodes.ITERATOR_DEPTH,)
    self.put(index, before=self.call(hook, depths, self.place(instruction)))


_BY_NAME: Mapping[str, Handler] = {
    "LOAD_ATTR": _Rewriting.load_attribute,
    "LOAD_METHOD": _Rewriting.load_attribute,
    "LOAD_SUPER_ATTR": _Rewriting.load_super_attribute,
    "IMPORT_FROM": _Rewriting.import_from,
    "MATCH_CLASS": _Rewriting.match_class,
    "STORE_ATTR": _Rewriting.store_attribute,
    "DELETE_ATTR": _Rewriting.store_attribute,
    "LOAD_GLOBAL": _Rewriting.load_global,
    "LOAD_NAME": _Rewriting.load_name,
    "LOAD_FROM_DICT_OR_GLOBALS": _Rewriting.load_from_dict_or_globals,
    "STORE_GLOBAL": _Rewriting.store_global,
    "DELETE_GLOBAL": _Rewriting.store_global,
    "STORE_NAME": _Rewriting.store_name,
    "DELETE_NAME": _Rewriting.store_name,
    "LOAD_DEREF": _Rewriting.load_cell,
    "LOAD_CLASSDEREF": _Rewriting.load_cell,
    "LOAD_FROM_DICT_OR_DEREF": _Rewriting.load_cell,
    "STORE_DEREF": _Rewriting.store_cell,
    "DELETE_DEREF": _Rewriting.store_cell,
    "BINARY_SUBSCR": _peeking(hooks.read_item, 2, 1),
    "STORE_SUBSCR": _Rewriting.store_subscript,
    "DELETE_SUBSCR": _peeking(hooks.delete_item, 2, 1),
    "BINARY_SLICE": _peeking(hooks.read_slice, 3),
    "STORE_SLICE": _peeking(operators.store_slice, 4, 3),
    "CONTAINS_OP": _peeking(operators.contains, 2, 1),
    "COMPARE_OP": _Rewriting.compare,
    "BINARY_OP": _Rewriting.binary_operation,
    **dict.fromkeys(
        ("UNARY_INVERT", "UNARY_NEGATIVE", "UNARY_POSITIVE"), _peeking(hooks.read_whole, 1)
    ),
    "CALL_INTRINSIC_1": _Rewriting.intrinsic,
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
    "FORMAT_VALUE": _Rewriting.format_value,
    "FORMAT_SIMPLE": _Rewriting.format_value,
    "FORMAT_WITH_SPEC": _Rewriting.format_value,
    "CONVERT_VALUE": _Rewriting.format_value,
    "PRECALL": _Rewriting.call_function,
    "CALL": _Rewriting.call_function,
    "CALL_KW": _Rewriting.call_function,
    "CALL_FUNCTION_EX": _Rewriting.call_with_star,
    "RAISE_VARARGS": _Rewriting.raise_error,
    **dict.fromkeys(
        (
            *("TO_BOOL", "UNARY_NOT", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP"),
            *("POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_FORWARD_IF_TRUE"),
            *("POP_JUMP_BACKWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_TRUE"),
            *("POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE"),
        ),
        _Rewriting.test_truth,
    ),
}
"""One for each instruction that is :data:`~.instruction_table.TOLD` in some version."""

_HANDLERS: Mapping[int, Handler] = {
    dis.opmap[name]: handler for name, handler in _BY_NAME.items() if is_told(name)
}
