"""Looks into primitives and objects of the library: nobody guards them."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_looks


def attribute_of_a_thread() -> None:
    """One of two increments is lost: the program keeps a number in a thread."""
    guarded_looks.attribute_of_a_thread(contextlib.nullcontext())


def attribute_of_an_executor() -> None:
    """One of two increments is lost: the program keeps a number in an executor."""
    guarded_looks.attribute_of_an_executor(contextlib.nullcontext())


def items_of_a_queue_gone_through() -> None:
    """The deque changes during iteration."""
    guarded_looks.items_of_a_queue_gone_through(contextlib.nullcontext())


def queue_emptied_behind_its_back() -> None:
    """The item is gone before it is got."""
    guarded_looks.queue_emptied_behind_its_back(contextlib.nullcontext())


def room_of_a_queue() -> None:
    """The queue has less room than it had when it was asked."""
    guarded_looks.room_of_a_queue(contextlib.nullcontext())


def text_of_a_lock() -> None:
    """The text of a lock tells that it was released."""
    guarded_looks.text_of_a_lock(contextlib.nullcontext())


def text_of_an_event() -> None:
    """The text of an event tells that it was set."""
    guarded_looks.text_of_an_event(contextlib.nullcontext())


def text_of_a_future() -> None:
    """The text of a future tells that it has a result."""
    guarded_looks.text_of_a_future(contextlib.nullcontext())


def poller_that_forgets_a_socket() -> None:
    """The socket is no longer registered the second time."""
    guarded_looks.poller_that_forgets_a_socket(contextlib.nullcontext())


def selector_that_is_closed() -> None:
    """The selector is closed before it is asked."""
    guarded_looks.selector_that_is_closed(contextlib.nullcontext())


def socket_that_is_closed() -> None:
    """The socket is closed between the look at its number and its use."""
    guarded_looks.socket_that_is_closed(contextlib.nullcontext())


def records_in_a_buffer() -> None:
    """The buffer was flushed between two looks."""
    guarded_looks.records_in_a_buffer(contextlib.nullcontext())


def logger_that_is_disabled() -> None:
    """The record is dropped."""
    guarded_looks.logger_that_is_disabled(contextlib.nullcontext())


def what_an_adapter_adds() -> None:
    """The record has one of two values from before."""
    guarded_looks.what_an_adapter_adds(contextlib.nullcontext())


def message_of_a_record() -> None:
    """The format has got another place, and not yet what goes there."""
    guarded_looks.message_of_a_record(contextlib.nullcontext())


def name_of_a_level() -> None:
    """The level has the other name."""
    guarded_looks.name_of_a_level(contextlib.nullcontext())


def way_to_show_warnings() -> None:
    """The warning is shown to somebody else."""
    guarded_looks.way_to_show_warnings(contextlib.nullcontext())


def length_of_short_texts() -> None:
    """The text is shorter than it should be."""
    guarded_looks.length_of_short_texts(contextlib.nullcontext())


def tree_that_is_transformed() -> None:
    """One of two transformations is lost."""
    guarded_looks.tree_that_is_transformed(contextlib.nullcontext())


def match_of_a_lexer() -> None:
    """A token is taken for that of the other text."""
    guarded_looks.match_of_a_lexer(contextlib.nullcontext())


def view_that_is_released() -> None:
    """The view is released after the first look."""
    guarded_looks.view_that_is_released(contextlib.nullcontext())


def mapping_that_is_closed() -> None:
    """The memory is unmapped after the look whether it is."""
    guarded_looks.mapping_that_is_closed(contextlib.nullcontext())


def cursor_that_is_closed() -> None:
    """The cursor is closed before it is used."""
    guarded_looks.cursor_that_is_closed(contextlib.nullcontext())


def function_of_a_database_replaced() -> None:
    """The statement calls the function of the other task."""
    guarded_looks.function_of_a_database_replaced(contextlib.nullcontext())


def place_in_a_blob() -> None:
    """The other task has gone elsewhere in it."""
    guarded_looks.place_in_a_blob(contextlib.nullcontext())


def bytes_for_tls() -> None:
    """The bytes are gone before they are read."""
    guarded_looks.bytes_for_tls(contextlib.nullcontext())


def ends_of_lines_decoded() -> None:
    """The end of one line is taken for that of another."""
    guarded_looks.ends_of_lines_decoded(contextlib.nullcontext())


def local_names_of_executed_code() -> None:
    """One of two increments is lost."""
    guarded_looks.local_names_of_executed_code(contextlib.nullcontext())


def attribute_that_a_class_gets_late() -> None:
    """The second look finds it."""
    guarded_looks.attribute_that_a_class_gets_late(contextlib.nullcontext())
