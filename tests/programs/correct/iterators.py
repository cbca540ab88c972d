"""Code in C that takes several items of a generator that two tasks have, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_iterators


def locked_slice_of_a_generator() -> None:
    """See ``guarded_iterators.slice_of_a_generator``: with a lock it is correct."""
    guarded_iterators.slice_of_a_generator(threading.Lock())


def locked_generator_zipped_with_itself() -> None:
    """See ``guarded_iterators.generator_zipped_with_itself``: with a lock it is correct."""
    guarded_iterators.generator_zipped_with_itself(threading.Lock())


def locked_generator_zipped_in_a_loop() -> None:
    """See ``guarded_iterators.generator_zipped_in_a_loop``: with a lock it is correct."""
    guarded_iterators.generator_zipped_in_a_loop(threading.Lock())


def locked_sums_of_a_generator() -> None:
    """See ``guarded_iterators.sums_of_a_generator``: with a lock it is correct."""
    guarded_iterators.sums_of_a_generator(threading.Lock())


def locked_sorted_items_of_a_generator() -> None:
    """See ``guarded_iterators.sorted_items_of_a_generator``: with a lock it is correct."""
    guarded_iterators.sorted_items_of_a_generator(threading.Lock())


def locked_list_filled_from_a_generator() -> None:
    """See ``guarded_iterators.list_filled_from_a_generator``: with a lock it is correct."""
    guarded_iterators.list_filled_from_a_generator(threading.Lock())


def locked_dict_filled_from_a_generator() -> None:
    """See ``guarded_iterators.dict_filled_from_a_generator``: with a lock it is correct."""
    guarded_iterators.dict_filled_from_a_generator(threading.Lock())


def locked_function_of_two_items_of_a_generator() -> None:
    """See ``guarded_iterators.function_of_two_items_of_a_generator``: with a lock it is correct."""
    guarded_iterators.function_of_two_items_of_a_generator(threading.Lock())


def locked_generator_that_is_reduced() -> None:
    """See ``guarded_iterators.generator_that_is_reduced``: with a lock it is correct."""
    guarded_iterators.generator_that_is_reduced(threading.Lock())


def locked_generator_in_a_chain() -> None:
    """See ``guarded_iterators.generator_in_a_chain``: with a lock it is correct."""
    guarded_iterators.generator_in_a_chain(threading.Lock())


def locked_items_of_a_generator_counted() -> None:
    """See ``guarded_iterators.items_of_a_generator_counted``: with a lock it is correct."""
    guarded_iterators.items_of_a_generator_counted(threading.Lock())


def locked_generator_unpacked() -> None:
    """See ``guarded_iterators.generator_unpacked``: with a lock it is correct."""
    guarded_iterators.generator_unpacked(threading.Lock())


def locked_generator_given_as_arguments() -> None:
    """See ``guarded_iterators.generator_given_as_arguments``: with a lock it is correct."""
    guarded_iterators.generator_given_as_arguments(threading.Lock())


def locked_largest_items_of_a_generator() -> None:
    """See ``guarded_iterators.largest_items_of_a_generator``: with a lock it is correct."""
    guarded_iterators.largest_items_of_a_generator(threading.Lock())
