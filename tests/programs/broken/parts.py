"""Parts of functions, classes and exceptions: nobody guards them."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_parts


def cause_of_a_shared_error() -> None:
    """The cause is that of the other task."""
    guarded_parts.cause_of_a_shared_error(contextlib.nullcontext())


def cause_that_is_set() -> None:
    """The cause is that of the other task."""
    guarded_parts.cause_that_is_set(contextlib.nullcontext())


def context_of_a_shared_error() -> None:
    """The context is that of the other task."""
    guarded_parts.context_of_a_shared_error(contextlib.nullcontext())


def traceback_of_a_shared_error() -> None:
    """The traceback has a frame of the other task."""
    guarded_parts.traceback_of_a_shared_error(contextlib.nullcontext())


def notes_of_a_shared_error() -> None:
    """A note of the other task comes in between."""
    guarded_parts.notes_of_a_shared_error(contextlib.nullcontext())


def default_that_is_changed() -> None:
    """Another default is taken the second time."""
    guarded_parts.default_that_is_changed(contextlib.nullcontext())


def defaults_of_a_method() -> None:
    """Another default is taken the second time."""
    guarded_parts.defaults_of_a_method(contextlib.nullcontext())


def keywords_of_a_partial() -> None:
    """One keyword is changed already, the other one is not."""
    guarded_parts.keywords_of_a_partial(contextlib.nullcontext())


def state_of_a_partial() -> None:
    """Another function is called the second time."""
    guarded_parts.state_of_a_partial(contextlib.nullcontext())


def bases_of_a_class() -> None:
    """Another base is asked the second time."""
    guarded_parts.bases_of_a_class(contextlib.nullcontext())


def contents_of_a_cell() -> None:
    """One of two increments is lost."""
    guarded_parts.contents_of_a_cell(contextlib.nullcontext())


def class_registered_with_an_abstract_one() -> None:
    """It has become an instance by the second time."""
    guarded_parts.class_registered_with_an_abstract_one(contextlib.nullcontext())


def way_to_pickle() -> None:
    """The other task has removed its way to pickle in between."""
    guarded_parts.way_to_pickle(contextlib.nullcontext())


def members_of_an_object() -> None:
    """One attribute is set already, the other one is not."""
    guarded_parts.members_of_an_object(contextlib.nullcontext())


def names_of_attributes() -> None:
    """There is one more the second time."""
    guarded_parts.names_of_attributes(contextlib.nullcontext())


def attributes_in_a_format() -> None:
    """One attribute is set already, the other one is not."""
    guarded_parts.attributes_in_a_format(contextlib.nullcontext())


def keyword_in_a_format() -> None:
    """One item is set already, the other one is not."""
    guarded_parts.keyword_in_a_format(contextlib.nullcontext())


def index_that_is_computed() -> None:
    """IndexError: the list is shorter by the time it is looked at."""
    guarded_parts.index_that_is_computed(contextlib.nullcontext())


def resized_while_a_view_shows_it() -> None:
    """BufferError: existing exports."""
    guarded_parts.resized_while_a_view_shows_it(contextlib.nullcontext())


def truncated_while_a_buffer_is_out() -> None:
    """BufferError: existing exports."""
    guarded_parts.truncated_while_a_buffer_is_out(contextlib.nullcontext())


def bytes_that_are_searched() -> None:
    """One byte is set already, the other one is not."""
    guarded_parts.bytes_that_are_searched(contextlib.nullcontext())
