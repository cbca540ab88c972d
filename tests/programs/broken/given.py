"""The library looks at what it was given, and others change it: nobody guards it."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_given


def items_mapped_by_an_executor() -> None:
    """An executor maps over a list that is half filled."""
    guarded_given.items_mapped_by_an_executor(contextlib.nullcontext())


def items_mapped_by_a_pool() -> None:
    """A pool maps over a list that is half filled."""
    guarded_given.items_mapped_by_a_pool(contextlib.nullcontext())


def futures_waited_for() -> None:
    """What is waited for is half of the futures."""
    guarded_given.futures_waited_for(contextlib.nullcontext())


def futures_gone_through() -> None:
    """What is gone through is half of the futures."""
    guarded_given.futures_gone_through(contextlib.nullcontext())


def defaults_of_a_formatter() -> None:
    """A record is formatted with one of two defaults that belong together."""
    guarded_given.defaults_of_a_formatter(contextlib.nullcontext())


def database_by_two_uris() -> None:
    """Two URIs, with other parameters, are of one file."""
    guarded_given.database_by_two_uris(contextlib.nullcontext())


def database_by_its_path_and_a_uri() -> None:
    """A URI, with an escape in it, is of the file that a path leads to."""
    guarded_given.database_by_its_path_and_a_uri(contextlib.nullcontext())


def database_in_memory_by_two_uris() -> None:
    """Two URIs, with the same parameters in another order, are of one database in memory."""
    guarded_given.database_in_memory_by_two_uris(contextlib.nullcontext())


def number_in_a_dbm_file() -> None:
    """Each opens the file, and closes it: one of two increments is lost."""
    guarded_given.number_in_a_dbm_file(contextlib.nullcontext())


def hook_of_a_subclass() -> None:
    """One of two classes gets the number of the other."""
    guarded_given.hook_of_a_subclass(contextlib.nullcontext())


def name_set_by_a_class() -> None:
    """One of two fields gets the number of the other."""
    guarded_given.name_set_by_a_class(contextlib.nullcontext())


def next_value_of_an_enumeration() -> None:
    """One of two members gets the value of the other."""
    guarded_given.next_value_of_an_enumeration(contextlib.nullcontext())


def ready_nodes_of_a_graph() -> None:
    """A node is taken between the question whether there are any, and the answer."""
    guarded_given.ready_nodes_of_a_graph(contextlib.nullcontext())


def parts_flushed_by_two() -> None:
    """A part is compressed before another one, and stored after it."""
    guarded_given.parts_flushed_by_two(contextlib.nullcontext())


def number_in_a_file_that_is_replaced() -> None:
    """The file is replaced as a whole, by what was read from one of two older ones."""
    guarded_given.number_in_a_file_that_is_replaced(contextlib.nullcontext())


def places_released_by_callbacks() -> None:
    """Two tasks leave a stack of contexts, and look for what the other has removed."""
    guarded_given.places_released_by_callbacks(contextlib.nullcontext())
