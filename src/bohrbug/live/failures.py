"""The failure of a program that runs live, from the steps that are kept of it."""

from __future__ import annotations

from dataclasses import replace

from bohrbug.exploration.result import Failure
from bohrbug.live.following import Crash
from bohrbug.live.rounds import Rounds
from bohrbug.model.outcome import Outcome
from bohrbug.model.trace import Trace
from bohrbug.platforms.threads.platform import ThreadsPlatform
from bohrbug.runtime.threads.live_runtime import LiveRuntime


def failure_of(
    runtime: LiveRuntime, rounds: Rounds, trace: Trace, outcome: Outcome, crash: Crash | None = None
) -> Failure:
    """What is told of a failure.

    Parameters:
        runtime: executes the program.
        rounds: that were made.
        trace: what is kept of its steps.
        outcome: the failure.
        crash: the program is about to crash as this fragment did, or ``None``.
    """
    points = rounds.growing.points
    texts = ThreadsPlatform(runtime).texts_of_points(points)
    keys = tuple(sorted(texts))
    plan = trace.as_plan()
    if crash is not None:
        # No replay can follow the last step by its choice, which nobody has seen.
        plan = replace(plan, prefix=plan.prefix[: crash.step], policy=crash.policy)
    trace = trace.with_outcome(outcome)
    trace.plan = plan
    preemptions = trace.preemptions()
    return Failure(
        outcome,
        trace,
        plan,
        "live rounds",
        0,
        len(preemptions),
        essential=tuple(step for step in preemptions if step >= rounds.followed >= 0),
        points=keys,
        accesses=tuple(texts[key] for key in keys),
        growth=tuple(rounds.growing.growth),
    )
