"""Files, sockets, and what a process has only once, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_system


def locked_number_on_a_shelf() -> None:
    """See ``guarded_system.number_on_a_shelf``: with a lock it is correct."""
    guarded_system.number_on_a_shelf(threading.Lock())


def locked_row_selected_then_updated() -> None:
    """See ``guarded_system.row_selected_then_updated``: with a lock it is correct."""
    guarded_system.row_selected_then_updated(threading.Lock())


def locked_file_renamed_if_it_is_there() -> None:
    """See ``guarded_system.file_renamed_if_it_is_there``: with a lock it is correct."""
    guarded_system.file_renamed_if_it_is_there(threading.Lock())


def locked_folder_made_if_it_is_missing() -> None:
    """See ``guarded_system.folder_made_if_it_is_missing``: with a lock it is correct."""
    guarded_system.folder_made_if_it_is_missing(threading.Lock())


def locked_file_removed_if_it_is_there() -> None:
    """See ``guarded_system.file_removed_if_it_is_there``: with a lock it is correct."""
    guarded_system.file_removed_if_it_is_there(threading.Lock())


def locked_copied_while_it_is_replaced() -> None:
    """See ``guarded_system.copied_while_it_is_replaced``: with a lock it is correct."""
    guarded_system.copied_while_it_is_replaced(threading.Lock())


def locked_records_counted_by_a_filter() -> None:
    """See ``guarded_system.records_counted_by_a_filter``: with a lock it is correct."""
    guarded_system.records_counted_by_a_filter(threading.Lock())


def locked_filters_of_warnings_put_back() -> None:
    """See ``guarded_system.filters_of_warnings_put_back``: with a lock it is correct."""
    guarded_system.filters_of_warnings_put_back(threading.Lock())


def locked_list_of_the_class_of_a_local() -> None:
    """See ``guarded_system.list_of_the_class_of_a_local``: with a lock it is correct."""
    guarded_system.list_of_the_class_of_a_local(threading.Lock())


def locked_number_in_a_process_that_is_a_thread() -> None:
    """See ``guarded_system.number_in_a_process_that_is_a_thread``: with a lock it is correct."""
    guarded_system.number_in_a_process_that_is_a_thread(threading.Lock())


def locked_event_planned_if_there_is_none() -> None:
    """See ``guarded_system.event_planned_if_there_is_none``: with a lock it is correct."""
    guarded_system.event_planned_if_there_is_none(threading.Lock())


def locked_file_registered_if_it_is_not() -> None:
    """See ``guarded_system.file_registered_if_it_is_not``: with a lock it is correct."""
    guarded_system.file_registered_if_it_is_not(threading.Lock())


def locked_questions_on_one_socket() -> None:
    """See ``guarded_system.questions_on_one_socket``: with a lock it is correct."""
    guarded_system.questions_on_one_socket(threading.Lock())


def locked_counted_by_a_signal_handler() -> None:
    """See ``guarded_system.counted_by_a_signal_handler``: with a lock it is correct."""
    guarded_system.counted_by_a_signal_handler(threading.RLock())


def locked_module_made_if_it_is_missing() -> None:
    """See ``guarded_system.module_made_if_it_is_missing``: with a lock it is correct."""
    guarded_system.module_made_if_it_is_missing(threading.Lock())


def locked_variable_of_the_environment_removed() -> None:
    """See ``guarded_system.variable_of_the_environment_removed``: with a lock it is correct."""
    guarded_system.variable_of_the_environment_removed(threading.Lock())


def locked_lines_of_the_files_of_all() -> None:
    """See ``guarded_system.lines_of_the_files_of_all``: with a lock it is correct."""
    guarded_system.lines_of_the_files_of_all(threading.Lock())


def locked_folder_for_temporary_files() -> None:
    """See ``guarded_system.folder_for_temporary_files``: with a lock it is correct."""
    guarded_system.folder_for_temporary_files(threading.Lock())


def locked_future_set_if_it_is_not_done() -> None:
    """See ``guarded_system.future_set_if_it_is_not_done``: with a lock it is correct."""
    guarded_system.future_set_if_it_is_not_done(threading.Lock())


def locked_hook_for_errors_of_threads() -> None:
    """See ``guarded_system.hook_for_errors_of_threads``: with a lock it is correct."""
    guarded_system.hook_for_errors_of_threads(threading.Lock())
