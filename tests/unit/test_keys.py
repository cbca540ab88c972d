"""Sets of numbers that take little memory, in C and in Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from bohrbug.accelerator import native
from bohrbug.search.keys import is_in_c, new_keys

NUMBERS = [0, 1, -1, 2**63 - 1, -(2**63), *random.Random(1).sample(range(2**61), 3_000)]


@pytest.fixture(params=["as it is", "python"])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    if request.param == "python":
        monkeypatch.setattr("bohrbug.search.keys.native", None)
    return new_keys


def test_it_has_what_was_added_and_nothing_else(make: Callable[..., Any]) -> None:
    keys = make(NUMBERS[:100])
    assert len(keys) == 100
    for number in NUMBERS:
        keys.add(number)
        keys.add(number)
        assert number in keys
    assert len(keys) == len(NUMBERS)
    assert sorted(keys) == sorted(NUMBERS)
    assert not any(number + 1 in keys for number in NUMBERS[5:])
    assert all(number in keys for number in NUMBERS)


def test_an_empty_one_has_nothing(make: Callable[..., Any]) -> None:
    keys = make()
    assert len(keys) == 0
    assert list(keys) == []
    assert 0 not in keys
    assert 1 not in keys


@pytest.mark.skipif(native is None, reason="the accelerator is not in use")
def test_it_takes_less_than_22_bytes_for_a_number() -> None:
    keys = new_keys(NUMBERS)
    assert is_in_c(keys)
    assert not is_in_c(set(NUMBERS))
    with pytest.raises(OverflowError):
        keys.add(2**63)
    with pytest.raises(TypeError):
        keys.update(["1"])  # type: ignore[list-item]
    assert keys.__sizeof__() <= 22 * len(NUMBERS)
