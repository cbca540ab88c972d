"""A data race that few executions have is found before a search is said to have seen all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import permutations

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from tests.programs.together import together

ORDERS = sorted(set(permutations((0, 0, 0, 0, 1, 1, 1, 1))))
"""In which two threads may take a lock, four times each."""


def counts_in(*orders: tuple[int, ...]) -> Callable[[], None]:
    """Two threads count, without a lock, if they have taken one in such an order before."""

    def test() -> None:
        taken: list[int] = []
        lock, together_again = threading.Lock(), threading.Barrier(2)
        counts = [0]

        def work(me: int) -> None:
            for _ in range(4):
                with lock:
                    taken.append(me)
            together_again.wait()
            if tuple(taken) in orders:
                seen = counts[0]
                counts[0] = seen + 1

        together(lambda: work(0), lambda: work(1))
        assert counts[0] != 1

    return test


@pytest.mark.parametrize("order", ORDERS[::5], ids=str)
@pytest.mark.parametrize("strategy", ["dpor", "auto"])
def test_a_race_in_one_order_of_seventy_is_found(order: tuple[int, ...], strategy: str) -> None:
    result = bohrbug.explore(counts_in(order), strategy=strategy, minimise=False, causes=0)
    assert result.verdict.kind is VerdictKind.FAILED


def test_without_the_race_it_holds() -> None:
    result = bohrbug.explore(counts_in(), strategy="dpor", minimise=False, causes=0)
    assert result.verdict.kind is VerdictKind.HOLDS
    assert len(ORDERS) == 70 <= result.executions
