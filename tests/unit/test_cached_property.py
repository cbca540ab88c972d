"""``functools.cached_property``, which until Python 3.11 computes while it holds a lock."""

from __future__ import annotations

import functools
import sys

import pytest

import bohrbug
from bohrbug import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from tests.programs.together import together

has_lock = pytest.mark.skipif(sys.version_info >= (3, 12), reason="has no lock since 3.12")


@has_lock
def test_that_it_is_computed_once_holds() -> None:
    def compute_twice() -> None:
        class Numbers:
            @functools.cached_property
            def first(self) -> object:
                return object()

        numbers, got = Numbers(), []
        together(lambda: got.append(numbers.first), lambda: got.append(numbers.first))
        assert got[0] is got[1]

    result = bohrbug.explore(compute_twice)
    assert result.verdict.kind is VerdictKind.HOLDS
    assert not result.verdict.caveats


@has_lock
def test_two_that_compute_each_other_deadlock() -> None:
    def compute_each_other() -> None:
        class Node:
            other: Node | None = None

            @functools.cached_property
            def left(self) -> int:
                return self.other.right if self.other is not None else 1

            @functools.cached_property
            def right(self) -> int:
                return self.other.left if self.other is not None else 1

        one, another = Node(), Node()
        one.other, another.other = Node(), Node()
        together(lambda: one.left, lambda: another.right)

    result = bohrbug.explore(compute_each_other)
    assert result.failures[0].outcome.kind is OutcomeKind.DEADLOCK
