"""A failure, as the formats are given it."""

from __future__ import annotations

from typing import NamedTuple

from bohrbug.exploration.result import Failure


class Told(NamedTuple):
    """A failure, and how to call it.

    Parameters:
        failure: the failure.
        test: its name.
        replay: the command that replays it; may be empty.
    """

    failure: Failure
    test: str
    replay: str = ""
