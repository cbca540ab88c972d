"""Executors of the plan's policies: who runs next, once the prefix is used up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, get_args

from bohrbug.model.plan import (
    Aligned,
    Ask,
    NonPreemptive,
    Ordered,
    PartialOrder,
    Policy,
    Priorities,
    ReadsFrom,
    Segments,
    Sleeping,
    Switches,
    UniformRandom,
    WeightedRandom,
)
from bohrbug.runtime.policies.asking import AskDecider, Asked
from bohrbug.runtime.policies.basic import NonPreemptiveDecider, SegmentsDecider, SwitchesDecider
from bohrbug.runtime.policies.decider import Decider, TaskView, earliest, next_in_turn

if TYPE_CHECKING:
    from bohrbug.runtime.policies.sleeping import Effect

POLICIES: frozenset[type[Policy]] = frozenset(get_args(Policy))
"""The policies that have an executor in Python: all."""

__all__ = [
    "POLICIES",
    "Asked",
    "Decider",
    "TaskView",
    "decider_for",
    "earliest",
    "next_in_turn",
]


def decider_for(
    policy: Policy,
    effects: Sequence[Effect] = (),
    ask: Callable[[Asked], object] | None = None,
) -> Decider:
    """The executor of a policy, fresh for one execution.

    Parameters:
        policy: what to execute.
        effects: those of the execution, to which it will add.
        ask: ends the execution at the decision that the policy ``Ask`` leaves to somebody else.
    """
    # The others are loaded when a strategy needs them: tests with one task have no strategy.
    match policy:
        case UniformRandom() | Priorities() | PartialOrder() | WeightedRandom():
            from bohrbug.runtime.policies.in_c import drawing_decider

            return drawing_decider(policy)
        case NonPreemptive():
            return NonPreemptiveDecider()
        case Ask():
            return AskDecider(policy, ask)
        case Segments():
            return SegmentsDecider(policy)
        case Switches():
            return SwitchesDecider(policy)
        case Ordered():
            from bohrbug.runtime.policies.ordered import OrderedDecider

            return OrderedDecider(policy)
        case ReadsFrom():
            from bohrbug.runtime.policies.reads_from import ReadsFromDecider

            return ReadsFromDecider(policy)
        case Sleeping():
            from bohrbug.runtime.policies.sleeping import SleepingDecider

            return SleepingDecider(policy, effects)
        case Aligned():
            from bohrbug.runtime.policies.aligned import AlignedDecider

            return AlignedDecider(policy)
