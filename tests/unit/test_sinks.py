"""The sink that passes accesses on to a race detector, and sets of places."""

from __future__ import annotations

from typing import Any

import pytest

from bohrbug.model.operation import READ, WRITE
from bohrbug.runtime.threads.data.places import Place, PlaceSet
from bohrbug.runtime.threads.data.shadows import Shadow
from bohrbug.runtime.threads.data.sinks import WatchingSink
from tests.unit.accessing import CODE, FIRST, PLACE, SECOND, Account, Execution, Watched


@pytest.fixture
def execution() -> Execution:
    return Execution()


class TestWatchingSink:
    def test_nothing_happens_while_it_is_off(self, execution: Execution) -> None:
        world = Watched(execution)
        world.monitor.enabled = False
        world.monitor.attribute(Account, "x", True, PLACE)
        world.monitor.item({}, "x", True, PLACE)
        world.monitor.whole([], True, PLACE)
        assert world.points == []
        assert not world.variables.owners

    def test_points_are_told_with_kind_and_variable(self, execution: Execution) -> None:
        world = Watched(execution)
        account, table, items = Account(), {"a": 1}, [1]
        elsewhere = (CODE, 6)
        for place in (PLACE, elsewhere):
            world.monitor.attribute(account, "x", False, place)
            world.monitor.item(table, "a", True, place)
            world.monitor.whole(items, False, place)
        assert [(place, kind) for place, kind, _ in world.points] == [
            (PLACE, READ),
            (PLACE, WRITE),
            (PLACE, READ),
        ]
        assert [shadow.key for _, _, shadow in world.points] == ["x", "a", None]

    def test_a_point_comes_before_the_access(self, execution: Execution) -> None:
        world = Watched(execution)
        account = Account()
        places: list[Place] = [(CODE, offset) for offset in (0, 2)]
        order = []

        def on_point(place: Place, kind: Any, shadow: Shadow) -> None:
            order.append(len(shadow.writes))
            execution.current = SECOND
            world.monitor.attribute(account, "x", True, places[1])
            execution.current = FIRST

        world.monitor = WatchingSink(
            world.detector, world.variables, execution, on_point, PlaceSet(places[:1])
        )
        world.monitor.enabled = True
        execution.current = FIRST
        world.monitor.attribute(account, "x", True, places[0])
        assert order == [0]
        (race,) = world.detector.races()
        assert (race.first.task, race.second.task) == ("2", "1")

    @pytest.mark.parametrize("how", ["attribute", "item", "whole"])
    def test_races_are_found(self, execution: Execution, how: str) -> None:
        world = Watched(execution, PlaceSet())
        owner = {"x": 1} if how != "attribute" else Account()
        rest = ("x",) if how != "whole" else ()
        places: list[Place] = [(CODE, offset) for offset in (0, 2)]
        for task in (FIRST, SECOND):
            execution.current = task
            for _ in range(2):
                getattr(world.monitor, how)(owner, *rest, False, places[0])
                getattr(world.monitor, how)(owner, *rest, True, places[1])
        assert list(world.detector.racy_places) == [places[1], places[0]]
        assert set(map(id, world.detector.shared_places)) == set(map(id, places))

    def test_a_change_of_all_attributes_conflicts_with_one(self, execution: Execution) -> None:
        world = Watched(execution, PlaceSet())
        account = Account()
        execution.current = FIRST
        world.monitor.attribute(account, "x", False, (CODE, 0))
        execution.current = SECOND
        world.monitor.whole(account, True, (CODE, 2))
        assert len(world.detector.races()) == 1

    def test_points_may_grow(self, execution: Execution) -> None:
        points = PlaceSet()
        world = Watched(execution, points)
        account = Account()
        world.monitor.attribute(account, "x", False, PLACE)
        assert world.points == []
        points.add(PLACE)
        world.monitor.attribute(account, "x", False, PLACE)
        assert len(world.points) == 1


class TestPlaceSet:
    def test_places_are_told_apart_by_identity_in_order(self) -> None:
        places: list[Place] = [(CODE, 2), (CODE, 0), (CODE, 4)]
        chosen = PlaceSet(places[:2])
        assert places[0] in chosen
        assert places[2] not in chosen
        chosen.update(PlaceSet(places[2:]))
        chosen.update(places)
        chosen.add(places[0])
        assert list(chosen) == places
        assert len(chosen) == 3
        assert "bank.py" in repr(chosen)
