"""State of the process and of the library: nobody guards them."""

from __future__ import annotations

import contextlib

from tests.programs import guarded_state


def texts_in_an_element() -> None:
    """One text is changed already, the other one is not."""
    guarded_state.texts_in_an_element(contextlib.nullcontext())


def text_found_in_an_element() -> None:
    """Another text is found the second time."""
    guarded_state.text_found_in_an_element(contextlib.nullcontext())


def size_of_a_list() -> None:
    """It takes more memory the second time."""
    guarded_state.size_of_a_list(contextlib.nullcontext())


def logger_made_for_both() -> None:
    """Both find that there is no such logger."""
    guarded_state.logger_made_for_both(contextlib.nullcontext())
