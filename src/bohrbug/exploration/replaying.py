"""Replaying a reproduction, and saying where it differs if it does."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bohrbug.exploration.findings import replace_outcome
from bohrbug.exploration.reproduction import Reproduction
from bohrbug.exploration.result import Failure
from bohrbug.exploration.subject import ThreadExplainer, threads_subject
from bohrbug.model.outcome import Outcome
from bohrbug.model.plan import Plan
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.runtime.threads.control import current
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.runtime import Level, ThreadsRuntime
from bohrbug.runtime.threads.task import Task


class Debugger(Protocol):
    """Looks into a replay while it runs; what it does is no part of the execution."""

    def before_step(self, execution: Execution, step: int) -> None:
        """Called before every step once there are several tasks."""
        ...

    def failed(self, execution: Execution, task: Task, error: BaseException) -> None:
        """An exception left a task."""
        ...


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay gave.

    Parameters:
        trace: the last execution.
        reproduced: how many of ``times`` failed as in the file.
        times: replays made.
        difference: where the first differing replay parts from the file, for people.
    """

    trace: Trace
    reproduced: int
    times: int
    difference: str | None


def replay(
    reproduction: Reproduction,
    function: Callable[[], object],
    times: int = 1,
    debugger: Debugger | None = None,
) -> Replay:
    """Replay a reproduction.

    One execution without preemptions goes first, as in the exploration: it finds
    the functions whose data accesses have to be seen.

    Parameters:
        reproduction: from the file.
        function: the test.
        times: how often to replay.
        debugger: looks into the replays.
    """
    options = reproduction.options

    def test() -> None:
        random.seed(0)
        function()

    watched = _Watched(debugger)
    runtime = threads_subject(
        test,
        options.settings(),
        Level(options.level),
        Scope(options.scope),
        options.invariant if debugger is None else watched.before_step,
        watched,
    )
    state = random.getstate()
    reproduced = 0
    difference = None
    expected = reproduction.failure
    try:
        with runtime:
            if reproduction.points:
                runtime.want_points(reproduction.points)
                for _ in range(2):
                    runtime.execute(Plan())
                runtime.keep_only_wanted_points()
            watched.active = True
            for _ in range(times):
                trace = _replayed(runtime, expected)
                same = trace.outcome.signature() == expected.outcome.signature()
                if same and trace.divergence is None:
                    reproduced += 1
                elif difference is None:
                    difference = difference_between(expected.trace, trace)
    finally:
        random.setstate(state)
    return Replay(trace, reproduced, times, difference)


class _Watched(ThreadExplainer):
    """Lets a debugger take part in the replays, but not in the executions before them."""

    def __init__(self, debugger: Debugger | None) -> None:
        self._debugger = debugger
        self.active = False

    def before_step(self) -> None:
        """Takes the place of the invariant, which is called before every step."""
        execution = current.execution
        if self.active and self._debugger is not None and execution is not None:
            self._debugger.before_step(execution, len(execution._rows))

    def exception(self, execution: Execution, task: Task, error: BaseException) -> Outcome:
        """An exception left a task."""
        if self.active and self._debugger is not None:
            self._debugger.failed(execution, task, error)
        return super().exception(execution, task, error)


def _replayed(runtime: ThreadsRuntime, expected: Failure) -> Trace:
    """One replay; a data race that was reported as a failure has to be looked for."""
    race = expected.outcome.race
    if race is None:
        return runtime.execute(expected.plan, learn=False).trace
    trace = runtime.execute(expected.plan, learn=False, watch=True).trace
    if not trace.outcome.is_failure and any(r.label == race.label for r in trace.races):
        return replace_outcome(trace, expected.outcome)
    return trace


def difference_between(expected: Trace, found: Trace) -> str:
    """Where two executions part, in words.

    Parameters:
        expected: the execution in the file.
        found: the replay.
    """
    for index in range(min(len(expected), len(found))):
        wanted, made = expected.operations[index], found.operations[index]
        here, there = site_of(wanted.place), site_of(made.place)
        if (
            expected.tasks[index] != found.tasks[index]
            or wanted.kind is not made.kind
            or (here and there and here[:2] != there[:2])
        ):
            return (
                f"step {index} differs: expected task {expected.tasks[index]} to "
                f"{wanted.kind.name} at {here}, but task {found.tasks[index]} does "
                f"{made.kind.name} at {there}"
            )
    if len(expected) != len(found):
        return (
            f"the replay has {len(found)} steps, the file {len(expected)}; up to the shorter end "
            "they agree"
        )
    return (
        f"the schedule is the same, but the outcome differs: {found.outcome.kind.value} "
        f"{found.outcome.message}".rstrip()
    )
