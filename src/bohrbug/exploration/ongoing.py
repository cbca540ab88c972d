"""What those see of an exploration who make executions beside its search."""

from __future__ import annotations

from typing import Protocol

from bohrbug.exploration.findings import Findings
from bohrbug.exploration.learning import Learner
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Result
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace


class Ongoing(Protocol):
    """An exploration, for whom the explorer lets make executions of it.

    Attributes:
        learner: executes the plans.
        findings: take the failures and data races.
        lessons: plans that have shown the runtime more of the test.
        is_interrupted: the user wants it to end.
    """

    options: ExploreOptions
    result: Result
    learner: Learner
    findings: Findings
    lessons: list[Plan]
    is_interrupted: bool

    @property
    def has_ended(self) -> bool:
        """Whether the exploration has to end."""
        ...

    def execute(self, plan: Plan, watch: bool = False) -> tuple[Trace, int] | None:
        """Make an execution of the exploration.

        Parameters:
            plan: what to execute.
            watch: watch all accesses to data.

        Returns:
            Its trace, and how many scheduling points are new; ``None`` if the user interrupted.
        """
        ...

    def count_execution(self) -> None:
        """Count one that was not made by :meth:`execute`."""
        ...
