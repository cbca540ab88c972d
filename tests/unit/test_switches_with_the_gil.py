"""Where threads that take locks can be switched with the GIL, as native runs of them show.

As test_scheduling.py, it is run in pure Python, too.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import bohrbug
from tests.programs.together import together


def nested(first: Any, second: Any) -> None:
    with first:
        with second:
            pass


def tick() -> None:
    """A place to switch at."""


def again_and_nested(first: Any, second: Any) -> None:
    with second:
        tick()
    with first:
        with second:
            pass


def nested_by_calls(first: Any, second: Any) -> None:
    first.acquire()
    second.acquire()
    second.release()
    first.release()


Body = Callable[[Any, Any], None]


def interpreters(
    make: Callable[[], Any], first: Body, second: Body | None = None, **options: Any
) -> set[str]:
    """Where the deadlock of two tasks can happen that take two locks in either order."""

    def program() -> None:
        one, other = make(), make()
        together(lambda: first(one, other), lambda: (second or first)(other, one))

    failures = bohrbug.explore(program, **options).failures
    return {failure.interpreter.name for failure in failures}


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="its with checks for a switch by a call")
@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_a_free_lock_is_taken_without_a_switch(make: Callable[[], Any]) -> None:
    assert interpreters(make, nested) == {"FREE_THREADED"}
    assert interpreters(make, nested, interpreter="gil") == set()


def test_behind_a_call_there_is_one() -> None:
    assert interpreters(threading.Lock, nested_by_calls) == {"GIL"}
    assert interpreters(threading.Lock, nested_by_calls, interpreter="gil") == {"GIL"}


def test_who_waits_for_a_lock_gets_it_without_the_gil() -> None:
    # The first task lets go of a lock and wants it back, with no switch since; the second one
    # stands inside its acquisition.
    seen = interpreters(threading.Lock, again_and_nested, nested, interpreter="gil")
    assert seen == {"GIL"}


def test_there_is_one_where_a_condition_is_entered() -> None:
    assert interpreters(threading.Condition, nested) == {"GIL"}
    assert interpreters(threading.Condition, nested, interpreter="gil") == {"GIL"}


def test_code_that_does_not_tell_its_calls_may_have_made_one() -> None:
    seen = interpreters(threading.Lock, nested, scope=(f"-{__name__}",), interpreter="gil")
    assert seen == {"GIL"}
