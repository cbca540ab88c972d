"""Telling a runtime what a strategy will propose, where the one can use it and the other knows."""

from __future__ import annotations

from collections.abc import Callable

from bohrbug.runtime.protocol import Foreseeing, Runtime
from bohrbug.search.strategy import Foresighted, Strategy


def let_foresee(runtime: Runtime, strategy: Strategy, left: Callable[[], int]) -> None:
    """Let a runtime know from now on what a strategy will propose.

    Parameters:
        runtime: of the exploration; nothing happens if it has no use for that.
        strategy: of the exploration; nothing happens if it knows no plan before its turn.
        left: tells how many executions there may still be.
    """
    if isinstance(runtime, Foreseeing) and isinstance(strategy, Foresighted):
        runtime.foresee(lambda most: strategy.lookahead_plans(min(most, left())))
