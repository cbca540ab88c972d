"""A test is replayed in place of being run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bohrbug.debugger.choice import DebugpyError, opened
from bohrbug.exploration.replaying import Replay
from bohrbug.exploration.result import Result, Verdict, VerdictKind
from bohrbug.platforms.threads.replaying import replay
from bohrbug.pytest_plugin.debugging import debugger_of
from bohrbug.pytest_plugin.execution import ItemExecution
from bohrbug.pytest_plugin.measuring import one_tracer_for_all_tasks
from bohrbug.pytest_plugin.phases import Failed, Phases
from bohrbug.pytest_plugin.session import Session
from bohrbug.report.replayed import failure_replayed, replay_words


def replay_item(
    session: Session, phases: Phases, execution: ItemExecution, setup: pytest.TestReport
) -> None:
    """Replay the failure that the session is about, and report how that went.

    Parameters:
        session: with what is replayed.
        phases: of the item.
        execution: of the item.
        setup: the report of what was set up around it.

    Raises:
        pytest.exit.Exception: the debugger that was asked for can't be had.
    """
    item, reproduction = execution.item, session.reproduction
    assert reproduction is not None
    config = item.config
    # Somebody may do something else with it than replay it.
    if config.hook.pytest_bohrbug_replaying(test=execution, uncaptured=phases.uncaptured):
        phases.finish(setup, None, {})
        return
    choice = debugger_of(config)
    times = config.getoption("bohrbug_times")
    try:
        with (
            one_tracer_for_all_tasks(),
            opened(choice, reproduction.failure, phases.uncaptured) as debugger,
        ):
            replayed = replay(reproduction, execution, times, debugger)
    except DebugpyError as error:
        raise pytest.exit.Exception(f"bohrbug: {error}", pytest.ExitCode.USAGE_ERROR) from None
    config.hook.pytest_bohrbug_replayed(replayed=replayed)
    words = replay_words(reproduction, replayed)
    if replayed.passes:
        phases.finish(setup, None, {"replayed": words})
        _raise_if_interrupted(replayed)
        return
    failure = failure_replayed(reproduction, replayed)
    if replayed.reproduced:
        # How often it was reproduced is said of this replay, below.
        told = replace(failure, confirmed=0)
        text = f"{session.text_of(told, item, None)}\n{words}\n"
    else:
        text = f"{words}\n"
    result = Result(item.nodeid, Verdict(VerdictKind.FAILED), [failure])
    phases.finish(setup, Failed(failure, text, result), {})
    _raise_if_interrupted(replayed)


def _raise_if_interrupted(replayed: Replay) -> None:
    if replayed.left:
        raise KeyboardInterrupt
