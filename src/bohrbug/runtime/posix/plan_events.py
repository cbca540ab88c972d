"""Events that a plan names, as the shim counts them; ``shim/plan_events.c`` is the other side.

Where an event of a native program stands in the source is not known while it runs: it is told
apart by its task, its kind and its resource, which have the same numbers in every execution.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bohrbug.model.operation import ResourceId, TaskId
from bohrbug.model.ordering import Event
from bohrbug.model.plan import Ordered, ReadsFrom, ResourceEvent
from bohrbug.runtime.posix import enumerations, layout
from bohrbug.runtime.posix.points import key_of

_KINDS = {kind.name: number for number, kind in enumerate(enumerations.KINDS)}


class _What(NamedTuple):
    """An event without its number; sorted by resource, those that never happen last.

    Parameters:
        is_unknown: no native program can do that.
        key: of the resource.
        number: see ``what_of`` in ``shim/plan_events.c``; of those that are unknown just a number.
    """

    is_unknown: bool
    key: int
    number: int


_Counted = tuple[_What, int]
"""An event: what is done, and its 1-based occurrence."""


@dataclass(frozen=True, slots=True)
class PlanEvents:
    """What the tables of a segment hold of events.

    Parameters:
        rows: ``struct event_of_plan``.
        pairs: ``struct pair_of_plan``.
        stretches: by the key of a resource the first of its events, the end of these, the first of
            the pairs that end there, and the end of these.
    """

    rows: list[tuple[int, int, int, int]]
    pairs: list[tuple[int, int, int, int, int]]
    stretches: dict[int, tuple[int, int, int, int]]


def events_of_orderings(policy: Ordered, names: Mapping[TaskId, int]) -> PlanEvents:
    """The events of a plan that keeps orderings.

    Parameters:
        policy: the plan's policy.
        names: numbers for tasks.

    Raises:
        ValueError: an event is named by its place in the source, as in tests in Python.
    """

    def counted(event: Event) -> _Counted:
        if event.site is not None:
            raise ValueError(f"native programs have no event at {event.site}")
        return _what(event.task, event.kind.name, event.resource, event.fired, names), (
            event.occurrence
        )

    return _tables((counted(each.first), counted(each.second), True) for each in policy.orderings)


def events_of_pairs(policy: ReadsFrom, names: Mapping[TaskId, int]) -> PlanEvents:
    """The events of a plan that meets constraints on who reads from whom.

    Parameters:
        policy: the plan's policy.
        names: numbers for tasks.
    """

    def counted(event: ResourceEvent) -> _Counted:
        return _what(event.task, event.kind, event.resource, False, names), event.occurrence

    return _tables(
        (
            None if each.source is None else counted(each.source),
            counted(each.reader),
            each.holds,
        )
        for each in policy.constraints
    )


def _what(
    task: TaskId, kind: str, resource: ResourceId, fired: bool, names: Mapping[TaskId, int]
) -> _What:
    key, number = key_of(resource), _KINDS.get(kind)
    if key is None or number is None:
        return _What(True, 0, hash((task, kind, resource, fired)))
    return _What(False, key, names[task] << 6 | number << 1 | fired)


def _tables(pairs: Iterable[tuple[_Counted | None, _Counted, bool]]) -> PlanEvents:
    wanted = sorted(pairs, key=lambda pair: pair[1])
    whats = sorted({event[0] for pair in wanted for event in pair[:2] if event is not None})
    index = {what: number for number, what in enumerate(whats)}
    rows: list[tuple[int, int, int, int, int]] = []
    of_event: dict[_What, tuple[int, int]] = {}
    for number, (first, second, holds) in enumerate(wanted):
        source = (layout.NONE, 0) if first is None else (index[first[0]], first[1])
        rows.append((source[0], index[second[0]], source[1], second[1], int(holds)))
        begin, _ = of_event.get(second[0], (number, number))
        of_event[second[0]] = (begin, number + 1)
    stretches: dict[int, tuple[int, int, int, int]] = {}
    for number, what in enumerate(whats):
        if what.is_unknown:
            continue
        begin, _, first_pair, end = stretches.get(what.key, (number, number, 0, 0))
        mine = of_event.get(what)
        if mine is not None:
            first_pair, end = (mine[0] if first_pair == end else first_pair), mine[1]
        stretches[what.key] = (begin, number + 1, first_pair, end)
    return PlanEvents(
        [
            (layout.NONE if what.is_unknown else what.number, 0, *of_event.get(what, (0, 0)))
            for what in whats
        ],
        rows,
        stretches,
    )
