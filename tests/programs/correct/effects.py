"""What code in C and trusted modules access, under a lock: no condition is to be made of it."""

from __future__ import annotations

import threading

from tests.programs import guarded


def locked_rows_of_a_csv_writer() -> None:
    """See ``guarded.rows_of_a_csv_writer``: with a lock it is correct."""
    guarded.rows_of_a_csv_writer(threading.Lock())


def locked_rows_of_two_csv_writers() -> None:
    """See ``guarded.rows_of_two_csv_writers``: with a lock it is correct."""
    guarded.rows_of_two_csv_writers(threading.Lock())


def locked_number_in_a_buffer() -> None:
    """See ``guarded.number_in_a_buffer``: with a lock it is correct."""
    guarded.number_in_a_buffer(threading.Lock())


def locked_number_in_a_buffer_with_a_struct() -> None:
    """See ``guarded.number_in_a_buffer_with_a_struct``: with a lock it is correct."""
    guarded.number_in_a_buffer_with_a_struct(threading.Lock())


def locked_parts_of_a_hash() -> None:
    """See ``guarded.parts_of_a_hash``: with a lock it is correct."""
    guarded.parts_of_a_hash(threading.Lock())


def locked_parts_to_compress() -> None:
    """See ``guarded.parts_to_compress``: with a lock it is correct."""
    guarded.parts_to_compress(threading.Lock())


def locked_json_of_a_dict() -> None:
    """See ``guarded.json_of_a_dict``: with a lock it is correct."""
    guarded.json_of_a_dict(threading.Lock())


def locked_json_of_a_dict_in_a_dict() -> None:
    """See ``guarded.json_of_a_dict_in_a_dict``: with a lock it is correct."""
    guarded.json_of_a_dict_in_a_dict(threading.Lock())


def locked_marshalled_dict() -> None:
    """See ``guarded.marshalled_dict``: with a lock it is correct."""
    guarded.marshalled_dict(threading.Lock())


def locked_checksum_of_a_buffer() -> None:
    """See ``guarded.checksum_of_a_buffer``: with a lock it is correct."""
    guarded.checksum_of_a_buffer(threading.Lock())


def locked_pickled_object() -> None:
    """See ``guarded.pickled_object``: with a lock it is correct."""
    guarded.pickled_object(threading.Lock())


def locked_copied_object() -> None:
    """See ``guarded.copied_object``: with a lock it is correct."""
    guarded.copied_object(threading.Lock())


def locked_pickler_for_both() -> None:
    """See ``guarded.pickler_for_both``: with a lock it is correct."""
    guarded.pickler_for_both(threading.Lock())


def locked_seeded_generator() -> None:
    """See ``guarded.seeded_generator``: with a lock it is correct."""
    guarded.seeded_generator(threading.Lock())


def locked_precision_of_a_context() -> None:
    """See ``guarded.precision_of_a_context``: with a lock it is correct."""
    guarded.precision_of_a_context(threading.Lock())


def locked_text_of_an_element() -> None:
    """See ``guarded.text_of_an_element``: with a lock it is correct."""
    guarded.text_of_an_element(threading.Lock())


def locked_attribute_of_an_element() -> None:
    """See ``guarded.attribute_of_an_element``: with a lock it is correct."""
    guarded.attribute_of_an_element(threading.Lock())


def locked_child_of_an_element() -> None:
    """See ``guarded.child_of_an_element``: with a lock it is correct."""
    guarded.child_of_an_element(threading.Lock())


def locked_matches_of_a_scanner() -> None:
    """See ``guarded.matches_of_a_scanner``: with a lock it is correct."""
    guarded.matches_of_a_scanner(threading.Lock())


def locked_matches_of_an_iterator() -> None:
    """See ``guarded.matches_of_an_iterator``: with a lock it is correct."""
    guarded.matches_of_an_iterator(threading.Lock())


def locked_rows_of_a_csv_reader() -> None:
    """See ``guarded.rows_of_a_csv_reader``: with a lock it is correct."""
    guarded.rows_of_a_csv_reader(threading.Lock())


def locked_entries_of_a_folder() -> None:
    """See ``guarded.entries_of_a_folder``: with a lock it is correct."""
    guarded.entries_of_a_folder(threading.Lock())


def locked_items_of_a_slice() -> None:
    """See ``guarded.items_of_a_slice``: with a lock it is correct."""
    guarded.items_of_a_slice(threading.Lock())


def locked_limit_of_csv() -> None:
    """See ``guarded.limit_of_csv``: with a lock it is correct."""
    guarded.limit_of_csv(threading.Lock())


def locked_limit_of_recursion() -> None:
    """See ``guarded.limit_of_recursion``: with a lock it is correct."""
    guarded.limit_of_recursion(threading.Lock())


def locked_umask() -> None:
    """See ``guarded.umask``: with a lock it is correct."""
    guarded.umask(threading.Lock())


def locked_locale_of_the_process() -> None:
    """See ``guarded.locale_of_the_process``: with a lock it is correct."""
    guarded.locale_of_the_process(threading.Lock())


def locked_text_over_bytes_in_memory() -> None:
    """See ``guarded.text_over_bytes_in_memory``: with a lock it is correct."""
    guarded.text_over_bytes_in_memory(threading.Lock())


def locked_formatted_list() -> None:
    """See ``guarded.formatted_list``: with a lock it is correct."""
    guarded.formatted_list(threading.Lock())


def locked_repr_of_a_namespace() -> None:
    """See ``guarded.repr_of_a_namespace``: with a lock it is correct."""
    guarded.repr_of_a_namespace(threading.Lock())


def locked_attribute_behind_dots() -> None:
    """See ``guarded.attribute_behind_dots``: with a lock it is correct."""
    guarded.attribute_behind_dots(threading.Lock())


def locked_decoder_halfway() -> None:
    """See ``guarded.decoder_halfway``: with a lock it is correct."""
    guarded.decoder_halfway(threading.Lock())


def locked_patched_attribute() -> None:
    """See ``guarded.patched_attribute``: with a lock it is correct."""
    guarded.patched_attribute(threading.Lock())


def locked_patched_dict() -> None:
    """See ``guarded.patched_dict``: with a lock it is correct."""
    guarded.patched_dict(threading.Lock())


def locked_handler_that_is_passed_over() -> None:
    """See ``guarded.handler_that_is_passed_over``: with a lock it is correct."""
    guarded.handler_that_is_passed_over(threading.Lock())


def locked_level_put_back() -> None:
    """See ``guarded.level_put_back``: with a lock it is correct."""
    guarded.level_put_back(threading.Lock())


def locked_handlers_that_log_to_each_other() -> None:
    """See ``guarded.handlers_that_log_to_each_other``: with a lock it is correct."""
    guarded.handlers_that_log_to_each_other(threading.Lock())


def locked_handler_that_takes_a_lock_of_the_program() -> None:
    """See ``guarded.handler_that_takes_a_lock_of_the_program``: with a lock it is correct."""
    guarded.handler_that_takes_a_lock_of_the_program(threading.Lock())


def locked_items_that_compare_under_a_lock() -> None:
    """See ``guarded.items_that_compare_under_a_lock``: with a lock it is correct."""
    guarded.items_that_compare_under_a_lock(threading.Lock())


def locked_late_registration_of_a_function() -> None:
    """See ``guarded.late_registration_of_a_function``: with a lock it is correct."""
    guarded.late_registration_of_a_function(threading.Lock())


def locked_environment_that_is_copied() -> None:
    """See ``guarded.environment_that_is_copied``: with a lock it is correct."""
    guarded.environment_that_is_copied(threading.Lock())


def locked_normal_numbers() -> None:
    """See ``guarded.normal_numbers``: with a lock it is correct."""
    guarded.normal_numbers(threading.Lock())


def locked_default_timeout_of_sockets() -> None:
    """See ``guarded.default_timeout_of_sockets``: with a lock it is correct."""
    guarded.default_timeout_of_sockets(threading.Lock())
