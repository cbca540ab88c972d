"""Programs around state of the library, each with a lock that it takes or one that guards nothing.

With a lock each is correct, without one some interleaving breaks it.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import xml.etree.ElementTree as Trees
from collections.abc import Callable
from typing import Any

from tests.programs.together import together

Guard = contextlib.AbstractContextManager[Any]


def _looked_at_twice(guard: Guard, change: Callable[[], object], look: Callable[[], Any]) -> None:
    """A task looks twice and wants to see the same, while another one changes something once."""
    seen: list[bool] = []

    def work() -> None:
        with guard:
            same = look() == look()
        seen.append(same)

    def other() -> None:
        with guard:
            change()

    together(work, other)
    assert seen == [True]


def _elements() -> tuple[Trees.Element, Trees.Element, Trees.Element]:
    root = Trees.fromstring("<a><b>0</b><c>0</c></a>")
    return root, root[0], root[1]


def texts_in_an_element(guard: Guard) -> None:
    """One text is changed already, the other one is not."""
    root, one, other = _elements()
    seen: list[str] = []

    def change() -> None:
        with guard:
            one.text = "1"
            other.text = "1"

    def read() -> None:
        with guard:
            text = "".join(root.itertext())
        seen.append(text)

    together(change, read)
    assert seen[0] in ("00", "11")


def text_found_in_an_element(guard: Guard) -> None:
    """Another text is found the second time."""
    root, one, _ = _elements()
    _looked_at_twice(guard, lambda: setattr(one, "text", "1"), lambda: root.findtext("b"))


def size_of_a_list(guard: Guard) -> None:
    """It takes more memory the second time."""
    numbers: list[int] = []
    _looked_at_twice(guard, lambda: numbers.extend(range(20)), lambda: sys.getsizeof(numbers))


def logger_made_for_both(guard: Guard) -> None:
    """Both find that there is no such logger."""
    manager = logging.Manager(logging.RootLogger(logging.WARNING))
    made: list[logging.Logger] = []

    def work() -> None:
        with guard:
            if "name" not in manager.loggerDict:
                made.append(manager.getLogger("name"))

    together(work, work)
    assert len(made) == 1
