"""What an event loop may run next."""

from __future__ import annotations

from dataclasses import dataclass

from bohrbug.runtime.threads.loops.ready_queue import LATE_TURNS, Order, ReadyQueue


@dataclass(eq=False)
class Entry:
    name: str
    order: Order = Order.FIFO
    turns_late: int = 0
    cancelled: bool = False

    def is_cancelled(self) -> bool:
        return self.cancelled


def arrival(name: str) -> Entry:
    return Entry(name, Order.ARRIVAL)


def timer(name: str) -> Entry:
    return Entry(name, Order.TIMER)


def next_names(queue: ReadyQueue[Entry], following: list[Entry] | None = None) -> list[str]:
    return [entry.name for entry in queue.next_ones(following or [])]


def queue_of(called: list[Entry], arrived: list[Entry] | None = None) -> ReadyQueue[Entry]:
    queue: ReadyQueue[Entry] = ReadyQueue()
    queue.begin_turn(called, arrived or [])
    return queue


def test_what_was_called_for_comes_first_in_first_out() -> None:
    first, second = Entry("first"), Entry("second")
    queue = queue_of([first, second])
    assert next_names(queue) == ["first"]
    assert queue.take(first)
    assert next_names(queue) == ["second"]


def test_an_arrival_may_be_passed_by_what_stands_behind_it() -> None:
    assert next_names(queue_of([arrival("a"), Entry("b"), Entry("c")])) == ["a", "b"]


def test_an_arrival_passes_nothing_that_was_called_for() -> None:
    assert next_names(queue_of([Entry("b"), arrival("a")])) == ["b"]


def test_arrivals_of_a_turn_come_in_any_order() -> None:
    assert next_names(queue_of([], [arrival("a"), arrival("b")])) == ["a", "b"]


def test_the_next_turn_may_begin_before_what_is_late() -> None:
    queue = queue_of([arrival("late")])
    assert next_names(queue, [Entry("next"), Entry("later")]) == ["late", "next"]


def test_what_is_late_stands_behind_the_next_turn() -> None:
    late = arrival("late")
    queue = queue_of([late])
    queue.begin_turn([Entry("next")], [arrival("new")])
    assert [entry.name for entry in queue] == ["next", "late", "new"]
    assert late.turns_late == 1


def test_timers_come_in_the_order_in_which_they_are_over() -> None:
    assert next_names(queue_of([], [timer("soon"), timer("then")])) == ["soon"]


def test_nothing_is_late_for_ever() -> None:
    late = arrival("late")
    queue = queue_of([late])
    for turn in range(LATE_TURNS):
        assert not queue.was_impatient
        queue.begin_turn([Entry(f"turn {turn}")], [])
        queue.take(next(iter(queue)))
    assert queue.was_impatient
    assert next_names(queue, [Entry("next")]) == ["late"]


def test_what_was_cancelled_does_not_stand_in_the_way() -> None:
    gone, behind = Entry("gone", cancelled=True), Entry("behind")
    queue = queue_of([gone, behind])
    assert next_names(queue) == ["behind"]
    assert queue.take(behind)
    assert not queue.take(Entry("of the next turn"))
