"""Generators that were made before the exploration: nothing tells of their accesses."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator

import pytest

import bohrbug
from bohrbug import VerdictKind
from bohrbug.runtime.threads.rewrite import made_before

from .together import together

_counts = [0]


def _counting() -> Iterator[None]:
    while True:
        _counts[0] += 1
        yield


def _taking(program: Callable[[], None]) -> tuple[str, ...]:
    verdict = bohrbug.explore(program, executions=200).verdict
    assert verdict.kind is VerdictKind.HOLDS, verdict
    assert verdict.conditions is not None
    return tuple(verdict.conditions.taking)


@pytest.mark.parametrize("is_begun", [True, False])
def test_those_that_go_on_are_a_condition(is_begun: bool) -> None:
    counters = [_counting(), _counting()]
    if is_begun:
        for counter in counters:
            next(counter)

    def program() -> None:
        together(*(counter.__next__ for counter in counters))
        together(*((lambda counter=counter: next(counter)) for counter in counters))

    [taking] = _taking(program)
    assert taking.startswith("what the generator _counting, which was made before")


def test_those_that_nobody_uses_and_those_of_the_test_are_none() -> None:
    unused = _counting()
    next(unused)

    def program() -> None:
        lock = threading.Lock()
        counter = _counting()

        def count() -> None:
            with lock:
                next(counter)

        together(count, count)

    assert _taking(program) == ()
    assert next(unused) is None


def test_to_look_for_those_is_no_access_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def program() -> None:
        # Its functions are in scope, and its places are scheduling points.
        cache: weakref.WeakValueDictionary[int, threading.Event] = weakref.WeakValueDictionary()
        event = threading.Event()

        def count() -> None:
            if cache.get(0) is None:
                cache[0] = event
            next(_counting())

        together(count, count)

    unused = _counting()
    next(unused)
    executed = bohrbug.explore(program, strategy="dpor", executions=1_000)
    monkeypatch.setattr(made_before, "note", lambda found: None)
    unasked = bohrbug.explore(program, strategy="dpor", executions=1_000)
    assert (executed.points, executed.executions) == (unasked.points, unasked.executions)
