"""Looking for a failure among other schedules, and not only near one that fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bohrbug.exploration.minimisation.budget import Budget
from bohrbug.exploration.minimisation.preemptions import Execute
from bohrbug.model.outcome import Outcome
from bohrbug.model.trace import Trace
from bohrbug.search.pos import PartialOrderSampling
from bohrbug.search.preemption_bounding import PreemptionBounding
from bohrbug.search.strategy import Strategy

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
    found = _first(search, execute, is_wanted, budget)
    to_the_end = found is not None or search.complete or search.completed is not None
    return Looked(found, to_the_end)


def at_random(
    execute: Execute, is_wanted: Callable[[Outcome], bool], budget: Budget
) -> Trace | None:
    """An execution that fails in a certain way, among some that are drawn.

    Most failures are met soon in this way, or hardly ever.

    Parameters:
        execute: executes a plan.
        is_wanted: whether an outcome is such a failure.
        budget: what may be spent.
    """
    search = PartialOrderSampling(executions=budget.executions)
    return _first(search, execute, is_wanted, budget)


def _first(
    search: Strategy, execute: Execute, is_wanted: Callable[[Outcome], bool], budget: Budget
) -> Trace | None:
    while not budget.is_spent():
        budget.executions -= 1
        plan = search.next_plan()
        if plan is None:
            return None
        trace = execute(plan)
        if is_wanted(trace.outcome) and trace.divergence is None:
            return trace
        search.observe(trace)
    return None
