"""Code in C that takes several items of a generator that two tasks have.

Nobody but its task has the iterator in front; between two items, and while the generator runs,
another task may come to the generator as well.
"""

from __future__ import annotations

import collections
import functools
import heapq
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from tests.programs.guarding import Guard
from tests.programs.together import together


def _numbers() -> Iterator[int]:
    yield from (number for number in range(4))


def _taken(guard: Guard, take: Callable[[Iterator[int]], object], wanted: list[Any]) -> None:
    """Each of two tasks takes what belongs together."""
    numbers = _numbers()
    taken: list[Any] = []

    def work() -> None:
        with guard:
            taken.append(take(numbers))

    together(work, work)
    assert sorted(taken) == wanted


def slice_of_a_generator(guard: Guard) -> None:
    """Another task takes the second item, or finds the generator running."""
    _taken(guard, lambda numbers: list(itertools.islice(numbers, 2)), [[0, 1], [2, 3]])


def generator_zipped_with_itself(guard: Guard) -> None:
    """The same of ``zip``."""
    _taken(guard, lambda numbers: next(zip(numbers, numbers, strict=False)), [(0, 1), (2, 3)])


def generator_zipped_in_a_loop(guard: Guard) -> None:
    """The same in a loop, which alone has the iterator."""

    def take(numbers: Iterator[int]) -> tuple[int, int]:
        for pair in zip(numbers, numbers, strict=False):
            return pair
        raise AssertionError

    _taken(guard, take, [(0, 1), (2, 3)])


def sums_of_a_generator(guard: Guard) -> None:
    """The same of ``sum``."""
    _taken(guard, lambda numbers: sum(itertools.islice(numbers, 2)), [1, 5])


def sorted_items_of_a_generator(guard: Guard) -> None:
    """The same of ``sorted``."""
    _taken(guard, lambda numbers: sorted(itertools.islice(numbers, 2)), [[0, 1], [2, 3]])


def list_filled_from_a_generator(guard: Guard) -> None:
    """The same of ``extend``."""

    def take(numbers: Iterator[int]) -> list[int]:
        filled: list[int] = []
        filled.extend(itertools.islice(numbers, 2))
        return filled

    _taken(guard, take, [[0, 1], [2, 3]])


def dict_filled_from_a_generator(guard: Guard) -> None:
    """The same of ``update``."""

    def take(numbers: Iterator[int]) -> list[int]:
        filled: dict[str, int] = {}
        filled.update(zip("ab", numbers, strict=False))
        return [*filled.values()]

    _taken(guard, take, [[0, 1], [2, 3]])


def function_of_two_items_of_a_generator(guard: Guard) -> None:
    """The same of ``map``."""
    _taken(guard, lambda numbers: next(map(operator.add, numbers, numbers)), [1, 5])


def generator_that_is_reduced(guard: Guard) -> None:
    """The same of ``reduce``."""
    _taken(
        guard,
        lambda numbers: functools.reduce(operator.add, itertools.islice(numbers, 2)),
        [1, 5],
    )


def generator_in_a_chain(guard: Guard) -> None:
    """The same of a chain, which has not come to it."""
    _taken(
        guard,
        lambda numbers: list(itertools.islice(itertools.chain(numbers), 2)),
        [[0, 1], [2, 3]],
    )


def items_of_a_generator_counted(guard: Guard) -> None:
    """The same of a class in Python that gives them to code in C."""
    _taken(
        guard,
        lambda numbers: sorted(collections.Counter(itertools.islice(numbers, 2))),
        [[0, 1], [2, 3]],
    )


def generator_unpacked(guard: Guard) -> None:
    """The same of an assignment."""

    def take(numbers: Iterator[int]) -> tuple[int, int]:
        first, second = itertools.islice(numbers, 2)
        return first, second

    _taken(guard, take, [(0, 1), (2, 3)])


def generator_given_as_arguments(guard: Guard) -> None:
    """The same of a call."""
    _taken(guard, lambda numbers: max(*itertools.islice(numbers, 2)), [1, 3])


def largest_items_of_a_generator(guard: Guard) -> None:
    """The same of a function of a module of the library."""
    _taken(
        guard,
        lambda numbers: heapq.nlargest(1, itertools.islice(numbers, 2)),
        [[1], [3]],
    )
