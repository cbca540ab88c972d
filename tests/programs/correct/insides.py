"""What mocks keep, and what futures and queues call, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_insides


def locked_calls_of_a_mock() -> None:
    """See ``guarded_insides.calls_of_a_mock``: with a lock it is correct."""
    guarded_insides.calls_of_a_mock(threading.Lock())


def locked_what_a_mock_returns() -> None:
    """See ``guarded_insides.what_a_mock_returns``: with a lock it is correct."""
    guarded_insides.what_a_mock_returns(threading.Lock())


def locked_what_a_mock_returns_by_default() -> None:
    """See ``guarded_insides.what_a_mock_returns_by_default``: with a lock it is correct."""
    guarded_insides.what_a_mock_returns_by_default(threading.Lock())


def locked_side_effect_of_a_mock() -> None:
    """See ``guarded_insides.side_effect_of_a_mock``: with a lock it is correct."""
    guarded_insides.side_effect_of_a_mock(threading.Lock())


def locked_attribute_of_a_mock() -> None:
    """See ``guarded_insides.attribute_of_a_mock``: with a lock it is correct."""
    guarded_insides.attribute_of_a_mock(threading.Lock())


def locked_mock_that_is_reset() -> None:
    """See ``guarded_insides.mock_that_is_reset``: with a lock it is correct."""
    guarded_insides.mock_that_is_reset(threading.Lock())


def locked_number_of_calls_of_a_mock() -> None:
    """See ``guarded_insides.number_of_calls_of_a_mock``: with a lock it is correct."""
    guarded_insides.number_of_calls_of_a_mock(threading.Lock())


def locked_mock_reset_while_it_gets_a_child() -> None:
    """See ``guarded_insides.mock_reset_while_it_gets_a_child``: with a lock it is correct."""
    guarded_insides.mock_reset_while_it_gets_a_child(threading.Lock())


def locked_values_of_a_mock_in_turn() -> None:
    """See ``guarded_insides.values_of_a_mock_in_turn``: with a lock it is correct."""
    guarded_insides.values_of_a_mock_in_turn(threading.Lock())


def locked_side_effect_in_c_of_a_mock() -> None:
    """See ``guarded_insides.side_effect_in_c_of_a_mock``: with a lock it is correct."""
    guarded_insides.side_effect_in_c_of_a_mock(threading.Lock())


def locked_callback_that_comes_late() -> None:
    """See ``guarded_insides.callback_that_comes_late``: with a lock it is correct."""
    guarded_insides.callback_that_comes_late(threading.Lock())


def locked_callback_in_c_that_comes_late() -> None:
    """See ``guarded_insides.callback_in_c_that_comes_late``: with a lock it is correct."""
    guarded_insides.callback_in_c_that_comes_late(threading.Lock())


def locked_comparisons_of_two_queues() -> None:
    """See ``guarded_insides.comparisons_of_two_queues``: with a lock it is correct."""
    guarded_insides.comparisons_of_two_queues(threading.Lock())


def locked_puts_of_two_queues() -> None:
    """See ``guarded_insides.puts_of_two_queues``: with a lock it is correct."""
    guarded_insides.puts_of_two_queues(threading.Lock())


def locked_queue_under_its_mutex() -> None:
    """See ``guarded_insides.queue_under_its_mutex``: with a lock it is correct."""
    guarded_insides.queue_under_its_mutex(threading.Lock())
