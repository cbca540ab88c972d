"""Trace and profile functions of a test's threads, and finalizers that an execution cuts short."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import bohrbug
from bohrbug.model.outcome import OutcomeKind
from tests.programs.together import together


@pytest.mark.parametrize(
    "hook", [threading.settrace, threading.setprofile], ids=["trace", "profile"]
)
def test_only_the_threads_of_the_test_are_traced(hook: Callable[[Any], None]) -> None:
    def traced() -> None:
        # The trace function itself races.
        names: list[tuple[str, str]] = []

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            names.append((event, frame.f_code.co_name))
            return trace

        def work() -> None:
            assert len(names) > 0

        hook(trace)
        try:
            together(work, work)
        finally:
            hook(None)
        assert names.count(("call", "work")) == 2
        assert "together" not in {name for _, name in names}

    before = sys.gettrace(), sys.getprofile()
    result = bohrbug.explore(traced, executions=20)
    assert not result.failures
    assert not result.verdict.caveats
    assert (sys.gettrace(), sys.getprofile()) == before


def test_a_traced_thread_can_lose_control_between_its_lines() -> None:
    def traced() -> None:
        counts = {"n": 0}

        def work() -> None:
            value = counts["n"]
            counts["n"] = value + 1

        threading.settrace(lambda frame, event, argument: None)
        try:
            together(work, work)
        finally:
            threading.settrace(None)  # type: ignore[arg-type]
        assert counts["n"] == 2

    assert bohrbug.explore(traced, executions=50).failures


def test_a_finalizer_that_blocks_is_a_deadlock_and_no_more_than_that(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def takes_its_lock_again() -> None:
        lock = threading.Lock()

        class Resource:
            def __del__(self) -> None:
                with lock:
                    pass

        resources = [Resource()]

        def work() -> None:
            with lock:
                resources.clear()

        together(work)

    hook = sys.unraisablehook
    (failure,) = bohrbug.explore(takes_its_lock_again, executions=20).failures
    assert failure.outcome.kind is OutcomeKind.DEADLOCK
    assert capsys.readouterr().err == ""
    assert sys.unraisablehook is hook
