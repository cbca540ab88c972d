"""Archives, messages, servers and sums: nobody guards it."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_services


def sum_of_the_accounts() -> None:
    """What is on its way from one account to the other is in neither."""
    guarded_services.sum_of_the_accounts(contextlib.nullcontext())


def text_joined_from_a_list() -> None:
    """One word is new, the other one is not."""
    guarded_services.text_joined_from_a_list(contextlib.nullcontext())


def members_of_an_archive() -> None:
    """ValueError: another member is open for writing."""
    guarded_services.members_of_an_archive(contextlib.nullcontext())


def bytes_in_a_compressed_file() -> None:
    """Bytes of the other task come in between."""
    guarded_services.bytes_in_a_compressed_file(contextlib.nullcontext())


def header_of_a_message() -> None:
    """The message has two of it."""
    guarded_services.header_of_a_message(contextlib.nullcontext())


def parser_that_both_feed() -> None:
    """Half a tag is followed by half another one."""
    guarded_services.parser_that_both_feed(contextlib.nullcontext())


def requests_to_a_server() -> None:
    """A request is not counted: each has a thread of its own."""
    guarded_services.requests_to_a_server(contextlib.nullcontext())


def numbers_drawn_again() -> None:
    """The other task has drawn in between, and the number is another one."""
    guarded_services.numbers_drawn_again(contextlib.nullcontext())


def bytes_in_a_pipe() -> None:
    """Bytes of the other task come in between."""
    guarded_services.bytes_in_a_pipe(contextlib.nullcontext())


def first_day_of_the_week() -> None:
    """The week begins as the other task has it."""
    guarded_services.first_day_of_the_week(contextlib.nullcontext())


def locals_that_are_counted() -> None:
    """One of two threads is not counted: each makes its own values, and counts in one place."""
    guarded_services.locals_that_are_counted(contextlib.nullcontext())


def proxy_looked_at_twice() -> None:
    """There is one more the second time."""
    guarded_services.proxy_looked_at_twice(contextlib.nullcontext())


def record_for_a_listener() -> None:
    """The record is between those of the other task."""
    guarded_services.record_for_a_listener(contextlib.nullcontext())


def records_kept_for_another_handler() -> None:
    """The record is between those of the other task."""
    guarded_services.records_kept_for_another_handler(contextlib.nullcontext())


def formatter_of_a_handler() -> None:
    """The text is made by the formatter of the other task."""
    guarded_services.formatter_of_a_handler(contextlib.nullcontext())


def message_kept_in_a_record() -> None:
    """What a formatter keeps in the record takes the place of what was there."""
    guarded_services.message_kept_in_a_record(contextlib.nullcontext())


def number_in_a_shareable_list() -> None:
    """One of two increments is lost."""
    guarded_services.number_in_a_shareable_list(contextlib.nullcontext())


def value_whose_lock_is_not_held() -> None:
    """One of two increments is lost: the lock of the value is held by each half of them."""
    guarded_services.value_whose_lock_is_not_held(contextlib.nullcontext())


def function_whose_globals_have_no_name() -> None:
    """One of two increments is lost, by a function whose globals have no name."""
    guarded_services.function_whose_globals_have_no_name(contextlib.nullcontext())
