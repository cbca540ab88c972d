"""What an event loop may run next."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from bohrbug.runtime.threads.loops.ready_queue import (
    LATE_TURNS,
    Order,
    ReadyQueue,
)


@dataclass(eq=False)
class Entry:
    name: str
    order: Order = Order.FIFO
    cancelled: bool = False
    place: tuple[int, int] = (0, 0)
    since: int = 0
    deadline: object = None


def arrival(name: str) -> Entry:
    return Entry(name, Order.ARRIVAL)


def timer(name: str, deadline: object = None) -> Entry:
    return Entry(name, Order.TIMER, deadline=deadline or object())


def next_names(queue: ReadyQueue[Entry]) -> list[str]:
    return [entry.name for entry in queue.next_ones()]


def queue_of(
    called: list[Entry], arrived: list[Entry] | None = None, following: list[Entry] | None = None
) -> ReadyQueue[Entry]:
    queue: ReadyQueue[Entry] = ReadyQueue()
    for entry in called:
        queue.call(entry)
    queue.begin_turn(arrived or [])
    for entry in following or []:
        queue.call(entry)
    return queue


def test_what_was_called_for_comes_first_in_first_out() -> None:
    first, second = Entry("first"), Entry("second")
    queue = queue_of([first, second])
    assert next_names(queue) == ["first"]
    assert not queue.take(first)
    assert next_names(queue) == ["second"]


def test_an_arrival_may_be_passed_by_what_stands_behind_it() -> None:
    assert next_names(queue_of([arrival("a"), Entry("b"), Entry("c")])) == ["a", "b"]


def test_an_arrival_passes_nothing_that_was_called_for() -> None:
    assert next_names(queue_of([Entry("b"), arrival("a")])) == ["b"]


def test_arrivals_of_a_turn_come_in_any_order() -> None:
    assert next_names(queue_of([], [arrival("a"), arrival("b")])) == ["a", "b"]


def test_the_next_turn_may_begin_before_what_is_late() -> None:
    queue = queue_of([arrival("late")], following=[Entry("next"), Entry("later")])
    assert next_names(queue) == ["late", "next"]


def test_what_is_late_stands_behind_the_next_turn() -> None:
    late = arrival("late")
    queue = queue_of([late], following=[Entry("next")])
    queue.begin_turn([arrival("new")])
    assert [entry.name for entry in queue] == ["next", "late", "new"]


def test_timers_come_in_the_order_in_which_they_are_over() -> None:
    assert next_names(queue_of([], [timer("soon"), timer("then")])) == ["soon"]


def test_timers_with_one_deadline_come_together() -> None:
    deadline = object()
    first, second = timer("a", deadline), timer("b", deadline)
    queue = queue_of([], [arrival("late"), first, second, timer("c")])
    assert next_names(queue) == ["late", "a"]
    queue.take(first)
    assert next_names(queue) == ["b"]
    queue.take(second)
    assert next_names(queue) == ["late", "c"]


def test_nothing_is_late_for_ever() -> None:
    queue = queue_of([arrival("late")])
    for turn in range(LATE_TURNS):
        assert not queue.was_impatient
        entry = Entry(f"turn {turn}")
        queue.call(entry)
        queue.begin_turn([])
        queue.take(entry)
    queue.call(Entry("next"))
    assert queue.was_impatient
    assert next_names(queue) == ["late"]


def test_where_only_arrivals_are_left_the_turn_may_end_first() -> None:
    first = arrival("first")
    queue = queue_of([first, arrival("second")], following=[arrival("following")])
    assert queue.may_end
    queue.arrive([arrival("new")])
    # In asyncio's own order, with all that may come instead.
    assert next_names(queue) == ["first", "second", "new", "following"]
    assert queue.take(first)
    queue.call(Entry("called by the first"))
    assert set(next_names(queue)) == {"second", "following", "new", "called by the first"}
    assert queue.may_end


def pass_by(ending: bool) -> tuple[ReadyQueue[Entry], Entry]:
    """Something that was called for comes after two arrivals of one turn, or of two."""
    first, second = arrival("first"), arrival("second")
    following = arrival("following")
    queue = queue_of([first, second, arrival("late")], following=[following])
    queue.take(first)
    queue.call(Entry("called by the first"))
    queue.take(following)
    queue.call(Entry("called by what followed"))
    if ending:
        queue.take(second)
    return queue, following


def test_whether_a_turn_has_ended_shows_in_what_comes_later() -> None:
    queue, _ = pass_by(ending=False)
    called = next(each for each in queue if each.name == "called by the first")
    # The first one was of the turn before that of what followed, or of the same.
    assert set(next_names(queue)) == {"second", "late", "called by the first"}
    queue.take(called)
    # So both are called for in one turn, or what is late comes between them.
    assert set(next_names(queue)) == {"second", "late", "called by what followed"}


def test_what_comes_rules_out_how_far_the_loop_may_have_come() -> None:
    queue, _ = pass_by(ending=True)
    called = next(each for each in queue if each.name == "called by the first")
    queue.take(called)
    # The second one, of the turn of what followed, has come before: so both are of one turn.
    assert next_names(queue) == ["called by what followed"]


def test_what_was_called_for_does_not_let_a_turn_end() -> None:
    assert not queue_of([Entry("next"), arrival("late")]).may_end


def test_what_is_passed_by_the_next_turn_stands_behind_it() -> None:
    passing = arrival("passing")
    queue = queue_of([arrival("late")], following=[passing, arrival("beside")])
    assert queue.take(passing)
    assert next_names(queue) == ["beside", "late"]


def test_lateness_is_counted_by_turns_of_asyncio() -> None:
    queue = queue_of([arrival(str(number)) for number in range(2 * LATE_TURNS)])
    for number in reversed(range(1, 2 * LATE_TURNS)):
        (entry,) = (each for each in queue if each.name == str(number))
        queue.take(entry)
    assert not queue.was_impatient


@pytest.mark.parametrize(("count", "is_too_much"), [(15, False), (40, True)])
def test_it_is_said_if_not_all_can_be_kept_in_mind(count: int, is_too_much: bool) -> None:
    entries = [arrival(str(number)) for number in range(count)]
    queue = queue_of(entries)
    for entry in entries:
        queue.take(entry)
        queue.call(arrival(f"after {entry.name}"))
    assert queue.has_forgotten is is_too_much


def test_what_was_cancelled_does_not_stand_in_the_way() -> None:
    gone, behind = Entry("gone", cancelled=True), Entry("behind")
    queue = queue_of([gone, behind])
    assert next_names(queue) == ["behind"]
    queue.take(behind)
    assert queue.is_over


def test_what_was_cancelled_is_gone_with_its_turn() -> None:
    """Else a loop that has nothing else to run would begin turn after turn, and never wait."""
    queue = queue_of([Entry("gone", cancelled=True)])
    queue.begin_turn([])
    assert not len(queue)
