"""Programs whose functions are not there before the test begins: broken, or correct with a lock.

Each takes what guards the accesses that may race: a lock, or nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import operator
import sys
import types
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from tests.programs import late_module
from tests.programs.together import together

Guard = AbstractContextManager[object]


class _State:
    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self.is_open = True
        self.calls = 0


def _unless_closed(state: _State, late: Callable[[], object]) -> None:
    """Under few schedules a task sees the state change: only then it calls ``late``."""

    def use() -> None:
        was_open = state.is_open
        if was_open and not state.is_open:
            late()
        else:
            with state.guard:
                state.calls += 1

    def close() -> None:
        state.is_open = False
        with state.guard:
            state.calls += 1

    together(use, close)
    assert state.calls == 2


def called_under_few_schedules(guard: Guard) -> None:
    """A closure that only few executions call."""
    state = _State(guard)

    def late() -> None:
        with guard:
            state.calls += 1

    _unless_closed(state, late)


def generator_under_few_schedules(guard: Guard) -> None:
    """A generator that only few executions run."""
    state = _State(guard)

    def numbers() -> Iterator[int]:
        with guard:
            state.calls += 1
        yield 1

    _unless_closed(state, lambda: list(numbers()))


def method_of_a_dataclass(guard: Guard) -> None:
    """A dataclass made in the test, whose own ``__init__`` stores."""

    @dataclasses.dataclass
    class Box:
        value: int

    box = Box(0)

    def add() -> None:
        with guard:
            box.__init__(box.value + 1)  # type: ignore[misc]

    together(add, add)
    assert box.value == 2


def comparison_of_dataclasses(guard: Guard) -> None:
    """The ``__eq__`` of a dataclass calls that of its fields."""
    compared = [0]

    class Item:
        def __eq__(self, other: object) -> bool:
            with guard:
                compared[0] += 1
            return True

    @dataclasses.dataclass
    class Box:
        item: Item

    one, other = Box(Item()), Box(Item())
    together(lambda: one == other, lambda: one == other)
    assert compared[0] == 2


def method_of_a_named_tuple(guard: Guard) -> None:
    """A subclass of a named tuple made in the test."""

    class Pair(namedtuple("Pair", "counts guard")):
        def add(self) -> None:
            with self.guard:
                self.counts[0] += 1

    pair = Pair([0], guard)
    together(pair.add, pair.add)
    assert pair.counts[0] == 2


def executed_function(guard: Guard) -> None:
    """A function made by ``exec``."""
    namespace: dict[str, Any] = {"guard": guard, "n": 0}
    exec("def add():\n    global n\n    with guard: n = n + 1\n", namespace)
    together(namespace["add"], namespace["add"])
    assert namespace["n"] == 2


def executed_statement(guard: Guard) -> None:
    """What is executed accesses itself."""
    namespace: dict[str, Any] = {"guard": guard, "n": 0}

    def add() -> None:
        exec("with guard: n = n + 1", namespace)

    together(add, add)
    assert namespace["n"] == 2


def imported_by_one_task(guard: Guard) -> None:
    """Only one of the tasks imports the module."""
    state = _State(guard)
    name = late_module.__name__
    before = sys.modules.pop(name)

    def one() -> None:
        importlib.import_module(name).add(state)

    def other() -> None:
        with guard:
            state.calls += 1

    try:
        together(one, other)
    finally:
        sys.modules[name] = before
    assert state.calls == 2


def reloaded_while_another_calls(guard: Guard) -> None:
    """One task reloads the module whose function both call."""
    state = _State(guard)

    def one() -> None:
        with guard:
            importlib.reload(late_module)
        late_module.add(state)

    together(one, lambda: late_module.add(state))
    assert state.calls == 2


def functions_in_a_table(guard: Guard) -> None:
    """A closure and a lambda stored in a dict."""
    counts = [0]

    def add() -> None:
        with guard:
            counts[0] += 1

    table = {"add": add, "same": lambda: table["add"]()}
    together(table["add"], table["same"])
    assert counts[0] == 2


def wrapper_of_a_decorator(guard: Guard) -> None:
    """What counts is the function that a decorator has made."""
    counts = [0]

    def counted(function: Callable[[], None]) -> Callable[[], None]:
        @functools.wraps(function)
        def call() -> None:
            with guard:
                counts[0] += 1
            function()

        return call

    @counted
    def nothing() -> None:
        pass

    together(nothing, nothing)
    assert counts[0] == 2


def called_by_objects_of_c(guard: Guard) -> None:
    """A method called by ``partial`` and ``methodcaller``."""
    state = _State(guard)

    class Adder:
        def add(self, by: int) -> None:
            with guard:
                state.calls += by

    adder = Adder()
    call = operator.methodcaller("add", 1)
    together(functools.partial(adder.add, 1), lambda: call(adder))
    assert state.calls == 2


def body_of_a_class(guard: Guard) -> None:
    """The bodies of two classes count."""
    counts = [0]

    def make() -> None:
        class _Made:
            with guard:
                counts[0] += 1

    together(make, make)
    assert counts[0] == 2


def function_of_replaced_code(guard: Guard) -> None:
    """Functions made from a copy of another function's code."""
    counts = [0]

    def add() -> None:
        with guard:
            counts[0] += 1

    code = add.__code__.replace(co_name="other")
    other = types.FunctionType(code, globals(), "other", None, add.__closure__)
    together(other, other)
    assert counts[0] == 2


PROGRAMS = [
    *(called_under_few_schedules, generator_under_few_schedules, method_of_a_dataclass),
    *(comparison_of_dataclasses, method_of_a_named_tuple, executed_function, executed_statement),
    *(imported_by_one_task, reloaded_while_another_calls, functions_in_a_table),
    *(wrapper_of_a_decorator, called_by_objects_of_c, body_of_a_class, function_of_replaced_code),
]
