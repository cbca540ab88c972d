"""Code in C that calls code in C, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_calls


def locked_items_read_by_a_map() -> None:
    """See ``guarded_calls.items_read_by_a_map``: with a lock it is correct."""
    guarded_calls.items_read_by_a_map(threading.Lock())


def locked_items_read_by_a_map_of_a_partial() -> None:
    """See ``guarded_calls.items_read_by_a_map_of_a_partial``: with a lock it is correct."""
    guarded_calls.items_read_by_a_map_of_a_partial(threading.Lock())


def locked_items_read_through_an_operator() -> None:
    """See ``guarded_calls.items_read_through_an_operator``: with a lock it is correct."""
    guarded_calls.items_read_through_an_operator(threading.Lock())


def locked_items_read_by_a_starmap() -> None:
    """See ``guarded_calls.items_read_by_a_starmap``: with a lock it is correct."""
    guarded_calls.items_read_by_a_starmap(threading.Lock())


def locked_largest_of_numbers_by_an_item() -> None:
    """See ``guarded_calls.largest_of_numbers_by_an_item``: with a lock it is correct."""
    guarded_calls.largest_of_numbers_by_an_item(threading.Lock())


def locked_larger_of_two_by_an_item() -> None:
    """See ``guarded_calls.larger_of_two_by_an_item``: with a lock it is correct."""
    guarded_calls.larger_of_two_by_an_item(threading.Lock())


def locked_largest_of_a_generator_by_an_item() -> None:
    """See ``guarded_calls.largest_of_a_generator_by_an_item``: with a lock it is correct."""
    guarded_calls.largest_of_a_generator_by_an_item(threading.Lock())


def locked_smallest_of_a_heap_by_an_item() -> None:
    """See ``guarded_calls.smallest_of_a_heap_by_an_item``: with a lock it is correct."""
    guarded_calls.smallest_of_a_heap_by_an_item(threading.Lock())


def locked_place_by_an_item() -> None:
    """See ``guarded_calls.place_by_an_item``: with a lock it is correct."""
    guarded_calls.place_by_an_item(threading.Lock())


def locked_path_reduced() -> None:
    """See ``guarded_calls.path_reduced``: with a lock it is correct."""
    guarded_calls.path_reduced(threading.Lock())


def locked_attributes_reduced() -> None:
    """See ``guarded_calls.attributes_reduced``: with a lock it is correct."""
    guarded_calls.attributes_reduced(threading.Lock())


def locked_attribute_behind_a_dotted_getter() -> None:
    """See ``guarded_calls.attribute_behind_a_dotted_getter``: with a lock it is correct."""
    guarded_calls.attribute_behind_a_dotted_getter(threading.Lock())


def locked_attributes_mapped() -> None:
    """See ``guarded_calls.attributes_mapped``: with a lock it is correct."""
    guarded_calls.attributes_mapped(threading.Lock())


def locked_attribute_set_by_a_map() -> None:
    """See ``guarded_calls.attribute_set_by_a_map``: with a lock it is correct."""
    guarded_calls.attribute_set_by_a_map(threading.Lock())


def locked_property_of_a_getter() -> None:
    """See ``guarded_calls.property_of_a_getter``: with a lock it is correct."""
    guarded_calls.property_of_a_getter(threading.Lock())


def locked_protocol_looked_at() -> None:
    """See ``guarded_calls.protocol_looked_at``: with a lock it is correct."""
    guarded_calls.protocol_looked_at(threading.Lock())


def locked_lists_appended_to_by_a_map() -> None:
    """See ``guarded_calls.lists_appended_to_by_a_map``: with a lock it is correct."""
    guarded_calls.lists_appended_to_by_a_map(threading.Lock())


def locked_list_emptied_by_an_iterator() -> None:
    """See ``guarded_calls.list_emptied_by_an_iterator``: with a lock it is correct."""
    guarded_calls.list_emptied_by_an_iterator(threading.Lock())


def locked_list_folded_into() -> None:
    """See ``guarded_calls.list_folded_into``: with a lock it is correct."""
    guarded_calls.list_folded_into(threading.Lock())


def locked_sets_accumulated() -> None:
    """See ``guarded_calls.sets_accumulated``: with a lock it is correct."""
    guarded_calls.sets_accumulated(threading.Lock())


def locked_factory_in_c() -> None:
    """See ``guarded_calls.factory_in_c``: with a lock it is correct."""
    guarded_calls.factory_in_c(threading.Lock())


def locked_function_in_c_that_is_cached() -> None:
    """See ``guarded_calls.function_in_c_that_is_cached``: with a lock it is correct."""
    guarded_calls.function_in_c_that_is_cached(threading.Lock())


def locked_function_in_c_in_a_context() -> None:
    """See ``guarded_calls.function_in_c_in_a_context``: with a lock it is correct."""
    guarded_calls.function_in_c_in_a_context(threading.Lock())


def locked_substitution_in_c() -> None:
    """See ``guarded_calls.substitution_in_c``: with a lock it is correct."""
    guarded_calls.substitution_in_c(threading.Lock())


def locked_hook_in_c_of_json() -> None:
    """See ``guarded_calls.hook_in_c_of_json``: with a lock it is correct."""
    guarded_calls.hook_in_c_of_json(threading.Lock())


def locked_default_in_c_of_json() -> None:
    """See ``guarded_calls.default_in_c_of_json``: with a lock it is correct."""
    guarded_calls.default_in_c_of_json(threading.Lock())


def locked_handler_in_c_of_a_parser() -> None:
    """See ``guarded_calls.handler_in_c_of_a_parser``: with a lock it is correct."""
    guarded_calls.handler_in_c_of_a_parser(threading.Lock())


def locked_function_in_c_behind_a_pointer() -> None:
    """See ``guarded_calls.function_in_c_behind_a_pointer``: with a lock it is correct."""
    guarded_calls.function_in_c_behind_a_pointer(threading.Lock())


def locked_function_in_c_of_a_database() -> None:
    """See ``guarded_calls.function_in_c_of_a_database``: with a lock it is correct."""
    guarded_calls.function_in_c_of_a_database(threading.Lock())


def locked_copy_of_what_the_test_makes() -> None:
    """See ``guarded_calls.copy_of_what_the_test_makes``: with a lock it is correct."""
    guarded_calls.copy_of_what_the_test_makes(threading.Lock())


def locked_text_that_is_no_number() -> None:
    """See ``guarded_calls.text_that_is_no_number``: with a lock it is correct."""
    guarded_calls.text_that_is_no_number(threading.Lock())


def locked_flags_of_a_context() -> None:
    """See ``guarded_calls.flags_of_a_context``: with a lock it is correct."""
    guarded_calls.flags_of_a_context(threading.Lock())


def locked_cache_of_zones_emptied() -> None:
    """See ``guarded_calls.cache_of_zones_emptied``: with a lock it is correct."""
    guarded_calls.cache_of_zones_emptied(threading.Lock())


def locked_zone_made_by_two() -> None:
    """See ``guarded_calls.zone_made_by_two``: with a lock it is correct."""
    guarded_calls.zone_made_by_two(threading.Lock())


def locked_exceptions_of_a_group() -> None:
    """See ``guarded_calls.exceptions_of_a_group``: with a lock it is correct."""
    guarded_calls.exceptions_of_a_group(threading.Lock())


def locked_state_of_a_generator() -> None:
    """See ``guarded_calls.state_of_a_generator``: with a lock it is correct."""
    guarded_calls.state_of_a_generator(threading.Lock())


def locked_handlers_asked_for() -> None:
    """See ``guarded_calls.handlers_asked_for``: with a lock it is correct."""
    guarded_calls.handlers_asked_for(threading.Lock())


def locked_changes_of_a_connection() -> None:
    """See ``guarded_calls.changes_of_a_connection``: with a lock it is correct."""
    guarded_calls.changes_of_a_connection(threading.Lock())


def locked_lines_into_a_socket() -> None:
    """See ``guarded_calls.lines_into_a_socket``: with a lock it is correct."""
    guarded_calls.lines_into_a_socket(threading.Lock())


def locked_function_added_by_a_decorator() -> None:
    """See ``guarded_calls.function_added_by_a_decorator``: with a lock it is correct."""
    guarded_calls.function_added_by_a_decorator(threading.Lock())


def locked_class_stored_by_a_decorator() -> None:
    """See ``guarded_calls.class_stored_by_a_decorator``: with a lock it is correct."""
    guarded_calls.class_stored_by_a_decorator(threading.Lock())


def locked_stream_closed_behind_except() -> None:
    """See ``guarded_calls.stream_closed_behind_except``: with a lock it is correct."""
    guarded_calls.stream_closed_behind_except(threading.Lock())


def locked_items_of_a_view_as_arguments() -> None:
    """See ``guarded_calls.items_of_a_view_as_arguments``: with a lock it is correct."""
    guarded_calls.items_of_a_view_as_arguments(threading.Lock())


def locked_conditions_among_arguments() -> None:
    """See ``guarded_calls.conditions_among_arguments``: with a lock it is correct."""
    guarded_calls.conditions_among_arguments(threading.Lock())


def locked_either_among_arguments() -> None:
    """See ``guarded_calls.either_among_arguments``: with a lock it is correct."""
    guarded_calls.either_among_arguments(threading.Lock())
