"""What mocks keep, and what futures and queues call: nobody guards it."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_insides


def calls_of_a_mock() -> None:
    """A call is not counted."""
    guarded_insides.calls_of_a_mock(contextlib.nullcontext())


def what_a_mock_returns() -> None:
    """Another value is returned the second time."""
    guarded_insides.what_a_mock_returns(contextlib.nullcontext())


def what_a_mock_returns_by_default() -> None:
    """Both make it."""
    guarded_insides.what_a_mock_returns_by_default(contextlib.nullcontext())


def side_effect_of_a_mock() -> None:
    """Another function is called the second time."""
    guarded_insides.side_effect_of_a_mock(contextlib.nullcontext())


def attribute_of_a_mock() -> None:
    """One of two increments is lost."""
    guarded_insides.attribute_of_a_mock(contextlib.nullcontext())


def mock_that_is_reset() -> None:
    """The call is forgotten before it is looked for."""
    guarded_insides.mock_that_is_reset(contextlib.nullcontext())


def number_of_calls_of_a_mock() -> None:
    """There is one more the second time."""
    guarded_insides.number_of_calls_of_a_mock(contextlib.nullcontext())


def mock_reset_while_it_gets_a_child() -> None:
    """RuntimeError: dictionary changed size during iteration."""
    guarded_insides.mock_reset_while_it_gets_a_child(contextlib.nullcontext())


def values_of_a_mock_in_turn() -> None:
    """The other task takes a turn in between."""
    guarded_insides.values_of_a_mock_in_turn(contextlib.nullcontext())


def side_effect_in_c_of_a_mock() -> None:
    """What the mock is called with is in between."""
    guarded_insides.side_effect_in_c_of_a_mock(contextlib.nullcontext())


def callback_that_comes_late() -> None:
    """One of two increments is lost: a future that is done calls back at once."""
    guarded_insides.callback_that_comes_late(contextlib.nullcontext())


def callback_in_c_that_comes_late() -> None:
    """The future is in between."""
    guarded_insides.callback_in_c_that_comes_late(contextlib.nullcontext())


def comparisons_of_two_queues() -> None:
    """A comparison is not counted: each queue has a mutex of its own."""
    guarded_insides.comparisons_of_two_queues(contextlib.nullcontext())


def puts_of_two_queues() -> None:
    """A put is not counted: each queue has a mutex of its own."""
    guarded_insides.puts_of_two_queues(contextlib.nullcontext())


def queue_under_its_mutex() -> None:
    """The other task puts something in between two looks that each take the mutex."""
    guarded_insides.queue_under_its_mutex(contextlib.nullcontext())
