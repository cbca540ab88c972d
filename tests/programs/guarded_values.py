"""Programs around parts of functions, contexts of numbers, and caches, each with a lock or without.

With a lock each is correct, without one some interleaving breaks it.
"""

from __future__ import annotations

import asyncio
import contextlib
import decimal
import functools
import inspect
import operator
import os
import re
import threading
import types
import typing
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tests.programs.guarding import Guard, counted
from tests.programs.together import together

_LONG = Decimal("1.23456789")


def _seen_between(guard: Guard, change: Callable[[], object], look: Callable[[], Any]) -> None:
    """A task changes something and puts it back, which another one is not to see."""
    before = look()
    seen: list[Any] = []

    def work() -> None:
        with guard:
            change()

    def other() -> None:
        with guard:
            found = look()
        seen.append(found)

    together(work, other)
    assert seen == [before]


def _raised_in_one_context(guard: Guard, compute: Callable[[], object]) -> None:
    """What one task computes raises a flag, of which another one thinks that it has raised it."""
    shared = decimal.Context(prec=3)
    seen: list[bool] = []

    def other() -> None:
        decimal.setcontext(shared)
        with guard:
            compute()

    def work() -> None:
        decimal.setcontext(shared)
        with guard:
            shared.clear_flags()
            Decimal(1) + Decimal(1)
            found = shared.flags[decimal.Inexact]
        seen.append(found)

    with decimal.localcontext():
        together(other, work)
    assert not seen[0]


def _product() -> Decimal:
    product = _LONG
    product *= _LONG
    return product


def quotient_in_a_shared_context(guard: Guard) -> None:
    """An operator raises a flag in the context that both tasks have set."""
    _raised_in_one_context(guard, lambda: _LONG / 7)


def product_in_a_shared_context(guard: Guard) -> None:
    """So does one that assigns."""
    _raised_in_one_context(guard, _product)


def sign_in_a_shared_context(guard: Guard) -> None:
    """And one of a single number."""
    _raised_in_one_context(guard, lambda: -_LONG)


def number_rounded_in_a_shared_context(guard: Guard) -> None:
    """A plus sign rounds."""
    _raised_in_one_context(guard, lambda: +_LONG)


def amount_in_a_shared_context(guard: Guard) -> None:
    """So does a function of the language."""
    _raised_in_one_context(guard, lambda: abs(_LONG))


def sum_in_a_shared_context(guard: Guard) -> None:
    """The numbers are in a list."""
    _raised_in_one_context(guard, lambda: sum([_LONG, _LONG]))


def root_in_a_shared_context(guard: Guard) -> None:
    """A method of a number takes the context, too."""
    _raised_in_one_context(guard, _LONG.sqrt)


def context_of_a_loop(guard: Guard) -> None:
    """The tasks of an event loop have copied a context that holds one and the same of numbers."""
    lock = asyncio.Lock() if hasattr(guard, "acquire") else contextlib.nullcontext()

    async def quotient(precision: int) -> str:
        async with lock:
            decimal.getcontext().prec = precision
            await asyncio.sleep(0)
            return str(Decimal(1) / 3)

    async def main() -> None:
        decimal.setcontext(decimal.Context())
        assert await asyncio.gather(quotient(3), quotient(5)) == ["0.333", "0.33333"]

    asyncio.run(main())


def signature_of_a_function(guard: Guard) -> None:
    """Another default is found."""

    def function(argument: int = 1) -> None: ...

    def change() -> None:
        function.__defaults__ = (2,)
        function.__defaults__ = (1,)

    _seen_between(guard, change, lambda: str(inspect.signature(function)))


def signature_of_an_attribute(guard: Guard) -> None:
    """Another signature is found."""

    def function(argument: int = 1) -> None: ...

    def change() -> None:
        function.__signature__ = inspect.Signature()  # type: ignore[attr-defined]
        del function.__signature__  # type: ignore[attr-defined]

    _seen_between(guard, change, lambda: str(inspect.signature(function)))


def _annotated() -> tuple[Any, Callable[[], None]]:
    def function(argument: int) -> None: ...

    function.__annotations__ = {"argument": int}

    def change() -> None:
        function.__annotations__ = {"argument": str}
        function.__annotations__ = {"argument": int}

    return function, change


def annotations_by_inspect(guard: Guard) -> None:
    """Another annotation is found."""
    function, change = _annotated()
    _seen_between(guard, change, lambda: inspect.get_annotations(function)["argument"])


def annotations_by_typing(guard: Guard) -> None:
    """Another annotation is found."""
    function, change = _annotated()
    _seen_between(guard, change, lambda: typing.get_type_hints(function)["argument"])


def text_of_a_function(guard: Guard) -> None:
    """Two tasks add to what a function says of itself."""

    def function() -> None:
        """One"""

    def add() -> None:
        function.__doc__ = f"{function.__doc__}, one more"

    counted(guard, add, lambda: str(function.__doc__).count("more"))


def _torn_namespace(guard: Guard, holder: Any) -> None:
    seen: list[bool] = []

    def work() -> None:
        with guard:
            vars(holder)["first"] = 1
            vars(holder)["second"] = 1

    def look() -> None:
        with guard:
            same = holder.first == holder.second
        seen.append(same)

    together(work, look)
    assert seen == [True]


def namespace_through_its_dict(guard: Guard) -> None:
    """What can't be referenced weakly has a dict all the same."""
    _torn_namespace(guard, types.SimpleNamespace(first=0, second=0))


def exception_through_its_dict(guard: Guard) -> None:
    """So have exceptions."""
    error: Any = ValueError()
    error.first = error.second = 0
    _torn_namespace(guard, error)


def _ranked(guard: Guard, find_first: Callable[[list[dict[str, int]]], object]) -> None:
    """A task exchanges the order of two, another one looks which is first, and what it has."""
    one, two = {"rank": 1}, {"rank": 2}
    seen: list[tuple[bool, int]] = []

    def work() -> None:
        with guard:
            one["rank"] = 4
            two["rank"] = 3

    def look() -> None:
        with guard:
            found = find_first([one, two]) is one, one["rank"]
        seen.append(found)

    together(work, look)
    assert seen[0] in ((True, 1), (False, 4))


_rank = operator.itemgetter("rank")


def items_sorted_by_an_item_of_theirs(guard: Guard) -> None:
    """Code in C gets at the items by code in C."""
    _ranked(guard, lambda items: sorted(items, key=_rank)[0])


def list_sorted_by_an_item_of_each(guard: Guard) -> None:
    """So does a method."""

    def find_first(items: list[dict[str, int]]) -> object:
        items.sort(key=_rank)
        return items[0]

    _ranked(guard, find_first)


def smallest_by_an_item(guard: Guard) -> None:
    """So does what goes through all."""
    _ranked(guard, lambda items: min(items, key=_rank))


def names_sorted_by_a_dict(guard: Guard) -> None:
    """The method of a dict says what comes first."""
    ranks = {"one": 1, "two": 2}
    seen: list[tuple[str, int]] = []

    def work() -> None:
        with guard:
            ranks["one"] = 4
            ranks["two"] = 3

    def look() -> None:
        with guard:
            found = min(["one", "two"], key=ranks.__getitem__), ranks["one"]
        seen.append(found)

    together(work, look)
    assert seen[0] in (("one", 1), ("two", 4))


def method_for_each_class(guard: Guard) -> None:
    """The methods are chosen by the class of an argument, and made anew in each call."""

    class Counting:
        def __init__(self) -> None:
            self.count = 0

        @functools.singledispatchmethod
        def add(self, number: object) -> None:
            self.count += 1

        @add.register
        def _(self, number: str) -> None:
            self.count += 1

    counting = Counting()
    numbers: list[object] = [1, "one"]
    counted(guard, lambda: counting.add(numbers.pop()), lambda: counting.count)


def function_bound_by_hand(guard: Guard) -> None:
    """A function is bound, or called, through its attributes."""
    state = types.SimpleNamespace(count=0)

    def add(self: Any) -> None:
        self.count += 1

    counted(guard, lambda: add.__get__(state).__call__(), lambda: int(state.count))


def cache_of_patterns(guard: Guard) -> None:
    """Both compile a pattern that is not in the cache, or no longer."""
    re.purge()
    patterns: list[re.Pattern[str]] = []

    def work() -> None:
        with guard:
            pattern = re.compile("one|two")
        patterns.append(pattern)

    together(work, work)
    assert patterns[0] is patterns[1]


def number_of_an_eventfd(guard: Guard) -> None:
    """Whoever comes in lets two in, where one was to come in."""
    descriptor = os.eventfd(1, os.EFD_SEMAPHORE)
    state = types.SimpleNamespace(tokens=0)

    def work() -> None:
        os.eventfd_read(descriptor)
        with guard:
            state.tokens += 1
        os.eventfd_write(descriptor, 2)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.close(descriptor)
    assert state.tokens == 3
