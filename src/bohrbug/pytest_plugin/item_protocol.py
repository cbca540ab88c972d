"""What happens in place of running an item once: it is explored or replayed, and reported."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from bohrbug.exploration.explorer import Explorer
from bohrbug.exploration.result import Failure, Result, Verdict, VerdictKind
from bohrbug.exploration.saving import GoingOn, Loaded, ResumeError
from bohrbug.exploration.surroundings import Surroundings
from bohrbug.exploration.verdicts import has_seen_a_failure
from bohrbug.paths import DIRECTORY
from bohrbug.platforms.threads.platform import explorer_of
from bohrbug.pytest_plugin import async_items, internals
from bohrbug.pytest_plugin.alarms import AlarmGuard
from bohrbug.pytest_plugin.execution import ItemExecution
from bohrbug.pytest_plugin.foreign_loops import ForeignLoops
from bohrbug.pytest_plugin.measuring import one_tracer_for_all_tasks
from bohrbug.pytest_plugin.progress import SessionProgress
from bohrbug.pytest_plugin.remembering import update_memory
from bohrbug.pytest_plugin.session_budget import LEAST, SessionBudget
from bohrbug.pytest_plugin.summary import ATTRIBUTE, report_data
from bohrbug.pytest_plugin.target import target_of_item
from bohrbug.runtime.threads.loops.logged import AsyncioError

if TYPE_CHECKING:
    from bohrbug.exploration.reproduction import Reproduction
    from bohrbug.exploration.sights import Sights
    from bohrbug.live.options import LiveOptions
    from bohrbug.live.result import LiveResult
    from bohrbug.pytest_plugin.pages import TestPage
    from bohrbug.pytest_plugin.plugin import BohrbugPlugin


BRIEF = 0.05
"""Seconds of virtual time below which a test may as well take them in reality."""


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


@dataclass(frozen=True, slots=True)
class _Unfinished:
    """A test that passes up to now, and has not been reported, as it may get more time.

    Parameters:
        loaded: to go on with; ``None``: that is not possible.
        setup: the report of its setup.
        teardown: the call that has torn down what was around it.
        data: for the summary.
        sections: captured output.
    """

    loaded: Loaded | None
    setup: pytest.TestReport
    teardown: pytest.CallInfo[object]
    data: dict[str, Any]
    sections: internals.Sections


class ItemProtocol:
    """Explores or replays one item, and makes its reports.

    Parameters:
        plugin: with the options, and what the items of a session share.
        item: the item.
        nextitem: the one after it.
    """

    def __init__(
        self, plugin: BohrbugPlugin, item: pytest.Function, nextitem: pytest.Item | None
    ) -> None:
        self._plugin = plugin
        self._item = item
        self._nextitem = nextitem
        self._started = time.time()
        self._begin = time.perf_counter()
        self._took = 0.0
        self._execution: ItemExecution
        # What to report with a run without control that is to follow.
        self._as_always: dict[str, Any] | None = None
        self._is_concurrent = False
        self._is_cut = False
        # What an earlier exploration has left to go on with, and the seconds for that.
        self._earlier: _Unfinished | None = None
        self._seconds = 0.0
        self._unfinished: _Unfinished | None = None

    @property
    def item(self) -> pytest.Function:
        """The item."""
        return self._item

    def run(self) -> None:
        """The whole protocol of the item."""
        item = self._item
        with async_items.own_loops(item):
            self._run()
        if self._as_always is not None:
            self._run_as_always(self._as_always)
        if self._plugin.budget is not None and self._earlier is None:
            self._plugin.budget.end(self._is_concurrent)

    # -- exploring on --------------------------------------------------------------------

    @property
    def is_cut(self) -> bool:
        """Whether its time was up before its exploration was over."""
        return self._is_cut

    @property
    def is_unfinished(self) -> bool:
        """Whether it waits to be explored on, and to be reported."""
        return self._unfinished is not None

    def more_seconds(self, budget: SessionBudget, tests: int) -> float:
        """What it may get of the seconds that are left, among so many tests."""
        unfinished = self._unfinished
        if unfinished is None or unfinished.loaded is None or unfinished.loaded.saved is None:
            return 0.0
        most = self._plugin.options_for(self._item).seconds
        return budget.again(tests, unfinished.loaded.saved.seconds, most)

    def explore_on(self, nextitem: pytest.Item | None, seconds: float) -> bool:
        """Explore on for so many seconds; whether that is the end, so that it was reported."""
        self._earlier, self._unfinished = self._unfinished, None
        self._nextitem, self._seconds = nextitem, seconds
        self._begin = time.perf_counter() - self._took
        self.run()
        return self._unfinished is None

    def _wait(self, unfinished: _Unfinished) -> None:
        """Put off the reports, unless something is wrong after the test."""
        self._unfinished = unfinished
        self._took = time.perf_counter() - self._begin
        if unfinished.teardown.excinfo is not None:
            self.report()

    def report(self) -> None:
        """Make the reports that were put off."""
        unfinished, self._unfinished = self._unfinished, None
        assert unfinished is not None
        self._begin = time.perf_counter() - self._took
        internals.sections_of(self._item)[:] = unfinished.sections
        self._tell_verdict(unfinished.data)
        self._log(unfinished.setup)
        self._phase("call", None, None, unfinished.data)
        self._log(self._report(unfinished.teardown), unfinished.teardown)

    def _run_as_always(self, data: dict[str, Any]) -> None:
        """Run the item once without control, and report that, with what was explored, if it was."""
        self._execution.leave()
        for report in internals.run_as_always(self._item, self._nextitem):
            if report.when == "call" and data:
                setattr(report, ATTRIBUTE, data)
            if report.failed and self._plugin.unchanged is not None:
                self._plugin.unchanged.forget(self._item)
            self._log(report)

    def _run(self) -> None:
        """Explore or replay the item, unless it has to be run as always."""
        item = self._item
        try:
            # Modules, classes and wider fixtures are set up once, outside control.
            setup = self._call("setup", lambda: internals.set_up_surroundings(item))
            if setup.excinfo is not None and self._earlier is not None:
                # They can be set up only once: it stays at what was found.
                self._wait(replace(self._earlier, loaded=None))
                return
            if setup.excinfo is not None and not self._is_skipped_before_set_up():
                self._log(self._report(setup), setup)
                self._phase("teardown", None, None, {})
            if setup.excinfo is not None:
                return
            # Other plugins expect that the report of the setup is made before the teardown.
            report = self._report(setup)
            execution = ItemExecution(item, self._plugin.asyncio_errors_of(item))
            self._execution = execution
            with self._plugin.running(execution), execution.remains:
                if self._plugin.reproduction is not None:
                    self._replay(report, self._plugin.reproduction)
                elif self._plugin.live is not None:
                    self._run_live(report, self._plugin.live)
                else:
                    self._explore(report)
        finally:
            internals.forget(item)

    # -- exploring -----------------------------------------------------------------------

    def _explore(self, setup: pytest.TestReport) -> None:
        item, execution, plugin = self._item, self._execution, self._plugin
        options = plugin.options_for(item)
        known = None if plugin.unchanged is None else plugin.unchanged.told_of(item, options)
        if known is not None:
            if known["virtual_seconds"] < BRIEF:
                self._tell_verdict(known)
                self._as_always = known
                return
            # In virtual time, as it was explored in, it does not take as long.
            options = replace(options, executions=1, predict=0)
        progress = SessionProgress(item.config)
        remembered = [] if plugin.memory is None else plugin.memory.recall(item.nodeid)
        page = None if plugin.pages is None else _page_in(plugin.pages)
        surroundings = Surroundings(
            progress.update if page is None else page.following(progress.update),
            lambda text: internals.end_process(item.config, item.nodeid, text),
            lambda number: internals.settle_in_worker(item.config, number),
            remembered=remembered,
            more_seconds=None if plugin.budget is None else plugin.budget.more,
        )
        earlier = None if self._earlier is None else self._earlier.loaded
        if earlier is None or earlier.saved is None:
            within = plugin.within_budget(item, options)
        else:
            within = replace(options, seconds=earlier.saved.seconds + self._seconds)
            surroundings = replace(surroundings, keeper=GoingOn(earlier), more_seconds=None)
        explorer = explorer_of(
            execution,
            item.nodeid,
            within,
            surroundings,
            execution.let_go,
            begins_unseen=earlier is None,
        )
        alarm = AlarmGuard(explorer.stop)
        foreign_loops = ForeignLoops(explorer.stop)
        try:
            with alarm, one_tracer_for_all_tasks(), foreign_loops:
                result = explorer.explore()
        except ResumeError:
            assert self._earlier is not None
            self._wait(replace(self._earlier, loaded=None))
            return
        except BaseException as error:
            if error is not alarm.error:
                raise
            # It may come anywhere in our own code, and is still an error of this test alone.
            self._finish(setup, None, {}, _raiser(error))
            return
        finally:
            progress.close()
        if execution.exit is not None:
            raise execution.exit
        self._is_concurrent = result.tasks > 1
        # What took longer than it may, and is complete, needs no more time.
        is_complete = result.verdict.kind is VerdictKind.HOLDS
        self._is_cut = explorer.spending.is_over and not is_complete
        failures = result.failures
        is_in_wide_loop = async_items.is_in_wide_loop(item)
        if foreign_loops.found:
            self._has_to_run_as_always(
                f"{foreign_loops.found} is not an event loop of asyncio's own"
            )
            return
        if is_in_wide_loop and not remembered and failures and failures[0].execution == 1:
            self._has_to_run_as_always("in event loops of their own they fail at once")
            return
        text = None
        trouble = ""
        if result.untimely or (failures and not _is_plain_failure(result, execution)):
            trouble = self._write_reproductions(explorer)
        if failures and not _is_plain_failure(result, execution):
            text = "\n".join(plugin.text_of(failure, item, result) for failure in failures)
        told = report_data(result)
        if known is not None and not failures and not has_seen_a_failure(result.verdict):
            self._tell_verdict(known)
            self._finish(setup, None, known)
            return
        data = dict(told)
        if plugin.memory is not None:
            data["fixed"] = update_memory(plugin.memory, result, remembered)
            trouble = trouble or plugin.memory.trouble or ""
        if page is not None:
            try:
                data["page"] = self._write_page(page, explorer)
            except OSError as error:
                trouble = trouble or f"no page can be written: {error}"
        if plugin.unchanged is not None and execution.skipped is None:
            if plugin.budget is not None and self._is_cut:
                # With another budget more could be seen.
                plugin.unchanged.forget(item)
            else:
                plugin.unchanged.keep(item, options, result, told, explorer.runtime.sources())
            trouble = trouble or plugin.unchanged.trouble
        if self._earlier is not None:
            data["fixed"] = [*self._earlier.data.get("fixed", ()), *data.get("fixed", ())]
        data["trouble"] = trouble
        loaded = None
        has_more = options.seconds is None or options.seconds - result.seconds > LEAST
        if plugin.second_pass is not None and has_more and not (alarm.rang or is_in_wide_loop):
            loaded = explorer.to_go_on()
        if loaded is not None and execution.skipped is None and known is None:
            tear_down = partial(internals.tear_down_collectors, item, self._nextitem)
            teardown = self._call("teardown", tear_down)
            self._wait(_Unfinished(loaded, setup, teardown, data, execution.sections))
            return
        self._tell_verdict(data)
        if failures:
            self._finish(setup, _Failed(failures[0], text, result), data)
        elif alarm.rang:
            self._finish(setup, None, data, alarm.call_handler)
        elif has_seen_a_failure(result.verdict):
            # Not a failure of ours, as it may be impossible; but a test that failed has not passed.
            text = "\n".join((data["line"], f"reason: {result.verdict.reason}"))
            self._finish(setup, None, data, _raiser(pytest.fail.Exception(text, pytrace=False)))
        elif is_in_wide_loop and not result.interrupted:
            # The tests after it in that loop may expect what it leaves there.
            self._as_always = data
        else:
            self._finish(setup, None, data)
        if result.interrupted and not alarm.rang:
            raise KeyboardInterrupt

    def _tell_verdict(self, data: dict[str, Any]) -> None:
        """Put the verdict into JUnit files and the like."""
        since = f"; unchanged since {data['unchanged']}" if "unchanged" in data else ""
        self._item.user_properties.append(("bohrbug", data["line"] + since))

    def _has_to_run_as_always(self, why: str) -> None:
        self._plugin.is_plain(self._item, why)
        # While what it left behind may still die without a word.
        self._execution.let_go()
        self._as_always = {}

    def _write_page(self, page: TestPage, explorer: Explorer) -> str:
        """Write the page of the test, for which its failures are replayed once more."""
        from bohrbug.exploration.reproduction import reproduction_of
        from bohrbug.platforms.threads.sights import sights_in_replay

        execution, result = self._execution, explorer.result
        target = target_of_item(self._item)
        printed = "\n".join(text for _, _, text in execution.sections)

        def look(failure: Failure) -> Sights | None:
            reproduction = reproduction_of(failure, target, result.test, explorer.options)
            with one_tracer_for_all_tasks():
                return sights_in_replay(reproduction, execution)

        return page.write(result, look, printed)

    def _write_reproductions(self, explorer: Explorer) -> str:
        """Write a file for each failure; why that was not possible, or ""."""
        from bohrbug.api import write_reproduction

        root = self._item.config.rootpath
        target = target_of_item(self._item)
        try:
            for failure in explorer.result.reproducible:
                write_reproduction(explorer, failure, target, root / DIRECTORY)
        except OSError as error:
            return f"reproduction files can't be written: {error}"
        return ""

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
        from bohrbug.api import BohrbugFailure

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

    # -- live ----------------------------------------------------------------------------

    def _run_live(self, setup: pytest.TestReport, settings: LiveOptions) -> None:
        from bohrbug.pytest_plugin.live import LiveItem, live_data

        item, execution, plugin = self._item, self._execution, self._plugin

        def before_crash(result: LiveResult) -> None:
            assert result.failure is not None
            with self._uncaptured():
                print(plugin.text_of(result.failure, item, _live_result(item, result)))

        live = LiveItem(execution, plugin.options_for(item), settings, before_crash)
        with one_tracer_for_all_tasks():
            result = live.run()
        if execution.exit is not None:
            raise execution.exit
        failure = result.failure
        if failure is None:
            self._finish(setup, None, live_data(result))
        else:
            told = _live_result(item, result)
            text = f"{plugin.text_of(failure, item, told)}\n{live.words_below(result)}"
            data = live_data(result) | {"trouble": live.trouble}
            self._finish(setup, _Failed(failure, text, told), data)
        if result.interrupted:
            raise KeyboardInterrupt

    # -- replaying -----------------------------------------------------------------------

    def _replay(self, setup: pytest.TestReport, reproduction: Reproduction) -> None:
        from bohrbug.debugger.choice import DebugpyError, opened
        from bohrbug.platforms.threads.replaying import replay
        from bohrbug.pytest_plugin.debugging import debugger_of
        from bohrbug.report.replayed import failure_replayed, replay_words

        config = self._item.config
        # Somebody may do something else with it than replay it.
        if config.hook.pytest_bohrbug_replaying(test=self._execution, uncaptured=self._uncaptured):
            self._finish(setup, None, {})
            return
        choice = debugger_of(config)
        times = config.getoption("bohrbug_times")
        try:
            with (
                one_tracer_for_all_tasks(),
                opened(choice, reproduction.failure, self._uncaptured) as debugger,
            ):
                replayed = replay(reproduction, self._execution, times, debugger)
        except DebugpyError as error:
            raise pytest.exit.Exception(f"bohrbug: {error}", pytest.ExitCode.USAGE_ERROR) from None
        config.hook.pytest_bohrbug_replayed(replayed=replayed)
        words = replay_words(reproduction, replayed)
        if replayed.passes:
            self._finish(setup, None, {"replayed": words})
            return
        failure = failure_replayed(reproduction, replayed)
        if replayed.reproduced:
            # How often it was reproduced is said of this replay, below.
            told = replace(failure, confirmed=0)
            text = f"{self._plugin.text_of(told, self._item, None)}\n{words}\n"
        else:
            text = f"{words}\n"
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

    def _is_skipped_before_set_up(self) -> bool:
        """Report an item that is skipped before its fixtures matter, or is no item of ours."""
        error = internals.skip_before_set_up(self._item)
        if error is None:
            return False
        call = self._call("setup", _raiser(error))
        self._log(self._report(call), call)
        self._phase("teardown", None, None, {})
        return True

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


def _page_in(folder: Path) -> TestPage:
    from bohrbug.pytest_plugin.pages import TestPage

    return TestPage(folder)


def _live_result(item: pytest.Item, result: LiveResult) -> Result:
    """A failure of a live run, as those of explorations are told of."""
    assert result.failure is not None
    verdict = Verdict(VerdictKind.FAILED)
    return Result(item.nodeid, verdict, [result.failure], seconds=result.seconds)


def _raiser(error: BaseException) -> Callable[[], object]:
    def raise_it() -> None:
        raise error

    return raise_it


def _is_kind(error: BaseException | None, failure: Failure) -> bool:
    return error is not None and type(error).__name__ == failure.outcome.exception


def _is_plain_failure(result: Result, execution: ItemExecution) -> bool:
    """Whether the test fails without any choice, so that pytest's own report says it best."""
    if isinstance(execution.error, AsyncioError):
        return False
    failure = result.failures[0]
    # An event loop has tasks, too, which count if there is a choice among them.
    has_choices = result.tasks > 1 or bool(failure.trace.arities)
    return not has_choices and _is_kind(execution.error, failure)
