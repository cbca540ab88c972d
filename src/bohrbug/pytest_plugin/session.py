"""What the tests of a session share: its options, its budget, and what is kept between sessions."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Failure, Result
from bohrbug.pytest_plugin import internals
from bohrbug.pytest_plugin.execution import ItemExecution
from bohrbug.pytest_plugin.live_options import live_settings
from bohrbug.pytest_plugin.options import of_sessions, options_of
from bohrbug.pytest_plugin.remembering import durations_of, memory_of
from bohrbug.pytest_plugin.session_budget import session_budget_of
from bohrbug.pytest_plugin.unchanged import unchanged_tests_of
from bohrbug.pytest_plugin.warning_filters import ignores_exceptions_of_thread
from bohrbug.runtime.threads.captured import Captured
from bohrbug.runtime.threads.thread_errors import Expected

if TYPE_CHECKING:
    from bohrbug.exploration.reproduction import Reproduction

_TIMEOUT_SHARE = 0.8
"""The part of the time that pytest-timeout grants which an exploration may use."""

_WIDTH, _COLOR, _ENCODING = "bohrbug_width", "bohrbug_color", "bohrbug_encoding"


class Session:
    """A session of pytest in which tests are explored, replayed or run live.

    Parameters:
        config: of pytest.
        settings: the options of its tests, unless a marker says otherwise.
        reproduction: to replay, or ``None``.

    Attributes:
        reproduction: see above.
        live: how tests are run live, if they are.
        pages: the folder for a page of each test, if any.
        memory: the failures of earlier sessions.
        unchanged: the tests that held in earlier sessions.
        durations: how long tests took in earlier sessions.
        budget: the time that all tests may take, if it is limited.
        timeouts: seconds that pytest-timeout grants, by the id of a test.
        plain: why tests are run as always, by their ids.
        running: what executes the running test, unless that is run as always.
    """

    def __init__(
        self, config: pytest.Config, settings: dict[str, Any], reproduction: Reproduction | None
    ) -> None:
        self._config = config
        self._settings = settings
        self._usual = ExploreOptions(**settings)
        self._options: dict[str, ExploreOptions] = {}
        self.reproduction = reproduction
        self.live = live_settings(config)
        is_explored = reproduction is None and self.live is None
        pages = config.getoption("bohrbug_html") if is_explored else None
        self.pages = None if pages is None else Path(config.invocation_params.dir, pages)
        self.memory = memory_of(config) if is_explored else None
        self.unchanged = unchanged_tests_of(config) if is_explored else None
        self.durations = durations_of(config) if is_explored else None
        lasted = {} if self.durations is None else self.durations.read()
        budget = session_budget_of(config, of_sessions(config), lasted) if is_explored else None
        self.budget = budget
        self.timeouts: dict[str, float] = {}
        self.plain: dict[str, str] = {}
        self.running: ItemExecution | None = None

    def begin(self, items: list[pytest.Item]) -> None:
        """Check the markers of all tests before the first one.

        Raises:
            pytest.UsageError: a marker makes no sense.
        """
        for item in items:
            self._options[item.nodeid] = options_of(item, self._settings, self._usual)
            if self.memory is not None and self._config.getoption("bohrbug_forget"):
                self.memory.forget(item.nodeid)
                if self.unchanged is not None:
                    self.unchanged.forget(item)
        if self.budget is not None:
            self.budget.expect([item.nodeid for item in items])

    def options_for(self, item: pytest.Item) -> ExploreOptions:
        """The options of a test, within what pytest-timeout grants."""
        options = self._options.get(item.nodeid)
        if options is None:
            options = options_of(item, self._settings, self._usual)
        timeout = self.timeouts.get(item.nodeid)
        if timeout and (options.seconds is None or options.seconds > timeout * _TIMEOUT_SHARE):
            options = replace(options, seconds=timeout * _TIMEOUT_SHARE)
        return options

    def within_budget(self, item: pytest.Item, options: ExploreOptions) -> ExploreOptions:
        """Options of the test that begins now, within what the session grants."""
        if self.budget is None:
            return options
        return replace(options, seconds=self.budget.begin(item.nodeid, options.seconds))

    def asyncio_errors_of(self, item: pytest.Item) -> str:
        """What becomes of what asyncio only logs: ``"note"`` or ``"fail"``."""
        if self.reproduction is not None:
            # Older files have it with the test.
            known = self.reproduction.target.get("asyncio_errors")
            return str(known or self.reproduction.options.asyncio_errors)
        return self.options_for(item).asyncio_errors

    @contextmanager
    def executing(self, execution: ItemExecution) -> Generator[None]:
        """While a test is explored, replayed or run live."""
        usual = Expected.says_so
        self.running = execution
        Captured.handler = internals.log_handler(execution.item)
        Captured.streams = internals.captured_streams(execution.item.config)
        Expected.says_so = staticmethod(ignores_exceptions_of_thread)
        try:
            yield
        finally:
            self.running = None
            Captured.handler = None
            Captured.streams = ()
            Expected.says_so = usual

    # -- reports -----------------------------------------------------------------------

    def text_of(self, failure: Failure, item: pytest.Item, result: Result | None) -> str:
        """The report of a failure, for the terminal that pytest writes to."""
        from bohrbug.report.text import failure_text

        given = getattr(self._config, "workerinput", {})
        writer = self._config.get_terminal_writer()
        path = failure.reproduction if result is not None else None
        return failure_text(
            failure,
            width=given.get(_WIDTH, writer.fullwidth),
            color=given.get(_COLOR, writer.hasmarkup),
            encoding=given.get(_ENCODING, _encoding(sys.__stdout__)),
            replay_command="" if path is None else self.replay_command(path),
            test=item.nodeid,
            executions=None if result is None else result.executions,
            seconds=None if result is None else result.seconds,
        )

    def tell_worker_of_terminal(self, worker: dict[str, Any]) -> None:
        """A worker of pytest-xdist writes reports for a terminal that it can't see.

        Parameters:
            worker: its input.
        """
        writer = self._config.get_terminal_writer()
        worker[_WIDTH] = writer.fullwidth
        worker[_COLOR] = writer.hasmarkup
        worker[_ENCODING] = _encoding(sys.stdout)

    def replay_command(self, path: Path) -> str:
        """The command that replays a file, to be typed where pytest was started."""
        folder = self._config.invocation_params.dir
        try:
            shown = path.relative_to(folder)
        except ValueError:
            shown = path
        return f"bohrbug replay {shlex.quote(str(shown))}"


def _encoding(stream: Any) -> str:
    return getattr(stream, "encoding", None) or "ascii"
