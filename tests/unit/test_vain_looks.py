"""Who looks again and finds all as it was yields; who may have come further does not."""

from __future__ import annotations

import contextvars
import io
import itertools
import linecache
import queue
import random
import sys
import threading
import time
import types
import unittest
from collections.abc import Callable, Iterator

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads import source_statements, vain_looks
from tests.programs.together import together

TRIES = 30
"""More than who yields has before the other one has raised the flag."""


Flag = threading.Event
"""What one thread sets, and others look at: from the first time on that is a scheduling point."""


def found(wait: Callable[[Flag], None]) -> VerdictKind:
    """What is said if one thread waits for a flag, and another one raises it."""

    def test() -> None:
        flag = Flag()

        together(lambda: wait(flag), flag.set)

    return bohrbug.explore(test, minimise=False, causes=0).verdict.kind


# -- loops that only wait ---------------------------------------------------------------------


def looks(flag: Flag) -> None:
    while not flag.is_set():
        pass


def looks_until_it_leaves(flag: Flag) -> None:
    while True:
        if flag.is_set():
            break
        if flag is None:
            raise AssertionError
        continue


def looks_in_turn(flag: Flag) -> None:
    for _ in range(2):
        looks(flag)


def looks_as_it_enters(flag: Flag) -> None:
    class Entered:
        def __enter__(self) -> None:
            looks(flag)

        def __exit__(self, *_: object) -> None:
            pass

    with Entered():
        pass


@pytest.mark.parametrize("wait", [looks, looks_until_it_leaves, looks_in_turn, looks_as_it_enters])
def test_who_only_looks_needs_few_schedules(wait: Callable[[Flag], None]) -> None:
    assert found(wait) is VerdictKind.HOLDS


def waits_for_both() -> None:
    """Peterson's algorithm has such a loop, of two looks."""
    here = [False, False]

    def meet(me: int) -> None:
        here[me] = True
        while not here[1 - me]:
            pass

    together(lambda: meet(0), lambda: meet(1))


def polls_a_queue() -> None:
    items: queue.Queue[int] = queue.Queue()

    def consume() -> None:
        while items.empty():
            pass
        items.get_nowait()

    together(consume, lambda: items.put(1))


def looks_at_a_variable() -> None:
    is_up = False

    def wait() -> None:
        while not is_up:
            pass

    def set_it() -> None:
        nonlocal is_up
        is_up = True

    together(wait, set_it)


@pytest.mark.parametrize("test", [waits_for_both, polls_a_queue, looks_at_a_variable])
def test_loops_over_what_others_change_hold(test: Callable[[], None]) -> None:
    result = bohrbug.explore(test, minimise=False, causes=0, strategy="dpor", executions=300)
    assert result.verdict.kind is VerdictKind.HOLDS


def test_to_read_sources_is_nothing_that_a_task_does() -> None:
    def executions() -> int:
        return bohrbug.explore(waits_for_both, strategy="dpor", minimise=False, causes=0).executions

    executions()
    linecache.cache.pop(__file__, None)
    source_statements._tree_of.cache_clear()
    source_statements.loops_around.cache_clear()
    vain_looks._called_in_loop.cache_clear()
    vain_looks._called_by.cache_clear()
    first = executions()
    assert first == executions()


def test_a_loop_that_only_looks_is_named() -> None:
    def test() -> None:
        flag = Flag()
        together(lambda: looks(flag), flag.set)

    result = bohrbug.explore(test, minimise=False, causes=0)
    assert any("spins at" in notice for notice in result.notices)


# -- loops that come further as only they can tell ----------------------------------------------


class Counting:
    """Gives up after some tries, which it counts where it is told to."""

    def __init__(self, count: Callable[[], int]) -> None:
        self.count = count

    def try_again(self) -> bool:
        assert self.count() < TRIES, "gives up"
        return False

    @property
    def gives_up(self) -> bool:
        return self.try_again()

    def __bool__(self) -> bool:
        return self.try_again()

    def __len__(self) -> int:
        return self.try_again()

    def __contains__(self, _: object) -> bool:
        return self.try_again()

    def done(self) -> bool:
        return self.try_again()


def counts_in_itself() -> Callable[[], int]:
    class Tries:
        number = 0

    tries = Tries()

    def count() -> int:
        tries.number += 1
        return tries.number

    return count


def counts_in_a_closure() -> Callable[[], int]:
    number = 0

    def count() -> int:
        nonlocal number
        number += 1
        return number

    return count


def counts_on_a_class() -> Callable[[], int]:
    class Tries:
        number = 0

    def count() -> int:
        Tries.number += 1
        return Tries.number

    return count


other_module = types.ModuleType("other_module")
other_module.tries = 0  # type: ignore[attr-defined]


def counts_in_another_module() -> Callable[[], int]:
    other_module.tries = 0  # type: ignore[attr-defined]

    def count() -> int:
        other_module.tries += 1
        return int(other_module.tries)

    return count


def counts_in_a_generator() -> Callable[[], int]:
    def numbers() -> Iterator[int]:
        number = 0
        while True:
            yield number
            number += 1

    generator = numbers()
    return lambda: next(generator)


def counts_in_an_iterator() -> Callable[[], int]:
    numbers = iter(range(TRIES + 1))
    return lambda: next(numbers)


def counts_in_an_iterator_of_pairs() -> Callable[[], int]:
    pairs = enumerate("x" * (TRIES + 1))
    return lambda: next(pairs)[0]


def counts_in_the_list_of_a_method() -> Callable[[], int]:
    return list(range(TRIES, -1, -1)).pop


def counts_with_itertools() -> Callable[[], int]:
    numbers = itertools.count()
    return lambda: next(numbers)


def counts_in_the_thread() -> Callable[[], int]:
    class Tries(threading.local):
        number = 0

    tries = Tries()

    def count() -> int:
        tries.number += 1
        return tries.number

    return count


def counts_in_the_context() -> Callable[[], int]:
    variable = contextvars.ContextVar("variable", default=0)

    def count() -> int:
        variable.set(variable.get() + 1)
        return variable.get()

    return count


def draws_lots() -> Callable[[], int]:
    lots = random.Random(0)
    return lambda: TRIES if lots.randrange(32) == 0 else 0


def takes_long() -> Callable[[], int]:
    begin = time.monotonic()
    return lambda: TRIES if time.monotonic() > begin + TRIES * 1e-6 else 0


COUNTS = [
    counts_in_itself,
    counts_in_a_closure,
    counts_on_a_class,
    counts_in_another_module,
    counts_in_a_generator,
    counts_in_an_iterator,
    counts_in_an_iterator_of_pairs,
    counts_in_the_list_of_a_method,
    counts_with_itertools,
    counts_in_the_thread,
    counts_in_the_context,
    draws_lots,
    takes_long,
]


@pytest.mark.parametrize("counts", COUNTS, ids=lambda counts: counts.__name__)
def test_who_counts_somewhere_may_give_up(counts: Callable[[], Callable[[], int]]) -> None:
    def wait(flag: Flag) -> None:
        tries = Counting(counts())
        while not flag.is_set() and not tries.gives_up:
            pass

    assert found(wait) is VerdictKind.FAILED


def by_its_truth(flag: Flag, tries: Counting) -> None:
    while not (flag.is_set() or tries):
        pass


def by_its_length(flag: Flag, tries: Counting) -> None:
    while not flag.is_set() and len(tries) == 0:
        pass


def by_a_function_that_reads(flag: Flag, tries: Counting) -> None:
    sys.stdin = io.StringIO("\n" * TRIES)
    try:
        while not flag.is_set():
            input()
    finally:
        sys.stdin = sys.__stdin__


def by_a_function_that_is_called_like_another(flag: Flag, tries: Counting) -> None:
    sys.stdin = io.StringIO("\n" * TRIES)
    abs = input
    try:
        while not flag.is_set():
            abs()
    finally:
        sys.stdin = sys.__stdin__


def by_what_it_contains(flag: Flag, tries: Counting) -> None:
    while not flag.is_set() and 1 not in tries:
        pass


def by_a_method(flag: Flag, tries: Counting) -> None:
    while not flag.is_set():
        if tries.done():
            break


def by_a_call(flag: Flag, tries: Counting) -> None:
    while not flag.is_set():
        tries.try_again()


def by_a_call_before_it_goes_on(flag: Flag, tries: Counting) -> None:
    while not flag.is_set():
        if flag is not None:
            tries.try_again()
            continue


def by_a_branch_that_seems_to_leave(flag: Flag, tries: Counting) -> None:
    sys.stdin = io.StringIO("x" * TRIES)
    try:
        while not flag.is_set():
            if flag is not None:
                if sys.stdin.read(1):
                    continue
                raise AssertionError("gives up")
    finally:
        sys.stdin = sys.__stdin__


def by_the_number_of_lists(flag: Flag, tries: Counting) -> None:
    made = 0
    while not flag.is_set():
        made += 1
        assert made < TRIES


WAYS = [
    by_its_truth,
    by_its_length,
    by_a_function_that_is_called_like_another,
    by_a_function_that_reads,
    by_what_it_contains,
    by_a_method,
    by_a_call,
    by_a_call_before_it_goes_on,
    by_a_branch_that_seems_to_leave,
    by_the_number_of_lists,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_who_counts_in_some_way_may_give_up(way: Callable[[Flag, Counting], None]) -> None:
    assert found(lambda flag: way(flag, Counting(counts_in_a_closure()))) is VerdictKind.FAILED


def looks_once(flag: Flag) -> None:
    while True:
        if flag.is_set() or flag is not None:
            return


def again_and_again(flag: Flag) -> None:
    for _ in itertools.repeat(None, TRIES):
        looks_once(flag)
    assert flag.is_set()


def by_a_map(flag: Flag) -> None:
    list(map(looks_once, [flag] * TRIES))
    assert flag.is_set()


def by_a_suite(flag: Flag) -> None:
    def run(_: object) -> None:
        looks_once(flag)

    unittest.TestSuite([run] * TRIES).run(unittest.TestResult())
    assert flag.is_set()


def in_a_list(flag: Flag) -> None:
    [looks_once(each) for each in [flag] * TRIES]
    assert flag.is_set()


def in_rounds_over_the_same(flag: Flag) -> None:
    for each in [flag] * TRIES:
        while True:
            if each.is_set() or each is not None:
                break
    assert flag.is_set()


@pytest.mark.parametrize(
    "way", [again_and_again, by_a_map, by_a_suite, in_a_list, in_rounds_over_the_same]
)
def test_loops_that_are_come_to_again_are_not_one(way: Callable[[Flag], None]) -> None:
    """As many looks at one place, but the last of them is the last one: others need not run."""
    assert found(way) is VerdictKind.FAILED
