"""Buffers that sockets, pipes and databases are handed: our code there sends or fills them."""

from __future__ import annotations

from typing import Any

from bohrbug.runtime.threads.rewrite import by_value, tell
from bohrbug.runtime.threads.rewrite.byte_buffers import fill
from bohrbug.runtime.threads.rewrite.callables import place_of_call


def read_by(name: str, *given: Any) -> None:
    """Code of ours is about to send what it is given, in the place of a function of the library.

    Parameters:
        name: of the function.
        given: bytes, a buffer, or something with several in it.
    """
    if tell.active and any(type(each) is not bytes for each in given):
        by_value.read(given, place_of_call(name))


def filled_by(name: str, given: Any) -> bool:
    """Code of ours is about to receive into what it is given, in the place of such a function.

    Returns:
        Whether anybody was told, and so another task may have run.
    """
    if not tell.active or _is_of_nobody(given):
        return False
    fill(given, place_of_call(name))
    return True


def _is_of_nobody(given: Any) -> bool:
    """Whether memory is shown that is no object of Python's, such as that of a buffered file."""
    if type(given) is not memoryview:
        return False
    try:
        return given.obj is None
    except ValueError:  # released
        return True
