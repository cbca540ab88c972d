"""The time of a session that is left after its last test goes to those that can still use it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import pytest

from bohrbug.pytest_plugin import internals
from bohrbug.pytest_plugin.session_budget import LEAST, SessionBudget
from bohrbug.report.wording import plural, seconds_in_words

if TYPE_CHECKING:
    from bohrbug.pytest_plugin.item_protocol import ItemProtocol


class SecondPass:
    """Tests that were still finding something new when their time was up.

    They are not reported before it is known whether they get more.

    Parameters:
        budget: of the session.
    """

    def __init__(self, budget: SessionBudget) -> None:
        self._budget = budget
        self._waiting: deque[ItemProtocol] = deque()
        self._done: list[ItemProtocol] = []

    def add(self, test: ItemProtocol) -> None:
        """A test waits for more time, and to be reported."""
        self._waiting.append(test)

    @property
    def first_item(self) -> pytest.Item | None:
        """The test that comes after the last one of the session: fixtures of both may stay."""
        return self._waiting[0].item if self._waiting else None

    def run(self, session: pytest.Session) -> None:
        """Explore on as long as time is left, and report all that is waiting.

        Parameters:
            session: whose tests have all had their turn.
        """
        try:
            if self._waiting and self._goes_on(session):
                self._tell(session)
            while self._waiting and self._goes_on(session):
                self._go_round(session)
        finally:
            self.report()

    def _goes_on(self, session: pytest.Session) -> bool:
        return self._budget.left > LEAST and not (session.shouldfail or session.shouldstop)

    def _go_round(self, session: pytest.Session) -> None:
        """Share out what is left among those that are waiting now."""
        for number in range(len(self._waiting), 0, -1):
            if not self._goes_on(session):
                return
            test = self._waiting.popleft()
            seconds = test.more_seconds(self._budget, number)
            if seconds < LEAST:
                self._done.append(test)
                continue
            internals.tell_worker_of(test.item)
            if not test.explore_on(self.first_item, seconds):
                self._waiting.append(test)

    def report(self) -> None:
        """Report those that are waiting, with what is known of them."""
        tests = [*self._done, *self._waiting]
        self._done.clear()
        self._waiting.clear()
        for test in tests:
            internals.tell_worker_of(test.item)
            test.report()

    def _tell(self, session: pytest.Session) -> None:
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None and not hasattr(session.config, "workerinput"):
            words = f"{plural(len(self._waiting), 'test')} in which something new was still found"
            left = seconds_in_words(self._budget.left)
            reporter.ensure_newline()
            reporter.write_line(f"bohrbug: exploring on, as {left} of the budget are left: {words}")
