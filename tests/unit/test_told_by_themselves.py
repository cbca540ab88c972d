"""What tells for itself, or makes no difference, is not told of again where it is called."""

from __future__ import annotations

import io
import random
import sqlite3
import threading
from collections import deque
from typing import Any

import pytest

from bohrbug.monitors.clocks import Clocks
from bohrbug.monitors.races import RaceDetector
from bohrbug.runtime.threads.locks import RLock, lock
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.rewrite import with_statements
from bohrbug.runtime.threads.rewrite.made_silently import MADE_SILENTLY


class OfOurLock(RLock):
    pass


class Entered:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("class_", [lock, RLock, OfOurLock, Entered])
def test_our_locks_and_methods_in_python_tell_where_a_block_begins(class_: type) -> None:
    assert not with_statements._ENTERED_IN_C[class_]


@pytest.mark.parametrize("class_", [memoryview, io.BytesIO, sqlite3.Connection])
def test_blocks_with_objects_in_c_are_told(class_: type) -> None:
    assert with_statements._ENTERED_IN_C[class_]


class Plain:
    def __init__(self, value: int) -> None:
        self.value = value


class OfItems(list[int]):
    pass


@pytest.mark.parametrize("class_", [Plain, Entered, range, object, threading.Thread])
def test_most_objects_are_made_silently(class_: type) -> None:
    assert MADE_SILENTLY[class_]


@pytest.mark.parametrize("class_", [type, list, str, dict, OfItems, deque, enumerate, int])
def test_what_reads_its_arguments_is_not(class_: type) -> None:
    assert not MADE_SILENTLY[class_]


@pytest.mark.parametrize("seed", range(20))
def test_clocks_in_c_are_those_in_python(seed: int) -> None:
    chance = random.Random(seed)
    reference, fast = Clocks(), RaceDetector()
    states: list[Any] = [
        (ResourceState(f"0.{n}", "Lock"), ResourceState(f"0.{n}", "Lock")) for n in range(3)
    ]
    known = 1
    for _ in range(60):
        if chance.random() < 0.2:
            parent, child = chance.randrange(known), known + chance.randrange(2)
            reference.spawn(parent, child)
            fast.spawn(parent, child)
            known = child + 1
        else:
            task, (one, other) = chance.randrange(known), chance.choice(states)
            is_write = chance.random() < 0.6
            reference.synchronise(task, one, is_write)
            fast.synchronise(task, other, is_write)
            assert one.clock == other.clock
        assert fast.epochs == reference.epochs
        assert fast._clocks == reference._clocks
