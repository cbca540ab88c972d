"""Locks that were made before an exploration, and are held where nothing can be exchanged."""

from __future__ import annotations

import contextvars
import functools
import threading
import weakref
from collections import deque
from collections.abc import Callable
from types import MethodDescriptorType
from typing import Any

import pytest

import bohrbug
from bohrbug.exploration.verdicts import VerdictKind
from bohrbug.runtime.threads import stand_ins
from bohrbug.runtime.threads.locks import RealLock, RealRLock
from tests.programs.together import together

Get = Callable[[], Any]
MakeLock = Callable[[], Any]


def in_tuple(make: MakeLock) -> Get:
    locks = (make(),)
    return lambda: locks[0]


def in_tuple_in_list(make: MakeLock) -> Get:
    locks = [("name", make())]
    return lambda: locks[0][1]


def in_set(make: MakeLock) -> Get:
    locks = {make()}
    return lambda: next(iter(locks))


def in_deque(make: MakeLock) -> Get:
    locks = deque([make()])
    return lambda: locks[0]


def as_key(make: MakeLock) -> Get:
    locks = {make(): "name"}
    return lambda: next(iter(locks))


def in_cache(make: MakeLock) -> Get:
    cached = functools.lru_cache(make)
    cached()
    return cached


def in_context(make: MakeLock) -> Get:
    return contextvars.ContextVar("lock", default=make()).get


def weakly_too(make: MakeLock) -> Get:
    kept = [make()]
    weakly = weakref.WeakSet(kept)
    return lambda: kept and next(iter(weakly))


HOLDERS = (
    in_tuple,
    in_tuple_in_list,
    in_set,
    in_deque,
    as_key,
    in_cache,
    in_context,
    weakly_too,
)


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
@pytest.mark.parametrize("hold", HOLDERS)
def test_a_lock_keeps_tasks_apart_wherever_it_is_held(
    hold: Callable[[MakeLock], Get], make: MakeLock
) -> None:
    get = hold(make)

    def test() -> None:
        total = [0]

        def add() -> None:
            with get():
                before = total[0]
                total[0] = before + 1

        together(add, add)
        assert total == [2]

    # It stands for the same lock in the next exploration.
    for _ in range(2):
        assert bohrbug.explore(test, strategy="dpor").verdict.kind is VerdictKind.HOLDS
    lock = get()
    assert lock.acquire()
    lock.release()


def test_references_that_can_be_exchanged_and_others_mean_the_same_lock() -> None:
    lock = threading.Lock()
    locks = (lock,)

    def test() -> None:
        with lock:
            assert locks[0].locked()
            assert not locks[0].acquire(blocking=False)
        with pytest.raises(RuntimeError, match="release unlocked lock"):
            locks[0].release()

    for _ in range(2):
        assert bohrbug.explore(test).verdict.kind is VerdictKind.HOLDS


@pytest.mark.parametrize("cls", [RealLock, RealRLock])
def test_the_methods_of_real_locks_are_put_back(cls: type) -> None:
    bohrbug.explore(lambda: None)
    for name in ("acquire", "release", "__enter__", "__exit__"):
        assert type(vars(cls)[name]) is MethodDescriptorType


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_a_lock_that_nothing_stands_for_is_used_as_ever(make: MakeLock) -> None:
    real = make()
    stand_ins.install()
    try:
        assert type(vars(type(real))["acquire"]) is not MethodDescriptorType
        with real:
            pass
        assert real.acquire(blocking=False)
        real.release()
        assert real.acquire(True, timeout=1)
        real.__exit__(None, None, None)
        with pytest.raises(TypeError):
            real.acquire(patience=1)
    finally:
        stand_ins.restore()
