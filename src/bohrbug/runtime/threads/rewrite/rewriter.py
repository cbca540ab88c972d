"""From a code object to one that tells its accesses to shared data before making them."""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Mapping
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_NEWLOCALS, CO_OPTIMIZED
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from bohrbug.runtime.threads.rewrite import hooks, opcodes
from bohrbug.runtime.threads.rewrite.attributes import read_kinds, write_kinds
from bohrbug.runtime.threads.rewrite.builtins_table import CONSTRUCTORS
from bohrbug.runtime.threads.rewrite.codec import (
    JUMPS,
    Instruction,
    Splice,
    decode,
    decode_exception_table,
    encode_instruction,
    splice,
)
from bohrbug.runtime.threads.rewrite.place import Place

EXTRA_STACK = 8
"""The deepest hook call: hook, NULL, callable, three arguments, place, and one to spare."""

_CO_SUSPENDS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR

_BOUND_ONCE = (FunctionType, BuiltinFunctionType, type, ModuleType)


class CannotRewrite(Exception):
    """A code object that is left as it is; the message says why."""


class GlobalsView:
    """What is known of a module's globals when code of the module is rewritten.

    Reads of globals bound to functions, classes, modules or builtins are not told unless some
    function of the module stores that global: such names are bound once, on import.

    Parameters:
        namespace: ``__globals__`` of the functions.
        stored: names that functions of the module store or delete.
    """

    def __init__(self, namespace: dict[str, Any], stored: frozenset[str]) -> None:
        self.holder = hooks.Globals(namespace)
        self.namespace = namespace
        self.stored = stored
        # By identity of the original: it, and what it became. Code objects that are equal need
        # not be the same function.
        self.made: dict[int, tuple[CodeType, CodeType]] = {}
        self.skipped: dict[CodeType, str] = {}
        # The answers that what was rewritten depends on.
        self._answers: dict[str, bool] = {}
        self._is_mixed = False

    def holds(self, namespace: dict[str, Any], stored: frozenset[str]) -> bool:
        """Whether what was rewritten for this view would be rewritten the same now."""
        return (
            self.namespace is namespace
            and not self._is_mixed
            and self.stored == stored
            and all(self._decide(name) == answer for name, answer in self._answers.items())
        )

    def may_change(self, name: str) -> bool:
        """Whether a read of the global is told."""
        answer = self._decide(name)
        if self._answers.setdefault(name, answer) != answer:
            self._is_mixed = True
        return answer

    def _decide(self, name: str) -> bool:
        if name in self.stored:
            return True
        if name in self.namespace:
            return not isinstance(self.namespace[name], _BOUND_ONCE)
        # Not hasattr, which gives a module without it an __annotations__.
        return name not in vars(builtins)


def stored_globals(code: CodeType) -> set[str]:
    """Names of the globals that a code object, or code nested in it, stores or deletes."""
    names: set[str] = set()
    store, delete = dis.opmap["STORE_GLOBAL"], dis.opmap["DELETE_GLOBAL"]
    raw = code.co_code[::2]
    if store in raw or delete in raw:
        for instruction in decode(code):
            if instruction.opcode == store or instruction.opcode == delete:
                names.add(code.co_names[instruction.arg])
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= stored_globals(constant)
    return names


def rewrite(
    code: CodeType,
    view: GlobalsView,
    *,
    breakers: bool = False,
    constant_cells: frozenset[str] = frozenset(),
) -> CodeType:
    """A code object that does the same and tells its accesses.

    Parameters:
        code: the original; code nested in it is rewritten too.
        view: the globals it runs with.
        breakers: also tell where a GIL build could switch threads.
        constant_cells: free variables known never to be bound again; not told.

    Code that can't be rewritten comes back as it is, and ``view.skipped`` says why. ``view.made``
    remembers what was rewritten, so that asking again costs nothing.
    """
    known = view.made.get(id(code))
    if known is not None:
        return known[1]
    try:
        result = _Rewriting(code, view, breakers, constant_cells).run()
    except CannotRewrite as reason:
        view.skipped[code] = str(reason)
        return code
    view.made[id(code)] = (code, result)
    return result


def _cells_stored(code: CodeType) -> set[str]:
    """Names of the cells that a code object, or code nested in it, stores."""
    names: set[str] = set()
    for instruction in decode(code):
        if opcodes.NAMES[instruction.opcode] in ("STORE_DEREF", "DELETE_DEREF"):
            names.add(_variable_name(code, instruction.arg))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _cells_stored(constant)
    return names


def _variable_name(code: CodeType, index: int) -> str:
    return _variable_names(code)[index]


def _variable_names(code: CodeType) -> tuple[str, ...]:
    """Names of a frame's slots: locals, then cells that are not locals, then free variables."""
    locals_ = code.co_varnames
    cells = tuple(name for name in code.co_cellvars if name not in locals_)
    return locals_ + cells + code.co_freevars


Producer = tuple[int, int, int]
"""What made a value on the stack: index of the instruction, its opcode, which of its results."""


def stack_producers(
    code: CodeType, instructions: list[Instruction]
) -> list[tuple[Producer | None, ...] | None]:
    """For each instruction, which instructions made the values on the stack before it.

    ``None`` for instructions that can't be reached.
    """
    index_at = {instruction.start: index for index, instruction in enumerate(instructions)}
    states: list[tuple[Producer | None, ...] | None] = [None] * (len(instructions) + 1)
    for entry in decode_exception_table(code.co_exceptiontable):
        states[index_at[entry.target]] = (None,) * (entry.depth + entry.push_offset + 1)
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
        if current is None:
            continue
        if opcode in JUMPS:
            target = index_at[instruction.jump_target]
            if target > index:
                after = _after(current, index, instruction, True)
                other = states[target]
                if other is None:
                    states[target] = after
                elif len(other) == len(after):
                    states[target] = tuple(
                        one if one == two else None for one, two in zip(other, after, strict=True)
                    )
        current = (
            None if opcode in opcodes.ENDS_BLOCK else _after(current, index, instruction, False)
        )
    return states[: len(instructions)]


_PUSHES_NOTHING = frozenset(
    op
    for op, name in enumerate(dis.opname)
    if name.startswith(("STORE_", "DELETE_", "POP_", "RETURN_", "JUMP", "END_", "COPY_FREE"))
    or name
    in (
        *("LIST_APPEND", "SET_ADD", "MAP_ADD", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE"),
        *("DICT_MERGE", "RAISE_VARARGS", "RERAISE", "NOP", "RESUME", "MAKE_CELL", "KW_NAMES"),
        *("PRECALL", "SETUP_ANNOTATIONS", "CLEANUP_THROW", "FOR_ITER"),
    )
)


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
        if opcodes.is_method_load(opcode, arg):
            return (*stack[:-1], me, (index, opcode, 1))
        return (*stack, *((index, opcode, number) for number in range(effect)))
    kept = len(stack) + effect
    if kept < 0:
        raise CannotRewrite(f"stack underflow at offset {instruction.offset}")
    if opcode in _PUSHES_NOTHING or not kept:
        return stack[:kept]
    if opcodes.is_method_load(opcode, arg):
        return (*stack[: kept - 2], me, (index, opcode, 1))
    return (*stack[: kept - 1], me)


class _Rewriting:
    """One code object being rewritten."""

    def __init__(
        self,
        code: CodeType,
        view: GlobalsView,
        breakers: bool,
        constant_cells: frozenset[str],
    ) -> None:
        self.code = code
        self.view = view
        self.breakers = breakers
        self.constants: list[Any] = list(code.co_consts)
        self.numbers: dict[int, int] = {}
        self.splices: dict[int, Splice] = {}
        self.instructions = decode(code)
        self.variables = _variable_names(code)
        self.constant_cells = constant_cells
        self.own_constant_cells = frozenset[str]()
        if code.co_cellvars:
            stored = _cells_stored(code)
            # A parameter that nobody stores keeps the value it came with.
            arguments = code.co_argcount + code.co_kwonlyargcount
            arguments += bool(code.co_flags & 4) + bool(code.co_flags & 8)
            parameters = code.co_varnames[:arguments]
            self.own_constant_cells = frozenset(
                name for name in code.co_cellvars if name not in stored and name in parameters
            )
        self.is_function = bool(code.co_flags & CO_OPTIMIZED)
        # Calling it runs its body at once, and other code than its own frame's can call it.
        self.is_entered = (
            self.is_function
            and not code.co_flags & _CO_SUSPENDS
            and (code.co_name[0] != "<" or code.co_name == "<lambda>")
        )
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
                    constant_cells=nested_constant_cells & frozenset(constant.co_freevars),
                )
        producers = stack_producers(self.code, self.instructions)
        self.class_names = self._names_stored_locally()
        for index, instruction in enumerate(self.instructions):
            stack = producers[index]
            if stack is None:
                continue
            handler = _HANDLERS.get(instruction.opcode)
            if handler is not None:
                handler(self, index, instruction, stack)
            if self.breakers:
                self._break(index, instruction)
            if self.is_entered and opcodes.NAMES[instruction.opcode] == "RESUME":
                self._enter(index, instruction)
        return splice(
            self.code, self.instructions, self.splices, tuple(self.constants), EXTRA_STACK
        )

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
        self.is_entered = False
        # Not behind it, where it would make the line of the "def" one that is executed.
        self.put(index + 1, before=self.call(hooks.enter, (), self.place(instruction)))

    def _break(self, index: int, instruction: Instruction) -> None:
        opcode = instruction.opcode
        if opcode in opcodes.CHECKING_JUMPS:
            self.put(index, before=self.call(hooks.breaker, ()))
        elif opcodes.NAMES[opcode] == "RESUME":
            # Not behind it, where it would make the line of the "def" one that is executed.
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

    def load_super_attribute(self, index: int, instruction: Instruction, stack: Any) -> None:
        opcode, arg = instruction.opcode, instruction.arg
        name = self.code.co_names[opcodes.attribute_name_index(opcode, arg)]
        if opcodes.is_method_load(opcode, arg):
            self.put(index, instead=opcodes.plain_attribute_load(opcode, arg))
        else:
            place = self.place(instruction)
            self.put(index, before=self.call(hooks.read_super_attribute, (2, 1), name, place))

    def store_attribute(self, index: int, instruction: Instruction, stack: Any) -> None:
        name = self.code.co_names[instruction.arg]
        before = self.call(
            hooks.write_attribute, (1,), name, write_kinds(name), self.place(instruction)
        )
        self.put(index, before=before)

    def load_global(self, index: int, instruction: Instruction, stack: Any) -> None:
        self._read_global(index, instruction, self.code.co_names[instruction.arg >> 1])

    def load_name(self, index: int, instruction: Instruction, stack: Any) -> None:
        name = self.code.co_names[instruction.arg]
        if self.is_module or name not in self.class_names:
            self._read_global(index, instruction, name)

    def load_from_dict_or_globals(self, index: int, instruction: Instruction, stack: Any) -> None:
        self._read_global(index, instruction, self.code.co_names[instruction.arg])

    def _read_global(self, index: int, instruction: Instruction, name: str) -> None:
        if self.view.may_change(name):
            self._touch_global(hooks.read_global, index, instruction, name)

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
            self.store_global(index, instruction, stack)

    def load_cell(self, index: int, instruction: Instruction, stack: Any) -> None:
        self._touch_cell(hooks.read_cell, index, instruction)

    def store_cell(self, index: int, instruction: Instruction, stack: Any) -> None:
        self._touch_cell(hooks.write_cell, index, instruction)

    def _touch_cell(self, hook: Callable[..., None], index: int, instruction: Instruction) -> None:
        name = self.variables[instruction.arg]
        if name == "__class__" or name in self.own_constant_cells | self.constant_cells:
            return
        before = opcodes.begin_call(self.constant(hook))
        before += encode_instruction(opcodes.LOAD_CELL, instruction.arg)
        number = self.constant(self.place(instruction))
        before += encode_instruction(opcodes.LOAD_CONST, number)
        self.put(index, before=before + opcodes.end_call(2))

    def binary_operation(self, index: int, instruction: Instruction, stack: Any) -> None:
        if self._is_scalar(stack[-1]) or self._is_scalar(stack[-2]):
            return
        hook = hooks.binary
        if opcodes.NAMES[instruction.opcode] == "BINARY_OP" and opcodes.is_in_place(
            instruction.arg
        ):
            hook = hooks.binary_in_place
        self.put(index, before=self.call(hook, (2, 1), self.place(instruction)))

    def _is_scalar(self, producer: Producer | None) -> bool:
        """Whether a value is a constant that no container is combined with item by item."""
        if producer is None or producer[1] != opcodes.LOAD_CONST:
            return False
        value = self.code.co_consts[self.instructions[producer[0]].arg]
        return isinstance(value, int | float | complex | None)

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
        self.put(index, before=self.call(hooks.read_whole, (depth,), self.place(instruction)))

    def call_function(self, index: int, instruction: Instruction, stack: Any) -> None:
        """A call with positional arguments, and perhaps keyword arguments behind them."""
        name = opcodes.NAMES[instruction.opcode]
        count = positional = instruction.arg
        skipped = 0
        first = index
        if name == "CALL_KW":
            skipped = 1
            positional -= self._keyword_count(stack[-1])
        elif index and opcodes.NAMES[self.instructions[index - 1].opcode] == "KW_NAMES":
            first = index - 1
            names = self.code.co_consts[self.instructions[first].arg]
            positional -= len(names)
        bottom = len(stack) - skipped - count - 2
        if bottom < 0 or positional < 0:
            return
        callable_depth = self._callable_depth(stack, bottom)
        if callable_depth is None:
            return
        top = len(stack)
        depths = tuple(top - (bottom + 2 + number) for number in range(min(positional, 3)))
        hook = (hooks.call0, hooks.call1, hooks.call2, hooks.call3)[len(depths)]
        before = self.call(hook, (callable_depth, *depths), self.place(instruction))
        self.put(first, before=before)

    def _keyword_count(self, producer: Producer | None) -> int:
        if producer is None or producer[1] != opcodes.LOAD_CONST:
            return 1 << 30
        names = self.code.co_consts[self.instructions[producer[0]].arg]
        return len(names) if isinstance(names, tuple) else 1 << 30

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
            isinstance(value, FunctionType)
            or value in _HARMLESS_BUILTINS
            or (isinstance(value, type) and value not in CONSTRUCTORS)
        )

    def call_with_star(self, index: int, instruction: Instruction, stack: Any) -> None:
        arguments = 1 + (instruction.arg & 1)
        callable_depth = arguments + (2 if opcodes.NULL_FOLLOWS_CALLABLE else 1)
        place = self.place(instruction)
        before = self.call(hooks.call_star, (callable_depth, arguments), place)
        self.put(index, before=before)


_HARMLESS_BUILTINS: frozenset[Any] = frozenset(
    {isinstance, issubclass, callable, id, hash, ord, chr, globals, locals, print, abs, round}
)

Handler = Callable[[_Rewriting, int, Instruction, Any], None]


def _peeking(hook: Callable[..., None], *depths: int) -> Handler:
    """A handler that gives a hook values from fixed depths of the stack."""

    def handle(self: _Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
        self.put(index, before=self.call(hook, depths, self.place(instruction)))

    return handle


def _step_of_loop(self: _Rewriting, index: int, instruction: Instruction, stack: Any) -> None:
    producer = stack[-1]
    # The iterator of a comprehension is also its parameter, called ".0".
    implicit = (
        producer is not None
        and opcodes.NAMES[producer[1]] == "LOAD_FAST"
        and self.variables[self.instructions[producer[0]].arg] == ".0"
    )
    hook = hooks.step_of_comprehension if implicit else hooks.step
    self.put(index, before=self.call(hook, (1,), self.place(instruction)))


_BY_NAME: Mapping[str, Handler] = {
    "LOAD_ATTR": _Rewriting.load_attribute,
    "LOAD_METHOD": _Rewriting.load_attribute,
    "LOAD_SUPER_ATTR": _Rewriting.load_super_attribute,
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
    "STORE_SUBSCR": _peeking(hooks.write_item, 2, 1),
    "DELETE_SUBSCR": _peeking(hooks.delete_item, 2, 1),
    "BINARY_SLICE": _peeking(hooks.read_slice, 3),
    "STORE_SLICE": _peeking(hooks.write_slice, 3),
    "CONTAINS_OP": _peeking(hooks.contains, 2, 1),
    "COMPARE_OP": _Rewriting.binary_operation,
    "BINARY_OP": _Rewriting.binary_operation,
    "GET_ITER": _peeking(hooks.iterate, 1),
    "GET_YIELD_FROM_ITER": _peeking(hooks.iterate, 1),
    "FOR_ITER": _step_of_loop,
    "SEND": _peeking(hooks.step, 2),
    "UNPACK_SEQUENCE": _peeking(hooks.consume, 1),
    "UNPACK_EX": _peeking(hooks.consume, 1),
    "LIST_EXTEND": _peeking(hooks.consume, 1),
    "SET_UPDATE": _peeking(hooks.consume, 1),
    "DICT_UPDATE": _peeking(hooks.consume, 1),
    "DICT_MERGE": _peeking(hooks.consume, 1),
    "GET_LEN": _peeking(hooks.read_whole, 1),
    "MATCH_KEYS": _peeking(hooks.read_whole, 2),
    "FORMAT_VALUE": _Rewriting.format_value,
    "FORMAT_SIMPLE": _Rewriting.format_value,
    "FORMAT_WITH_SPEC": _Rewriting.format_value,
    "CONVERT_VALUE": _Rewriting.format_value,
    "CALL" if opcodes.PY312 else "PRECALL": _Rewriting.call_function,
    "CALL_KW": _Rewriting.call_function,
    "CALL_FUNCTION_EX": _Rewriting.call_with_star,
    **dict.fromkeys(opcodes.TRUTH_TESTS, _Rewriting.test_truth),
}

_HANDLERS: Mapping[int, Handler] = {
    dis.opmap[name]: handler for name, handler in _BY_NAME.items() if name in dis.opmap
}
