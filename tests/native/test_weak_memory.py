"""A verdict names memory as a condition where that can matter, and only there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.native.exploring import explored

Build = Callable[..., Path]

HOOKED = ("-fsanitize=thread", "-O0")
RELAXED = ("-DSTORE=memory_order_relaxed", "-DLOAD=memory_order_relaxed")
RELEASED = ("-DSTORE=memory_order_release", "-DLOAD=memory_order_acquire")
CONDITION = "memory sequentially consistent"


@pytest.mark.parametrize(
    ("matters", "flags"),
    [
        (True, ("-DBUFFERS", *RELAXED)),
        (True, ("-DBUFFERS", *RELEASED)),
        (True, ("-DMESSAGE", *RELAXED)),
        (True, ("-DPLAIN",)),
        (False, ("-DBUFFERS",)),
        (False, ("-DMESSAGE",)),
        (False, ("-DMESSAGE", *RELEASED)),
        (False, ("-DONE", *RELAXED)),
        (False, ("-DCOUNTS",)),
        (False, ()),
    ],
)
def test_the_memory_is_a_condition_where_it_matters(
    native_build: Build, matters: bool, flags: tuple[str, ...]
) -> None:
    result = explored(native_build("weak.c", *HOOKED, *flags), strategy="dpor")
    assert not result.failures
    assert (CONDITION in str(result.verdict.conditions)) is matters


def test_stores_are_told_apart_by_bytes_and_of_all_loads_at_a_place(native_build: Build) -> None:
    result = explored(native_build("weak.c", *HOOKED, "-DPLAIN"), strategy="dpor")
    assert {race.is_triangular for race in result.races} == {True}


@pytest.mark.parametrize(
    ("places", "flags"),
    [(2, ("-DBUFFERS", *RELEASED)), (2, ("-DPLAIN",)), (0, ("-DLOCKED_WRITES",))],
)
def test_it_is_said_at_how_many_places_weaker_memory_could_show_more(
    native_build: Build, places: int, flags: tuple[str, ...]
) -> None:
    result = explored(native_build("weak.c", *HOOKED, *flags), strategy="ipb", bound=None)
    found = re.findall(r"could show more at (\d+) place", str(result.verdict.conditions))
    assert found == ([str(places)] if places else [])
