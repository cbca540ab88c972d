"""Archives, messages, servers and sums, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_services


def locked_sum_of_the_accounts() -> None:
    """See ``guarded_services.sum_of_the_accounts``: with a lock it is correct."""
    guarded_services.sum_of_the_accounts(threading.Lock())


def locked_text_joined_from_a_list() -> None:
    """See ``guarded_services.text_joined_from_a_list``: with a lock it is correct."""
    guarded_services.text_joined_from_a_list(threading.Lock())


def locked_members_of_an_archive() -> None:
    """See ``guarded_services.members_of_an_archive``: with a lock it is correct."""
    guarded_services.members_of_an_archive(threading.Lock())


def locked_bytes_in_a_compressed_file() -> None:
    """See ``guarded_services.bytes_in_a_compressed_file``: with a lock it is correct."""
    guarded_services.bytes_in_a_compressed_file(threading.Lock())


def locked_header_of_a_message() -> None:
    """See ``guarded_services.header_of_a_message``: with a lock it is correct."""
    guarded_services.header_of_a_message(threading.Lock())


def locked_parser_that_both_feed() -> None:
    """See ``guarded_services.parser_that_both_feed``: with a lock it is correct."""
    guarded_services.parser_that_both_feed(threading.Lock())


def locked_requests_to_a_server() -> None:
    """See ``guarded_services.requests_to_a_server``: with a lock it is correct."""
    guarded_services.requests_to_a_server(threading.Lock())


def locked_numbers_drawn_again() -> None:
    """See ``guarded_services.numbers_drawn_again``: with a lock it is correct."""
    guarded_services.numbers_drawn_again(threading.Lock())


def locked_bytes_in_a_pipe() -> None:
    """See ``guarded_services.bytes_in_a_pipe``: with a lock it is correct."""
    guarded_services.bytes_in_a_pipe(threading.Lock())


def locked_first_day_of_the_week() -> None:
    """See ``guarded_services.first_day_of_the_week``: with a lock it is correct."""
    guarded_services.first_day_of_the_week(threading.Lock())


def locked_locals_that_are_counted() -> None:
    """See ``guarded_services.locals_that_are_counted``: with a lock it is correct."""
    guarded_services.locals_that_are_counted(threading.Lock())


def locked_proxy_looked_at_twice() -> None:
    """See ``guarded_services.proxy_looked_at_twice``: with a lock it is correct."""
    guarded_services.proxy_looked_at_twice(threading.Lock())


def locked_record_for_a_listener() -> None:
    """See ``guarded_services.record_for_a_listener``: with a lock it is correct."""
    guarded_services.record_for_a_listener(threading.Lock())


def locked_records_kept_for_another_handler() -> None:
    """See ``guarded_services.records_kept_for_another_handler``: with a lock it is correct."""
    guarded_services.records_kept_for_another_handler(threading.Lock())


def locked_formatter_of_a_handler() -> None:
    """See ``guarded_services.formatter_of_a_handler``: with a lock it is correct."""
    guarded_services.formatter_of_a_handler(threading.Lock())


def locked_message_kept_in_a_record() -> None:
    """See ``guarded_services.message_kept_in_a_record``: with a lock it is correct."""
    guarded_services.message_kept_in_a_record(threading.Lock())


def locked_number_in_a_shareable_list() -> None:
    """See ``guarded_services.number_in_a_shareable_list``: with a lock it is correct."""
    guarded_services.number_in_a_shareable_list(threading.Lock())


def locked_value_whose_lock_is_not_held() -> None:
    """See ``guarded_services.value_whose_lock_is_not_held``: with a lock it is correct."""
    guarded_services.value_whose_lock_is_not_held(threading.Lock())


def locked_function_whose_globals_have_no_name() -> None:
    """See ``guarded_services.function_whose_globals_have_no_name``: with a lock it is correct."""
    guarded_services.function_whose_globals_have_no_name(threading.Lock())
