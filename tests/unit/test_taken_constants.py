"""Functions and classes that are taken to stay as they are while tasks are told apart."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from bohrbug.runtime.threads.loops.apart import _TakenConstant


def _function() -> Any:
    return lambda: None


def _at(address: int, make: Callable[[], object], inside: Callable[[Any], object]) -> Any:
    """A new object whose insides are where others were that have gone."""
    others = []
    for _ in range(10_000):
        made = make()
        if id(inside(made)) == address:
            return made
        others.append(made)
    pytest.skip("the memory was not used again")


@pytest.mark.parametrize(
    ("make", "inside"),
    [
        (_function, lambda function: function),
        (lambda: staticmethod(_function()), lambda method: method.__func__),
        (lambda: classmethod(_function()), lambda method: method.__func__),
        (lambda: property(_function()), lambda made: made.fget),
    ],
    ids=["function", "staticmethod", "classmethod", "property"],
)
def test_a_function_that_comes_to_be_where_another_was_is_another_one(
    make: Callable[[], object], inside: Callable[[Any], object]
) -> None:
    class_: Any = type("Made", (), {"it": make()})
    taken = _TakenConstant(class_)
    assert taken.is_kept()
    address = id(inside(vars(class_)["it"]))
    class_.it = None
    class_.it = _at(address, make, inside)
    assert not taken.is_kept()


def test_nothing_is_kept_alive_that_others_could_miss() -> None:
    ends: list[str] = []

    class Telling:
        def __del__(self) -> None:
            ends.append("end")

    class_: Any = type("Made", (), {"pair": (1, Telling()), "name": "a"})
    taken = _TakenConstant(class_)
    class_.pair = None
    assert ends == ["end"]
    assert not taken.is_kept()


def test_a_class_that_has_ended_changes_no_more() -> None:
    class_: Any = type("Made", (), {"it": _function()})
    taken = _TakenConstant(class_)
    del class_
    gc.collect()
    assert taken.is_kept()
