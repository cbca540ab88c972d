"""The strategy for whoever names none."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.search.pct import PCT
from bohrbug.search.portfolio import Portfolio, Stage
from bohrbug.search.preemption_bounding import PreemptionBounding

SYSTEMATIC_SHARE = 0.5
"""The part of the executions that goes to the systematic search first."""


def default_strategy(
    executions: int | None = None,
    seed: int = 0,
    bound: int | None = 2,
    depths: Sequence[int] = (1, 2, 3),
) -> Portfolio:
    """All schedules with few preemptions first, then PCT with what is left of the budget.

    Most bugs need at most two preemptions (CHESS, section 4.4.1), and a small
    test is done with them after some hundred executions.  PCT then
    looks where a systematic search does not come to.

    Parameters:
        executions: the whole budget; without one PCT begins when the bound is completed.
        seed: of PCT.
        bound: of the preemptions.
        depths: of PCT.
    """
    return Portfolio(
        [
            Stage(PreemptionBounding(bound), SYSTEMATIC_SHARE),
            Stage(PCT(depths, seed)),
        ],
        executions,
        name="auto",
    )
