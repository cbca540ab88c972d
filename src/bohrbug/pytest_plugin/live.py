"""A test runs once, with live rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.reproduction import reproduction_of
from bohrbug.exploration.result import Result, Verdict, VerdictKind
from bohrbug.live.options import LiveOptions
from bohrbug.live.report import replay_lines
from bohrbug.live.result import LiveResult
from bohrbug.live.session import live_options_of, run_live
from bohrbug.paths import DIRECTORY
from bohrbug.pytest_plugin.execution import ItemExecution
from bohrbug.pytest_plugin.measuring import one_tracer_for_all_tasks
from bohrbug.pytest_plugin.phases import Failed, Phases
from bohrbug.pytest_plugin.target import target_of_item
from bohrbug.report.wording import plural

if TYPE_CHECKING:
    from bohrbug.pytest_plugin.session import Session


class LiveItem:
    """Runs one item live.

    Parameters:
        execution: of the item.
        options: of the test.
        settings: how rounds are made.
        before_crash: told of a failure that ends the process at once.

    Attributes:
        trouble: why there is no reproduction file, or "".
    """

    def __init__(
        self,
        execution: ItemExecution,
        options: ExploreOptions,
        settings: LiveOptions,
        before_crash: Any,
    ) -> None:
        self._execution = execution
        self._options = live_options_of(options)
        self._settings = settings
        self._before_crash = before_crash
        self.trouble = ""

    def run(self) -> LiveResult:
        """Run it."""
        result = run_live(self._execution, self._options, self._settings, self._crashes)
        self._write(result)
        return result

    def _crashes(self, result: LiveResult) -> None:
        self._write(result)
        self._before_crash(result)

    def _write(self, result: LiveResult) -> None:
        """Write a reproduction of what failed, if all of it is known."""
        failure, item = result.failure, self._execution.item
        if failure is None or not result.is_whole:
            return
        try:
            reproduction_of(failure, target_of_item(item), item.nodeid, self._options).write(
                item.config.rootpath / DIRECTORY
            )
        except OSError as error:
            self.trouble = f"reproduction files can't be written: {error}"

    def words_below(self, result: LiveResult) -> str:
        """What is to be said below the report of a failure."""
        return "\n".join(replay_lines(result, self._settings.history))


def live_data(result: LiveResult) -> dict[str, Any]:
    """What the summary needs to know, as plain data."""
    figures = result.figures
    rounds, fragments = plural(figures.rounds, "round"), plural(figures.fragments, "fragment")
    return {
        "live": (figures.rounds, figures.fragments),
        "verdict": "live",
        "line": f"no failure in {rounds} ({fragments})",
    }


def run_item_live(
    session: Session, phases: Phases, execution: ItemExecution, setup: pytest.TestReport
) -> None:
    """Run an item live, and report it.

    Parameters:
        session: with how rounds are made.
        phases: of the item.
        execution: of the item.
        setup: the report of what was set up around it.
    """
    item, settings = execution.item, session.live
    assert settings is not None

    def before_crash(result: LiveResult) -> None:
        assert result.failure is not None
        with phases.uncaptured():
            print(session.text_of(result.failure, item, _live_result(item, result)))

    live = LiveItem(execution, session.options_for(item), settings, before_crash)
    with one_tracer_for_all_tasks():
        result = live.run()
    if execution.exit is not None:
        raise execution.exit
    failure = result.failure
    if failure is None:
        phases.finish(setup, None, live_data(result))
    else:
        told = _live_result(item, result)
        text = f"{session.text_of(failure, item, told)}\n{live.words_below(result)}"
        data = live_data(result) | {"trouble": live.trouble}
        phases.finish(setup, Failed(failure, text, told), data)
    if result.interrupted:
        raise KeyboardInterrupt


def _live_result(item: pytest.Item, result: LiveResult) -> Result:
    """A failure of a live run, as those of explorations are told of."""
    assert result.failure is not None
    verdict = Verdict(VerdictKind.FAILED)
    return Result(item.nodeid, verdict, [result.failure], seconds=result.seconds)
