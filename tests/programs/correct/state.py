"""State of the process and of the library, with a lock."""

from __future__ import annotations

import threading

from tests.programs import guarded_state


def locked_texts_in_an_element() -> None:
    """See ``guarded_state.texts_in_an_element``: with a lock it is correct."""
    guarded_state.texts_in_an_element(threading.Lock())


def locked_text_found_in_an_element() -> None:
    """See ``guarded_state.text_found_in_an_element``: with a lock it is correct."""
    guarded_state.text_found_in_an_element(threading.Lock())


def locked_size_of_a_list() -> None:
    """See ``guarded_state.size_of_a_list``: with a lock it is correct."""
    guarded_state.size_of_a_list(threading.Lock())


def locked_logger_made_for_both() -> None:
    """See ``guarded_state.logger_made_for_both``: with a lock it is correct."""
    guarded_state.logger_made_for_both(threading.Lock())
