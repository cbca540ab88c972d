"""Executors of the plan's policies: who runs next, once the prefix is used up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

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
from bohrbug.runtime.policies.aligned import AlignedDecider
from bohrbug.runtime.policies.asking import AskDecider, Asked
from bohrbug.runtime.policies.basic import NonPreemptiveDecider, SegmentsDecider, SwitchesDecider
from bohrbug.runtime.policies.decider import Decider, TaskView, earliest, next_in_turn
from bohrbug.runtime.policies.in_c import drawing_decider
from bohrbug.runtime.policies.ordered import OrderedDecider
from bohrbug.runtime.policies.reads_from import ReadsFromDecider
from bohrbug.runtime.policies.sleeping import Effect, SleepingDecider

POLICIES: frozenset[type[Policy]] = frozenset(get_args(Policy))
"""The policies that have an executor in Python: all."""

__all__ = [
    "POLICIES",
    "Asked",
    "Decider",
    "SleepingDecider",
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
    match policy:
        case UniformRandom() | Priorities() | PartialOrder() | WeightedRandom():
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
            return OrderedDecider(policy)
        case ReadsFrom():
            return ReadsFromDecider(policy)
        case Sleeping():
            return SleepingDecider(policy, effects)
        case Aligned():
            return AlignedDecider(policy)
