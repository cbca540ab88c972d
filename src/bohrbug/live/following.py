"""What fragments of a Python program do, and the one that the program follows."""

from __future__ import annotations

from dataclasses import dataclass

from bohrbug.live.figures import Failing
from bohrbug.live.fragments import Report
from bohrbug.live.inside import StayingInside
from bohrbug.model.plan import Policy
from bohrbug.runtime.threads.execution import Execution


@dataclass(frozen=True, slots=True)
class Crash:
    """The program is about to crash as a fragment did.

    Parameters:
        step: where that fragment began.
        policy: what it was executed under.
        report: what became of it.
    """

    step: int
    policy: Policy
    report: Report


@dataclass(frozen=True, slots=True)
class Try:
    """What a fragment does.

    Parameters:
        policy: who runs.
        window: steps that it may do.
        looks: every access to data is a scheduling point in it, so that it shows which should be
            some in others; it is not followed.
        stays_inside: who is about to do what would be seen outside waits, while others can go on.
    """

    policy: Policy
    window: int
    looks: bool = False
    stays_inside: bool = False

    def decides(self, execution: Execution) -> None:
        """Let it say who runs from here on."""
        execution.decide_by(self.policy, StayingInside if self.stays_inside else None)


@dataclass(slots=True)
class Following:
    """A fragment that the program follows.

    Parameters:
        until: the number of the first step behind it.
        failing: how it failed, if it did.
        crash: it crashes behind that, and nobody was told yet.
    """

    until: int
    failing: Failing | None
    crash: Crash | None = None
