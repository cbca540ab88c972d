"""How far a loop is from its end, by what its condition compares."""

from __future__ import annotations

import ast
import sys
from types import FrameType

import pytest

from bohrbug.runtime.threads.countdowns import distances, is_nearer

LIMIT = 10


class Odd(int):
    """Its arithmetic is its own."""

    def __rsub__(self, other: object) -> int:
        raise AssertionError("the program's code is called")


def frame_with_variables() -> FrameType:
    number, half, names, odd, shared = 3, 0.5, ["a", "b"], Odd(7), 4

    def inner() -> object:
        return shared

    assert [number, half, names, odd, inner]
    return sys._getframe()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("number < LIMIT", (7,)),
        ("number <= 4.5", (1.5,)),
        ("number > -1", (4,)),
        ("number >= half", (2.5,)),
        ("number != 5", (2,)),
        ("number + 1 < LIMIT - 2", (4,)),
        ("number", (3,)),
        ("len(names) > number", (-1,)),
        ("names and number < 5 and half < 2", (2, 1.5)),
        ("number < LIMIT or half < 2", ()),
        ("not number", ()),
        ("0 < number < 5", ()),
        ("number == 3", ()),
        ("number * 2 < LIMIT", ()),
        ("names", ()),
        ("odd < LIMIT", ()),
        ("shared < 5", ()),
        ("LIMIT < 20", ()),
        ("unknown < number", ()),
        ("number < 'a'", ()),
        ("True", ()),
    ],
)
def test_a_condition_tells_how_far_it_is_from_being_false(
    condition: str, expected: tuple[float, ...]
) -> None:
    test = ast.parse(condition, mode="eval").body
    assert distances(test, frame_with_variables()) == expected


class Box:
    """Has numbers as attributes, one of which is computed."""

    size = 8

    def __init__(self) -> None:
        self.number = 3
        self.names = ["a"]

    @property
    def computed(self) -> int:
        raise AssertionError("the program's code is called")


def frame_with_objects() -> FrameType:
    box, numbers, shared = Box(), {"n": 2, "list": [4]}, 4

    def inner() -> object:
        return shared

    assert [box, numbers, inner]
    return sys._getframe()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("box.number < LIMIT", (7,)),
        ("box.number < box.size", (5,)),
        ("numbers['n'] > 0", (2,)),
        ("numbers['list'][0] < 5", (1,)),
        ("len(box.names) < 3", (2,)),
        ("box.number", (3,)),
        ("shared < 5", (1,)),
        ("box.computed < 5", ()),
        ("box.missing < 5", ()),
        ("numbers[0] < 5", ()),
        ("numbers['list'][1] < 5", ()),
    ],
)
def test_what_others_may_change_is_looked_at_on_demand(
    condition: str, expected: tuple[float, ...]
) -> None:
    test = ast.parse(condition, mode="eval").body
    frame = frame_with_objects()
    assert distances(test, frame, may_be_shared=True) == expected
    assert distances(test, frame) == ()


def test_one_part_that_is_nearer_is_enough() -> None:
    assert is_nearer((3, 5), (3, 4))
    assert not is_nearer((3, 5), (4, 5))
