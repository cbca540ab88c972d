"""The library: nobody guards it."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_library


def default_popped_from_a_mapping() -> None:
    """What was there is gone before it is deleted."""
    guarded_library.default_popped_from_a_mapping(contextlib.nullcontext())


def default_set_in_a_user_dict() -> None:
    """Both find that the key is missing."""
    guarded_library.default_set_in_a_user_dict(contextlib.nullcontext())


def user_list_augmented() -> None:
    """One of two increments is lost."""
    guarded_library.user_list_augmented(contextlib.nullcontext())


def counter_added_in_place() -> None:
    """One of two additions is lost."""
    guarded_library.counter_added_in_place(contextlib.nullcontext())


def key_moved_to_the_end() -> None:
    """The key is gone."""
    guarded_library.key_moved_to_the_end(contextlib.nullcontext())


def weak_value_made_when_missing() -> None:
    """Both find that it is missing."""
    guarded_library.weak_value_made_when_missing(contextlib.nullcontext())


def weak_set_changed_during_iteration() -> None:
    """The set changes size during iteration."""
    guarded_library.weak_set_changed_during_iteration(contextlib.nullcontext())


def groups_of_one_iterator() -> None:
    """The group is over as soon as another one is asked for."""
    guarded_library.groups_of_one_iterator(contextlib.nullcontext())


def turns_of_a_cycle() -> None:
    """The other task takes a turn in between."""
    guarded_library.turns_of_a_cycle(contextlib.nullcontext())


def bytes_in_memory_read_from_the_start() -> None:
    """The other task has read on in between."""
    guarded_library.bytes_in_memory_read_from_the_start(contextlib.nullcontext())


def bytes_in_memory_replaced() -> None:
    """Both write after both have truncated."""
    guarded_library.bytes_in_memory_replaced(contextlib.nullcontext())


def names_of_the_fields_of_a_reader() -> None:
    """Both take a row for the names of the fields."""
    guarded_library.names_of_the_fields_of_a_reader(contextlib.nullcontext())


def json_by_a_function() -> None:
    """Two objects get one number."""
    guarded_library.json_by_a_function(contextlib.nullcontext())


def objects_made_from_json() -> None:
    """An object is not counted."""
    guarded_library.objects_made_from_json(contextlib.nullcontext())


def state_that_is_pickled() -> None:
    """One field is new, the other one is not."""
    guarded_library.state_that_is_pickled(contextlib.nullcontext())


def state_that_is_copied() -> None:
    """One field is new, the other one is not."""
    guarded_library.state_that_is_copied(contextlib.nullcontext())


def matches_numbered_by_a_function() -> None:
    """Two matches get one number."""
    guarded_library.matches_numbered_by_a_function(contextlib.nullcontext())


def template_with_one_name_twice() -> None:
    """Another value is taken the second time."""
    guarded_library.template_with_one_name_twice(contextlib.nullcontext())


def option_of_a_configuration() -> None:
    """The option is gone."""
    guarded_library.option_of_a_configuration(contextlib.nullcontext())


def list_shuffled_while_it_is_copied() -> None:
    """One item is there twice."""
    guarded_library.list_shuffled_while_it_is_copied(contextlib.nullcontext())


def nodes_that_are_done() -> None:
    """Both look whether there is more, and a node is done twice."""
    guarded_library.nodes_that_are_done(contextlib.nullcontext())


def two_lists_zipped() -> None:
    """One list is new, the other one is not."""
    guarded_library.two_lists_zipped(contextlib.nullcontext())


def view_counted_twice() -> None:
    """There is one more the second time."""
    guarded_library.view_counted_twice(contextlib.nullcontext())


def item_of_a_chain_of_maps() -> None:
    """One of two increments is lost."""
    guarded_library.item_of_a_chain_of_maps(contextlib.nullcontext())


def tuple_augmented() -> None:
    """One of two items is lost."""
    guarded_library.tuple_augmented(contextlib.nullcontext())
