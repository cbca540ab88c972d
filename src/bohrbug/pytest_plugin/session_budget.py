"""The time that a whole session may take, shared out among its tests."""

from __future__ import annotations

import os
import re
import time

import pytest

LEAST = 0.2
"""Seconds that a test gets at least, as long as anything is left."""

MOST_SHARES = 4
"""Shares that a test gets at most, as long as it goes on to show what is new."""

_PARTS = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")
_now = time.perf_counter


def seconds_of(text: str) -> float:
    """The seconds that a duration stands for, such as ``10m``, ``1h30m``, ``90s`` or ``90``.

    Raises:
        ValueError: it is none, or 0.
    """
    words = text.replace(" ", "").lower()
    found = _PARTS.fullmatch(words)
    if not words or found is None:
        raise ValueError(f"{text!r} is no duration: write it as 90s, 10m or 1h30m")
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    total = hours * 3600 + minutes * 60 + seconds
    if not total:
        raise ValueError(f"{text!r}: a session needs more time than none")
    return total


def session_budget_of(config: pytest.Config) -> SessionBudget | None:
    """The budget of a session; ``None`` if there is none.

    Raises:
        pytest.UsageError: what was given is no duration.
    """
    typed = config.getoption("bohrbug_budget")
    text = typed or config.getini("bohrbug_budget")
    if not text:
        return None
    try:
        return SessionBudget(seconds_of(text), text.strip())
    except ValueError as error:
        where = "--bohrbug-budget" if typed else "bohrbug_budget"
        raise pytest.UsageError(f"bohrbug: {where}: {error}") from error


class SessionBudget:
    """How long each test may be explored, so that all of them take as long as they may.

    A test gets an equal share of what is left, among as many tests as are likely to have several
    tasks: the others are over at once.  One that has shown something new in the second half of its
    time gets another share.

    Parameters:
        seconds: of real time that the session may take.
        words: the same, as it was given.
    """

    def __init__(self, seconds: float, words: str) -> None:
        self.words = words
        self._end = _now() + seconds
        self._left = 0.0
        self._ended = self._concurrent = 0
        self._share = 0.0
        self._shares = 0

    def expect(self, tests: int) -> None:
        """So many tests are to come, for all processes of pytest-xdist together."""
        self._left = tests / int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))

    @property
    def is_spent(self) -> bool:
        """Whether no time is left for exploring."""
        return _now() >= self._end

    def begin(self) -> float:
        """Seconds for the test that begins now."""
        likely = (self._concurrent + 1) / (self._ended + 1)
        expected = max(self._left * likely, 1.0)
        self._share = max((self._end - _now()) / expected, LEAST)
        self._shares = 1
        return self._share

    def more(self, shows_new: bool) -> float:
        """Seconds more for the test, once it has used up what it had.

        Parameters:
            shows_new: whether it has shown something new lately.
        """
        if not shows_new or self._shares == MOST_SHARES or self.is_spent:
            return 0.0
        self._shares += 1
        return min(self._share, self._end - _now())

    def end(self, is_concurrent: bool) -> None:
        """A test has ended.

        Parameters:
            is_concurrent: whether it had several tasks.
        """
        self._left = max(self._left - 1, 0.0)
        self._ended += 1
        self._concurrent += is_concurrent
