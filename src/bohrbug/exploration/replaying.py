"""Replaying a reproduction, and saying where it differs if it does."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from bohrbug.exploration.reproduction import Reproduction
from bohrbug.exploration.subject import threads_subject
from bohrbug.model.plan import Plan
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.runtime import Level


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
    before: Callable[[], object] | None = None,
) -> Replay:
    """Replay a reproduction.

    One execution without preemptions goes first, as in the exploration: it finds
    the functions whose data accesses have to be seen.

    Parameters:
        reproduction: from the file.
        function: the test.
        times: how often to replay.
        before: called just before the replay, such as to start a debugger.
    """
    options = reproduction.options

    def test() -> None:
        random.seed(0)
        function()

    runtime = threads_subject(
        test, options.settings(), Level(options.level), Scope(options.scope), options.invariant
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
            if before is not None:
                before()
            for _ in range(times):
                trace = runtime.execute(expected.plan, learn=False).trace
                same = trace.outcome.signature() == expected.outcome.signature()
                if same and trace.divergence is None:
                    reproduced += 1
                elif difference is None:
                    difference = difference_between(expected.trace, trace)
    finally:
        random.setstate(state)
    return Replay(trace, reproduced, times, difference)


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
