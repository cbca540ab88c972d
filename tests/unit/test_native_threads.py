"""Priorities, traps and cue points of runs with real threads, on a clock of their own."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from bohrbug.live.native_threads.cues import Cues, Window
from bohrbug.live.native_threads.delays import Delay, Log, stack_of
from bohrbug.live.native_threads.durations import GRACE, LONGEST_DELAY
from bohrbug.live.native_threads.guard import Note
from bohrbug.live.native_threads.options import NativeThreadsOptions
from bohrbug.live.native_threads.priorities import Priorities
from bohrbug.live.native_threads.traps import (
    MISSING,
    UNKNOWN,
    Access,
    Part,
    Race,
    Sharing,
    Side,
    merged,
    value_at,
)
from bohrbug.model.operation import Site
from bohrbug.runtime.threads.rewrite import hooks, tell
from bohrbug.runtime.threads.rewrite.attributes import INSTANCE
from bohrbug.runtime.threads.rewrite.place import Place


class Box:
    def __init__(self) -> None:
        self.value = 0


class Slotted:
    __slots__ = ("value",)


CODE = (lambda: None).__code__
PLACE, HERE, THERE = (Place((CODE, offset)) for offset in (2, 4, 6))


class World:
    """Threads that take turns where a test says so, and time that passes only in sleeps."""

    def __init__(self) -> None:
        self.time = 0.0
        self.thread = 1
        self.meanwhile: Callable[[], object] = lambda: None
        self.cues = Cues(lambda: self.time, self.sleep, lambda: self.thread)

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.meanwhile()

    def access(self, thread: int, box: object, is_write: bool, place: Place | None = None) -> None:
        before, self.thread = self.thread, thread
        self.cues.attribute(box, "value", is_write, place or PLACE)
        self.thread = before

    def share(self, *boxes: object) -> None:
        """Two threads access these, and one writes."""
        self.cues.open(Window(ends=self.time + 1, skipped=10**6))
        for box in boxes:
            self.access(1, box, True)
            self.access(2, box, True)
        self.cues.close()


# -- priorities ------------------------------------------------------------------------------------


def test_of_two_threads_one_gives_way() -> None:
    priorities = Priorities(Random(0), 0, 10)
    assert priorities.gives_way(1, [2]) != priorities.gives_way(2, [1])
    assert not priorities.gives_way(1, [])


def test_a_change_point_puts_the_running_thread_below_all_others() -> None:
    priorities = Priorities(Random(0), 1, 1)
    above = 1 if priorities.gives_way(2, [1]) else 2
    assert not priorities.gives_way(above, [1, 2])
    assert priorities.reach(above)
    assert priorities.gives_way(above, [3 - above])
    # There was only one.
    assert not priorities.reach(3 - above)
    assert priorities.gives_way(above, [3 - above])


def test_later_changes_go_deeper() -> None:
    priorities = Priorities(Random(0), 2, 2)
    assert priorities.reach(1)
    assert priorities.reach(2)
    assert priorities.gives_way(2, [1])


def test_the_same_seed_gives_the_same_priorities() -> None:
    def drawn(seed: int) -> list[bool]:
        priorities = Priorities(Random(seed), 3, 50)
        return [
            done
            for number in range(50)
            for done in (
                priorities.reach(number % 3),
                priorities.gives_way(number % 3, [0, 1, 2]),
            )
        ]

    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(5)}) > 1


def prioritised(world: World, ends: float = 1.0) -> tuple[int, int]:
    """Open a window with priorities; the upper and the lower of threads 1 and 2."""
    priorities = Priorities(Random(0), 0, 10)
    world.cues.open(Window(ends=world.time + ends, priorities=priorities))
    return (1, 2) if priorities.gives_way(2, [1]) else (2, 1)


def test_a_thread_gives_way_while_one_above_it_runs_but_not_for_ever() -> None:
    world, box = World(), Box()
    upper, lower = prioritised(world)
    world.access(upper, box, False)
    world.meanwhile = lambda: world.access(upper, box, False)
    began = world.time
    world.access(lower, box, False)
    assert world.time - began == pytest.approx(LONGEST_DELAY, abs=0.001)
    assert world.cues.counts.gave_way == 1


def test_a_thread_does_not_wait_for_one_that_is_blocked() -> None:
    world, box = World(), Box()
    upper, lower = prioritised(world)
    world.access(upper, box, False)
    world.access(lower, box, False)
    assert GRACE <= world.time < LONGEST_DELAY
    waited = world.time
    # It is known to be blocked until it is seen again.
    world.access(lower, box, False)
    assert world.time == waited
    world.access(upper, box, False)
    world.access(lower, box, False)
    assert world.time > waited


def test_the_upper_thread_never_waits_nor_does_anybody_without_a_window() -> None:
    world, box = World(), Box()
    upper, lower = prioritised(world)
    world.access(lower, box, False)
    world.access(upper, box, False)
    assert world.time == 0
    world.cues.close()
    world.access(lower, box, False)
    assert world.time == 0


def test_a_delay_ends_with_its_window() -> None:
    world, box = World(), Box()
    upper, lower = prioritised(world, ends=0.0015)
    world.access(upper, box, False)
    world.meanwhile = lambda: world.access(upper, box, False)
    world.access(lower, box, False)
    assert world.time < GRACE


# -- traps -----------------------------------------------------------------------------------------


def trapped(world: World, **more: object) -> Window:
    window = Window(ends=world.time + 1, pause=0.004, **more)  # type: ignore[arg-type]
    world.cues.open(window)
    return window


def write(world: World, thread: int, box: Box, value: int) -> None:
    world.access(thread, box, True)
    box.value = value


def test_a_race_is_caught_in_the_act() -> None:
    world, box = World(), Box()
    world.share(box)
    trapped(world)
    world.meanwhile = lambda: write(world, 2, box, 7)
    world.access(1, box, False)
    assert world.time == pytest.approx(0.004)
    world.cues.settle_all()
    (race,) = world.cues.counts.races
    assert race.name == "Box.value"
    assert (race.paused.verb, race.other.verb) == ("read", "write")
    assert race.values == ["0", "7", "7"]
    assert not race.is_benign


def test_a_race_is_benign_if_the_same_value_is_written() -> None:
    world, box = World(), Box()
    world.share(box)
    trapped(world)
    world.meanwhile = lambda: write(world, 2, box, 0)
    world.access(1, box, True)
    world.cues.settle_all()
    (race,) = world.cues.counts.races
    assert race.is_benign


def test_what_the_paused_thread_writes_itself_counts_too() -> None:
    world, box = World(), Box()
    world.share(box)
    trapped(world)
    world.meanwhile = lambda: world.access(2, box, False)
    world.access(1, box, True)
    box.value = 3
    # It is looked at when the thread is seen again.
    world.access(1, box, False)
    (race,) = world.cues.counts.races
    assert race.values == ["0", "0", "3"]
    assert not race.is_benign


def test_two_reads_and_accesses_of_other_objects_are_no_race() -> None:
    world, box, other = World(), Box(), Box()
    world.share(box, other)
    trapped(world)

    def others() -> None:
        world.access(2, box, False)
        world.access(2, other, True)

    world.meanwhile = others
    world.access(1, box, False)
    world.cues.settle_all()
    assert world.cues.counts.traps == 1
    assert world.cues.counts.races == []


def test_a_trap_is_set_only_where_several_threads_access_and_one_writes() -> None:
    world, mine, read_only = World(), Box(), Box()
    world.cues.open(Window(ends=1, skipped=10**6))
    for _ in range(2):
        world.access(1, mine, True)
        world.access(1, read_only, False)
        world.access(2, read_only, False)
    trapped(world)
    world.access(1, mine, True)
    world.access(1, read_only, False)
    assert world.cues.counts.traps == 0
    world.access(2, read_only, True)
    assert world.cues.counts.traps == 1


def test_a_window_sets_one_trap_and_is_over_then() -> None:
    world, box, over = World(), Box(), []
    world.share(box)
    window = trapped(world, over=lambda: over.append(world.time))
    for _ in range(3):
        world.access(1, box, True)
    assert world.cues.counts.traps == 1
    assert window.is_set
    assert over == [world.time]


def test_a_trap_waits_for_its_place() -> None:
    world, box, sprung = World(), Box(), []
    world.share(box)
    window = trapped(world, targets=[THERE], sprung=lambda: sprung.append(world.time))
    world.access(1, box, True, HERE)
    assert not window.is_set
    world.access(1, box, True, THERE)
    assert window.is_set
    # It is told before the pause.
    assert sprung == [0]


def test_targets_are_places_worth_a_trap_however_often_they_are_reached() -> None:
    world, box = World(), Box()
    assert world.cues.draw_targets(Random(0), 3) == {}
    world.share(box)
    world.cues.open(Window(ends=9, skipped=10**6))
    for _ in range(1000):
        world.access(1, box, True, HERE)
    world.access(1, box, True, THERE)
    world.access(1, Box(), True, Place((CODE, 8)))
    drawn = [world.cues.draw_targets(Random(seed), 1) for seed in range(60)]
    assert {place for each in drawn for place in each} == {PLACE, HERE, THERE}
    assert min(drawn.count({place: CODE}) for place in (PLACE, HERE, THERE)) > 10
    assert world.cues.draw_targets(Random(0), 9) == dict.fromkeys((PLACE, HERE, THERE), CODE)


def test_what_runs_in_the_middle_of_ours_is_no_cue_point() -> None:
    world, box = World(), Box()
    world.share(box)
    trapped(world)
    # As a finalizer would, in the thread that pauses.
    world.meanwhile = lambda: world.access(1, box, True)
    world.access(1, box, True)
    assert world.cues.counts.traps == 1
    assert world.time == pytest.approx(0.004)


def test_calls_of_synchronisation_are_cue_points() -> None:
    world = World()
    trapped(world)
    world.cues.synchronise()
    assert world.cues.counts.traps == 1
    assert world.time == pytest.approx(0.004)


# -- accesses and races ----------------------------------------------------------------------------


def test_which_accesses_conflict() -> None:
    owner: list[int] = []
    first = Access(owner, Part.ITEM, 0, True)
    assert first.conflicts(Access(owner, Part.ITEM, 0, False))
    assert first.conflicts(Access(owner, Part.WHOLE, None, False))
    assert not first.conflicts(Access(owner, Part.ITEM, 1, True))
    # Equal is not the same.
    assert not first.conflicts(Access([], Part.ITEM, 0, True))
    assert not first.conflicts(Access(owner, Part.ATTRIBUTE, "x", True))


def test_values_are_read_without_running_code() -> None:
    class Loud:
        @property
        def value(self) -> int:
            raise AssertionError("code of the program ran")

    box, slotted = Box(), Slotted()
    assert value_at(Access(box, Part.ATTRIBUTE, "value", False)) == 0
    assert value_at(Access(slotted, Part.ATTRIBUTE, "value", False)) is MISSING
    slotted.value = 4
    assert value_at(Access(slotted, Part.ATTRIBUTE, "value", False)) == 4
    assert value_at(Access(Loud(), Part.ATTRIBUTE, "value", False)) is MISSING
    assert value_at(Access({"a": 1}, Part.ITEM, "a", False)) == 1
    assert value_at(Access([5], Part.ITEM, 0, False)) == 5
    assert value_at(Access([5], Part.ITEM, 1, False)) is MISSING
    assert value_at(Access([5], Part.WHOLE, None, False)) is UNKNOWN
    value = 6
    (cell,) = (lambda: value).__closure__ or ()
    assert value_at(Access(cell, Part.WHOLE, None, False)) == 6


def test_what_is_not_known_is_never_benign() -> None:
    world, items = World(), [1]
    world.cues.open(Window(ends=1, skipped=10**6))
    for thread in (1, 2):
        world.thread = thread
        world.cues.whole(items, True, PLACE)
    trapped(world)
    world.thread = 1

    def other() -> None:
        world.thread = 2
        world.cues.whole(items, True, PLACE)
        world.thread = 1

    world.meanwhile = other
    world.cues.whole(items, True, PLACE)
    world.cues.settle_all()
    (race,) = world.cues.counts.races
    assert race.values == ["unknown"] * 3
    assert not race.is_benign


def race_at(first: int, second: int, is_benign: bool) -> Race:
    sides = (
        Side("a thread", "read", (Site("shop.py", first, "buy"),)),
        Side("another", "write", (Site("shop.py", second, "sell"),)),
    )
    return Race("Shop.tickets", *sides, values=["0", "1", "1"], is_benign=is_benign)


def test_races_between_the_same_places_are_one_and_harm_prevails() -> None:
    races = merged([], race_at(1, 2, is_benign=True))
    races = merged(races, race_at(1, 2, is_benign=False))
    races = merged(races, race_at(1, 3, is_benign=True))
    assert [(race.count, race.is_benign) for race in races] == [(2, False), (1, True)]


def test_a_container_is_shared_as_a_whole_and_a_module_by_its_names() -> None:
    sharing, items, module = Sharing(), {"a": 1}, {"__name__": "shop"}
    assert not sharing.note(1, Access(items, Part.ITEM, "a", True))
    assert sharing.note(2, Access(items, Part.ITEM, "b", False))
    assert not sharing.note(1, Access(module, Part.ITEM, "a", True))
    assert not sharing.note(2, Access(module, Part.ITEM, "b", False))
    assert sharing.note(2, Access(module, Part.ITEM, "a", False))


def test_sharing_forgets_when_there_is_too_much() -> None:
    sharing, boxes = Sharing(most=3), [Box() for _ in range(4)]
    for box in boxes[:2]:
        assert not sharing.note(1, Access(box, Part.ATTRIBUTE, "value", True))
    assert sharing.note(2, Access(boxes[0], Part.ATTRIBUTE, "value", False))
    for box in boxes[2:]:
        sharing.note(1, Access(box, Part.ATTRIBUTE, "value", True))
    assert not sharing.note(2, Access(boxes[1], Part.ATTRIBUTE, "value", False))


def test_a_hook_whose_sink_another_thread_takes_away_tells_nobody() -> None:
    """In C it called what was not there any more, and crashed."""

    class TakingAway(dict[type, str]):
        def __missing__(self, _: type) -> str:
            tell.set_sink(None)
            return INSTANCE

    told: list[str] = []

    class Sink(Cues):
        def attribute(self, owner: object, name: str, is_write: bool, place: Place) -> None:
            told.append(name)

    tell.set_sink(Sink())
    kinds: Any = TakingAway()
    hooks.read_attribute(Box(), "value", kinds, PLACE)
    assert not tell.active
    assert told == []


# -- what is told ----------------------------------------------------------------------------------


def test_the_delays_just_before_a_moment() -> None:
    log, at = Log(), Site("shop.py", 1, "buy")
    log.add(Delay("long ago", "paused", at, 1.0, 1.1))
    log.add(Delay("lately", "paused", at, 9.7, 9.8))
    log.add(Delay("now", "paused", at, 9.9))
    log.add(Delay("later", "paused", at, 10.5))
    assert [delay.thread for delay in log.before(10.0)] == ["lately", "now"]
    assert [delay.thread for delay in log.before(10.0, most=1)] == ["now"]


def test_a_stack_is_of_the_program() -> None:
    import sys

    innermost = stack_of(sys._getframe())[0]
    assert innermost.function == "test_a_stack_is_of_the_program"
    assert innermost.filename == __file__


def test_a_note_is_as_long_as_there_is_room() -> None:
    note = Note(16)
    assert note.read() == []
    note.write(["one", "two"])
    assert note.read() == ["one", "two"]
    note.write(["a line that is too long"])
    assert note.read() == ["a line that is "]


@pytest.mark.parametrize("wrong", [{"budget": 0}, {"budget": 100}, {"seconds": 0}])
def test_options_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        NativeThreadsOptions(**wrong)  # type: ignore[arg-type]
