"""The time that a whole session may take, shared out among its tests."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from bohrbug.exploration.durations import Lasted

LEAST = 0.2
"""Seconds that a test gets at least, as long as anything is left."""

MOST_SHARES = 4
"""Shares that a test gets at most, as long as it goes on to show what is new."""

_PARTS = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")
_now = time.perf_counter
_wall_clock = time.time

_END = "bohrbug_budget_end"
"""Where the input of a worker of pytest-xdist says when the session is to end: workers take seconds
to start, which are the session's."""


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


def session_budget_of(
    config: pytest.Config, settings: Mapping[str, Any], lasted: Mapping[str, Lasted]
) -> SessionBudget | None:
    """The budget of a session; ``None`` if there is none.

    The command line wins over the ini file, that over ``[tool.bohrbug]``.

    Parameters:
        config: of pytest.
        settings: what the table says of sessions.
        lasted: how long tests took in earlier sessions.

    Raises:
        pytest.UsageError: what was given is no duration.
    """
    given = (
        ("--bohrbug-budget", config.getoption("bohrbug_budget")),
        ("bohrbug_budget", config.getini("bohrbug_budget")),
        ("pyproject.toml, [tool.bohrbug]: budget", settings.get("budget")),
    )
    for where, text in given:
        if text:
            try:
                seconds = seconds_of(str(text))
            except ValueError as error:
                raise pytest.UsageError(f"bohrbug: {where}: {error}") from error
            end = getattr(config, "workerinput", {}).get(_END)
            if end is not None:
                # The clocks of two machines may differ.
                seconds = min(max(end - _wall_clock(), 0.0), seconds)
            return SessionBudget(seconds, str(text).strip(), lasted)
    return None


class SessionBudget:
    """How long each test may be explored, so that all of them take as long as they may.

    A test gets an equal share of what is left, among as many tests as are likely to use all that
    they get: those whose time was up in an earlier session and, of tests that nobody knows, as many
    as are likely to have several tasks. What the others took in an earlier session is set aside for
    them. A test that has shown something new in the second half of its time gets another share.
    What is left after the last test goes to those in which something new was still being found.

    Parameters:
        seconds: of real time that the session may take.
        words: the same, as it was given.
        lasted: how long tests took in earlier sessions.
    """

    def __init__(
        self, seconds: float, words: str, lasted: Mapping[str, Lasted] | None = None
    ) -> None:
        self.words = words
        self._end = _now() + seconds
        self._lasted = {} if lasted is None else lasted
        # Of the tests that are still to come: how many nobody knows, how many use all that they
        # get, and the seconds that the others take.
        self._unknown = self._greedy = self._set_aside = 0.0
        # Of tests that nobody knew.
        self._ended = self._concurrent = 0
        self._is_unknown = True
        self._share = self._granted = 0.0
        self._most = math.inf
        self._shares = 0

    def tell_worker(self, worker: dict[str, Any]) -> None:
        """A worker of pytest-xdist has no more time than is left.

        Parameters:
            worker: its input.
        """
        worker[_END] = _wall_clock() + self.left

    def expect(self, tests: Collection[str]) -> None:
        """These tests are to come, for all processes of pytest-xdist together."""
        processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        for test in tests:
            self._count(test, 1 / processes)

    def _count(self, test: str, part: float) -> None:
        lasted = self._lasted.get(test)
        if lasted is None:
            self._unknown += part
        elif lasted.ended:
            self._set_aside += lasted.seconds * part
        else:
            self._greedy += part

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(self._end - _now(), 0.0)

    @property
    def is_spent(self) -> bool:
        """Whether no time is left for exploring."""
        return _now() >= self._end

    def leave_out(self, test: str) -> None:
        """A test begins that is not explored."""
        self._count(test, -1.0)

    def begin(self, test: str, most: float | None = None) -> float:
        """Seconds for the test that begins now.

        Parameters:
            test: its name.
            most: seconds that it may have at most, however much is left.
        """
        self._count(test, -1.0)
        self._is_unknown = test not in self._lasted
        likely = (self._concurrent + 1) / (self._ended + 1)
        own = likely if self._is_unknown else 1.0
        expected = max(max(self._greedy, 0.0) + max(self._unknown, 0.0) * likely + own, 1.0)
        free = self._end - _now() - max(self._set_aside, 0.0)
        self._most = math.inf if most is None else most
        self._share = self._granted = min(max(free / expected, LEAST), self._most)
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
        more = max(min(self._share, self.left, self._most - self._granted), 0.0)
        self._granted += more
        return more

    def end(self, is_concurrent: bool) -> None:
        """The test that has begun last has ended.

        Parameters:
            is_concurrent: whether it had several tasks.
        """
        if self._is_unknown:
            self._ended += 1
            self._concurrent += is_concurrent

    def again(self, tests: int, spent: float, most: float | None) -> float:
        """Seconds more for a test, once all others had their turn.

        Parameters:
            tests: that are to have some, this one included.
            spent: seconds that it had up to now.
            most: seconds that it may have at most in all.
        """
        allowed = math.inf if most is None else most - spent
        return max(min(self.left / tests, allowed), 0.0)
