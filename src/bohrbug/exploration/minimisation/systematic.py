"""Looking for a failure among all schedules with few preemptions, not only near one that fails."""

from __future__ import annotations

from bohrbug.exploration.figures import Signature
from bohrbug.exploration.minimisation.preemptions import Execute
from bohrbug.model.trace import Trace
from bohrbug.search.preemption_bounding import PreemptionBounding

BUDGET = 200
"""Executions after which the search is given up."""

BUDGET_FOR_FEWER = 50
"""Executions in which fewer preemptions are looked for than minimising has left."""


def fewest_preemptions(
    execute: Execute, signature: Signature, bound: int, budget: int = BUDGET
) -> Trace | None:
    """The first execution found that fails in a certain way; those with fewer preemptions first.

    Parameters:
        execute: executes a plan.
        signature: of the failure.
        bound: the most preemptions.
        budget: executions to spend.

    Returns:
        ``None`` if no schedule within the bound, or within the budget, fails so.
    """
    search = PreemptionBounding(bound)
    for _ in range(budget):
        plan = search.next_plan()
        if plan is None:
            return None
        trace = execute(plan)
        if trace.outcome.signature() == signature and trace.divergence is None:
            return trace
        search.observe(trace)
    return None
