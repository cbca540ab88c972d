"""For how long nothing has gone on in a replay."""

from __future__ import annotations

from pathlib import Path

import pytest

from bohrbug.runtime.channels import quiet
from bohrbug.runtime.channels.quiet import Quiet


class Clock:
    """Time, and what the processors have done, as a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.now = 100.0
        self.busy = 0.0
        self.events = 0
        monkeypatch.setattr(quiet.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(Quiet, "_processor_seconds", lambda _: self.busy)
        self.quiet = Quiet(folder, lambda: self.events)
        self.after(0.2)

    def after(self, seconds: float, busy: float = 0.0) -> float:
        """For how long it was quiet, some time later."""
        self.now += seconds
        self.busy += busy
        return self.quiet.seconds()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Clock:
    return Clock(monkeypatch, tmp_path)


def test_processes_that_look_whether_something_came_are_quiet(clock: Clock) -> None:
    """The kernel counts in hundredths of a second: one of these is no computation."""
    for _ in range(20):
        quiet_for = clock.after(0.2, busy=0.02)
    assert quiet_for == pytest.approx(4.0)


def test_who_computes_is_not_quiet(clock: Clock) -> None:
    for _ in range(20):
        assert clock.after(0.2, busy=0.06) == 0


def test_who_has_events_is_not_quiet(clock: Clock) -> None:
    clock.after(1.0)
    clock.events += 1
    assert clock.after(0.2) == 0
