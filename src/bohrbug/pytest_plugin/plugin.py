"""The plugin proper: the hooks of pytest by which items are explored or replayed."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bohrbug.exploration.durations import Lasted
from bohrbug.pytest_plugin import async_items, hooks, internals
from bohrbug.pytest_plugin.item_protocol import ItemProtocol
from bohrbug.pytest_plugin.measuring import tell_coverage
from bohrbug.pytest_plugin.options import session_settings
from bohrbug.pytest_plugin.second_pass import SecondPass
from bohrbug.pytest_plugin.session import Session
from bohrbug.pytest_plugin.summary import ATTRIBUTE, Summary
from bohrbug.pytest_plugin.target import argument_for, is_target
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.foreign_greenlets import why_not_controlled
from bohrbug.runtime.threads.heap import pass_over
from bohrbug.runtime.threads.installation import installation
from bohrbug.runtime.threads.watchdog import lasting_watchdog

if TYPE_CHECKING:
    from bohrbug.pytest_plugin.pages import SessionIndex


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
    session = Session(config, settings, reproduction)
    config.pluginmanager.add_hookspecs(hooks)
    config.pluginmanager.register(BohrbugPlugin(config, session), "bohrbug-exploring")
    tell_coverage()
    installation.install()
    config.add_cleanup(installation.restore)
    pass_over()
    if session.live is None:
        lasting_watchdog.__enter__()
        config.add_cleanup(lambda: lasting_watchdog.__exit__())


class BohrbugPlugin:
    """Hooks that are there only with ``--bohrbug``, ``--bohrbug-replay`` or ``--bohrbug-live``.

    Parameters:
        config: of pytest.
        session: what the tests share.
    """

    def __init__(self, config: pytest.Config, session: Session) -> None:
        self._config = config
        self._session = session
        self._summary = Summary()
        pages, is_worker = session.pages, hasattr(config, "workerinput")
        self._index = None if pages is None or is_worker else _index_in(pages)
        self._second_pass = None if session.budget is None else SecondPass(session.budget)
        # How long the tests of this session have taken.
        self._lasted: dict[str, Lasted] = {}
        self._began = 0.0
        self._cut: set[str] = set()

    # -- which tests -------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Check all markers before the first test; leave out what is not to be replayed."""
        self._session.begin(items)
        reproduction = self._session.reproduction
        if reproduction is not None:
            target = reproduction.target
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
        if internals.measures_time(item):
            return "the fixture benchmark measures real time"
        return async_items.why_as_always(item) or why_not_controlled() or None

    # -- other plugins -----------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Any) -> None:
        """pytest-timeout tells how long a test may take."""
        self._session.timeouts[item.nodeid] = settings.timeout

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """pytest-xdist starts a worker, which can't see the terminal."""
        self._session.tell_worker_of_terminal(node.workerinput)
        if self._session.budget is not None:
            self._session.budget.tell_worker(node.workerinput)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        """Fixtures of wider scopes outlive the execution that needs them first: not controlled."""
        execution = controlled()
        if execution is None or fixturedef.scope == "function":
            value = yield
            running = self._session.running
            if fixturedef.argname == "subtests" and running is not None:
                internals.keep_subtests_of_fixture(value, running.note_subtest)
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
        session = self._session
        why = self._why_plain(item)
        if why is None and session.budget is not None and session.budget.is_spent:
            why = f"the budget of {session.budget.words} was spent"
        self._began = time.perf_counter()
        if why is not None or not isinstance(item, pytest.Function):
            session.plain[item.nodeid] = why or ""
            if session.budget is not None:
                session.budget.leave_out(item.nodeid)
            return None
        second_pass = self._second_pass
        if second_pass is not None and nextitem is None:
            nextitem = second_pass.first_item
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        try:
            test = ItemProtocol(session, item, nextitem)
            test.run()
            if test.is_cut:
                self._cut.add(item.nodeid)
            if second_pass is not None and test.is_unfinished:
                second_pass.add(test)
        finally:
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After the last test, time may be left."""
        try:
            result = yield
        except BaseException:
            # Nobody has reported those that wait for more time.
            if self._second_pass is not None:
                self._second_pass.report()
            raise
        if self._second_pass is not None:
            self._second_pass.run(session)
        return result

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note how long a test has taken, with all that belongs to it."""
        if self._began:
            seconds = time.perf_counter() - self._began
            self._lasted[nodeid] = Lasted(seconds, nodeid not in self._cut)

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
        if report.when == "call" and (why := self._session.plain.get(item.nodeid)) is not None:
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
        session = self._session
        if session.unchanged is not None:
            session.unchanged.flush()
        if session.durations is not None:
            session.durations.write(self._lasted)

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
        told = for_ci.told_of(
            files, {file: self._session.replay_command(Path(file)) for file in files}
        )
        root = self._config.rootpath
        try:
            if sarif:
                for_ci.write_sarif(self._config.invocation_params.dir / sarif, told, root)
            return for_ci.for_github(told, self._summary.verdicts, root, os.environ)
        except OSError as error:
            return [f"bohrbug: {error.filename}: {error.strerror}"]


def _index_in(folder: Path) -> SessionIndex:
    from bohrbug.pytest_plugin.pages import SessionIndex

    return SessionIndex(folder)
