"""The plugin proper: the hooks of pytest by which items are explored or replayed."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bohrbug.exploration.durations import Lasted
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Failure, Result
from bohrbug.pytest_plugin import async_items, hooks, internals
from bohrbug.pytest_plugin.execution import ItemExecution
from bohrbug.pytest_plugin.item_protocol import ItemProtocol
from bohrbug.pytest_plugin.measuring import tell_coverage
from bohrbug.pytest_plugin.options import of_sessions, options_of, session_settings
from bohrbug.pytest_plugin.remembering import durations_of, memory_of
from bohrbug.pytest_plugin.second_pass import SecondPass
from bohrbug.pytest_plugin.session_budget import session_budget_of
from bohrbug.pytest_plugin.summary import ATTRIBUTE, Summary
from bohrbug.pytest_plugin.target import argument_for, is_target
from bohrbug.pytest_plugin.unchanged import unchanged_tests_of
from bohrbug.pytest_plugin.warning_filters import ignores_exceptions_of_thread
from bohrbug.runtime.threads.captured import Captured
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.installation import installation
from bohrbug.runtime.threads.thread_errors import Expected
from bohrbug.runtime.threads.watchdog import lasting_watchdog

if TYPE_CHECKING:
    from bohrbug.exploration.reproduction import Reproduction
    from bohrbug.live.options import LiveOptions
    from bohrbug.pytest_plugin.pages import SessionIndex

_TIMEOUT_SHARE = 0.8
"""The part of the time that pytest-timeout grants which an exploration may use."""

_WIDTH, _COLOR, _ENCODING = "bohrbug_width", "bohrbug_color", "bohrbug_encoding"


def register(config: pytest.Config) -> None:
    """Check the settings, take control and register the plugin.

    Raises:
        pytest.UsageError: a setting or the reproduction file makes no sense.
    """
    settings = session_settings(config)
    file = config.getoption("bohrbug_replay")
    reproduction = None
    if file is not None:
        if config.getoption("bohrbug_html") is not None:
            raise pytest.UsageError(
                "--bohrbug-html is for explorations; for a replay: bohrbug replay --html PAGE FILE"
            )
        if config.getoption("bohrbug_times") < 1:
            raise pytest.UsageError("--bohrbug-times must be at least 1")
        # All that few sessions need is loaded where they do: it is a third of the time to start.
        from bohrbug.exploration.reproduction import ReproductionError, read_reproduction
        from bohrbug.pytest_plugin.debugging import debugger_of

        debugger_of(config)
        try:
            reproduction = read_reproduction(Path(file))
        except ReproductionError as error:
            raise pytest.UsageError(f"bohrbug: {error}") from error
        if reproduction.target.get("kind") != "pytest":
            raise pytest.UsageError(f"bohrbug: {file} is not of a pytest test; use: bohrbug replay")
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args = [argument_for(reproduction.target, config.rootpath)]
    if tuple(int(part) for part in pytest.__version__.split(".")[:2]) < (8, 4):
        # There it replaces threading.excepthook around each phase, and hides exceptions of threads.
        config.pluginmanager.unregister(name="threadexception")
    plugin = BohrbugPlugin(config, settings, reproduction)
    config.pluginmanager.add_hookspecs(hooks)
    config.pluginmanager.register(plugin, "bohrbug-exploring")
    tell_coverage()
    installation.install()
    config.add_cleanup(installation.restore)
    if plugin.live is None:
        lasting_watchdog.__enter__()
        config.add_cleanup(lambda: lasting_watchdog.__exit__())


class BohrbugPlugin:
    """Hooks that are there only with ``--bohrbug`` or ``--bohrbug-replay``.

    Parameters:
        config: of pytest.
        settings: of the session.
        reproduction: to replay, or ``None`` to explore.
    """

    def __init__(
        self, config: pytest.Config, settings: dict[str, Any], reproduction: Reproduction | None
    ) -> None:
        self._config = config
        self._settings = settings
        self._reproduction = reproduction
        self._usual = ExploreOptions(**settings)
        self._options: dict[str, ExploreOptions] = {}
        self._timeouts: dict[str, float] = {}
        self._plain: dict[str, str] = {}
        self._summary = Summary()
        self.live = _live_settings(config)
        is_explored = reproduction is None and self.live is None
        pages = config.getoption("bohrbug_html") if is_explored else None
        self.pages = None if pages is None else Path(config.invocation_params.dir, pages)
        is_worker = hasattr(config, "workerinput")
        self._index = None if self.pages is None or is_worker else _index_in(self.pages)
        self.memory = memory_of(config) if is_explored else None
        self.unchanged = unchanged_tests_of(config) if is_explored else None
        self._durations = durations_of(config) if is_explored else None
        lasted = {} if self._durations is None else self._durations.read()
        sessions = session_budget_of(config, of_sessions(config), lasted) if is_explored else None
        self.budget = sessions
        self.second_pass = None if sessions is None else SecondPass(sessions)
        # How long the tests of this session have taken.
        self._lasted: dict[str, Lasted] = {}
        self._began = 0.0
        self._cut: set[str] = set()
        # The item that is being executed, by us and not as always.
        self._running: ItemExecution | None = None

    # -- which tests -------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Check all markers before the first test; leave out what is not to be replayed."""
        for item in items:
            self._options[item.nodeid] = options_of(item, self._settings, self._usual)
            if self.memory is not None and config.getoption("bohrbug_forget"):
                self.memory.forget(item.nodeid)
                if self.unchanged is not None:
                    self.unchanged.forget(item)
        if self.budget is not None:
            self.budget.expect([item.nodeid for item in items])
        if self._reproduction is not None:
            target = self._reproduction.target
            others = [item for item in items if not is_target(item, target)]
            if len(others) == len(items):
                raise pytest.UsageError(
                    f"bohrbug: the test {target['node']} is not among those collected"
                )
            items[:] = [item for item in items if is_target(item, target)]
            config.hook.pytest_deselected(items=others)

    def _why_plain(self, item: pytest.Item) -> str | None:
        """Why a test is run as always; ``None`` if it is explored."""
        if not isinstance(item, pytest.Function):
            return f"{type(item).__name__} is not a Python function"
        if internals.is_hypothesis_test(item):
            return "hypothesis draws other examples in each execution"
        return async_items.why_as_always(item)

    def is_plain(self, item: pytest.Item, why: str) -> None:
        """A test is run as always: some that are to be explored turn out to be such."""
        self._plain[item.nodeid] = why

    # -- other plugins -----------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Any) -> None:
        """pytest-timeout tells how long a test may take."""
        self._timeouts[item.nodeid] = settings.timeout

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """pytest-xdist starts a worker, which can't see the terminal."""
        writer = self._config.get_terminal_writer()
        node.workerinput[_WIDTH] = writer.fullwidth
        node.workerinput[_COLOR] = writer.hasmarkup
        node.workerinput[_ENCODING] = _encoding(sys.stdout)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        """Fixtures of wider scopes outlive the execution that needs them first: not controlled."""
        execution = controlled()
        if execution is None or fixturedef.scope == "function":
            value = yield
            if fixturedef.argname == "subtests" and self._running is not None:
                internals.keep_subtests_of_fixture(value, self._running.note_subtest)
            return value
        execution.suspended += 1
        try:
            return (yield)
        finally:
            execution.suspended -= 1

    # -- running -----------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Any:
        """Explore an item instead of running it once."""
        if self._config.getoption("setuponly", False) or self._config.getoption("setupshow", False):
            return None
        why = self._why_plain(item)
        if why is None and self.budget is not None and self.budget.is_spent:
            why = f"the budget of {self.budget.words} was spent"
        self._began = time.perf_counter()
        if why is not None or not isinstance(item, pytest.Function):
            self.is_plain(item, why or "")
            if self.budget is not None:
                self.budget.leave_out(item.nodeid)
            return None
        second_pass = self.second_pass
        if second_pass is not None and nextitem is None:
            nextitem = second_pass.first_item
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        try:
            test = ItemProtocol(self, item, nextitem)
            test.run()
            if test.is_cut:
                self._cut.add(item.nodeid)
            if second_pass is not None and test.is_unfinished:
                second_pass.add(test)
        finally:
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def options_for(self, item: pytest.Item) -> ExploreOptions:
        """The options of a test, within what pytest-timeout grants."""
        options = self._options.get(item.nodeid)
        if options is None:
            options = options_of(item, self._settings, self._usual)
        timeout = self._timeouts.get(item.nodeid)
        if timeout and (options.seconds is None or options.seconds > timeout * _TIMEOUT_SHARE):
            options = replace(options, seconds=timeout * _TIMEOUT_SHARE)
        return options

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After the last test, time may be left."""
        try:
            result = yield
        except BaseException:
            # Nobody has reported those that wait for more time.
            if self.second_pass is not None:
                self.second_pass.report()
            raise
        if self.second_pass is not None:
            self.second_pass.run(session)
        return result

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note how long a test has taken, with all that belongs to it."""
        if self._began:
            seconds = time.perf_counter() - self._began
            self._lasted[nodeid] = Lasted(seconds, nodeid not in self._cut)

    def within_budget(self, item: pytest.Item, options: ExploreOptions) -> ExploreOptions:
        """Options of the test that begins now, within what the session grants."""
        if self.budget is None:
            return options
        return replace(options, seconds=self.budget.begin(item.nodeid, options.seconds))

    @contextmanager
    def running(self, execution: ItemExecution) -> Generator[None]:
        """While an item is explored or replayed."""
        usual = Expected.says_so
        self._running = execution
        Captured.handler = internals.log_handler(execution.item)
        Captured.streams = internals.captured_streams(execution.item.config)
        Expected.says_so = staticmethod(ignores_exceptions_of_thread)
        try:
            yield
        finally:
            self._running = None
            Captured.handler = None
            Captured.streams = ()
            Expected.says_so = usual

    def asyncio_errors_of(self, item: pytest.Item) -> str:
        """What becomes of what asyncio only logs: ``"note"`` or ``"fail"``."""
        if self._reproduction is not None:
            # Older files have it with the test.
            known = self._reproduction.target.get("asyncio_errors")
            return str(known or self._reproduction.options.asyncio_errors)
        return self.options_for(item).asyncio_errors

    @property
    def reproduction(self) -> Reproduction | None:
        """What is to be replayed, if anything."""
        return self._reproduction

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

    def replay_command(self, path: Path) -> str:
        """The command that replays a file, to be typed where pytest was started."""
        folder = self._config.invocation_params.dir
        try:
            shown = path.relative_to(folder)
        except ValueError:
            shown = path
        return f"bohrbug replay {shlex.quote(str(shown))}"

    # -- what the terminal shows ---------------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up what tests, also those of workers, have given."""
        data = getattr(report, ATTRIBUTE, None)
        if data is not None:
            self._summary.add(data)
            if self._index is not None:
                self._index.add(report.nodeid, data)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Say of tests that are run as always why."""
        report = yield
        if report.when == "call" and (why := self._plain.get(item.nodeid)) is not None:
            setattr(report, ATTRIBUTE, {"plain": why})
        return report

    def pytest_report_teststatus(self, report: Any, config: pytest.Config) -> Any:
        """The verdict beside the test, with ``-v``."""
        data = getattr(report, ATTRIBUTE, None)
        if data is None or "line" not in data or not report.passed or report.when != "call":
            return None
        if hasattr(report, "wasxfail"):
            return None
        if data["verdict"] == "inconclusive":
            line = data["line"].removeprefix("inconclusive ")
            return "inconclusive", "?", (f"INCONCLUSIVE ({line})", {"yellow": True})
        line = data["line"]
        if "unchanged" in data:
            line += f"; unchanged since {data['unchanged']}"
        return "passed", ".", (f"PASSED ({line})", {"green": True})

    def pytest_sessionfinish(self) -> None:
        """Write what is kept for the next session."""
        if self.unchanged is not None:
            self.unchanged.flush()
        if self._durations is not None:
            self._durations.write(self._lasted)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The section at the end."""
        untold = terminalreporter.config.option.tbstyle == "no"
        self._summary.write(terminalreporter, with_failures=untold)
        if self._index is not None:
            terminalreporter.line(self._index.write())
        for line in self._told_to_others():
            terminalreporter.line(line)

    def _told_to_others(self) -> list[str]:
        """Write what the session leaves for other tools; lines to print."""
        if hasattr(self._config, "workerinput"):
            # The process that started this worker of pytest-xdist knows all of the session.
            return []
        sarif = self._config.getoption("bohrbug_sarif")
        if not sarif and os.environ.get("GITHUB_ACTIONS") != "true":
            return []
        from bohrbug.pytest_plugin import for_ci

        files = self._summary.reproductions
        told = for_ci.told_of(files, {file: self.replay_command(Path(file)) for file in files})
        root = self._config.rootpath
        try:
            if sarif:
                for_ci.write_sarif(self._config.invocation_params.dir / sarif, told, root)
            return for_ci.for_github(told, self._summary.verdicts, root, os.environ)
        except OSError as error:
            return [f"bohrbug: {error.filename}: {error.strerror}"]


def _live_settings(config: pytest.Config) -> LiveOptions | None:
    """See :func:`.live.live_settings`."""
    if not config.getoption("bohrbug_live"):
        return None
    from bohrbug.pytest_plugin.live import live_settings

    return live_settings(config)


def _index_in(folder: Path) -> SessionIndex:
    from bohrbug.pytest_plugin.pages import SessionIndex

    return SessionIndex(folder)


def _encoding(stream: Any) -> str:
    return getattr(stream, "encoding", None) or "ascii"
