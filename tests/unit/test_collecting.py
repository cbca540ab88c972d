"""A garbage collection as a choice, while a task holds a lock."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import pytest

import bohrbug
from bohrbug import VerdictKind
from bohrbug.model.outcome import OutcomeKind
from bohrbug.report.text import failure_text
from tests.programs.together import together


class _Pool:
    def __init__(self, lock: Any) -> None:
        self.lock = lock
        self.free = 0

    def take(self) -> None:
        with self.lock:
            self.free -= 1


class _Connection:
    def __init__(self, pool: _Pool) -> None:
        self.pool = pool
        self.session = self

    def __del__(self) -> None:
        with self.pool.lock:
            self.pool.free += 1


def _lost(lock: Any, tasks: int = 1) -> None:
    pool = _Pool(lock)
    _Connection(pool)
    if tasks == 1:
        pool.take()
    else:
        together(*[pool.take] * tasks)


@pytest.mark.parametrize("strategy", ["auto", "dpor", "ipb", "dfs", "random"])
def test_a_finalizer_that_wants_the_lock_that_is_held(strategy: str) -> None:
    def lost_connection() -> None:
        _lost(threading.Lock())

    usual = bohrbug.explore(lost_connection, strategy=strategy, executions=50)
    assert not usual.failures
    result = bohrbug.explore(lost_connection, strategy=strategy, executions=50, gc=True)
    failure = result.failures[0]
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert failure.confirmed
    report = failure_text(failure)
    assert "It needs a garbage collection in task 0" in report
    # Those of earlier executions are no part of it.
    assert "#2" not in report


def test_in_any_of_several_tasks() -> None:
    result = bohrbug.explore(lambda: _lost(threading.Lock(), 2), gc=True)
    assert result.failures[0].outcome.kind is OutcomeKind.DEADLOCK
    result = bohrbug.explore(lambda: _lost(threading.RLock(), 2), gc=True)
    assert result.verdict.kind is VerdictKind.HOLDS
    assert "at most one garbage collection, while a lock is held" in str(result.verdict.conditions)


def test_a_callback_of_a_weak_reference() -> None:
    def forgotten() -> None:
        lock = threading.Lock()

        def forget(_: object) -> None:
            with lock:
                pass

        pool: Any = _Pool(None)
        pool.itself = pool
        reference = weakref.ref(pool, forget)
        del pool
        with lock:
            assert not lock.acquire(blocking=False)
        del reference

    result = bohrbug.explore(forgotten, gc=True)
    assert result.failures[0].outcome.kind is OutcomeKind.DEADLOCK


def test_nothing_is_collected_while_no_lock_is_held() -> None:
    def harmless() -> None:
        pool = _Pool(threading.Lock())
        _Connection(pool)
        assert pool.free == 0

    assert bohrbug.explore(harmless, gc=True).verdict.kind is VerdictKind.HOLDS
