"""Looking for a failure among all schedules with few preemptions, not only near one that fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bohrbug.exploration.minimisation.budget import Budget
from bohrbug.exploration.minimisation.preemptions import Execute
from bohrbug.model.outcome import Outcome
from bohrbug.model.trace import Trace
from bohrbug.search.preemption_bounding import PreemptionBounding

MOST_FOR_FEWER = 50
"""Executions in which fewer preemptions are looked for than minimising has left."""


class Looked(NamedTuple):
    """What a search came to.

    Parameters:
        found: the execution that fails as was wanted, if there is one.
        to_the_end: everything within the bound was tried, or found.
    """

    found: Trace | None
    to_the_end: bool


def fewest_preemptions(
    execute: Execute, is_wanted: Callable[[Outcome], bool], bound: int, budget: Budget
) -> Looked:
    """The first execution found that fails in a certain way; those with fewer preemptions first.

    Parameters:
        execute: executes a plan.
        is_wanted: whether an outcome is such a failure.
        bound: the most preemptions.
        budget: what may be spent.
    """
    search = PreemptionBounding(bound)
    while not budget.is_spent():
        budget.executions -= 1
        plan = search.next_plan()
        if plan is None:
            return Looked(None, search.complete or search.completed is not None)
        trace = execute(plan)
        if is_wanted(trace.outcome) and trace.divergence is None:
            return Looked(trace, True)
        search.observe(trace)
    return Looked(None, False)
