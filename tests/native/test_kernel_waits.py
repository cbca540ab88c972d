"""Waits that the kernel ends: by timers, signals and what other processes do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, UniformRandom
from tests.native.exploring import runtime_for

Build = Callable[..., Path]


@pytest.mark.parametrize(
    "wait",
    [
        "pause",
        "pause-beside-a-child",
        "timer-descriptor",
        "epoll",
        "timer",
        "own-pipe",
        "own-pipe-for-children",
        "other-mask",
        "signal-descriptor",
        "kill",
        "thread-exit",
    ],
)
def test_a_wait_ends_as_it_does_natively(wait: str, native_build: Build) -> None:
    with runtime_for(native_build("kernel_timers.c"), [wait]) as runtime:
        for seed in range(6):
            plan = Plan(policy=UniformRandom(seed)) if seed else Plan()
            outcome = runtime.execute(plan).trace.outcome
            assert outcome.kind is OutcomeKind.PASSED, (seed, outcome)


def test_a_question_that_a_signal_interrupts_is_answered(native_build: Build) -> None:
    with runtime_for(native_build("slow_answers.c")) as runtime:
        for seed in range(3):
            outcome = runtime.execute(Plan(policy=UniformRandom(seed))).trace.outcome
            assert outcome.kind is OutcomeKind.PASSED, (seed, outcome)
