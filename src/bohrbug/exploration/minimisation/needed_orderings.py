"""Which of a failing execution's orderings the failure needs, resource by resource.

A failure found at random in a program that calls much library code has dozens of preemptions, of
which one or two matter; taking one away after the other costs more executions than there are.
But what two tasks do to one resource is in some order, and a failure needs the orders of a few
resources: usually of some that the program's own code is in conflict about.  An execution that
keeps these, and has no other preemptions, fails alike.  The resources are halved, quartered, ...:
Zeller and Hildebrandt, *Simplifying and isolating failure-inducing input*, 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bohrbug.exploration.minimisation.candidates import conflicting_pairs
from bohrbug.model.operation import ResourceId, TaskId
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.trace import Trace
from bohrbug.search.own_code import is_in_own_code

MOST_ORDERINGS = 20_000
"""Orderings that an execution can keep in a time that does not matter."""

FailsAlike = Callable[[tuple[Ordering, ...]], bool]
"""Whether an execution that keeps some orderings, and is else without preemptions, fails alike."""


def drop_orderings(trace: Trace, fails_alike: FailsAlike, is_over: Callable[[], bool]) -> None:
    """Try to fail in the same way by the orders of ever fewer resources.

    Parameters:
        trace: the failing execution.
        fails_alike: executes, and keeps what it likes.
        is_over: whether enough was tried.
    """
    every = orderings_by_resource(trace)
    own = [group for group in every if any(map(_is_in_own_code, group))]
    for groups in (own, every) if len(own) < len(every) else (every,):
        is_possible = 0 < sum(map(len, groups)) <= MOST_ORDERINGS and not is_over()
        if is_possible and _keeps_failing(groups, fails_alike):
            _drop_resources(groups, fails_alike, is_over)
            return


def _drop_resources(
    groups: list[list[Ordering]], fails_alike: FailsAlike, is_over: Callable[[], bool]
) -> None:
    """Drop halves of the resources, quarters, ..., as long as it fails alike without them."""
    size = len(groups) // 2
    while size and not is_over():
        # The last ones first: what comes after the failure is decided is never needed.
        end = len(groups)
        while end > 0 and not is_over():
            rest = groups[: max(end - size, 0)] + groups[end:]
            if rest and _keeps_failing(rest, fails_alike):
                groups = rest
            end -= size
        size //= 2


def orderings_by_resource(trace: Trace) -> list[list[Ordering]]:
    """The orders in which tasks were in conflict, those about one resource together.

    What comes after an operation of a task comes after those before it, too.
    """
    last: dict[tuple[ResourceId, Event, TaskId], Event] = {}
    for first, second in conflicting_pairs(trace):
        last[second.resource, second, first.task] = first
    groups: dict[ResourceId, list[Ordering]] = {}
    for (resource, second, _), first in last.items():
        groups.setdefault(resource, []).append(Ordering(first, second))
    return list(groups.values())


def _keeps_failing(groups: Iterable[list[Ordering]], fails_alike: FailsAlike) -> bool:
    return fails_alike(tuple(ordering for group in groups for ordering in group))


def _is_in_own_code(ordering: Ordering) -> bool:
    return is_in_own_code(ordering.first.where) and is_in_own_code(ordering.second.where)
