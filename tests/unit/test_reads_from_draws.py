"""Which constraints reads-from fuzzing asks for."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest

from bohrbug.model.operation import Site
from bohrbug.model.plan import Constraint, ResourceEvent
from bohrbug.search import reads_from_draws
from bohrbug.search.plain import EventTable
from bohrbug.search.reads_from_draws import Draws, Pair, Readers, Sources, place_of


def event(task: str, kind: str, line: int, resource: str = "x") -> ResourceEvent:
    return ResourceEvent(task, kind, resource, Site("a.py", line, "f"), 1)


def sources_of(*events: ResourceEvent, most: int = 100) -> Sources:
    sources = Sources(most)
    for each in events:
        sources.add(each)
    return sources


def asked(constraints: list[Constraint]) -> Counter[tuple[object, object, bool]]:
    return Counter(
        (place_of(each.source), place_of(each.reader), each.holds) for each in constraints
    )


WRITES = [event(f"0.{number}", "write", 1) for number in range(1, 50)]
LATER = event("0.50", "write", 2)
ALIKE: list[Pair] = [(WRITES[0], event(f"0.{number}", "read", 10)) for number in range(60, 160)]
ALONE: list[Pair] = [(WRITES[3], event("0.160", "read", 11))]


def test_everything_is_asked_before_anything_is_asked_again() -> None:
    draws, random = Draws(), Random(1)
    readers, sources = Readers([*ALIKE, *ALONE]), sources_of(*WRITES, LATER)
    made = asked([draws.new(readers, sources, random) for _ in range(400)])
    # Each reader: from nothing, from either place; and not from where it did.
    assert len(made) == 2 * 3 + 2
    for wanted, share in ((True, 0.75), (False, 0.25)):
        numbers = [number for question, number in made.items() if question[2] is wanted]
        assert max(numbers) - min(numbers) <= 1
        assert sum(numbers) == pytest.approx(400 * share, abs=40)


def test_no_constraint_is_met_by_the_execution_that_it_is_drawn_for() -> None:
    draws, random = Draws(), Random(2)
    readers, sources = Readers([*ALIKE, *ALONE]), sources_of(*WRITES, LATER)
    met = {reader: source for source, reader in (*ALIKE, *ALONE)}
    for _ in range(200):
        constraint = draws.new(readers, sources, random)
        assert (constraint.source == met[constraint.reader]) is not constraint.holds


def test_nobody_is_to_read_from_itself() -> None:
    draws, random = Draws(), Random(3)
    reader = event("0.1", "read", 10)
    readers = Readers([(None, reader)])
    sources = sources_of(event("0.1", "write", 9))
    made = [draws.new(readers, sources, random) for _ in range(10)]
    assert made == [Constraint(None, reader, False)] * 10


def test_a_lock_comes_from_who_gave_it_back() -> None:
    draws, random = Draws(), Random(4)
    release, acquire = event("0.1", "release", 2), event("0.1", "acquire", 1)
    reader = event("0.2", "acquire", 5)
    sources = sources_of(release, acquire)
    made = [draws.new(Readers([(None, reader)]), sources, random) for _ in range(40)]
    assert {each.source for each in made} == {None, release}
    # A semaphore of which several may have a part: an acquisition was seen to follow another.
    readers = Readers([(None, reader), (acquire, event("0.3", "acquire", 7))])
    made = [draws.new(readers, sources, random) for _ in range(80)]
    assert acquire in {each.source for each in made if each.reader == reader}


def test_of_many_readers_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads_from_draws, "READERS", 2)
    draws, random = Draws(), Random(5)
    readers = Readers([(None, event("0.1", "read", line)) for line in range(20)])
    sources = sources_of(LATER)
    made = [draws.new(readers, sources, random) for _ in range(200)]
    assert {each.reader.site.line for each in made if each.reader.site} == set(range(20))


def test_draws_go_on_from_what_was_written_down() -> None:
    draws = Draws()
    readers, sources = Readers([*ALIKE, *ALONE]), sources_of(*WRITES, LATER)
    for seed in range(13):
        draws.new(readers, sources, Random(seed))
    table = EventTable()
    rows = json.loads(json.dumps([draws.to_json(table), table.rows]))
    again = Draws.from_json(rows[0], EventTable(rows[1]))
    for seed in range(20):
        assert again.new(readers, sources, Random(seed)) == draws.new(
            readers, sources, Random(seed)
        )


def test_so_many_sources_are_kept_of_a_resource() -> None:
    elsewhere = event("0.1", "write", 1, "y")
    sources = sources_of(*WRITES, elsewhere, elsewhere, most=10)
    assert list(sources.of("x")) == WRITES[:10]
    assert list(sources) == [*WRITES[:10], elsewhere]
    assert sources.is_full("x")
    assert not sources.is_full("y")
    assert not sources.of("z")
    assert dict(sources.places_of("y")) == {None: (None,), place_of(elsewhere): [elsewhere]}
