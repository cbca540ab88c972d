"""The phases of an item, and the reports of them that pytest gets."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from bohrbug.exploration.result import Failure, Result
from bohrbug.pytest_plugin import internals
from bohrbug.pytest_plugin.alarms import AlarmGuard
from bohrbug.pytest_plugin.execution import ItemExecution
from bohrbug.pytest_plugin.summary import ATTRIBUTE
from bohrbug.report.headline import failure_headline


@dataclass(frozen=True, slots=True)
class Failed:
    """What is to be reported of a test that failed.

    Parameters:
        failure: the first one.
        text: our report; ``None`` where pytest's own says it best.
        result: of the exploration.
    """

    failure: Failure
    text: str | None
    result: Result


class Phases:
    """Reports the setup, the call and the teardown of one item.

    Parameters:
        item: the item.
        nextitem: the one after it.
        is_replayed: pytest's own debugger is not opened then, as there may be one of ours.

    Attributes:
        nextitem: see above.
        execution: what has executed the item.
        begin: when the call began, as ``time.perf_counter`` has it.
        alarm: where timeouts of other plugins may interrupt what is done for the item.
    """

    def __init__(
        self, item: pytest.Function, nextitem: pytest.Item | None, *, is_replayed: bool
    ) -> None:
        self._item = item
        self._is_replayed = is_replayed
        self.nextitem = nextitem
        self.execution: ItemExecution
        self.begin = time.perf_counter()
        self.alarm = AlarmGuard()

    def finish(
        self,
        setup: pytest.TestReport,
        failed: Failed | None,
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
        execution = self.execution
        internals.sections_of(self._item)[:] = execution.sections
        phase = execution.phase if failed is not None else None
        raises = raiser(self._error(failed)) if failed is not None else None
        if failed is None and execution.skipped is not None and not execution.passed:
            call_function, data = raiser(execution.skipped), {}
        if phase == "setup":
            self.phase("setup", raises, failed, data)
        else:
            self.log(setup)
            self.phase("call", raises if phase == "call" else call_function, failed, data)
        self.phase("teardown", raises if phase == "teardown" else None, failed, {})

    def _error(self, failed: Failed) -> BaseException:
        """What to report: the exception of the test if it is known, for ``xfail(raises=...)``."""
        from bohrbug.api import BohrbugFailure

        error = self.execution.error
        if error is not None and is_kind(error, failed.failure):
            return error
        return BohrbugFailure(failed.text or failed.failure.outcome.message, failed.result)

    def phase(
        self,
        when: Literal["setup", "call", "teardown"],
        raises: Callable[[], object] | None,
        failed: Failed | None,
        data: dict[str, Any],
    ) -> None:
        """Report one phase; the teardown also takes down what the next item does not need."""
        item = self._item
        nextitem = self.nextitem
        if item.session.shouldfail or item.session.shouldstop:
            nextitem = None

        def function() -> None:
            if when == "teardown":
                internals.tear_down_collectors(item, nextitem)
            if raises is not None:
                raises()

        call = self.call(when, function)
        report = self.report(call)
        if raises is not None and failed is not None:
            self._dress(report, failed)
        if data:
            setattr(report, ATTRIBUTE, data)
        self.log(report, call)

    def _dress(self, report: pytest.TestReport, failed: Failed) -> None:
        """Put our report in the place of the usual one."""
        if failed.text is None or not report.failed:
            return
        outcome = failed.failure.outcome
        path, line, _ = self._item.location
        # A group is raised where others were waited for: what failed is in it.
        stack = outcome.grouped[0].stack if outcome.grouped else outcome.stack
        if stack:
            path, line = stack[-1].site.filename, stack[-1].site.line
        report.longrepr = internals.report_representation(
            failed.text, path, line or 0, failure_headline(outcome)
        )

    def uncaptured(self) -> AbstractContextManager[object]:
        """While this lasts, what is printed goes to the terminal."""
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

    def is_skipped_before_set_up(self) -> bool:
        """Report an item that is skipped before its fixtures matter, or is no item of ours."""
        error = internals.skip_before_set_up(self._item)
        if error is None:
            return False
        call = self.call("setup", raiser(error))
        self.log(self.report(call), call)
        self.phase("teardown", None, None, {})
        return True

    def call(self, when: Any, function: Any) -> pytest.CallInfo[object]:
        """Do what belongs to a phase; the call itself began before, when the item was explored."""
        begin = self.begin if when == "call" else time.perf_counter()
        with self.alarm.let_through():
            call = pytest.CallInfo.from_call(function, when=when, reraise=(pytest.exit.Exception,))
        if when == "call":
            call.duration = time.perf_counter() - begin
            call.start = call.stop - call.duration
        return call

    def report(self, call: pytest.CallInfo[object]) -> pytest.TestReport:
        """What pytest and its plugins make of a phase."""
        report = self._item.ihook.pytest_runtest_makereport(item=self._item, call=call)
        assert isinstance(report, pytest.TestReport)
        return report

    def log(self, report: pytest.TestReport, call: pytest.CallInfo[object] | None = None) -> None:
        """Hand a report to whoever shows it.

        Parameters:
            report: of a phase.
            call: what was done; it is looked at, in the debugger, if it has failed.
        """
        self._item.ihook.pytest_runtest_logreport(report=report)
        if call is not None and not self._is_replayed:
            internals.interact(self._item, call, report)


def raiser(error: BaseException) -> Callable[[], object]:
    """What raises an exception, to be called in a phase."""

    def raise_it() -> None:
        raise error

    return raise_it


def is_kind(error: BaseException | None, failure: Failure) -> bool:
    """Whether an exception is the one that a failure is told to be."""
    return error is not None and type(error).__name__ == failure.outcome.exception
