"""The one interface between a search and everything else."""

from __future__ import annotations

from typing import Protocol

from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace


class Strategy(Protocol):
    """Turns traces into the next plan; knows nothing of threads.

    The explorer calls :meth:`next_plan` and :meth:`observe` in turn.  Every
    step of a trace shows the enabled tasks and the pending operation of each.
    A strategy is deterministic: the same traces give the same plans.
    """

    name: str

    def next_plan(self) -> Plan | None:
        """The next plan to execute, or ``None`` when nothing is left to explore."""
        ...

    def observe(self, trace: Trace) -> None:
        """Take the trace of the plan that was proposed last.

        A trace with a ``divergence`` did not follow its plan; its prefix must
        not be extended as if it had.
        """
        ...

    def restart(self) -> None:
        """Begin again: the scheduling points have changed (a new racy site was found)."""
        ...

    @property
    def exhausted(self) -> bool:
        """Whether every schedule that the strategy aims at was executed."""
        ...

    def covered(self) -> str:
        """One sentence for the verdict about what was covered so far."""
        ...

    def progress(self) -> str:
        """A few words for the progress line, such as ``bound 1, 40 waiting``."""
        ...
