"""Parts of functions, classes and exceptions, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_parts


def locked_cause_of_a_shared_error() -> None:
    """See ``guarded_parts.cause_of_a_shared_error``: with a lock it is correct."""
    guarded_parts.cause_of_a_shared_error(threading.Lock())


def locked_cause_that_is_set() -> None:
    """See ``guarded_parts.cause_that_is_set``: with a lock it is correct."""
    guarded_parts.cause_that_is_set(threading.Lock())


def locked_context_of_a_shared_error() -> None:
    """See ``guarded_parts.context_of_a_shared_error``: with a lock it is correct."""
    guarded_parts.context_of_a_shared_error(threading.Lock())


def locked_traceback_of_a_shared_error() -> None:
    """See ``guarded_parts.traceback_of_a_shared_error``: with a lock it is correct."""
    guarded_parts.traceback_of_a_shared_error(threading.Lock())


def locked_notes_of_a_shared_error() -> None:
    """See ``guarded_parts.notes_of_a_shared_error``: with a lock it is correct."""
    guarded_parts.notes_of_a_shared_error(threading.Lock())


def locked_default_that_is_changed() -> None:
    """See ``guarded_parts.default_that_is_changed``: with a lock it is correct."""
    guarded_parts.default_that_is_changed(threading.Lock())


def locked_defaults_of_a_method() -> None:
    """See ``guarded_parts.defaults_of_a_method``: with a lock it is correct."""
    guarded_parts.defaults_of_a_method(threading.Lock())


def locked_keywords_of_a_partial() -> None:
    """See ``guarded_parts.keywords_of_a_partial``: with a lock it is correct."""
    guarded_parts.keywords_of_a_partial(threading.Lock())


def locked_state_of_a_partial() -> None:
    """See ``guarded_parts.state_of_a_partial``: with a lock it is correct."""
    guarded_parts.state_of_a_partial(threading.Lock())


def locked_bases_of_a_class() -> None:
    """See ``guarded_parts.bases_of_a_class``: with a lock it is correct."""
    guarded_parts.bases_of_a_class(threading.Lock())


def locked_contents_of_a_cell() -> None:
    """See ``guarded_parts.contents_of_a_cell``: with a lock it is correct."""
    guarded_parts.contents_of_a_cell(threading.Lock())


def locked_class_registered_with_an_abstract_one() -> None:
    """See ``guarded_parts.class_registered_with_an_abstract_one``: with a lock it is correct."""
    guarded_parts.class_registered_with_an_abstract_one(threading.Lock())


def locked_way_to_pickle() -> None:
    """See ``guarded_parts.way_to_pickle``: with a lock it is correct."""
    guarded_parts.way_to_pickle(threading.Lock())


def locked_members_of_an_object() -> None:
    """See ``guarded_parts.members_of_an_object``: with a lock it is correct."""
    guarded_parts.members_of_an_object(threading.Lock())


def locked_names_of_attributes() -> None:
    """See ``guarded_parts.names_of_attributes``: with a lock it is correct."""
    guarded_parts.names_of_attributes(threading.Lock())


def locked_attributes_in_a_format() -> None:
    """See ``guarded_parts.attributes_in_a_format``: with a lock it is correct."""
    guarded_parts.attributes_in_a_format(threading.Lock())


def locked_keyword_in_a_format() -> None:
    """See ``guarded_parts.keyword_in_a_format``: with a lock it is correct."""
    guarded_parts.keyword_in_a_format(threading.Lock())


def locked_index_that_is_computed() -> None:
    """See ``guarded_parts.index_that_is_computed``: with a lock it is correct."""
    guarded_parts.index_that_is_computed(threading.Lock())


def locked_resized_while_a_view_shows_it() -> None:
    """See ``guarded_parts.resized_while_a_view_shows_it``: with a lock it is correct."""
    guarded_parts.resized_while_a_view_shows_it(threading.Lock())


def locked_truncated_while_a_buffer_is_out() -> None:
    """See ``guarded_parts.truncated_while_a_buffer_is_out``: with a lock it is correct."""
    guarded_parts.truncated_while_a_buffer_is_out(threading.Lock())


def locked_bytes_that_are_searched() -> None:
    """See ``guarded_parts.bytes_that_are_searched``: with a lock it is correct."""
    guarded_parts.bytes_that_are_searched(threading.Lock())
