"""Whether a task that makes no step is to blame for that."""

from __future__ import annotations

from typing import Any

import pytest

from bohrbug.runtime.posix import standstill
from bohrbug.runtime.posix.segment import SegmentFile
from bohrbug.runtime.posix.standstill import Standstill


class Machine:
    """What a thread and a clock say."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.state, self.ran = "R", 0.0
        self.thread = (1, 1)
        self.segment = SegmentFile(10).first
        monkeypatch.setattr(standstill.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(standstill, "_usage", lambda *_: (self.state, self.ran))
        monkeypatch.setattr(standstill, "_running", lambda _: self.thread)

    def passes(self, watched: Standstill, seconds: float, **what: Any) -> None:
        self.now += seconds
        for name, value in what.items():
            setattr(self, name, value)
        watched.look()


def test_a_task_that_gets_no_processor_is_not_nudged(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    watched = Standstill(machine.segment)
    watched.look()
    for _ in range(100):
        machine.passes(watched, 1.0)
        assert not watched.is_too_long
    assert watched.seconds == 0.0
    machine.passes(watched, 1.0, ran=0.25)
    assert watched.is_too_long
    assert watched.seconds == 0.25


def test_a_task_that_is_blocked_is_nudged_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    machine.state = "S"
    watched = Standstill(machine.segment)
    watched.look()
    machine.passes(watched, 0.06)
    assert watched.is_too_long
    # Not again at once: the nudge has to arrive.
    machine.passes(watched, 0.01)
    assert not watched.is_too_long


def test_nudges_alone_are_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    machine.state = "S"
    watched = Standstill(machine.segment)
    watched.look()
    for number in range(10):
        machine.segment.header.steps += 1
        machine.segment.header.nudge_steps += 1
        machine.passes(watched, 0.5, thread=(1, 1 + number % 2))
        machine.passes(watched, 0.5)
    assert watched.seconds > 4
    machine.segment.header.steps += 1
    machine.passes(watched, 0.5)
    assert watched.seconds == 0.0
