"""What happens in place of running an item once: it is explored or replayed, and reported."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bohrbug.exploration.explorer import Explorer
from bohrbug.exploration.result import Failure, Result, VerdictKind
from bohrbug.exploration.saving import GoingOn, Loaded, ResumeError
from bohrbug.exploration.surroundings import Surroundings
from bohrbug.exploration.verdicts import has_seen_a_failure
from bohrbug.paths import DIRECTORY
from bohrbug.platforms.threads.platform import explorer_of
from bohrbug.pytest_plugin import async_items, internals
from bohrbug.pytest_plugin.execution import ItemExecution
from bohrbug.pytest_plugin.foreign_loops import ForeignLoops
from bohrbug.pytest_plugin.measuring import one_tracer_for_all_tasks
from bohrbug.pytest_plugin.phases import Failed, Phases, is_kind, raiser
from bohrbug.pytest_plugin.progress import SessionProgress
from bohrbug.pytest_plugin.remembering import update_memory
from bohrbug.pytest_plugin.session_budget import LEAST, SessionBudget
from bohrbug.pytest_plugin.summary import ATTRIBUTE, overdrawn_line, report_data
from bohrbug.pytest_plugin.target import target_of_item
from bohrbug.runtime.threads.foreign_greenlets import NotControlledError
from bohrbug.runtime.threads.loops.logged import AsyncioError

if TYPE_CHECKING:
    from bohrbug.exploration.sights import Sights
    from bohrbug.pytest_plugin.pages import TestPage
    from bohrbug.pytest_plugin.session import Session


BRIEF = 0.05
"""Seconds of virtual time below which a test may as well take them in reality."""


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
        session: what the items share.
        item: the item.
        nextitem: the one after it.
    """

    def __init__(
        self, session: Session, item: pytest.Function, nextitem: pytest.Item | None
    ) -> None:
        self._session = session
        self._item = item
        is_replayed = session.reproduction is not None
        self._phases = Phases(item, nextitem, is_replayed=is_replayed)
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
        with async_items.own_loops(item), self._phases.alarm:
            self._run()
        if self._as_always is not None:
            self._phases.alarm.renew()
            self._run_as_always(self._as_always)
        if self._session.budget is not None and self._earlier is None:
            self._session.budget.end(self._is_concurrent)

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
        most = self._session.options_for(self._item).seconds
        return budget.again(tests, unfinished.loaded.saved.seconds, most)

    def explore_on(self, nextitem: pytest.Item | None, seconds: float) -> bool:
        """Explore on for so many seconds; whether that is the end, so that it was reported."""
        self._earlier, self._unfinished = self._unfinished, None
        self._phases.nextitem, self._seconds = nextitem, seconds
        self._phases.begin = time.perf_counter() - self._took
        self.run()
        return self._unfinished is None

    def _wait(self, unfinished: _Unfinished) -> None:
        """Put off the reports, unless something is wrong after the test."""
        self._unfinished = unfinished
        self._took = time.perf_counter() - self._phases.begin
        if unfinished.teardown.excinfo is not None:
            self.report()

    def report(self) -> None:
        """Make the reports that were put off."""
        unfinished, self._unfinished = self._unfinished, None
        assert unfinished is not None
        self._phases.begin = time.perf_counter() - self._took
        internals.sections_of(self._item)[:] = unfinished.sections
        self._tell_verdict(unfinished.data)
        self._phases.log(unfinished.setup)
        self._phases.phase("call", None, None, unfinished.data)
        self._phases.log(self._phases.report(unfinished.teardown), unfinished.teardown)

    def _run_as_always(self, data: dict[str, Any]) -> None:
        """Run the item once without control, and report that, with what was explored, if it was."""
        self._execution.leave()
        for report in internals.run_as_always(self._item, self._phases.nextitem):
            if report.when == "call" and data:
                setattr(report, ATTRIBUTE, data)
            if report.failed and self._session.unchanged is not None:
                self._session.unchanged.forget(self._item)
            self._phases.log(report)

    def _run(self) -> None:
        """Explore or replay the item, unless it has to be run as always."""
        item = self._item
        try:
            # Modules, classes and wider fixtures are set up once, outside control.
            setup = self._phases.call("setup", lambda: internals.set_up_surroundings(item))
            if setup.excinfo is not None and self._earlier is not None:
                # They can be set up only once: it stays at what was found.
                self._wait(replace(self._earlier, loaded=None))
                return
            if setup.excinfo is not None and not self._phases.is_skipped_before_set_up():
                self._phases.log(self._phases.report(setup), setup)
                self._phases.phase("teardown", None, None, {})
            if setup.excinfo is not None:
                return
            # Other plugins expect that the report of the setup is made before the teardown.
            report = self._phases.report(setup)
            execution = ItemExecution(item, self._session.asyncio_errors_of(item))
            self._execution = self._phases.execution = execution
            with self._session.executing(execution), execution.remains:
                if self._session.reproduction is not None:
                    from bohrbug.pytest_plugin.replaying import replay_item

                    with self._phases.alarm.let_through():
                        replay_item(self._session, self._phases, execution, report)
                elif self._session.live is not None:
                    from bohrbug.pytest_plugin.live import run_item_live

                    with self._phases.alarm.let_through():
                        run_item_live(self._session, self._phases, execution, report)
                else:
                    self._explore(report)
        finally:
            internals.forget(item)

    # -- exploring -----------------------------------------------------------------------

    def _explore(self, setup: pytest.TestReport) -> None:
        item, execution, session = self._item, self._execution, self._session
        options = session.options_for(item)
        known = None if session.unchanged is None else session.unchanged.told_of(item, options)
        if known is not None and known.get("failures"):
            # A page tells of more than was written down.
            if session.pages is None and not async_items.is_in_wide_loop(item):
                from bohrbug.pytest_plugin.known_failures import fails_as_before

                phases, asked = self._phases, (setup, options, known)
                if fails_as_before(session, phases, execution, *asked):
                    return
            known = None
        if known is not None:
            if known["virtual_seconds"] < BRIEF:
                self._tell_verdict(known)
                self._as_always = known
                return
            # In virtual time, as it was explored in, it does not take as long.
            options = replace(options, executions=1, predict=0)
        progress = SessionProgress(item.config)
        remembered = [] if session.memory is None else session.memory.recall(item.nodeid)
        page = None if session.pages is None else _page_in(session.pages)
        surroundings = Surroundings(
            progress.update if page is None else page.following(progress.update),
            lambda text: internals.end_process(item.config, item.nodeid, text),
            lambda number: internals.settle_in_worker(item.config, number),
            remembered=remembered,
            more_seconds=None if session.budget is None else session.budget.more,
        )
        earlier = None if self._earlier is None else self._earlier.loaded
        if earlier is None or earlier.saved is None:
            within = session.within_budget(item, options)
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
        alarm = self._phases.alarm
        foreign_loops = ForeignLoops(explorer.stop)
        try:
            with alarm.exploring(explorer.stop), one_tracer_for_all_tasks(), foreign_loops:
                result = explorer.explore()
        except NotControlledError as error:
            self._has_to_run_as_always(str(error))
            return
        except ResumeError:
            assert self._earlier is not None
            self._wait(replace(self._earlier, loaded=None))
            return
        except BaseException as error:
            if error is not alarm.error:
                raise
            # It may come anywhere in our own code, and is still an error of this test alone.
            self._phases.finish(setup, None, {}, raiser(error))
            return
        finally:
            progress.close()
        if execution.exit is not None:
            raise execution.exit
        self._is_concurrent = result.is_concurrent
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
            text = "\n".join(session.text_of(failure, item, result) for failure in failures)
        told = report_data(result)
        if known is not None and not failures and not has_seen_a_failure(result.verdict):
            self._tell_verdict(known)
            self._phases.finish(setup, None, known)
            return
        data = dict(told)
        if session.budget is None and (overdrawn := overdrawn_line(result, options.seconds)):
            data["overdrawn"] = overdrawn
        if session.memory is not None:
            data["fixed"] = update_memory(session.memory, result, remembered)
            trouble = trouble or session.memory.trouble or ""
        if page is not None:
            try:
                data["page"] = self._write_page(page, explorer)
            except OSError as error:
                trouble = trouble or f"no page can be written: {error}"
        if session.unchanged is not None and execution.skipped is None:
            if session.budget is not None and self._is_cut and not failures:
                # With another budget more could be seen.
                session.unchanged.forget(item)
            else:
                session.unchanged.keep(item, options, result, told, explorer.runtime.sources())
            trouble = trouble or session.unchanged.trouble
        if self._earlier is not None:
            data["fixed"] = [*self._earlier.data.get("fixed", ()), *data.get("fixed", ())]
        data["trouble"] = trouble
        loaded = None
        has_more = options.seconds is None or options.seconds - result.seconds > LEAST
        if session.budget is not None and has_more and not (alarm.rang or is_in_wide_loop):
            loaded = explorer.keeping.to_go_on()
        if loaded is not None and execution.skipped is None and known is None:
            tear_down = partial(internals.tear_down_collectors, item, self._phases.nextitem)
            teardown = self._phases.call("teardown", tear_down)
            self._wait(_Unfinished(loaded, setup, teardown, data, execution.sections))
            return
        self._tell_verdict(data)
        if failures:
            self._phases.finish(setup, Failed(failures[0], text, result), data)
        elif alarm.rang_in_test:
            self._phases.finish(setup, None, data, alarm.call_handler)
        elif has_seen_a_failure(result.verdict):
            # Not a failure of ours, as it may be impossible; but a test that failed has not passed.
            text = "\n".join((data["line"], f"reason: {result.verdict.reason}"))
            self._phases.finish(
                setup, None, data, raiser(pytest.fail.Exception(text, pytrace=False))
            )
        elif is_in_wide_loop and not result.interrupted:
            # The tests after it in that loop may expect what it leaves there.
            self._as_always = data
        else:
            self._phases.finish(setup, None, data)
        if result.interrupted and not alarm.rang:
            raise KeyboardInterrupt

    def _tell_verdict(self, data: dict[str, Any]) -> None:
        """Put the verdict into JUnit files and the like."""
        since = f"; unchanged since {data['unchanged']}" if "unchanged" in data else ""
        self._item.user_properties.append(("bohrbug", data["line"] + since))

    def _has_to_run_as_always(self, why: str) -> None:
        self._session.plain[self._item.nodeid] = why
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


def _page_in(folder: Path) -> TestPage:
    from bohrbug.pytest_plugin.pages import TestPage

    return TestPage(folder)


def _is_plain_failure(result: Result, execution: ItemExecution) -> bool:
    """Whether the test fails without any choice, so that pytest's own report says it best."""
    if isinstance(execution.error, AsyncioError):
        return False
    failure = result.failures[0]
    has_choices = result.is_concurrent or bool(failure.trace.arities)
    return not has_choices and is_kind(execution.error, failure)
