"""The executors of the policies that draw, in C (``core/policy.h``) where that was compiled.

They choose what the classes in Python choose, which are their reference.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Protocol

from bohrbug.accelerator import native
from bohrbug.model.operation import Kind, Point, ResourceId, path_names
from bohrbug.model.plan import PartialOrder, Priorities, UniformRandom, WeightedRandom
from bohrbug.model.site import point_of
from bohrbug.runtime.policies.basic import PriorityDecider, UniformRandomDecider
from bohrbug.runtime.policies.decider import Decider, Tasks, TaskView
from bohrbug.runtime.policies.partial_order import PartialOrderDecider
from bohrbug.runtime.policies.weighted import WeightedRandomDecider

if native is not None:
    native.use_policies(Kind, point_of)


class PartialOrderParts(Decider, Protocol):
    """What there is of POS for others to use: see :class:`PartialOrderDecider`."""

    def runs_at_once(self, running: TaskView, enabled: Tasks, yielded: bool) -> TaskView | None:
        """A task whose pending operation is no decision, if there is one."""
        ...

    def highest(self, options: Tasks) -> TaskView:
        """The task whose event has the highest priority."""
        ...

    def executed(self, task: TaskView) -> None:
        """What the task is about to do is no longer pending."""
        ...


def partial_order_decider(
    seed: int, points: frozenset[Point] | None, named: Container[ResourceId] = ()
) -> PartialOrderParts:
    """The executor of POS; its parameters are those of :class:`PartialOrderDecider`."""
    if native is None:
        return PartialOrderDecider(seed, points, named)
    decider: PartialOrderParts = native.partial_order_decider(seed, points, named)
    return decider


Drawn = UniformRandom | Priorities | PartialOrder | WeightedRandom
"""The policies that have an executor here."""


def drawing_decider(policy: Drawn) -> Decider:
    """The executor of a policy that draws, in C if possible."""
    return reference_decider(policy) if native is None else _decider_in_c(policy)


def reference_decider(policy: Drawn) -> Decider:
    """The executor of such a policy in Python."""
    match policy:
        case UniformRandom(seed):
            return UniformRandomDecider(seed)
        case Priorities():
            return PriorityDecider(policy)
        case PartialOrder(seed, points):
            return PartialOrderDecider(seed, points)
        case WeightedRandom():
            return WeightedRandomDecider(policy)


def _decider_in_c(policy: Drawn) -> Decider:
    made: Decider
    match policy:
        case UniformRandom():
            made = native.uniform_random_decider(policy.seed)
        case Priorities():
            made = native.priority_decider(policy.seed, policy.depth, policy.length)
        case PartialOrder():
            made = native.partial_order_decider(policy.seed, policy.points, ())
        case WeightedRandom(seed, weights, selected, points):
            events = dict(weights)
            names = path_names(events)
            rows = tuple(
                (names.get(task.rpartition(".")[0], -1), events.get(task, 0)) for task in names
            )
            made = native.weighted_random_decider(seed, names, rows, selected, points)
    return made
