"""Failures of an earlier session in tests that have not changed: replayed, not searched for again.

Looking for a failure, making it smaller and finding its cause takes as long as a test may take; all
of that is in its reproduction.  Whether it still happens, only an execution tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bohrbug.exploration.explorer import STUCK_PERIODS
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Result, Verdict, VerdictKind
from bohrbug.paths import DIRECTORY
from bohrbug.pytest_plugin import internals
from bohrbug.pytest_plugin.execution import ItemExecution
from bohrbug.pytest_plugin.measuring import one_tracer_for_all_tasks
from bohrbug.pytest_plugin.phases import Failed, Phases
from bohrbug.runtime.interrupts import Interrupts
from bohrbug.runtime.threads.control import current

if TYPE_CHECKING:
    from bohrbug.exploration.reproduction import Reproduction
    from bohrbug.pytest_plugin.session import Session


def fails_as_before(
    session: Session,
    phases: Phases,
    execution: ItemExecution,
    setup: pytest.TestReport,
    options: ExploreOptions,
    told: dict[str, Any],
) -> bool:
    """Replay the failures of an earlier session, and report them if all of them happen again.

    Parameters:
        session: what the tests share.
        phases: of the item.
        execution: of the item.
        setup: the report of what was set up around it.
        options: of the test.
        told: what was told of the failures, see :func:`.summary.report_data`.

    Returns:
        Whether that is all: else the test has to be explored.

    Raises:
        KeyboardInterrupt: the user wants it to end.
    """
    item = execution.item
    reproductions = _read(item, told)
    if not reproductions:
        return False
    stop = _Stop()
    with phases.alarm.exploring(stop), one_tracer_for_all_tasks(), Interrupts(stop.by_user):
        reproduced = all(
            not stop.is_by_user and _happens_again(each, execution, options)
            for each in reproductions
        )
    if stop.is_by_user:
        raise KeyboardInterrupt
    if execution.exit is not None:
        raise execution.exit
    if not reproduced or phases.alarm.rang:
        return False
    failures = [each.failure for each in reproductions]
    result = Result(item.nodeid, Verdict(VerdictKind.FAILED), failures)
    result.executions, result.seconds = told["then"]
    texts = [session.text_of(failure, item, result) for failure in failures]
    how = "nothing has changed since, so it was replayed (--bohrbug-again explores it)"
    text = "\n".join([*texts, f"Known since {told['unchanged']}: {how}\n"])
    item.user_properties.append(("bohrbug", f"{told['line']}; unchanged since {told['unchanged']}"))
    phases.finish(setup, Failed(failures[0], text, result), told)
    return True


@dataclass(slots=True)
class _Stop:
    """Ends the running execution."""

    is_by_user: bool = False

    def __call__(self) -> None:
        execution = current.execution
        if execution is not None:
            execution.interrupt()

    def by_user(self) -> None:
        """The user wants it to end."""
        self.is_by_user = True
        self()


def _read(item: pytest.Function, told: dict[str, Any]) -> Sequence[Reproduction]:
    """The reproductions of all failures; none if one of them is gone, or of another version."""
    from bohrbug.exploration.reproduction import ReproductionError, read_reproduction

    folder = item.config.rootpath / DIRECTORY
    # The folder may have moved, as with another checkout.
    paths = [folder / Path(path).name for path in told["reproductions"]]
    if len(paths) != len(told["failures"]):
        return ()
    try:
        return [read_reproduction(path) for path in paths]
    except (ReproductionError, OSError):
        return ()


def _happens_again(
    reproduction: Reproduction, execution: ItemExecution, options: ExploreOptions
) -> bool:
    """Whether a replay fails in the same way, in a program that has not changed."""
    from bohrbug.platforms.threads.replaying import replay

    item = execution.item
    end_process = partial(internals.end_process, item.config, item.nodeid)
    # A function is in no file.
    asked = replace(reproduction.options, invariant=options.invariant)
    replayed = replay(
        replace(reproduction, options=asked),
        execution,
        guarding=lambda runtime: runtime.guard(options.hang_seconds, end_process, STUCK_PERIODS),
    )
    return bool(replayed.reproduced) and replayed.edit is None
