"""Looks into primitives and objects of the library, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_looks


def locked_attribute_of_a_thread() -> None:
    """See ``guarded_looks.attribute_of_a_thread``: with a lock it is correct."""
    guarded_looks.attribute_of_a_thread(threading.Lock())


def locked_attribute_of_an_executor() -> None:
    """See ``guarded_looks.attribute_of_an_executor``: with a lock it is correct."""
    guarded_looks.attribute_of_an_executor(threading.Lock())


def locked_items_of_a_queue_gone_through() -> None:
    """See ``guarded_looks.items_of_a_queue_gone_through``: with a lock it is correct."""
    guarded_looks.items_of_a_queue_gone_through(threading.Lock())


def locked_queue_emptied_behind_its_back() -> None:
    """See ``guarded_looks.queue_emptied_behind_its_back``: with a lock it is correct."""
    guarded_looks.queue_emptied_behind_its_back(threading.Lock())


def locked_room_of_a_queue() -> None:
    """See ``guarded_looks.room_of_a_queue``: with a lock it is correct."""
    guarded_looks.room_of_a_queue(threading.Lock())


def locked_text_of_a_lock() -> None:
    """See ``guarded_looks.text_of_a_lock``: with a lock it is correct."""
    guarded_looks.text_of_a_lock(threading.Lock())


def locked_text_of_an_event() -> None:
    """See ``guarded_looks.text_of_an_event``: with a lock it is correct."""
    guarded_looks.text_of_an_event(threading.Lock())


def locked_text_of_a_future() -> None:
    """See ``guarded_looks.text_of_a_future``: with a lock it is correct."""
    guarded_looks.text_of_a_future(threading.Lock())


def locked_poller_that_forgets_a_socket() -> None:
    """See ``guarded_looks.poller_that_forgets_a_socket``: with a lock it is correct."""
    guarded_looks.poller_that_forgets_a_socket(threading.Lock())


def locked_selector_that_is_closed() -> None:
    """See ``guarded_looks.selector_that_is_closed``: with a lock it is correct."""
    guarded_looks.selector_that_is_closed(threading.Lock())


def locked_socket_that_is_closed() -> None:
    """See ``guarded_looks.socket_that_is_closed``: with a lock it is correct."""
    guarded_looks.socket_that_is_closed(threading.Lock())


def locked_records_in_a_buffer() -> None:
    """See ``guarded_looks.records_in_a_buffer``: with a lock it is correct."""
    guarded_looks.records_in_a_buffer(threading.Lock())


def locked_logger_that_is_disabled() -> None:
    """See ``guarded_looks.logger_that_is_disabled``: with a lock it is correct."""
    guarded_looks.logger_that_is_disabled(threading.Lock())


def locked_what_an_adapter_adds() -> None:
    """See ``guarded_looks.what_an_adapter_adds``: with a lock it is correct."""
    guarded_looks.what_an_adapter_adds(threading.Lock())


def locked_message_of_a_record() -> None:
    """See ``guarded_looks.message_of_a_record``: with a lock it is correct."""
    guarded_looks.message_of_a_record(threading.Lock())


def locked_name_of_a_level() -> None:
    """See ``guarded_looks.name_of_a_level``: with a lock it is correct."""
    guarded_looks.name_of_a_level(threading.Lock())


def locked_way_to_show_warnings() -> None:
    """See ``guarded_looks.way_to_show_warnings``: with a lock it is correct."""
    guarded_looks.way_to_show_warnings(threading.Lock())


def locked_length_of_short_texts() -> None:
    """See ``guarded_looks.length_of_short_texts``: with a lock it is correct."""
    guarded_looks.length_of_short_texts(threading.Lock())


def locked_tree_that_is_transformed() -> None:
    """See ``guarded_looks.tree_that_is_transformed``: with a lock it is correct."""
    guarded_looks.tree_that_is_transformed(threading.Lock())


def locked_match_of_a_lexer() -> None:
    """See ``guarded_looks.match_of_a_lexer``: with a lock it is correct."""
    guarded_looks.match_of_a_lexer(threading.Lock())


def locked_view_that_is_released() -> None:
    """See ``guarded_looks.view_that_is_released``: with a lock it is correct."""
    guarded_looks.view_that_is_released(threading.Lock())


def locked_mapping_that_is_closed() -> None:
    """See ``guarded_looks.mapping_that_is_closed``: with a lock it is correct."""
    guarded_looks.mapping_that_is_closed(threading.Lock())


def locked_cursor_that_is_closed() -> None:
    """See ``guarded_looks.cursor_that_is_closed``: with a lock it is correct."""
    guarded_looks.cursor_that_is_closed(threading.Lock())


def locked_function_of_a_database_replaced() -> None:
    """See ``guarded_looks.function_of_a_database_replaced``: with a lock it is correct."""
    guarded_looks.function_of_a_database_replaced(threading.Lock())


def locked_place_in_a_blob() -> None:
    """See ``guarded_looks.place_in_a_blob``: with a lock it is correct."""
    guarded_looks.place_in_a_blob(threading.Lock())


def locked_bytes_for_tls() -> None:
    """See ``guarded_looks.bytes_for_tls``: with a lock it is correct."""
    guarded_looks.bytes_for_tls(threading.Lock())


def locked_ends_of_lines_decoded() -> None:
    """See ``guarded_looks.ends_of_lines_decoded``: with a lock it is correct."""
    guarded_looks.ends_of_lines_decoded(threading.Lock())


def locked_local_names_of_executed_code() -> None:
    """See ``guarded_looks.local_names_of_executed_code``: with a lock it is correct."""
    guarded_looks.local_names_of_executed_code(threading.Lock())


def locked_attribute_that_a_class_gets_late() -> None:
    """See ``guarded_looks.attribute_that_a_class_gets_late``: with a lock it is correct."""
    guarded_looks.attribute_that_a_class_gets_late(threading.Lock())
