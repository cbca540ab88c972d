"""Which attributes code stores by their names as strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bohrbug.runtime.threads.rewrite.module_globals import stored_attributes


def patch(target: Any, name: str, value: object) -> None:
    if name not in getattr(target, "__dict__", {}):
        setattr(target, name, value)


def adopt(target: Any, values: dict[str, object]) -> None:
    if hasattr(target, "__dict__"):
        setattr(target, "__dict__", values)


def rename(target: Any) -> None:
    setattr(target, "run", getattr(target, "start"))


@pytest.mark.parametrize(
    ("function", "names"),
    [
        # Else the attributes of all objects would be told of as items of their dicts.
        (patch, set()),
        (adopt, {"__dict__"}),
        # Methods of both names are data: that costs little.
        (rename, {"run", "start"}),
    ],
)
def test_what_code_stores_by_name(function: Callable[..., None], names: set[str]) -> None:
    assert set(stored_attributes(function.__code__)) == names
