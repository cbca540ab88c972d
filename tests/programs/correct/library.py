"""The library, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_library


def locked_default_popped_from_a_mapping() -> None:
    """See ``guarded_library.default_popped_from_a_mapping``: with a lock it is correct."""
    guarded_library.default_popped_from_a_mapping(threading.Lock())


def locked_default_set_in_a_user_dict() -> None:
    """See ``guarded_library.default_set_in_a_user_dict``: with a lock it is correct."""
    guarded_library.default_set_in_a_user_dict(threading.Lock())


def locked_user_list_augmented() -> None:
    """See ``guarded_library.user_list_augmented``: with a lock it is correct."""
    guarded_library.user_list_augmented(threading.Lock())


def locked_counter_added_in_place() -> None:
    """See ``guarded_library.counter_added_in_place``: with a lock it is correct."""
    guarded_library.counter_added_in_place(threading.Lock())


def locked_key_moved_to_the_end() -> None:
    """See ``guarded_library.key_moved_to_the_end``: with a lock it is correct."""
    guarded_library.key_moved_to_the_end(threading.Lock())


def locked_weak_value_made_when_missing() -> None:
    """See ``guarded_library.weak_value_made_when_missing``: with a lock it is correct."""
    guarded_library.weak_value_made_when_missing(threading.Lock())


def locked_weak_set_changed_during_iteration() -> None:
    """See ``guarded_library.weak_set_changed_during_iteration``: with a lock it is correct."""
    guarded_library.weak_set_changed_during_iteration(threading.Lock())


def locked_groups_of_one_iterator() -> None:
    """See ``guarded_library.groups_of_one_iterator``: with a lock it is correct."""
    guarded_library.groups_of_one_iterator(threading.Lock())


def locked_turns_of_a_cycle() -> None:
    """See ``guarded_library.turns_of_a_cycle``: with a lock it is correct."""
    guarded_library.turns_of_a_cycle(threading.Lock())


def locked_bytes_in_memory_read_from_the_start() -> None:
    """See ``guarded_library.bytes_in_memory_read_from_the_start``: with a lock it is correct."""
    guarded_library.bytes_in_memory_read_from_the_start(threading.Lock())


def locked_bytes_in_memory_replaced() -> None:
    """See ``guarded_library.bytes_in_memory_replaced``: with a lock it is correct."""
    guarded_library.bytes_in_memory_replaced(threading.Lock())


def locked_names_of_the_fields_of_a_reader() -> None:
    """See ``guarded_library.names_of_the_fields_of_a_reader``: with a lock it is correct."""
    guarded_library.names_of_the_fields_of_a_reader(threading.Lock())


def locked_json_by_a_function() -> None:
    """See ``guarded_library.json_by_a_function``: with a lock it is correct."""
    guarded_library.json_by_a_function(threading.Lock())


def locked_objects_made_from_json() -> None:
    """See ``guarded_library.objects_made_from_json``: with a lock it is correct."""
    guarded_library.objects_made_from_json(threading.Lock())


def locked_state_that_is_pickled() -> None:
    """See ``guarded_library.state_that_is_pickled``: with a lock it is correct."""
    guarded_library.state_that_is_pickled(threading.Lock())


def locked_state_that_is_copied() -> None:
    """See ``guarded_library.state_that_is_copied``: with a lock it is correct."""
    guarded_library.state_that_is_copied(threading.Lock())


def locked_matches_numbered_by_a_function() -> None:
    """See ``guarded_library.matches_numbered_by_a_function``: with a lock it is correct."""
    guarded_library.matches_numbered_by_a_function(threading.Lock())


def locked_template_with_one_name_twice() -> None:
    """See ``guarded_library.template_with_one_name_twice``: with a lock it is correct."""
    guarded_library.template_with_one_name_twice(threading.Lock())


def locked_option_of_a_configuration() -> None:
    """See ``guarded_library.option_of_a_configuration``: with a lock it is correct."""
    guarded_library.option_of_a_configuration(threading.Lock())


def locked_list_shuffled_while_it_is_copied() -> None:
    """See ``guarded_library.list_shuffled_while_it_is_copied``: with a lock it is correct."""
    guarded_library.list_shuffled_while_it_is_copied(threading.Lock())


def locked_nodes_that_are_done() -> None:
    """See ``guarded_library.nodes_that_are_done``: with a lock it is correct."""
    guarded_library.nodes_that_are_done(threading.Lock())


def locked_two_lists_zipped() -> None:
    """See ``guarded_library.two_lists_zipped``: with a lock it is correct."""
    guarded_library.two_lists_zipped(threading.Lock())


def locked_view_counted_twice() -> None:
    """See ``guarded_library.view_counted_twice``: with a lock it is correct."""
    guarded_library.view_counted_twice(threading.Lock())


def locked_item_of_a_chain_of_maps() -> None:
    """See ``guarded_library.item_of_a_chain_of_maps``: with a lock it is correct."""
    guarded_library.item_of_a_chain_of_maps(threading.Lock())


def locked_tuple_augmented() -> None:
    """See ``guarded_library.tuple_augmented``: with a lock it is correct."""
    guarded_library.tuple_augmented(threading.Lock())
