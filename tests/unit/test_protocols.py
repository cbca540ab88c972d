"""Checks against our protocols leave nothing in classes that the program under test shares."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import typing

T = typing.TypeVar("T")

class Box(typing.Generic[T]):
    pass

import bohrbug
from bohrbug.search.registry import STRATEGIES, strategy_named
from bohrbug.search.strategy import Bounding, Composite, Estimating, Foresighted

def test():
    assert not hasattr(Box(), "__annotations__")

protocols = Bounding, Composite, Estimating, Foresighted
for name in STRATEGIES:
    strategy = strategy_named(name)
    print(name, *(each.__name__ for each in protocols if isinstance(strategy, each)))
result = bohrbug.explore(test)
assert not result.failures, result.failures[0].outcome.message
"""


def test_generic_classes_of_a_test_have_no_annotations_by_inheritance() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=300
    )
    assert not done.returncode, done.stderr
    # What is asked of a strategy is still found.
    asked = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    assert asked["auto"] == "Bounding Composite Estimating Foresighted"
    assert asked["dpor"] == "Estimating"
    assert asked["random"] == "Foresighted"
