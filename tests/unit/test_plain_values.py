"""Values in reports, for which no code of the program runs."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from bohrbug.platforms.threads.plain_values import LONGEST, is_telling, shown


class Account:
    def __init__(self, balance: int) -> None:
        self.balance = balance


class Slotted:
    __slots__ = ("left", "right")


class Hostile:
    """Everything that could be asked of it raises."""

    def __init__(self) -> None:
        object.__setattr__(self, "x", 1)

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"asked for {name}")

    def __repr__(self) -> str:
        raise AssertionError("asked for repr")

    def __len__(self) -> int:
        raise AssertionError("asked for its length")

    def __bool__(self) -> bool:
        raise AssertionError("asked whether it is true")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")

    __hash__ = None  # type: ignore[assignment]


class HostileList(list):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        raise AssertionError("iterated")

    def __len__(self) -> int:
        raise AssertionError("asked for its length")


class HostileType(type):
    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError(f"asked for {name}")

    def __instancecheck__(cls, instance: object) -> bool:
        raise AssertionError("asked for instances")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "None"),
        (True, "True"),
        (3, "3"),
        (10**200, "<int of 665 bits>"),
        ("it's", '"it\'s"'),
        ("a" * 80, f"'{'a' * 60}'…"),
        ([1, 2], "[1, 2]"),
        ((1,), "(1,)"),
        (list(range(9)), "[0, 1, 2, 3, 4, …]"),
        ({"a": [1]}, "{'a': [1]}"),
        ([[[1]]], "[[[…]]]"),
        (set(), "set()"),
        (Account(3), "Account(balance=3)"),
        ([Account(3)], "[Account(balance=3)]"),
        (threading.Lock(), "<lock>"),
        (SimpleNamespace(a=1), "<SimpleNamespace>"),
        (len, "<function len>"),
        (Account, "<class Account>"),
    ],
)
def test_values_are_shown_without_running_code_of_the_program(value: object, words: str) -> None:
    assert shown(value) == words


def test_nothing_is_asked_of_a_value() -> None:
    assert shown(Hostile()) == "Hostile(x=1)"
    assert shown(HostileList([1])) == "<HostileList>"
    assert shown(HostileType("Made", (), {})()) == "<Made>"
    assert shown([Hostile()]) == "[Hostile(x=1)]"


def test_slots_that_are_set_are_shown() -> None:
    slotted = Slotted()
    slotted.left = 1

    assert shown(slotted) == "Slotted(left=1)"


def test_long_values_are_cut() -> None:
    assert len(shown([["a" * 50] * 5] * 5)) == LONGEST


def test_what_says_nothing_is_left_out() -> None:
    assert not any(map(is_telling, (threading, Account, len, shown)))
    assert is_telling(Account(1))
