"""Two tasks of an event loop that share a function, a class or a module, of which one is changed.

One looks at it twice, the other changes it in between.  Functions and classes are taken to stay as
they are: each of these is a way to change one that is easily overlooked.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

Looks = tuple[Callable[[], object], Callable[[], object]]

_mathematics: Any = math


def looked_at_twice(make: Callable[[], Looks]) -> None:
    """One task looks twice, with a pause in between; another one changes what it looks at."""

    async def main() -> None:
        look, change = make()

        async def look_twice() -> None:
            first = look()
            await asyncio.sleep(0)
            second = look()
            assert first == second

        async def change_once() -> None:
            await asyncio.sleep(0)
            change()

        await asyncio.gather(look_twice(), change_once())

    asyncio.run(main())


def looked_at_under_a_lock(make: Callable[[], Looks]) -> None:
    """The same, where nobody comes in between."""

    async def main() -> None:
        look, change = make()
        lock = asyncio.Lock()

        async def look_twice() -> None:
            async with lock:
                first = look()
                await asyncio.sleep(0)
                second = look()
            assert first == second

        async def change_once() -> None:
            await asyncio.sleep(0)
            async with lock:
                change()

        await asyncio.gather(look_twice(), change_once())

    asyncio.run(main())


def name_of_a_function() -> Looks:
    def function() -> None:
        pass

    def change() -> None:
        function.__name__ = "other"

    return lambda: function.__name__, change


def text_of_a_function() -> Looks:
    def function() -> None:
        pass

    def change() -> None:
        function.__qualname__ = "other"

    return lambda: repr(function), change


def documentation_of_a_method() -> Looks:
    class Documented:
        def method(self) -> None:
            """Does nothing."""

    def change() -> None:
        Documented.method.__doc__ = "Does something."

    return lambda: Documented.method.__doc__, change


def name_of_a_class() -> Looks:
    class Named:
        pass

    def change() -> None:
        Named.__name__ = "Other"

    return lambda: Named.__name__, change


def sum_in_a_class() -> Looks:
    """The second sum may come to be where the first number was."""

    class Account:
        balance = float("1.5")

    def change() -> None:
        Account.balance += 1.0
        Account.balance += 1.0

    return lambda: Account.balance + 0.0, change


def pair_in_a_class() -> Looks:
    class Range:
        ends: Any = (int("1"), 2)

    def change() -> None:
        first, last = Range.ends
        Range.ends = None
        Range.ends = first, last + 1

    return lambda: list(Range.ends), change


def sum_in_a_function() -> Looks:
    def function() -> None:
        pass

    counting: Any = function
    counting.calls = float("1.5")

    def change() -> None:
        counting.calls += 1.0
        counting.calls += 1.0

    return lambda: counting.calls + 0.0, change


def method_in_place_of_another() -> Looks:
    """It may come to be where the other one was."""

    class Replacing:
        method: Any = staticmethod(lambda: 1)

    def change() -> None:
        Replacing.method = None
        Replacing.method = lambda: 2

    return lambda: Replacing.method(), change


def list_in_a_slice() -> Looks:
    part: Any = slice([], None)
    return lambda: len(part.start), lambda: part.start.append(1)


def attribute_of_a_module_in_c() -> Looks:
    _mathematics.seen = 0

    def change() -> None:
        _mathematics.seen = 1

    return lambda: _mathematics.seen, change
