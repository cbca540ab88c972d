"""What a program calls the object to which a function in C is bound that it hands over."""

from __future__ import annotations

import sys
import weakref
from contextvars import copy_context
from functools import partial
from typing import Any

import pytest

from bohrbug.runtime.threads.rewrite.known_as import name_of_bound

KNOWN = [0]


class Holder:
    def __init__(self) -> None:
        self.items: list[int] = []

    def name(self) -> str:
        return name_of_bound(self.items.append, sys._getframe())


def name_given(function: Any) -> str:
    return name_of_bound(function, sys._getframe())


def test_a_variable_of_the_function_comes_before_attributes_and_globals() -> None:
    results = KNOWN
    assert name_given(results.append) == "results"
    del results
    assert name_given(KNOWN.append) == "KNOWN"


def test_attributes_are_called_as_in_other_reports() -> None:
    holder = Holder()
    assert holder.name() == "Holder.items"
    assert name_given(holder.items.append) == "holder.items"


def test_a_partial_is_bound_to_what_its_function_is() -> None:
    results: list[int] = []
    assert name_given(partial(partial(results.insert, 0), 1)) == "results"


def test_what_runs_in_a_context_is_bound_to_something_else_than_that() -> None:
    results: list[int] = []
    context = copy_context()
    assert name_given(partial(context.run, results.append, 1)) == "results"
    assert name_given(partial(partial(context.run, partial(results.insert, 0)), 1)) == "results"
    assert name_given(context.run) == name_given(partial(context.run, print)) == ""


@pytest.mark.parametrize("function", [print, len, [].append, dict.fromkeys, "text".join])
def test_what_is_bound_to_nothing_with_a_name_has_none(function: Any) -> None:
    assert name_given(function) == ""


def test_no_code_of_the_program_is_asked() -> None:
    class Asked:
        __slots__ = ()

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

        @property
        def __class__(self) -> Any:
            raise AssertionError

    asked, results = Asked(), [0]
    assert name_given([*results].append) == ""
    assert name_given(results.append) == "results"
    del asked


def test_variables_live_no_longer_for_having_been_looked_at() -> None:
    class Value:
        pass

    value, results = Value(), [0]
    reference = weakref.ref(value)
    assert name_given(results.append) == "results"
    del value
    assert reference() is None


def test_what_locals_has_returned_stays_as_it_is() -> None:
    results = [0]
    variables = locals()
    assert name_given(results.append) == "results"
    assert variables["results"] is results
