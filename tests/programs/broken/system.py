"""Files, sockets, and what a process has only once: nobody guards it."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_system


def number_on_a_shelf() -> None:
    """One of two increments is lost."""
    guarded_system.number_on_a_shelf(contextlib.nullcontext())


def row_selected_then_updated() -> None:
    """One of two increments is lost."""
    guarded_system.row_selected_then_updated(contextlib.nullcontext())


def file_renamed_if_it_is_there() -> None:
    """The file is gone."""
    guarded_system.file_renamed_if_it_is_there(contextlib.nullcontext())


def folder_made_if_it_is_missing() -> None:
    """The folder is there."""
    guarded_system.folder_made_if_it_is_missing(contextlib.nullcontext())


def file_removed_if_it_is_there() -> None:
    """The file is gone."""
    guarded_system.file_removed_if_it_is_there(contextlib.nullcontext())


def copied_while_it_is_replaced() -> None:
    """The copy has nothing of either."""
    guarded_system.copied_while_it_is_replaced(contextlib.nullcontext())


def records_counted_by_a_filter() -> None:
    """A record is not counted: a filter of a logger is called without a lock."""
    guarded_system.records_counted_by_a_filter(contextlib.nullcontext())


def filters_of_warnings_put_back() -> None:
    """They are put back in the wrong order."""
    guarded_system.filters_of_warnings_put_back(contextlib.nullcontext())


def list_of_the_class_of_a_local() -> None:
    """The list belongs to the class, and so to all threads."""
    guarded_system.list_of_the_class_of_a_local(contextlib.nullcontext())


def number_in_a_process_that_is_a_thread() -> None:
    """One of two increments is lost."""
    guarded_system.number_in_a_process_that_is_a_thread(contextlib.nullcontext())


def event_planned_if_there_is_none() -> None:
    """Both find that nothing is planned."""
    guarded_system.event_planned_if_there_is_none(contextlib.nullcontext())


def file_registered_if_it_is_not() -> None:
    """It is registered already."""
    guarded_system.file_registered_if_it_is_not(contextlib.nullcontext())


def questions_on_one_socket() -> None:
    """One task gets the answer to the question of the other."""
    guarded_system.questions_on_one_socket(contextlib.nullcontext())


def counted_by_a_signal_handler() -> None:
    """One of two increments is lost."""
    guarded_system.counted_by_a_signal_handler(contextlib.nullcontext())


def module_made_if_it_is_missing() -> None:
    """Both find that there is no such module."""
    guarded_system.module_made_if_it_is_missing(contextlib.nullcontext())


def variable_of_the_environment_removed() -> None:
    """The variable is gone."""
    guarded_system.variable_of_the_environment_removed(contextlib.nullcontext())


def lines_of_the_files_of_all() -> None:
    """The other task reads already."""
    guarded_system.lines_of_the_files_of_all(contextlib.nullcontext())


def folder_for_temporary_files() -> None:
    """The file is in the folder of the other task."""
    guarded_system.folder_for_temporary_files(contextlib.nullcontext())


def future_set_if_it_is_not_done() -> None:
    """It is done already."""
    guarded_system.future_set_if_it_is_not_done(contextlib.nullcontext())


def hook_for_errors_of_threads() -> None:
    """It is put back in the wrong order."""
    guarded_system.hook_for_errors_of_threads(contextlib.nullcontext())
