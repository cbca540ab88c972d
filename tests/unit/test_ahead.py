"""Which executions are made before anybody asks for them, where, and how long they are kept."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import cast

import pytest

from bohrbug.model.plan import Plan, UniformRandom

pytest.importorskip("fcntl", reason="native programs are explored on POSIX only")

from bohrbug.runtime.posix import enumerations
from bohrbug.runtime.posix.ahead import LONG, SMALL_SEGMENTS, Ahead
from bohrbug.runtime.posix.completed import CompletedExecution, Prepared, made_of
from bohrbug.runtime.posix.ended import Ended, Printed
from bohrbug.runtime.posix.engines import Engine
from bohrbug.runtime.posix.segment import SMALL, Segment

MOST = SMALL_SEGMENTS // 3
RULES = "rules"


def segments(count: int) -> list[Segment]:
    return [
        cast(Segment, SimpleNamespace(start=start, header=SimpleNamespace(ending=0)))
        for start in range(count)
    ]


def plans(count: int, first: int = 0) -> list[Plan]:
    return [Plan((), UniformRandom(seed)) for seed in range(first, first + count)]


def made(places: Iterable[tuple[Plan, Segment]]) -> list[CompletedExecution]:
    """As if these were executed."""
    prepared = [Prepared(plan, (), segment) for plan, segment in places]
    ends = [(Ended(0), Printed(b"", b""))] * len(prepared)
    return made_of(prepared, Engine.SNAPSHOT, ends)


def grown(ahead: Ahead, foreseen: list[Plan]) -> list[Plan]:
    """Plans that were made, by orders of which each is larger than the one before."""
    kept: list[Plan] = []
    ahead.take(foreseen[0], RULES)
    while len(kept) < 2 * MOST - 1:
        rest = [plan for plan in foreseen[1:] if plan not in kept]
        places = ahead.places(foreseen[0], lambda most, rest=rest: rest[:most])
        ahead.keep(made(places), 0.0)
        kept += [plan for plan, _ in places]
    return kept


def test_what_was_made_is_taken_once() -> None:
    ahead = Ahead(segments(1))
    asked, other = plans(2)
    assert ahead.take(asked, RULES) is None
    places = ahead.places(asked, lambda most: [asked, other][:most])
    # What is asked for itself is executed elsewhere.
    assert [plan for plan, _ in places] == [other]
    ahead.keep(made(places), 0.0)
    taken = ahead.take(other, RULES)
    assert taken is not None
    assert taken.plan == other
    assert ahead.take(other, RULES) is None
    # Its segment can be used again.
    assert [segment for _, segment in ahead.places(asked, lambda _: [other])] == [taken.segment]


def test_orders_grow_up_to_a_third_of_the_segments() -> None:
    ahead = Ahead(segments(SMALL_SEGMENTS))
    asked, *foreseen = plans(200)
    ahead.take(asked, RULES)
    sizes = []
    for _ in range(6):
        places = ahead.places(asked, lambda most: foreseen[:most])
        sizes.append(len(places))
    assert sizes == [1, 2, 4, 8, MOST, MOST]


def test_by_other_rules_nothing_is_as_it_was() -> None:
    ahead = Ahead(segments(2))
    asked, one, two = plans(3)
    ahead.take(asked, RULES)
    for each in (one, two):
        places = ahead.places(asked, lambda _, each=each: [each])
        ahead.keep(made(places[:1]), 0.0)
    assert ahead.is_by(RULES)
    assert ahead.take(one, "others") is None
    assert ahead.is_by("others")
    # Both segments can be used again, and orders are small at first.
    assert len(ahead.places(asked, lambda _: [one, two])) == 1
    assert len(ahead.places(asked, lambda _: [one, two])) == 2


def test_what_nobody_asked_for_makes_room() -> None:
    ahead = Ahead(segments(2))
    asked, one, two, three = plans(4)
    ahead.take(asked, RULES)
    for each in (one, two, three):
        ahead.keep(made(ahead.places(asked, lambda _, each=each: [each])), 0.0)
    assert ahead.take(one, RULES) is None
    assert ahead.take(two, RULES) is not None
    assert ahead.take(three, RULES) is not None


def test_what_needs_more_room_is_not_kept() -> None:
    ahead = Ahead(segments(1))
    asked, other = plans(2)
    ahead.take(asked, RULES)
    (execution,) = made(ahead.places(asked, lambda _: [other]))
    execution.segment.header.ending = enumerations.TOO_BIG
    ahead.keep([execution], 0.0)
    assert ahead.take(other, RULES) is None
    assert len(ahead.places(asked, lambda _: [other])) == 1


def test_plans_that_are_known_or_too_long_are_not_made() -> None:
    ahead = Ahead(segments(SMALL_SEGMENTS))
    asked, *foreseen = plans(100)
    kept = grown(ahead, [asked, *foreseen])
    long = Plan(("0",) * (SMALL.steps + 1))
    longest = Plan(("0",) * SMALL.steps)
    proposed = [kept[0], long, *kept, longest, *foreseen[60:]]
    beyond = ahead.places_beyond(kept[0], RULES, lambda most: proposed[:most])
    assert next(plan for plan, _ in beyond) == longest
    assert not {plan for plan, _ in beyond} & {*kept, long}


def test_while_some_are_under_way_others_get_ready_elsewhere() -> None:
    ahead = Ahead(segments(SMALL_SEGMENTS))
    asked, *foreseen = plans(200)
    kept = grown(ahead, [asked, *foreseen])

    def foresee(most: int) -> list[Plan]:
        return foreseen[:most]

    first = ahead.places_beyond(kept[0], RULES, foresee)
    assert len(first) == MOST
    ahead.get_ready([Prepared(plan, (), segment) for plan, segment in first])
    # Only one order gets ready at a time.
    assert not ahead.places_beyond(kept[0], RULES, foresee)
    assert not ahead.is_under_way
    ahead.begin()
    assert ahead.is_under_way
    assert not ahead.segments_of_next
    # A third is made, a third is under way: there is no room before some were taken.
    assert not ahead.places_beyond(kept[-1], RULES, foresee)
    for plan in kept[:-1]:
        ahead.take(plan, RULES)
    second = ahead.places_beyond(kept[-1], RULES, foresee)
    assert len(second) == MOST
    assert not {plan for plan, _ in second} & {plan for plan, _ in first}
    in_use = {segment.start for _, segment in first}
    assert not {segment.start for _, segment in second} & in_use
    assert [each.plan for each in ahead.end()] == [plan for plan, _ in first]
    assert not ahead.is_under_way


def test_nothing_is_made_beyond_what_is_asked_for_by_other_rules_or_was_not_made() -> None:
    ahead = Ahead(segments(SMALL_SEGMENTS))
    asked, *foreseen = plans(200)
    kept = grown(ahead, [asked, *foreseen])
    assert not ahead.places_beyond(kept[0], "others", lambda most: foreseen[:most])
    assert not ahead.places_beyond(asked, RULES, lambda most: foreseen[:most])
    assert ahead.places_beyond(kept[0], RULES, lambda most: foreseen[:most])


def test_nothing_is_made_beyond_small_orders() -> None:
    """As long as nobody knows how long they take."""
    ahead = Ahead(segments(SMALL_SEGMENTS))
    asked, *foreseen = plans(50)
    ahead.take(asked, RULES)
    places = ahead.places(asked, lambda most: foreseen[:most])
    ahead.keep(made(places), 0.0)
    assert not ahead.places_beyond(places[0][0], RULES, lambda most: foreseen[:most])


def test_what_is_under_way_is_waited_for_if_it_is_asked_for_or_the_rules_change() -> None:
    ahead = Ahead(segments(1))
    asked, other = plans(2)
    ahead.take(asked, RULES)
    assert not ahead.awaits(asked, "others")
    ahead.get_ready([Prepared(other, (), segment) for _, segment in ahead.places(asked, plans)])
    assert not ahead.awaits(other, RULES)
    ahead.begin()
    assert ahead.awaits(other, RULES)
    assert not ahead.awaits(asked, RULES)
    assert ahead.awaits(asked, "others")


def test_orders_that_take_long_become_smaller_and_end_what_was_ready() -> None:
    ahead = Ahead(segments(SMALL_SEGMENTS))
    asked, *foreseen = plans(200)

    def size() -> int:
        return len(ahead.places(asked, lambda most: foreseen[:most]))

    ahead.take(asked, RULES)
    assert [size() for _ in range(4)] == [1, 2, 4, 8]
    ahead.get_ready([Prepared(foreseen[0], (), segments(1)[0])])
    ahead.keep([], LONG)
    assert ahead.segments_of_next
    ahead.keep([], LONG + 0.01)
    assert not ahead.segments_of_next
    assert size() == 4
