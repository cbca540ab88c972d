"""State of the process and of the library: nobody guards them."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_state


def texts_in_an_element() -> None:
    """One text is changed already, the other one is not."""
    guarded_state.texts_in_an_element(contextlib.nullcontext())


def text_found_in_an_element() -> None:
    """Another text is found the second time."""
    guarded_state.text_found_in_an_element(contextlib.nullcontext())


def size_of_a_list() -> None:
    """It takes more memory the second time."""
    guarded_state.size_of_a_list(contextlib.nullcontext())


def logger_made_for_both() -> None:
    """Both find that there is no such logger."""
    guarded_state.logger_made_for_both(contextlib.nullcontext())


def collector_switched_off() -> None:
    """The other task switches it on in between."""
    guarded_state.collector_switched_off(contextlib.nullcontext())


def called_at_exit() -> None:
    """The other task registers its function in between."""
    guarded_state.called_at_exit(contextlib.nullcontext())


def stack_size_of_threads() -> None:
    """The other task sets its own in between."""
    guarded_state.stack_size_of_threads(contextlib.nullcontext())


def function_patched_by_its_name() -> None:
    """Another function is called the second time."""
    guarded_state.function_patched_by_its_name(contextlib.nullcontext())


def function_set_by_its_name() -> None:
    """Another function is called the second time."""
    guarded_state.function_set_by_its_name(contextlib.nullcontext())


def builtin_that_is_exchanged() -> None:
    """Another function is called the second time."""
    guarded_state.builtin_that_is_exchanged(contextlib.nullcontext())


def builtin_patched_by_its_name() -> None:
    """Another function is called the second time."""
    guarded_state.builtin_patched_by_its_name(contextlib.nullcontext())


def cursor_that_both_use() -> None:
    """The row is that of the other task's statement."""
    guarded_state.cursor_that_both_use(contextlib.nullcontext())


def last_row_of_a_cursor() -> None:
    """The row is that of the other task's statement."""
    guarded_state.last_row_of_a_cursor(contextlib.nullcontext())


def row_factory_of_a_connection() -> None:
    """The other task has put it back."""
    guarded_state.row_factory_of_a_connection(contextlib.nullcontext())


def transaction_of_a_connection() -> None:
    """The other task has ended it."""
    guarded_state.transaction_of_a_connection(contextlib.nullcontext())


def values_bound_to_a_statement() -> None:
    """One value is set already, the other one is not."""
    guarded_state.values_bound_to_a_statement(contextlib.nullcontext())
