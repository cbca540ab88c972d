"""Small concurrent programs with a known bug, each with a correct twin, after the field's classics.

Each is an ordinary function that uses nothing but ``threading`` and ``queue`` and knows of no
tool.  All are written for this suite; where a program follows the idea of one in a published
suite, ``counterpart`` names that, so that published figures can be put beside ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from . import buffers, lock_free, locks, orders, signals, updates

ASSERTION = "assertion"
EXCEPTION = "exception"
DEADLOCK = "deadlock"


@dataclass(frozen=True, slots=True)
class Program:
    """A broken program and its correct twin.

    Parameters:
        name: how the command line and the tables call it.
        broken: some interleaving of it fails.
        correct: no interleaving of it fails.
        outcomes: the kinds of outcome that the bug can have.
        counterpart: the program of a published suite with the same idea, as the artifacts
            name it, or "".
        is_large: exploring it takes long, so that the fast tests leave it out.
    """

    name: str
    broken: Callable[[], object]
    correct: Callable[[], object]
    outcomes: tuple[str, ...] = (ASSERTION,)
    counterpart: str = ""
    is_large: bool = False


def _of_updates() -> Iterator[Program]:
    for threads in (2, 3, 4):
        yield Program(
            f"lost_update_{threads}",
            partial(updates.lost_update, threads),
            partial(updates.kept_update, threads),
        )
    yield Program("nested_lost_update", updates.nested_lost_update, updates.nested_kept_update)
    yield Program(
        "account_lost_deposit", updates.account_lost_deposit, updates.account_kept_deposit
    )
    yield Program(
        "account_checked_too_early",
        updates.account_checked_too_early,
        updates.account_checked_in_time,
        counterpart="CS/account",
    )
    yield Program("transfer", updates.transfer_seen_half_done, updates.transfer_in_one_go)
    yield Program(
        "wrong_lock_3",
        partial(updates.wrong_lock, 1, 3),
        partial(updates.same_lock, 4),
        counterpart="CS/wronglock_3",
    )
    yield Program(
        "wrong_lock_7",
        partial(updates.wrong_lock, 1, 7),
        partial(updates.same_lock, 8),
        counterpart="CS/wronglock",
    )
    yield Program("lazy01", updates.lazy_too_early, updates.lazy_ordered, counterpart="CS/lazy01")
    yield Program(
        "token_ring",
        updates.token_ring_unordered,
        updates.token_ring_ordered,
        counterpart="CS/token_ring",
    )
    yield Program(
        "string_buffer",
        updates.string_buffer_append,
        updates.string_buffer_append_holding,
        (EXCEPTION,),
        counterpart="CB/stringbuffer-jdk1.4",
    )
    yield Program("check_then_act", updates.check_then_act, updates.check_and_act)
    yield Program(
        "check_then_delete", updates.check_then_delete, updates.pop_with_default, (EXCEPTION,)
    )
    yield Program("pool", updates.pool_grows_too_big, updates.pool_stays_small)


def _of_orders() -> Iterator[Program]:
    for threads in (3, 4, 5, 10, 20, 50, 100):
        yield Program(
            f"reorder_{threads}",
            partial(orders.reorder, threads - 1),
            partial(orders.kept_order, threads - 1),
            counterpart=f"CS/reorder_{threads}",
            is_large=threads >= 10,
        )
    for threads in (2, 20, 50, 100):
        yield Program(
            f"twostage_{threads}",
            partial(orders.two_stage, threads - 1),
            partial(orders.two_stages_at_once, threads - 1),
            counterpart="CS/twostage" if threads == 2 else f"CS/twostage_{threads}",
            is_large=threads >= 20,
        )
    yield Program(
        "lazy_initialisation", orders.lazy_initialisation_twice, orders.lazy_initialisation_once
    )
    yield Program("double_checked", orders.double_checked_too_early, orders.double_checked)
    yield Program(
        "lock_order_2",
        orders.critical_sections_in_either_order,
        orders.critical_sections_in_order,
    )
    yield Program("lock_order_3", orders.third_lock_order, orders.any_lock_order)
    yield Program("publication", orders.published_before_written, orders.written_before_published)
    yield Program("torn_read", partial(orders.torn_read, 3), partial(orders.whole_read, 3))


def _of_locks() -> Iterator[Program]:
    yield Program(
        "deadlock01", locks.deadlock, locks.no_deadlock, (DEADLOCK,), counterpart="CS/deadlock01"
    )
    for number in range(2, 8):
        yield Program(
            f"philosophers_{number}",
            partial(locks.philosophers, number),
            partial(locks.polite_philosophers, number),
            (DEADLOCK,),
            is_large=number >= 6,
        )
    yield Program(
        "carter01",
        locks.two_groups_one_counter_lock,
        locks.two_groups_own_counter_locks,
        (DEADLOCK,),
        counterpart="CS/carter01",
    )
    yield Program(
        "lock_ring_3", partial(locks.lock_ring, 3), partial(locks.lock_line, 3), (DEADLOCK,)
    )
    yield Program("upgrade", locks.upgrade_deadlock, locks.upgrade_or_give_up, (DEADLOCK,))
    yield Program(
        "join_while_holding", locks.join_while_holding, locks.join_after_releasing, (DEADLOCK,)
    )


def _of_buffers() -> Iterator[Program]:
    for pairs in (2, 3):
        yield Program(
            f"bounded_buffer_{pairs}",
            partial(buffers.bounded_buffer, pairs),
            partial(buffers.bounded_buffer_notify_all, pairs),
            (DEADLOCK,),
            counterpart="Inspect_benchmarks/boundedBuffer" if pairs == 2 else "",
            is_large=pairs > 2,
        )
    yield Program(
        "wait_without_loop", buffers.wait_without_loop, buffers.wait_with_loop, (EXCEPTION,)
    )
    for items in (1, 3):
        yield Program(
            f"circular_buffer_{items}",
            partial(buffers.circular_buffer, items),
            partial(buffers.circular_buffer_locked, items),
            counterpart="CS/circular_buffer" if items == 3 else "",
        )
    yield Program(
        "queue",
        buffers.queue_counted_apart,
        buffers.queue_counted_at_once,
        counterpart="CS/queue",
    )
    yield Program(
        "stack",
        partial(buffers.stack, 2),
        partial(buffers.stack_checked_inside, 2),
        counterpart="CS/stack",
    )
    for items in (1, 3):
        yield Program(
            f"work_stealing_queue_{items}",
            partial(buffers.work_stealing_queue, items),
            partial(buffers.work_stealing_queue_announced, items),
            counterpart="Chess/WorkStealQueue" if items == 3 else "",
        )
    yield Program("one_end_for_two", buffers.one_end_for_two, buffers.an_end_for_each, (DEADLOCK,))
    yield Program("empty_then_get", buffers.empty_then_get, buffers.get_or_empty, (EXCEPTION,))


def _of_signals() -> Iterator[Program]:
    yield Program("lost_notify", signals.lost_notify, signals.kept_notify, (DEADLOCK,))
    yield Program("hand_over", signals.hand_over_once, signals.hand_over, (DEADLOCK,))
    yield Program(
        "event_cleared",
        signals.event_cleared_too_late,
        signals.event_cleared_in_time,
        (DEADLOCK,),
    )
    yield Program(
        "barrier_lost_arrival",
        partial(signals.barrier_lost_arrival, 3),
        partial(signals.barrier_counted, 3),
        (DEADLOCK,),
    )
    yield Program("barrier_misused", signals.results_before_barrier, signals.results_after_barrier)
    yield Program(
        "readers_writer",
        signals.readers_writer_uncounted,
        signals.readers_writer,
        (ASSERTION, DEADLOCK),
    )
    yield Program("semaphore", signals.semaphore_released_twice, signals.semaphore_released_once)
    yield Program("promise", signals.promise_resolved_twice, signals.promise_resolved_once)


def _of_lock_free() -> Iterator[Program]:
    yield Program("aba", lock_free.aba, lock_free.aba_counted)
    for requests in (1, 2):
        yield Program(
            f"bluetooth_{requests}",
            partial(lock_free.bluetooth, requests),
            partial(lock_free.bluetooth_counting_first, requests),
            counterpart="CS/bluetooth_driver" if requests == 1 else "",
        )
    yield Program("freed_twice", lock_free.freed_twice, lock_free.freed_once)
    yield Program("peterson", lock_free.peterson_turn_first, lock_free.peterson)
    yield Program(
        "tickets_3",
        partial(lock_free.tickets_taken_twice, 3),
        partial(lock_free.tickets_taken_once, 3),
    )
    yield Program(
        "used_after_close", lock_free.used_after_close, lock_free.used_or_closed, (EXCEPTION,)
    )


_KINDS = (_of_updates, _of_orders, _of_locks, _of_buffers, _of_signals, _of_lock_free)

SUITE: dict[str, Program] = {program.name: program for kind in _KINDS for program in kind()}
"""All programs by name."""
