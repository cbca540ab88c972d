"""The race detector: the cases of the FastTrack paper, containers, and a naive detector."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bohrbug.model.operation import READ, WRITE, Site
from bohrbug.model.outcome import Frame, Held
from bohrbug.monitors.races import RaceDetector
from bohrbug.runtime.threads.data.shadows import Shadow
from bohrbug.runtime.threads.data.variables import Variables
from tests.thoroughness import examples

CODE: CodeType = compile("\n" * 5 + "x = y\n" * 30, "tested.py", "exec")
PLACES = [(CODE, 2 * offset) for offset in range(16)]


class Lock:
    """Anything with a clock."""

    def __init__(self) -> None:
        self.clock: Any = None


@dataclass
class Task:
    index: int
    inside: int = 0

    @property
    def id(self) -> str:
        return f"0.{self.index}" if self.index else "0"


@dataclass
class Execution:
    current: Task = field(default_factory=lambda: Task(0))
    suspended: int = 0


class Account:
    """Something with attributes."""


class World:
    """A detector, with variables to give to it."""

    def __init__(self, tasks: int = 3, **options: Any) -> None:
        self.detector = RaceDetector(**options)
        self.execution = Execution()
        self.variables = Variables(self.execution)
        self.account = Account()
        self.container: dict[str, int] = {}
        for index in range(1, tasks):
            self.detector.spawn(0, index)

    def balance(self, name: str = "balance") -> Shadow:
        shadow = self.variables.shadow_of_attribute(self.account, name)
        assert shadow is not None
        return shadow

    def item(self, key: str) -> Shadow:
        shadow = self.variables.shadow_of_item(self.container, key)
        assert shadow is not None
        return shadow

    def whole(self) -> Shadow:
        shadow = self.variables.shadow_of_whole(self.container)
        assert shadow is not None
        return shadow

    def read(self, task: int, place: int, shadow: Shadow | None = None) -> bool:
        self.execution.current = Task(task)
        target = shadow or self.balance()
        return self.detector.read(target, task, PLACES[place]) is not None

    def write(self, task: int, place: int, shadow: Shadow | None = None) -> bool:
        self.execution.current = Task(task)
        target = shadow or self.balance()
        return self.detector.write(target, task, PLACES[place]) is not None

    def racy(self) -> set[int]:
        return {offset // 2 for _, offset in self.detector.racy_places}

    def shared(self) -> set[int]:
        return {offset // 2 for _, offset in self.detector.shared_places}


def test_two_reads_are_no_race_and_no_sharing() -> None:
    world = World()
    assert not world.read(1, 1)
    assert not world.read(2, 2)
    assert world.racy() == world.shared() == set()


def test_write_then_write() -> None:
    world = World()
    assert not world.write(1, 1)
    assert world.write(2, 2)
    assert world.racy() == world.shared() == {1, 2}


def test_write_then_read() -> None:
    world = World()
    assert not world.write(1, 1)
    assert world.read(2, 2)
    assert world.racy() == {1, 2}


def test_read_then_write() -> None:
    world = World()
    assert not world.read(1, 1)
    assert world.write(2, 2)
    assert world.racy() == {1, 2}


def test_a_write_races_with_every_concurrent_reader() -> None:
    world = World(tasks=4)
    world.read(1, 1)
    world.read(2, 2)
    assert world.write(3, 3)
    assert world.racy() == {1, 2, 3}


def test_all_places_of_a_reader_are_found_not_only_its_last() -> None:
    world = World()
    world.read(1, 1)
    world.read(1, 2)
    world.write(2, 3)
    assert world.racy() == {1, 2, 3}


def test_a_read_before_an_own_write_is_found_too() -> None:
    world = World()
    world.read(1, 1)
    world.write(1, 2)
    world.write(2, 3)
    assert world.racy() == {1, 2, 3}


def test_detection_goes_on_after_the_first_race() -> None:
    world = World()
    world.write(1, 1)
    world.write(2, 2)
    world.write(1, 3)
    assert world.racy() == {1, 2, 3}


def test_a_write_does_not_forget_what_it_races_with() -> None:
    world = World(tasks=4)
    world.write(1, 1)
    assert world.write(2, 2)
    lock = Lock()
    world.detector.synchronise(2, lock, True)
    world.detector.synchronise(3, lock, False)
    # It comes after the second, and races with the first.
    assert world.read(3, 3)
    assert world.racy() == {1, 2, 3}


def test_lost_update_names_all_of_its_places() -> None:
    world = World()
    for task in (1, 2):
        world.read(task, 1)
        world.write(task, 2)
    assert world.racy() == {1, 2}
    pairs = {(r.first.operation.place[1], r.second.operation.place[1]) for r in races(world)}
    assert pairs == {(4, 2), (4, 4)}


def races(world: World) -> list[Any]:
    return world.detector.races(lambda index: Task(index).id)


def test_spawn_orders_the_parents_past_but_not_its_future() -> None:
    world = World(tasks=1)
    world.write(0, 1)
    world.detector.spawn(0, 1)
    assert not world.write(1, 2)
    assert world.shared() == {1, 2}
    assert world.write(0, 3)
    assert world.racy() == {2, 3}


def test_children_of_one_parent_are_concurrent() -> None:
    world = World(tasks=1)
    world.detector.spawn(0, 1)
    world.write(0, 1)
    world.detector.spawn(0, 2)
    assert world.write(1, 2)
    assert world.read(2, 3)
    assert world.racy() == {1, 2, 3}
    (first, _) = races(world)
    assert (first.first.task, first.second.task) == ("0", "0.1")


def test_join_orders() -> None:
    world = World()
    thread = Lock()
    world.write(1, 1)
    world.detector.synchronise(1, thread, True)
    world.detector.synchronise(0, thread, False)
    assert not world.read(0, 2)
    assert world.racy() == set()
    assert world.shared() == {1, 2}


def test_a_lock_orders() -> None:
    world = World()
    lock = Lock()
    for task in (1, 2, 1, 2):
        world.detector.synchronise(task, lock, True)
        assert not world.read(task, 1)
        assert not world.write(task, 2)
        world.detector.synchronise(task, lock, True)
    assert world.racy() == set()
    assert world.shared() == {1, 2}


def test_two_locks_do_not_order() -> None:
    world = World()
    for task in (1, 2):
        lock = Lock()
        world.detector.synchronise(task, lock, True)
        world.write(task, task)
        world.detector.synchronise(task, lock, True)
    assert world.racy() == {1, 2}


def test_order_is_transitive_over_several_resources() -> None:
    world = World(tasks=4)
    first, second = Lock(), Lock()
    world.write(1, 1)
    world.detector.synchronise(1, first, True)
    world.detector.synchronise(2, first, True)
    world.detector.synchronise(2, second, True)
    world.detector.synchronise(3, second, False)
    assert not world.write(3, 3)


def test_what_follows_the_publication_is_not_ordered() -> None:
    world = World()
    lock = Lock()
    world.detector.synchronise(1, lock, True)
    world.write(1, 1)
    world.detector.synchronise(2, lock, True)
    assert world.write(2, 2)


def test_a_reading_operation_publishes_nothing() -> None:
    world = World()
    event = Lock()
    world.write(1, 1)
    world.detector.synchronise(1, event, False)
    world.detector.synchronise(2, event, True)
    assert world.write(2, 2)


def test_what_a_second_writer_knows_replaces_the_first() -> None:
    world = World(tasks=4)
    lock = Lock()
    world.write(1, 1)
    world.detector.synchronise(1, lock, True)
    world.detector.synchronise(2, lock, True)
    world.detector.synchronise(3, lock, True)
    assert not world.write(3, 3)


def test_tasks_that_were_never_announced_are_concurrent() -> None:
    world = World(tasks=1)
    assert not world.write(40, 1)
    assert world.write(3, 2)


def test_a_task_with_a_large_index_is_like_any_other() -> None:
    world = World(tasks=300)
    lock = Lock()
    world.write(299, 1)
    world.detector.synchronise(299, lock, True)
    world.detector.synchronise(200, lock, True)
    assert not world.write(200, 2)
    assert world.write(250, 3)
    assert world.shared() == {1, 2, 3}
    assert world.racy() == {2, 3}


def test_places_are_found_that_conflict_with_what_was_forgotten() -> None:
    world = World()
    lock = Lock()
    world.write(1, 1)
    world.detector.synchronise(1, lock, True)
    world.detector.synchronise(2, lock, True)
    world.write(2, 2)
    world.read(2, 3)
    assert world.shared() == {1, 2, 3}


def test_places_shared_although_always_ordered_are_all_found() -> None:
    world = World()
    lock = Lock()
    world.read(1, 1)
    world.detector.synchronise(1, lock, True)
    world.write(1, 2)
    world.detector.synchronise(1, lock, True)
    world.detector.synchronise(2, lock, True)
    world.write(2, 3)
    assert world.racy() == set()
    assert world.shared() == {1, 2, 3}


class TestContainers:
    def test_different_keys_do_not_conflict(self) -> None:
        world = World()
        assert not world.write(1, 1, world.item("a"))
        assert not world.write(2, 2, world.item("b"))
        assert world.shared() == set()

    def test_the_same_key_does(self) -> None:
        world = World()
        world.write(1, 1, world.item("a"))
        assert world.write(2, 2, world.item("a"))

    @pytest.mark.parametrize("whole_first", [True, False])
    @pytest.mark.parametrize(
        ("whole", "item", "race"),
        [
            ("read", "read", False),
            ("read", "write", True),
            ("write", "read", True),
            ("write", "write", True),
        ],
    )
    def test_whole_and_item(self, whole: str, item: str, race: bool, whole_first: bool) -> None:
        world = World()
        accesses = [(whole, 1, world.whole()), (item, 2, world.item("a"))]
        if not whole_first:
            accesses.reverse()
        found = [getattr(world, kind)(place, place, shadow) for kind, place, shadow in accesses]
        assert found == [False, race]
        assert world.racy() == world.shared() == ({1, 2} if race else set())

    def test_a_whole_access_meets_the_writers_of_all_keys(self) -> None:
        world = World(tasks=4)
        world.write(1, 1, world.item("a"))
        world.write(2, 2, world.item("b"))
        world.read(3, 3, world.whole())
        assert world.racy() == {1, 2, 3}

    def test_an_ordered_write_of_an_item_does_not_hide_the_whole_from_others(self) -> None:
        world = World(tasks=4)
        lock = Lock()
        world.write(1, 1, world.whole())
        world.detector.synchronise(1, lock, True)
        world.detector.synchronise(2, lock, True)
        assert not world.write(2, 2, world.item("a"))
        assert world.write(3, 3, world.item("b"))
        assert world.racy() == {1, 3}

    def test_an_ordered_item_write_does_not_hide_an_unordered_one(self) -> None:
        world = World(tasks=4)
        lock = Lock()
        world.write(1, 1, world.item("a"))
        world.write(2, 2, world.item("b"))
        world.detector.synchronise(2, lock, True)
        world.detector.synchronise(3, lock, True)
        world.read(3, 3, world.whole())
        assert world.racy() == {1, 3}


class TestReports:
    def test_a_pair_of_places_is_reported_once_and_counted(self) -> None:
        world = World()
        others = [Account() for _ in range(3)]
        for other in others:
            shadow = world.variables.shadow_of_attribute(other, "balance")
            world.write(1, 1, shadow)
            world.write(2, 2, shadow)
        (race,) = races(world)
        assert race.count == 3
        assert race.label == "Account.balance"
        assert (race.first.operation.kind, race.second.operation.kind) == (WRITE, WRITE)

    def test_the_order_of_the_places_does_not_matter(self) -> None:
        world = World()
        for shadow, places in ((world.balance("a"), (1, 2)), (world.balance("b"), (2, 1))):
            world.write(1, places[0], shadow)
            world.write(2, places[1], shadow)
        assert len(races(world)) == 1

    def test_stack_and_locks_are_taken_of_the_second_access(self) -> None:
        site = Site("tested.py", 3, "test")
        asked = []

        def stack(index: int) -> tuple[Frame, ...]:
            asked.append(index)
            return (Frame(site),)

        world = World(stack=stack, locks_held=lambda index: (Held(f"lock of {index}", site),))
        world.read(1, 1)
        world.write(2, 2)
        (race,) = races(world)
        assert asked == [2]
        assert race.first.task == "0.1"
        assert race.first.operation.kind is READ
        assert race.first.stack == race.first.holding == ()
        assert race.second.stack == (Frame(site),)
        assert race.second.holding == (Held("lock of 2", site),)

    def test_stacks_of_known_races_are_not_taken_again(self) -> None:
        known: set[tuple[int, int]] = set()
        asked = []

        def stack(index: int) -> tuple[Frame, ...]:
            asked.append(index)
            return ()

        for _ in range(3):
            world = World(stack=stack, known=known)
            world.read(1, 1)
            world.write(2, 2)
            assert len(races(world)) == 1
        assert asked == [2]


# -- against a naive detector ----------------------------------------------------

TASKS, LOCKS, NAMES, KEYS = 4, 3, 2, 2

_task = st.integers(0, TASKS - 1)
_place = st.integers(0, len(PLACES) - 1)
_event = st.one_of(
    st.tuples(st.just("sync"), _task, st.integers(0, LOCKS - 1), st.booleans()),
    st.tuples(st.just("attribute"), _task, st.integers(0, NAMES - 1), st.booleans(), _place),
    st.tuples(st.just("item"), _task, st.integers(0, KEYS - 1), st.booleans(), _place),
    st.tuples(st.just("whole"), _task, st.just(0), st.booleans(), _place),
    st.tuples(st.just("spawn"), _task, st.integers(1, TASKS - 1)),
)


def conflict(first: tuple[Any, ...], second: tuple[Any, ...]) -> bool:
    """Whether two accesses are to one variable, and at least one of them a write."""
    kinds = {first[0], second[0]}
    if kinds == {"item", "whole"}:
        return bool(first[3] or second[3])
    return first[0] == second[0] and first[2] == second[2] and bool(first[3] or second[3])


def naive(
    events: list[tuple[Any, ...]],
) -> tuple[set[int], set[frozenset[int]], set[int]]:
    """Compare every access with every earlier one, with full vector clocks.

    Returns:
        the events that race with an earlier one, all racy pairs of places, and
        the places of all conflicts between tasks.
    """
    clocks = [[0] * TASKS for _ in range(TASKS)]
    for task in range(TASKS):
        clocks[task][task] = 1
    resources = [[0] * TASKS for _ in range(LOCKS)]
    done: list[tuple[tuple[Any, ...], list[int]]] = []
    racing: set[int] = set()
    pairs: set[frozenset[int]] = set()
    shared: set[int] = set()
    for number, event in enumerate(events):
        kind, task = event[0], event[1]
        if kind == "sync":
            resource = resources[event[2]]
            clocks[task] = [max(pair) for pair in zip(clocks[task], resource, strict=True)]
            if event[3]:
                resources[event[2]] = list(clocks[task])
                clocks[task][task] += 1
        elif kind == "spawn":
            child = event[2]
            if child != task:
                joined = [max(pair) for pair in zip(clocks[task], clocks[child], strict=True)]
                clocks[child] = joined
            clocks[task][task] += 1
        else:
            now = list(clocks[task])
            for earlier, then in done:
                other = earlier[1]
                if other != task and conflict(earlier, event):
                    shared |= {earlier[4], event[4]}
                    if then[other] > now[other]:
                        racing.add(number)
                        pairs.add(frozenset({earlier[4], event[4]}))
            done.append((event, now))
    return racing, pairs, shared


def touching_shared(events: list[tuple[Any, ...]]) -> set[int]:
    """The places of all accesses to variables with a conflict; a container counts as one."""
    places: dict[Any, set[int]] = {}
    accesses = [event for event in events if event[0] not in ("sync", "spawn")]
    for event in accesses:
        places.setdefault(event[2] if event[0] == "attribute" else "container", set()).add(event[4])
    return {
        place
        for first in accesses
        for second in accesses
        if first[1] != second[1] and conflict(first, second)
        for place in places[first[2] if first[0] == "attribute" else "container"]
    }


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(_event, max_size=50))
def test_finds_what_a_naive_detector_finds(events: list[tuple[Any, ...]]) -> None:
    world = World(tasks=1)
    world.detector.add_tasks(TASKS)
    locks = [Lock() for _ in range(LOCKS)]
    racing, pairs, shared = naive(events)
    first_races: dict[tuple[str, int], int] = {}
    expected: dict[tuple[str, int], int] = {}
    for number, event in enumerate(events):
        kind, task = event[0], event[1]
        world.execution.current = Task(task)
        if kind == "sync":
            world.detector.synchronise(task, locks[event[2]], event[3])
            continue
        if kind == "spawn":
            world.detector.spawn(task, event[2])
            continue
        if kind == "attribute":
            shadow = world.balance(f"name{event[2]}")
        elif kind == "item":
            shadow = world.item(f"key{event[2]}")
        else:
            shadow = world.whole()
        access = world.detector.write if event[3] else world.detector.read
        found = access(shadow, task, PLACES[event[4]])
        # A container and its items count as one: the detector does not look twice at
        # equal accesses, so that a pair of an item and a whole is found at either.
        variable = (kind, event[2]) if kind == "attribute" else ("container", 0)
        if found is not None:
            first_races.setdefault(variable, number)
        if number in racing:
            expected.setdefault(variable, number)
    assert first_races == expected
    reported = {
        frozenset({c.first_place[1] // 2, c.second_place[1] // 2})
        for c in world.detector.conflicts.values()
    }
    assert reported <= pairs
    assert world.racy() <= {place for pair in pairs for place in pair}
    assert shared <= world.shared() <= touching_shared(events)
