"""What tells objects apart, ``id``, hashes, ``repr``, is the same in each execution."""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
import ctypes
import functools
import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, as_completed, wait
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import bohrbug
from bohrbug.accelerator import native
from bohrbug.exploration.result import Result, VerdictKind
from tests.programs.together import together

needs_accelerator = pytest.mark.skipif(
    native is None, reason="the accelerator exchanges what object does in C"
)

ORDER = "the order of the set at "


class Thing:
    """Hashes as any object."""

    def __init__(self, number: int) -> None:
        self.number = number

    def method(self) -> int:
        return self.number


class Slotted:
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class Empty:
    __slots__ = ()


class Filling:
    """Takes memory, so that other objects get other addresses."""


_kept: list[object] = []


def _take_memory() -> None:
    _kept.append([Filling() for _ in range(len(_kept) * 7 % 5 + 1)])


def _made_in(count: int, make: Callable[[int], Any] = Thing) -> list[Any]:
    _take_memory()
    made = []
    for number in range(count):
        made.append(make(number))
        _take_memory()
    return made


def _seen(ask: Callable[[], object], executions: int = 8, **options: Any) -> list[object]:
    """What a task was told in each of some executions."""
    seen: list[object] = []

    def test() -> None:
        together(lambda: seen.append(ask()), lambda: None)

    options = {"strategy": "random", "level": "sync", **options}
    result = bohrbug.explore(test, executions=executions, **options)
    assert result.verdict.kind is not VerdictKind.FAILED, result.failures
    assert len(seen) >= executions
    return seen


def _through_weak_set() -> list[int]:
    things = _made_in(5)
    return [each.number for each in weakref.WeakSet(things)]


IDENTITIES: dict[str, Callable[[], object]] = {
    "order of a set": lambda: [each.number for each in set(_made_in(5))],
    "order of a frozen set": lambda: [each.number for each in frozenset(_made_in(5, Slotted))],
    "order of a weak set": _through_weak_set,
    "order of bound methods": lambda: [each() for each in {t.method for t in _made_in(5)}],
    "order of ids": lambda: [each.number for each in sorted(_made_in(5), key=id)],
    "order of locks": lambda: [
        id(one) < id(other)
        for one, other in permutations(_made_in(4, lambda _: threading.Lock()), 2)
    ],
    "shards": lambda: [hash(each) % 3 for each in _made_in(5)],
    "hash by the method of object": lambda: [object.__hash__(each) for each in _made_in(3)],
    "plain objects": lambda: [hash(object()) % 7 for _ in range(4)],
    "objects without any slot": lambda: [id(each) for each in _made_in(3, lambda _: Empty())],
    "text": lambda: repr(_made_in(2)),
    "text of a method": lambda: repr(_made_in(1)[0].method),
    "text of a lock": lambda: repr(threading.Lock()),
    "text of a future": lambda: repr(Future()),
    "exceptions": lambda: [hash(each) for each in _made_in(3, ValueError)],
    "classes": lambda: [hash(type("Made", (), {})) for _ in range(3)],
    "threads": lambda: [hash(threading.Thread()) for _ in range(3)],
}
if sys.version_info >= (3, 12):
    # Nothing tells of the making of functions before.
    IDENTITIES["functions"] = lambda: [hash(each) for each in _made_in(3, lambda _: lambda: 1)]


@needs_accelerator
@pytest.mark.parametrize("name", IDENTITIES)
def test_each_execution_is_told_the_same(name: str) -> None:
    assert len({repr(each) for each in _seen(IDENTITIES[name])}) == 1


_PROGRAM = """
import threading, bohrbug

class Thing:
    def method(self): pass

told = []

def test():
    def ask():
        things = [Thing() for _ in range(4)]
        told.append((
            [id(each) for each in things],
            [hash(each.method) for each in things],
            repr(things[0]),
            [hash(object()) for _ in range(3)],
        ))
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()

bohrbug.explore(test, executions=3, level="sync", strategy="random")
print(told[-1])
"""


@needs_accelerator
def test_another_process_is_told_the_same() -> None:
    sources = str(Path(bohrbug.__file__).parent.parent)

    def told(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": sources}
        command = [sys.executable, "-c", _PROGRAM]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert told("1") == told("2")


@needs_accelerator
def test_the_numbers_do_not_depend_on_which_task_comes_first() -> None:
    """Executions that differ only in the order of what is independent are one to a reduction."""
    seen: dict[str, set[tuple[int, ...]]] = {"left": set(), "right": set()}

    def test() -> None:
        def ask(name: str) -> None:
            seen[name].add(tuple(id(each) for each in _made_in(3)))

        together(lambda: ask("left"), lambda: ask("right"))

    bohrbug.explore(test, executions=20, level="sync", strategy="random")
    assert [len(each) for each in seen.values()] == [1, 1]
    assert not seen["left"] & seen["right"]


def test_ids_are_distinct_and_constant() -> None:
    def test() -> None:
        things: list[Any] = [*_made_in(50), *_made_in(50, Slotted), *_made_in(5, lambda _: Empty())]
        before = [id(each) for each in things]
        hashes = [hash(each) for each in things]
        assert len(set(before)) == len(things)
        together(lambda: _made_in(20), lambda: gc.collect())
        assert [id(each) for each in things] == before
        assert [hash(each) for each in things] == hashes
        assert all(f"{id(each):#x}" in repr(each) for each in things)
        assert copy.deepcopy(things[:3])[2].number == 2

    result = bohrbug.explore(test, executions=10)
    assert result.verdict.kind is not VerdictKind.FAILED, result.failures


def test_what_is_older_keeps_its_identity() -> None:
    things = [Thing(number) for number in range(20)]
    before = [(id(each), hash(each), repr(each)) for each in things]
    table = {each: each.number for each in things}
    methods = {each.method for each in things}

    def test() -> None:
        assert [(id(each), hash(each), repr(each)) for each in things] == before
        together(lambda: table[things[3]], lambda: things[4] in table)
        assert all(each.method in methods for each in things)

    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS, result.failures
    assert [(id(each), hash(each), repr(each)) for each in things] == before


def test_what_outlives_its_execution_keeps_its_identity() -> None:
    """And what an execution makes later gets no id that is in use."""
    kept: list[tuple[Thing, int, int]] = []
    tables: list[dict[Thing, int]] = []
    unasked: list[Thing] = []

    def test() -> None:
        made = Thing(0)
        assert all(each is not made and id(each) != id(made) for each, _, _ in kept)
        assert all(id(each) == id_ and hash(each) == hash_ for each, id_, hash_ in kept)
        kept.append((made, id(made), hash(made)))
        tables.append({made: 1})
        unasked.append(Thing(1))
        together(lambda: None, lambda: None)

    result = bohrbug.explore(test, executions=20, strategy="random")
    assert result.verdict.kind is not VerdictKind.FAILED, result.failures
    assert all(id(each) == id_ and hash(each) == hash_ for each, id_, hash_ in kept)
    assert all(table[each] for table, (each, _, _) in zip(tables, kept, strict=True))
    alive = [each for each, _, _ in kept] + unasked
    assert len({id(each) for each in alive}) == len(alive)
    assert all(each in set(unasked) for each in unasked)


@needs_accelerator
def test_the_dead_make_no_difference() -> None:
    """An object that is gone does not keep its id from the one of the next execution."""
    assert len({repr(each) for each in _seen(lambda: id(Thing(0)), executions=30)}) == 1


def test_objects_may_be_given_another_class() -> None:
    class One:
        pass

    class Other:
        pass

    module = type(sys)("made")

    class Module(type(sys)):  # type: ignore[misc]
        pass

    def test() -> None:
        class Local:
            pass

        thing: Any = One()
        hash_ = hash(thing)
        thing.__class__ = Other
        thing.__class__ = Local
        assert hash(thing) == hash_
        module.__class__ = Module

    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS, result.failures


def test_a_failure_that_depends_on_the_order_is_confirmed() -> None:
    def test() -> None:
        things = _made_in(6)
        numbers: list[int] = []
        together(lambda: numbers.extend(each.number for each in set(things)), lambda: None)
        by_id = [each.number for each in sorted(things, key=id)]
        assert (numbers, by_id) == ([], [])

    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.FAILED
    assert result.failures[0].confirmed
    assert not result.verdict.diverged


@needs_accelerator
def test_locks_in_the_order_of_their_ids_make_no_deadlock() -> None:
    def test() -> None:
        locks = [threading.Lock(), threading.Lock()]

        def both(first: Any, second: Any) -> None:
            one, other = sorted((first, second), key=id)
            with one, other:
                pass

        together(lambda: both(*locks), lambda: both(*reversed(locks)))

    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    assert result.verdict.conditions.taking == ()


# --- Loops over sets -----------------------------------------------------------------------------


def _taking(test: Callable[[], object]) -> tuple[str, ...]:
    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    return result.verdict.conditions.taking


def _loop(things: Any) -> None:
    for _ in things:
        pass


def _unpack(things: Any) -> None:
    _, _ = things


LOOPS: dict[str, Callable[[Any], object]] = {
    "for": _loop,
    "unpacking": _unpack,
    "list": lambda things: list(things),
    "display": lambda things: [*things],
    "tuple": lambda things: tuple(things),
    "comprehension": lambda things: [each.number for each in things],
    "pop": lambda things: things.pop(),
    "next": lambda things: next(iter(things)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_over_a_set_of_objects_is_a_condition(name: str) -> None:
    loop = LOOPS[name]

    def test() -> None:
        things = {Thing(0), Thing(1)}
        together(lambda: loop(things), lambda: None)

    (what,) = _taking(test)
    assert what.startswith(f"{ORDER}{Path(__file__).name}:")
    assert what.endswith(" as it was")


HARMLESS: dict[str, Callable[[], object]] = {
    "looking up": lambda: Thing(0) in {Thing(1), Thing(2)},
    "adding": lambda: {Thing(1), Thing(2)}.add(Thing(3)),
    "length": lambda: len({Thing(1), Thing(2)}),
    "one object": lambda: list({Thing(1)}),
    "numbers": lambda: list({1, 2}),
    "texts": lambda: list({"a", None}),
    "a dict": lambda: list({Thing(1): 1, Thing(2): 2}),
    "sorted": lambda: sorted({Thing(1), Thing(2)}, key=lambda each: each.number),
    "a set of a set": lambda: frozenset({Thing(1), Thing(2)}) | {Thing(3)},
    "ids": lambda: {id(Thing(1)): 1}.get(id(Thing(2))),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_does_not_depend_on_the_order_is_none(name: str) -> None:
    assert _taking(lambda: together(HARMLESS[name], lambda: None)) == ()


# --- Sets of futures -----------------------------------------------------------------------------


def _done(count: int) -> list[Future[int]]:
    futures: list[Future[int]] = [Future() for _ in range(count)]
    for number, future in enumerate(futures):
        future.set_result(number)
    return futures


def _popped(futures: set[Future[int]]) -> list[Future[int]]:
    found = []
    while futures:
        found.append(futures.pop())
    return found


ORDERED: dict[str, Callable[[list[Future[int]]], list[Future[int]]]] = {
    "wait": lambda futures: list(wait(futures).done),
    "wait of the module": lambda futures: [*concurrent.futures.wait(futures)[0]],
    "pop": lambda futures: _popped(wait(futures).done),
    "copy": lambda futures: list(wait(futures).done.copy()),
    "difference": lambda futures: list(wait([*futures, *_done(1)[:0]]).done - set()),
    "union": lambda futures: list(set() | wait(futures).done),
    "as_completed": lambda futures: list(as_completed(futures)),
}


def _orders(
    count: int, ask: Callable[[list[Future[int]]], list[Future[int]]], strategy: str
) -> tuple[set[tuple[int, ...]], Result]:
    seen: set[tuple[int, ...]] = set()

    def test() -> None:
        seen.add(tuple(each.result() for each in ask(_done(count))))

    return seen, bohrbug.explore(test, strategy=strategy)


@pytest.mark.parametrize("strategy", ["dfs", "dpor", "auto"])
@pytest.mark.parametrize("name", ORDERED)
def test_all_orders_of_futures_are_reached(name: str, strategy: str) -> None:
    seen, result = _orders(3, ORDERED[name], strategy)
    assert result.verdict.kind is VerdictKind.HOLDS, result.verdict
    assert result.verdict.conditions is not None
    assert result.verdict.conditions.taking == ()
    assert seen == set(permutations(range(3)))


@pytest.mark.parametrize("name", ORDERED)
def test_one_future_makes_no_choice(name: str) -> None:
    seen, result = _orders(1, ORDERED[name], "dfs")
    assert seen == {(0,)}
    assert result.executions == 1


def test_futures_that_are_not_looked_at_make_no_choice() -> None:
    def test() -> None:
        done, pending = wait(_done(3))
        assert len(done) == 3
        assert not pending

    assert bohrbug.explore(test, strategy="dfs").executions == 1


@pytest.mark.parametrize("strategy", ["dpor", "auto"])
def test_a_failure_in_one_order_of_futures_is_found_and_confirmed(strategy: str) -> None:
    def test() -> None:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            done, _ = wait([pool.submit(int, number) for number in range(2)])
            assert next(iter(done)).result() == 0

    result = bohrbug.explore(test, strategy=strategy)
    assert result.verdict.kind is VerdictKind.FAILED
    assert result.failures[0].confirmed


def test_sets_of_futures_are_sets() -> None:
    def test() -> None:
        futures = _done(2)
        done, _ = wait(futures)
        assert done == set(futures)
        assert isinstance(done, set)
        assert repr(done).startswith("{<Future at ")
        assert futures[0] in done
        assert (done - {futures[0]}) == {futures[1]}
        with pytest.raises(RuntimeError, match="changed size"):
            for _ in done:
                done.add(Future())
        done.clear()
        with pytest.raises(KeyError):
            done.pop()

    result = bohrbug.explore(test)
    assert result.verdict.kind is VerdictKind.HOLDS, result.failures


def test_own_sets_of_futures_are_a_condition() -> None:
    def test() -> None:
        futures = set(_done(2))
        together(lambda: [each.result() for each in futures], lambda: None)

    (what,) = _taking(test)
    assert what.startswith(ORDER)


def test_functions_that_make_a_pointer_of_an_id_get_an_address() -> None:
    def address(thing: object) -> int:
        return ctypes.c_void_p(id(thing)).value or 0

    def test() -> None:
        thing = Thing(1)
        type_of_thing = address(thing) + object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)
        assert ctypes.c_size_t.from_address(type_of_thing).value == id(Thing)

    result = bohrbug.explore(test, executions=3)
    assert not result.failures, result.failures


@needs_accelerator
def test_tasks_of_a_loop_come_in_the_order_of_the_first_execution() -> None:
    orders = []

    async def group() -> None:
        asyncio.get_running_loop().create_task(asyncio.sleep(100))
        await asyncio.sleep(100)

    async def main() -> None:
        groups = [asyncio.create_task(group()) for _ in range(6)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        # The hashes of some are alike, so that the order shows in which they were put into the set.
        orders.append([hash(task) for task in asyncio.all_tasks()])
        # So many that the set in which asyncio keeps all tasks gets larger.
        await asyncio.gather(*[asyncio.sleep(0) for _ in range(100)])
        assert len(groups) == 6

    explore = functools.partial(bohrbug.explore, executions=4, strategy="random", predict=0)
    explore(lambda: asyncio.run(main()), async_order="fifo")
    assert len(orders) > 1
    assert orders[1:] == orders[:1] * (len(orders) - 1)
