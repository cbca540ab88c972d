"""What rewritten functions tell of their accesses: calls, and the places of accesses."""

from __future__ import annotations

import bisect
import collections
import copy
import dis
import functools
import heapq
import operator
import sys
import weakref
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import pytest

from bohrbug.runtime.threads.rewrite import (
    Rewriter,
    builtins_table,
    c_code,
    instrumented_callable,
    set_sink,
    unknown,
)
from tests.unit.rewriting import REWRITER, Box, Recorder, told

pytestmark = pytest.mark.usefixtures("restored_code")


# --- Calls


def test_every_type_that_a_call_is_told_of_is_known() -> None:
    assert {*c_code._CALLS} == builtins_table.CALLABLE_TYPES | {FunctionType}
    assert not unknown.CALLED[FunctionType]


def test_builtin_functions_read_their_arguments() -> None:
    def body(items: Any) -> None:
        len(items)
        sorted(items)
        sum(items)
        min(items)
        any(items)
        list(items)
        tuple(items)
        set(items)
        ",".join(map(str, items))
        repr(items)
        functools.reduce(operator.add, items)

    accesses = [access for access in told(body, items=[1]) if "items" in access]
    assert accesses == ["read items"] * 11


def test_heapq_bisect_counter_operator() -> None:
    def body(heap: Any, counts: Any) -> None:
        heapq.heappush(heap, 1)
        heapq.heappop(heap)
        bisect.insort(heap, 1)
        operator.setitem(heap, 0, 1)
        operator.itemgetter(0)(heap)
        counts.update("a")

    rewriter = Rewriter()
    rewriter.install_function(collections.Counter.update)  # type: ignore[arg-type]
    try:
        accesses = told(body, heap=[], counts=collections.Counter())
    finally:
        rewriter.restore()
    about_heap = [access for access in accesses if "heap" in access]
    assert about_heap == ["write heap"] * 3 + ["write heap[0]", "read heap[0]"]
    assert "write counts" in accesses


def test_bound_methods_kept_for_later() -> None:
    def body(items: Any) -> None:
        append = items.append
        append(1)
        functools.partial(items.append, 2)()

    assert told(body, items=[]) == ["write items", "write items"]


def test_keyword_arguments_do_not_disturb() -> None:
    def body(items: Any) -> None:
        sorted(items, key=lambda item: -item, reverse=True)
        items.sort(key=str)
        max(items, default=3)

    # Read once, and wherever the key function of sorted begins or ends.
    expected = [*["read items"] * 5, "write items", "read items"]
    assert told(body, items=[2, 1]) == expected


def test_copies() -> None:
    def body(items: Any) -> None:
        copy.copy(items)

    rewriter = Rewriter()
    rewriter.install_function(copy.copy)  # type: ignore[arg-type]
    try:
        assert "read items" in told(body, items=[1])
    finally:
        rewriter.restore()


def test_lru_cache() -> None:
    @functools.lru_cache
    def cached(number: int) -> int:
        return number

    def body(cached: Any) -> None:
        cached(1)

    assert told(body, cached=cached) == ["write cached"]


def test_weak_value_dictionary() -> None:
    table: Any = weakref.WeakValueDictionary()
    box = Box()

    def body(table: Any, box: Any) -> None:
        table["a"] = box
        table.get("a")

    rewriter = Rewriter()
    rewriter.install_function(weakref.WeakValueDictionary.__setitem__)  # type: ignore[arg-type]
    rewriter.install_function(weakref.WeakValueDictionary.get)  # type: ignore[arg-type]
    try:
        accesses = told(body, table=table, box=box)
    finally:
        rewriter.restore()
    assert "write dict['a']" in accesses
    assert "read dict['a']" in accesses


def test_instrumented_callable() -> None:
    items: list[int] = []
    append = instrumented_callable(items.append)
    recorder = Recorder(items=items)
    set_sink(recorder)
    append(1)
    set_sink(None)
    append(2)
    assert items == [1, 2]
    assert recorder.accesses == ["write items"]


def test_instrumented_callable_leaves_python_functions_alone() -> None:
    box = Box()
    assert instrumented_callable(test_copies) is test_copies
    assert instrumented_callable(Box) is Box
    bound = box.method
    assert instrumented_callable(bound) is bound


@pytest.mark.skipif(sys.version_info < (3, 14), reason="came with 3.14")
def test_heaps_of_the_largest_and_placeholders() -> None:
    placeholder = functools.Placeholder  # type: ignore[attr-defined, unused-ignore]
    push = functools.partial(heapq.heappush, placeholder, 3)

    def body(heap: Any, items: Any, push: Any) -> None:
        heapq.heapify_max(heap)  # type: ignore[attr-defined, unused-ignore]
        heapq.heappush_max(heap, 1)  # type: ignore[attr-defined, unused-ignore]
        heapq.heappop_max(heap)  # type: ignore[attr-defined, unused-ignore]
        heapq.heappushpop_max(heap, 1)  # type: ignore[attr-defined, unused-ignore]
        heapq.heapreplace_max(heap, 1)  # type: ignore[attr-defined, unused-ignore]
        push(items)

    assert told(body, heap=[1], items=[], push=push) == ["write heap"] * 5 + ["write items"]


# --- Places and breakers


def test_places_are_those_of_the_original_code() -> None:
    def body(box: Any) -> None:
        box.value = 1
        box.value = 2

    original = body.__code__
    REWRITER.install_function(body)  # type: ignore[arg-type]
    recorder = Recorder()
    set_sink(recorder)
    body(Box())
    body(Box())
    set_sink(None)
    positions = list(original.co_positions())
    lines = [positions[offset // 2][0] for _, offset in recorder.places]
    first = original.co_firstlineno
    assert lines == [first + 1, first + 2] * 2
    assert all(code is original for code, _ in recorder.places)
    assert recorder.places[0] is recorder.places[2]


def test_breakers() -> None:
    def body() -> None:
        for _ in (1, 2):
            abs(1)

    rewriter = Rewriter(breakers=True)
    rewriter.install_function(body)  # type: ignore[arg-type]
    recorder = Recorder()
    set_sink(recorder)
    body()
    set_sink(None)
    rewriter.restore()
    # Entering, two calls, two jumps back.
    assert recorder.accesses == ["breaker"] * 5


def test_breakers_alone_leave_everything_else_as_it_is() -> None:
    """As a build with the GIL could switch threads in each call of a hook."""

    class Counter:
        value = 0

    counter = Counter()

    def body() -> None:
        counter.value += 1
        for _ in (1, 2):
            counter.value += len([counter.value])

    rewriter = Rewriter(breakers=True, accesses=False)
    rewriter.install_function(body)  # type: ignore[arg-type]
    recorder = Recorder()
    set_sink(recorder)
    body()
    set_sink(None)
    assert recorder.accesses == ["breaker"] * 5
    hooks_called = sum(each.opname.startswith("CALL") for each in dis.get_instructions(body))
    # Entering, the call and the jump back, and the call itself; on Python 3.11 no PRECALL counts.
    assert hooks_called == 4
    rewriter.restore()
    assert counter.value == 3


def breakers_of(*functions: Callable[..., object], run: Callable[[], object]) -> int:
    rewriter = Rewriter(breakers=True)
    for function in functions:
        rewriter.install_function(function)  # type: ignore[arg-type]
    recorder = Recorder()
    set_sink(recorder)
    run()
    set_sink(None)
    rewriter.restore()
    return recorder.accesses.count("breaker")


def test_breakers_in_generators() -> None:
    def delegating() -> Iterator[int]:
        yield from (1, 2)

    def yielding() -> Iterator[int]:
        yield 1
        yield 2

    # Entering; not where it goes on behind "yield from".
    assert breakers_of(delegating, run=lambda: list(delegating())) == 1
    # Entering, and going on behind each yield.
    assert breakers_of(yielding, run=lambda: list(yielding())) == 3


def test_breakers_in_coroutines() -> None:
    class Turn:
        def __await__(self) -> Iterator[None]:
            yield None

    async def waiting() -> int:
        await Turn()
        return 3

    def run() -> None:
        coroutine = waiting()
        coroutine.send(None)
        with pytest.raises(StopIteration) as ended:
            coroutine.send(None)
        assert ended.value.value == 3

    # Entering, and the call of Turn; not where it goes on behind "await".
    assert breakers_of(waiting, run=run) == 2
