"""The plugin proper: explores or replays items in place of running them once."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from bohrbug.api import BohrbugFailure, write_reproduction
from bohrbug.debugger import ReplayDebugger
from bohrbug.exploration.explorer import Explorer
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.replaying import replay
from bohrbug.exploration.reproduction import (
    DIRECTORY,
    Reproduction,
    ReproductionError,
    read_reproduction,
)
from bohrbug.exploration.result import Failure, Result, Verdict, VerdictKind
from bohrbug.pytest_plugin import hooks, internals
from bohrbug.pytest_plugin.alarms import AlarmGuard
from bohrbug.pytest_plugin.execution import ItemExecution
from bohrbug.pytest_plugin.measuring import one_tracer_for_all_tasks, tell_coverage
from bohrbug.pytest_plugin.options import options_of, session_settings
from bohrbug.pytest_plugin.progress import SessionProgress
from bohrbug.pytest_plugin.remembering import memory_of, update_memory
from bohrbug.pytest_plugin.summary import ATTRIBUTE, Summary, report_data
from bohrbug.report.replayed import failure_replayed, replay_words
from bohrbug.report.text import failure_text
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.installation import installation

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
        if config.getoption("bohrbug_times") < 1:
            raise pytest.UsageError("--bohrbug-times must be at least 1")
        try:
            reproduction = read_reproduction(Path(file))
        except ReproductionError as error:
            raise pytest.UsageError(f"bohrbug: {error}") from error
        if reproduction.target.get("kind") != "pytest":
            raise pytest.UsageError(f"bohrbug: {file} is of no pytest test; use: bohrbug replay")
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args = [reproduction.target["node"]]
    if tuple(int(part) for part in pytest.__version__.split(".")[:2]) < (8, 4):
        # There it replaces threading.excepthook around each phase, and hides exceptions of threads.
        config.pluginmanager.unregister(name="threadexception")
    plugin = BohrbugPlugin(config, settings, reproduction)
    config.pluginmanager.add_hookspecs(hooks)
    config.pluginmanager.register(plugin, "bohrbug-exploring")
    tell_coverage()
    installation.install()
    config.add_cleanup(installation.restore)


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
        self._options: dict[str, ExploreOptions] = {}
        self._timeouts: dict[str, float] = {}
        self._summary = Summary()
        self.memory = memory_of(config) if reproduction is None else None
        # The item that is being executed, by us and not as always.
        self._running: ItemExecution | None = None

    # -- which tests -------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Check all markers before the first test; leave out what is not to be replayed."""
        for item in items:
            self._options[item.nodeid] = options_of(item, self._settings)
            if self.memory is not None and config.getoption("bohrbug_forget"):
                self.memory.forget(item.nodeid)
        if self._reproduction is not None:
            node = self._reproduction.target["node"]
            others = [item for item in items if item.nodeid != node]
            if len(others) == len(items):
                raise pytest.UsageError(f"bohrbug: the test {node} is not among those collected")
            items[:] = [item for item in items if item.nodeid == node]
            config.hook.pytest_deselected(items=others)

    def _why_plain(self, item: pytest.Item) -> str | None:
        """Why a test is run as always; ``None`` if it is explored."""
        if not isinstance(item, pytest.Function):
            return f"{type(item).__name__} is no Python function"
        if internals.is_hypothesis_test(item):
            return "hypothesis draws other examples in each execution"
        return None

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
        if self._why_plain(item) is not None or not isinstance(item, pytest.Function):
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        try:
            _Protocol(self, item, nextitem).run()
        finally:
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def options_for(self, item: pytest.Item) -> ExploreOptions:
        """The options of a test, within what pytest-timeout grants."""
        options = self._options.get(item.nodeid)
        if options is None:
            options = options_of(item, self._settings)
        timeout = self._timeouts.get(item.nodeid)
        if timeout and (options.seconds is None or options.seconds > timeout * _TIMEOUT_SHARE):
            options = replace(options, seconds=timeout * _TIMEOUT_SHARE)
        return options

    @contextmanager
    def running(self, execution: ItemExecution) -> Generator[None]:
        """While an item is explored or replayed."""
        self._running = execution
        try:
            yield
        finally:
            self._running = None

    @property
    def reproduction(self) -> Reproduction | None:
        """What is to be replayed, if anything."""
        return self._reproduction

    def text_of(self, failure: Failure, item: pytest.Item, result: Result | None) -> str:
        """The report of a failure, for the terminal that pytest writes to."""
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

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Say of tests that are run as always why."""
        report = yield
        if report.when == "call" and (why := self._why_plain(item)) is not None:
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
            return "passed", "?", (f"PASSED ({data['line']})", {"yellow": True})
        return "passed", ".", (f"PASSED ({data['line']})", {"green": True})

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The section at the end."""
        self._summary.write(terminalreporter)


def _encoding(stream: Any) -> str:
    return getattr(stream, "encoding", None) or "ascii"


@dataclass(frozen=True, slots=True)
class _Failed:
    """What is to be reported of a test that failed.

    Parameters:
        failure: the first one.
        text: our report; ``None`` where pytest's own says it best.
        result: of the exploration.
    """

    failure: Failure
    text: str | None
    result: Result


class _Protocol:
    """Explores or replays one item, and makes its reports."""

    def __init__(
        self, plugin: BohrbugPlugin, item: pytest.Function, nextitem: pytest.Item | None
    ) -> None:
        self._plugin = plugin
        self._item = item
        self._nextitem = nextitem
        self._started = time.time()
        self._begin = time.perf_counter()
        self._execution: ItemExecution

    def run(self) -> None:
        """The whole protocol of the item."""
        item = self._item
        try:
            if internals.is_async(item):
                self._skip("async tests are not explored yet")
                return
            # Modules and classes are set up once, outside control.
            setup = self._call("setup", lambda: internals.set_up_collectors(item))
            if setup.excinfo is not None:
                self._log(self._report(setup), setup)
                self._phase("teardown", None, None, {})
                return
            # Other plugins expect that the report of the setup is made before the teardown.
            report = self._report(setup)
            self._execution = ItemExecution(item)
            with self._plugin.running(self._execution):
                if self._plugin.reproduction is not None:
                    self._replay(report, self._plugin.reproduction)
                else:
                    self._explore(report)
        finally:
            internals.forget(item)

    # -- exploring -----------------------------------------------------------------------

    def _explore(self, setup: pytest.TestReport) -> None:
        item, execution, plugin = self._item, self._execution, self._plugin
        progress = SessionProgress(item.config)
        remembered = [] if plugin.memory is None else plugin.memory.recall(item.nodeid)
        explorer = Explorer(
            execution,
            item.nodeid,
            plugin.options_for(item),
            progress,
            remembered=remembered,
            settle=lambda number: internals.settle_in_worker(item.config, number),
        )
        with AlarmGuard(explorer.stop) as alarm, one_tracer_for_all_tasks():
            result = explorer.explore()
        progress.close()
        if execution.exit is not None:
            raise execution.exit
        failures = result.failures
        text = None
        if result.untimely or (failures and not _is_plain_failure(failures[0], execution)):
            self._write_reproductions(explorer)
        if failures and not _is_plain_failure(failures[0], execution):
            text = "\n".join(plugin.text_of(failure, item, result) for failure in failures)
        data = report_data(result)
        if plugin.memory is not None:
            data["fixed"] = update_memory(plugin.memory, result, remembered)
            data["trouble"] = plugin.memory.trouble
        item.user_properties.append(("bohrbug", data["line"]))
        if failures:
            self._finish(setup, _Failed(failures[0], text, result), data)
        elif alarm.rang:
            self._finish(setup, None, data, alarm.call_handler)
        else:
            self._finish(setup, None, data)
        if result.interrupted and not alarm.rang:
            raise KeyboardInterrupt

    def _write_reproductions(self, explorer: Explorer) -> None:
        root = self._item.config.rootpath
        target = {"kind": "pytest", "node": self._item.nodeid, "root": str(root)}
        for failure in explorer.result.reproducible:
            write_reproduction(explorer, failure, target, root / DIRECTORY)

    def _finish(
        self,
        setup: pytest.TestReport,
        failed: _Failed | None,
        data: dict[str, Any],
        call_function: Callable[[], object] | None = None,
    ) -> None:
        """Make and log the reports of the three phases.

        Parameters:
            setup: the report of a setup that went well.
            failed: what failed, if anything.
            data: for the summary.
            call_function: raises what the call is to be reported with, if anything.
        """
        execution = self._execution
        internals.sections_of(self._item)[:] = execution.sections
        phase = execution.phase if failed is not None else None
        raises = _raiser(self._error(failed)) if failed is not None else None
        if failed is None and execution.skipped is not None and not execution.passed:
            call_function, data = _raiser(execution.skipped), {}
        if phase == "setup":
            self._phase("setup", raises, failed, data)
        else:
            self._log(setup)
            self._phase("call", raises if phase == "call" else call_function, failed, data)
        self._phase("teardown", raises if phase == "teardown" else None, failed, {})

    def _error(self, failed: _Failed) -> BaseException:
        """What to report: the exception of the test if it is known, for ``xfail(raises=...)``."""
        error = self._execution.error
        if error is not None and _is_kind(error, failed.failure):
            return error
        return BohrbugFailure(failed.text or failed.failure.outcome.message, failed.result)

    def _phase(
        self,
        when: Literal["setup", "call", "teardown"],
        raises: Callable[[], object] | None,
        failed: _Failed | None,
        data: dict[str, Any],
    ) -> None:
        """Report one phase; the teardown also takes down what the next item does not need."""
        item = self._item
        nextitem = self._nextitem
        if item.session.shouldfail or item.session.shouldstop:
            nextitem = None

        def function() -> None:
            if when == "teardown":
                internals.tear_down_collectors(item, nextitem)
            if raises is not None:
                raises()

        call = self._call(when, function)
        report = self._report(call)
        if raises is not None and failed is not None:
            self._dress(report, failed)
        if data:
            setattr(report, ATTRIBUTE, data)
        self._log(report, call)

    def _dress(self, report: pytest.TestReport, failed: _Failed) -> None:
        """Put our report in the place of the usual one."""
        if failed.text is None or not report.failed:
            return
        outcome = failed.failure.outcome
        path, line, _ = self._item.location
        if outcome.stack:
            path, line = outcome.stack[-1].site.filename, outcome.stack[-1].site.line
        report.longrepr = internals.report_representation(
            failed.text, path, line or 0, outcome.message
        )

    # -- replaying -----------------------------------------------------------------------

    def _replay(self, setup: pytest.TestReport, reproduction: Reproduction) -> None:
        config = self._item.config
        # Somebody may do something else with it than replay it.
        if config.hook.pytest_bohrbug_replaying(test=self._execution, uncaptured=self._uncaptured):
            self._finish(setup, None, {})
            return
        debugger = None
        if config.getoption("usepdb", False):
            debugger = ReplayDebugger(reproduction.failure, self._uncaptured)
        try:
            with one_tracer_for_all_tasks():
                replayed = replay(
                    reproduction, self._execution, config.getoption("bohrbug_times"), debugger
                )
        finally:
            if debugger is not None:
                debugger.close()
        config.hook.pytest_bohrbug_replayed(replayed=replayed)
        words = replay_words(reproduction, replayed)
        if replayed.passes:
            self._finish(setup, None, {"replayed": words})
            return
        failure = failure_replayed(reproduction, replayed)
        if replayed.reproduced:
            text = f"{self._plugin.text_of(failure, self._item, None)}\n{words}\n"
        else:
            text = f"{replayed.trace.outcome.message}\n{words}\n"
        result = Result(self._item.nodeid, Verdict(VerdictKind.FAILED), [failure])
        self._finish(setup, _Failed(failure, text, result), {})

    def _uncaptured(self) -> AbstractContextManager[object]:
        manager = self._item.config.pluginmanager.getplugin("capturemanager")
        if manager is None:
            return nullcontext()

        @contextmanager
        def suspended() -> Generator[None]:
            manager.suspend(in_=True)
            try:
                yield
            finally:
                manager.resume()

        return suspended()

    # -- phases and reports ----------------------------------------------------------------

    def _skip(self, reason: str) -> None:
        self._log(self._report(self._call("setup", lambda: pytest.skip(reason))))
        self._phase("teardown", None, None, {})

    def _call(self, when: Any, function: Any) -> pytest.CallInfo[object]:
        begin = self._begin if when == "call" else time.perf_counter()
        call = pytest.CallInfo.from_call(function, when=when, reraise=(pytest.exit.Exception,))
        if when == "call":
            call.duration = time.perf_counter() - begin
            call.start = call.stop - call.duration
        return call

    def _report(self, call: pytest.CallInfo[object]) -> pytest.TestReport:
        report = self._item.ihook.pytest_runtest_makereport(item=self._item, call=call)
        assert isinstance(report, pytest.TestReport)
        return report

    def _log(self, report: pytest.TestReport, call: pytest.CallInfo[object] | None = None) -> None:
        self._item.ihook.pytest_runtest_logreport(report=report)
        if call is not None and self._plugin.reproduction is None:
            internals.interact(self._item, call, report)


def _raiser(error: BaseException) -> Callable[[], object]:
    def raise_it() -> None:
        raise error

    return raise_it


def _is_kind(error: BaseException | None, failure: Failure) -> bool:
    return error is not None and type(error).__name__ == failure.outcome.exception


def _is_plain_failure(failure: Failure, execution: ItemExecution) -> bool:
    """Whether the test fails without any other task, so that pytest's own report says it best."""
    return len(failure.trace.task_infos) <= 1 and _is_kind(execution.error, failure)
