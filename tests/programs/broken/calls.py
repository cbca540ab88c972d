"""Code in C that calls code in C: nobody guards what that works on."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_calls


def items_read_by_a_map() -> None:
    """One of two equal looks finds another value."""
    guarded_calls.items_read_by_a_map(contextlib.nullcontext())


def items_read_by_a_map_of_a_partial() -> None:
    """One of two equal looks finds another value."""
    guarded_calls.items_read_by_a_map_of_a_partial(contextlib.nullcontext())


def items_read_through_an_operator() -> None:
    """One of two equal looks finds another value."""
    guarded_calls.items_read_through_an_operator(contextlib.nullcontext())


def items_read_by_a_starmap() -> None:
    """One of two equal looks finds another value."""
    guarded_calls.items_read_by_a_starmap(contextlib.nullcontext())


def largest_of_numbers_by_an_item() -> None:
    """Another one is the largest the second time."""
    guarded_calls.largest_of_numbers_by_an_item(contextlib.nullcontext())


def larger_of_two_by_an_item() -> None:
    """Another one is the larger one the second time."""
    guarded_calls.larger_of_two_by_an_item(contextlib.nullcontext())


def largest_of_a_generator_by_an_item() -> None:
    """Another one is the largest the second time."""
    guarded_calls.largest_of_a_generator_by_an_item(contextlib.nullcontext())


def smallest_of_a_heap_by_an_item() -> None:
    """Another one is the smallest the second time."""
    guarded_calls.smallest_of_a_heap_by_an_item(contextlib.nullcontext())


def place_by_an_item() -> None:
    """Another place is found the second time."""
    guarded_calls.place_by_an_item(contextlib.nullcontext())


def path_reduced() -> None:
    """Another value lies at the end of the path the second time."""
    guarded_calls.path_reduced(contextlib.nullcontext())


def attributes_reduced() -> None:
    """Another value lies at the end of the path the second time."""
    guarded_calls.attributes_reduced(contextlib.nullcontext())


def attribute_behind_a_dotted_getter() -> None:
    """Another value is found the second time."""
    guarded_calls.attribute_behind_a_dotted_getter(contextlib.nullcontext())


def attributes_mapped() -> None:
    """Another value is found the second time."""
    guarded_calls.attributes_mapped(contextlib.nullcontext())


def attribute_set_by_a_map() -> None:
    """Another value is found the second time."""
    guarded_calls.attribute_set_by_a_map(contextlib.nullcontext())


def property_of_a_getter() -> None:
    """Another value is found the second time."""
    guarded_calls.property_of_a_getter(contextlib.nullcontext())


def protocol_looked_at() -> None:
    """The object has the attribute the second time."""
    guarded_calls.protocol_looked_at(contextlib.nullcontext())


def lists_appended_to_by_a_map() -> None:
    """The list is longer the second time."""
    guarded_calls.lists_appended_to_by_a_map(contextlib.nullcontext())


def list_emptied_by_an_iterator() -> None:
    """The list is shorter the second time."""
    guarded_calls.list_emptied_by_an_iterator(contextlib.nullcontext())


def list_folded_into() -> None:
    """The set is larger the second time."""
    guarded_calls.list_folded_into(contextlib.nullcontext())


def sets_accumulated() -> None:
    """The set is larger the second time."""
    guarded_calls.sets_accumulated(contextlib.nullcontext())


def factory_in_c() -> None:
    """The list of what is free is shorter the second time."""
    guarded_calls.factory_in_c(contextlib.nullcontext())


def function_in_c_that_is_cached() -> None:
    """The list is longer the second time."""
    guarded_calls.function_in_c_that_is_cached(contextlib.nullcontext())


def function_in_c_in_a_context() -> None:
    """The list is longer the second time."""
    guarded_calls.function_in_c_in_a_context(contextlib.nullcontext())


def substitution_in_c() -> None:
    """The list is longer the second time."""
    guarded_calls.substitution_in_c(contextlib.nullcontext())


def hook_in_c_of_json() -> None:
    """The list is longer the second time."""
    guarded_calls.hook_in_c_of_json(contextlib.nullcontext())


def default_in_c_of_json() -> None:
    """The list is longer the second time."""
    guarded_calls.default_in_c_of_json(contextlib.nullcontext())


def handler_in_c_of_a_parser() -> None:
    """The list is longer the second time."""
    guarded_calls.handler_in_c_of_a_parser(contextlib.nullcontext())


def function_in_c_behind_a_pointer() -> None:
    """The list is longer the second time."""
    guarded_calls.function_in_c_behind_a_pointer(contextlib.nullcontext())


def function_in_c_of_a_database() -> None:
    """The list is longer the second time."""
    guarded_calls.function_in_c_of_a_database(contextlib.nullcontext())


def copy_of_what_the_test_makes() -> None:
    """One attribute is changed already, the other one is not: of a class made in the test."""
    guarded_calls.copy_of_what_the_test_makes(contextlib.nullcontext())


def text_that_is_no_number() -> None:
    """InvalidOperation: the other task has switched the trap on."""
    guarded_calls.text_that_is_no_number(contextlib.nullcontext())


def flags_of_a_context() -> None:
    """The flag is raised the second time."""
    guarded_calls.flags_of_a_context(contextlib.nullcontext())


def cache_of_zones_emptied() -> None:
    """The same name gives another zone the second time."""
    guarded_calls.cache_of_zones_emptied(contextlib.nullcontext())


def zone_made_by_two() -> None:
    """Both find that it is not in the cache of the class."""
    guarded_calls.zone_made_by_two(contextlib.nullcontext())


def exceptions_of_a_group() -> None:
    """The group has one more the second time."""
    guarded_calls.exceptions_of_a_group(contextlib.nullcontext())


def state_of_a_generator() -> None:
    """It has begun the second time."""
    guarded_calls.state_of_a_generator(contextlib.nullcontext())


def handlers_asked_for() -> None:
    """There is one the second time."""
    guarded_calls.handlers_asked_for(contextlib.nullcontext())


def changes_of_a_connection() -> None:
    """There are more the second time."""
    guarded_calls.changes_of_a_connection(contextlib.nullcontext())


def lines_into_a_socket() -> None:
    """Two lines are mixed in the buffer of the stream that both have."""
    guarded_calls.lines_into_a_socket(contextlib.nullcontext())


def function_added_by_a_decorator() -> None:
    """The decorator is a method in C."""
    guarded_calls.function_added_by_a_decorator(contextlib.nullcontext())


def class_stored_by_a_decorator() -> None:
    """The decorator is a partial of a method in C."""
    guarded_calls.class_stored_by_a_decorator(contextlib.nullcontext())


def stream_closed_behind_except() -> None:
    """The block of a ``with`` is left by a ``return`` behind ``except``."""
    guarded_calls.stream_closed_behind_except(contextlib.nullcontext())


def items_of_a_view_as_arguments() -> None:
    """What is read lies in the only value of a dict."""
    guarded_calls.items_of_a_view_as_arguments(contextlib.nullcontext())


def conditions_among_arguments() -> None:
    """Each call has a branch among its arguments."""
    guarded_calls.conditions_among_arguments(contextlib.nullcontext())


def either_among_arguments() -> None:
    """Each call has an ``or`` among its arguments."""
    guarded_calls.either_among_arguments(contextlib.nullcontext())
