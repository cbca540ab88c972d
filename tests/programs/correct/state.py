"""State of the process and of the library, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_state


def locked_texts_in_an_element() -> None:
    """See ``guarded_state.texts_in_an_element``: with a lock it is correct."""
    guarded_state.texts_in_an_element(threading.Lock())


def locked_text_found_in_an_element() -> None:
    """See ``guarded_state.text_found_in_an_element``: with a lock it is correct."""
    guarded_state.text_found_in_an_element(threading.Lock())


def locked_size_of_a_list() -> None:
    """See ``guarded_state.size_of_a_list``: with a lock it is correct."""
    guarded_state.size_of_a_list(threading.Lock())


def locked_logger_made_for_both() -> None:
    """See ``guarded_state.logger_made_for_both``: with a lock it is correct."""
    guarded_state.logger_made_for_both(threading.Lock())


def locked_collector_switched_off() -> None:
    """See ``guarded_state.collector_switched_off``: with a lock it is correct."""
    guarded_state.collector_switched_off(threading.Lock())


def locked_called_at_exit() -> None:
    """See ``guarded_state.called_at_exit``: with a lock it is correct."""
    guarded_state.called_at_exit(threading.Lock())


def locked_stack_size_of_threads() -> None:
    """See ``guarded_state.stack_size_of_threads``: with a lock it is correct."""
    guarded_state.stack_size_of_threads(threading.Lock())


def locked_function_patched_by_its_name() -> None:
    """See ``guarded_state.function_patched_by_its_name``: with a lock it is correct."""
    guarded_state.function_patched_by_its_name(threading.Lock())


def locked_function_set_by_its_name() -> None:
    """See ``guarded_state.function_set_by_its_name``: with a lock it is correct."""
    guarded_state.function_set_by_its_name(threading.Lock())


def locked_builtin_that_is_exchanged() -> None:
    """See ``guarded_state.builtin_that_is_exchanged``: with a lock it is correct."""
    guarded_state.builtin_that_is_exchanged(threading.Lock())


def locked_builtin_patched_by_its_name() -> None:
    """See ``guarded_state.builtin_patched_by_its_name``: with a lock it is correct."""
    guarded_state.builtin_patched_by_its_name(threading.Lock())


def locked_cursor_that_both_use() -> None:
    """See ``guarded_state.cursor_that_both_use``: with a lock it is correct."""
    guarded_state.cursor_that_both_use(threading.Lock())


def locked_last_row_of_a_cursor() -> None:
    """See ``guarded_state.last_row_of_a_cursor``: with a lock it is correct."""
    guarded_state.last_row_of_a_cursor(threading.Lock())


def locked_row_factory_of_a_connection() -> None:
    """See ``guarded_state.row_factory_of_a_connection``: with a lock it is correct."""
    guarded_state.row_factory_of_a_connection(threading.Lock())


def locked_transaction_of_a_connection() -> None:
    """See ``guarded_state.transaction_of_a_connection``: with a lock it is correct."""
    guarded_state.transaction_of_a_connection(threading.Lock())


def locked_values_bound_to_a_statement() -> None:
    """See ``guarded_state.values_bound_to_a_statement``: with a lock it is correct."""
    guarded_state.values_bound_to_a_statement(threading.Lock())
