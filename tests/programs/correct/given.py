"""The library looks at what it was given, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_given


def locked_items_mapped_by_an_executor() -> None:
    """See ``guarded_given.items_mapped_by_an_executor``: with a lock it is correct."""
    guarded_given.items_mapped_by_an_executor(threading.Lock())


def locked_items_mapped_by_a_pool() -> None:
    """See ``guarded_given.items_mapped_by_a_pool``: with a lock it is correct."""
    guarded_given.items_mapped_by_a_pool(threading.Lock())


def locked_futures_waited_for() -> None:
    """See ``guarded_given.futures_waited_for``: with a lock it is correct."""
    guarded_given.futures_waited_for(threading.Lock())


def locked_futures_gone_through() -> None:
    """See ``guarded_given.futures_gone_through``: with a lock it is correct."""
    guarded_given.futures_gone_through(threading.Lock())


def locked_defaults_of_a_formatter() -> None:
    """See ``guarded_given.defaults_of_a_formatter``: with a lock it is correct."""
    guarded_given.defaults_of_a_formatter(threading.Lock())


def locked_database_by_two_uris() -> None:
    """See ``guarded_given.database_by_two_uris``: with a lock it is correct."""
    guarded_given.database_by_two_uris(threading.Lock())


def locked_database_by_its_path_and_a_uri() -> None:
    """See ``guarded_given.database_by_its_path_and_a_uri``: with a lock it is correct."""
    guarded_given.database_by_its_path_and_a_uri(threading.Lock())


def locked_database_in_memory_by_two_uris() -> None:
    """See ``guarded_given.database_in_memory_by_two_uris``: with a lock it is correct."""
    guarded_given.database_in_memory_by_two_uris(threading.Lock())


def locked_number_in_a_dbm_file() -> None:
    """See ``guarded_given.number_in_a_dbm_file``: with a lock it is correct."""
    guarded_given.number_in_a_dbm_file(threading.Lock())


def locked_hook_of_a_subclass() -> None:
    """See ``guarded_given.hook_of_a_subclass``: with a lock it is correct."""
    guarded_given.hook_of_a_subclass(threading.Lock())


def locked_name_set_by_a_class() -> None:
    """See ``guarded_given.name_set_by_a_class``: with a lock it is correct."""
    guarded_given.name_set_by_a_class(threading.Lock())


def locked_next_value_of_an_enumeration() -> None:
    """See ``guarded_given.next_value_of_an_enumeration``: with a lock it is correct."""
    guarded_given.next_value_of_an_enumeration(threading.Lock())


def locked_ready_nodes_of_a_graph() -> None:
    """See ``guarded_given.ready_nodes_of_a_graph``: with a lock it is correct."""
    guarded_given.ready_nodes_of_a_graph(threading.Lock())


def locked_parts_flushed_by_two() -> None:
    """See ``guarded_given.parts_flushed_by_two``: with a lock it is correct."""
    guarded_given.parts_flushed_by_two(threading.Lock())


def locked_number_in_a_file_that_is_replaced() -> None:
    """See ``guarded_given.number_in_a_file_that_is_replaced``: with a lock it is correct."""
    guarded_given.number_in_a_file_that_is_replaced(threading.Lock())


def locked_places_released_by_callbacks() -> None:
    """See ``guarded_given.places_released_by_callbacks``: with a lock it is correct."""
    guarded_given.places_released_by_callbacks(threading.Lock())
