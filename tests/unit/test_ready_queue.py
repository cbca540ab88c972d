"""What an event loop may run next."""

from __future__ import annotations

from dataclasses import dataclass

from bohrbug.runtime.threads.loops.ready_queue import LATE_TURNS, Order, ReadyQueue


@dataclass(eq=False)
class Entry:
    name: str
    order: Order = Order.FIFO
    cancelled: bool = False
    place: tuple[int, int] = (0, 0)
    since: int = 0
    deadline: object = None
    # For so many more it only counts.
    counts_for: int = 0

    def is_cancelled(self) -> bool:
        return self.cancelled

    def only_counts(self, others: int = 0) -> bool:
        return others < self.counts_for


def arrival(name: str) -> Entry:
    return Entry(name, Order.ARRIVAL)


def timer(name: str, deadline: object = None) -> Entry:
    return Entry(name, Order.TIMER, deadline=deadline or object())


def counting(name: str, left: int = 9) -> Entry:
    return Entry(name, counts_for=left)


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
    assert queue.take(first)
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
    assert queue.take(first)
    assert next_names(queue) == ["b"]
    assert queue.take(second)
    assert next_names(queue) == ["late", "c"]


def test_nothing_is_late_for_ever() -> None:
    queue = queue_of([arrival("late")])
    for turn in range(LATE_TURNS):
        assert not queue.was_impatient
        entry = Entry(f"turn {turn}")
        queue.call(entry)
        queue.begin_turn([])
        assert queue.take(entry)
    queue.call(Entry("next"))
    assert queue.was_impatient
    assert next_names(queue) == ["late"]


def test_where_only_arrivals_are_left_the_turn_may_end_first() -> None:
    first = arrival("first")
    queue = queue_of([first, arrival("second")], following=[arrival("following")])
    assert queue.has_only_arrivals
    queue.extend_turn([arrival("new")])
    # In asyncio's own order, with all that may come instead.
    assert next_names(queue) == ["first", "second", "following", "new"]
    assert queue.take(first)
    called = Entry("called by the first")
    queue.call(called)
    # It follows the turn in which all these are, and not the one in which its caller was.
    assert set(next_names(queue)) == {"second", "following", "new", "called by the first"}
    # By itself asyncio would have run the first one in the turn before.
    assert next_names(queue).index("called by the first") == 2
    assert not queue.has_only_arrivals


def test_what_was_called_for_does_not_let_a_turn_end() -> None:
    assert not queue_of([arrival("late")], following=[Entry("next")]).has_only_arrivals
    assert not queue_of([Entry("next"), arrival("late")]).has_only_arrivals


def test_what_is_passed_by_the_next_turn_stands_behind_it() -> None:
    passing = arrival("passing")
    queue = queue_of([arrival("late")], following=[passing, arrival("beside")])
    queue.extend_turn([])
    assert queue.take(passing)
    assert next_names(queue) == ["beside", "late"]


def test_lateness_is_counted_by_turns_and_not_by_how_often_one_is_extended() -> None:
    queue = queue_of([arrival(str(number)) for number in range(2 * LATE_TURNS)])
    for number in reversed(range(1, 2 * LATE_TURNS)):
        queue.extend_turn([])
        (entry,) = (each for each in queue if each.name == str(number))
        assert queue.take(entry)
    assert not queue.was_impatient


def test_what_was_cancelled_does_not_stand_in_the_way() -> None:
    gone, behind = Entry("gone", cancelled=True), Entry("behind")
    queue = queue_of([gone, behind])
    assert next_names(queue) == ["behind"]
    assert queue.take(behind)
    assert not queue.take(Entry("of the next turn"))


def test_what_only_counts_comes_before_the_arrivals_of_its_turn() -> None:
    assert next_names(queue_of([arrival("a"), counting("count"), Entry("b")])) == ["count"]


def test_what_only_counts_and_nothing_else_was_called_for_comes_at_once() -> None:
    following = [arrival("b"), counting("count"), arrival("c")]
    assert next_names(queue_of([arrival("a")], following=following)) == ["count"]


def test_what_only_counts_stands_for_the_end_of_the_turn_if_more_follows() -> None:
    following = [counting("count"), Entry("b")]
    assert next_names(queue_of([arrival("a")], following=following)) == ["a", "count"]


def test_the_last_of_what_counts_is_seen() -> None:
    following = [counting("first", 1), counting("last", 1)]
    assert next_names(queue_of([arrival("a")], following=following)) == ["a", "first"]
