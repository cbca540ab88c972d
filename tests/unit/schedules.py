"""Schedules of small programs under the threads runtime."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from bohrbug.exploration.learning import Learner
from bohrbug.model.conditions import Conditions, Level
from bohrbug.model.plan import (
    Plan,
    Segments,
    UniformRandom,
)
from bohrbug.model.trace import Trace
from bohrbug.platforms.threads.platform import threads_runtime
from bohrbug.runtime.protocol import Executed
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings

Program = Callable[[], object]

STARTED = ("0", 2)
"""The root starts two tasks."""


def executed(
    program: Program,
    plan: Plan = Plan(),
    level: Level = Level.SYNC,
    breakers: bool = False,
    **conditions: Any,
) -> Executed:
    """What an execution of a plan did, once it is known what several tasks access."""
    with threads_runtime(program, Settings(), level, Scope()) as runtime:
        learner = Learner(runtime, Conditions(**conditions))
        if level is not Level.SYNC:
            find_points(learner)
        if breakers:
            return runtime.execute(plan.under(learner.conditions), learn=False, breakers=True)
        return learner.execute(plan)


def find_points(learner: Learner) -> None:
    for seed in range(3):
        learner.execute(Plan((), UniformRandom(seed)))


def trace_of(program: Program, plan: Plan = Plan(), **settings: Any) -> Trace:
    return executed(program, plan, **settings).trace


def after_start(*segments: tuple[str, int]) -> Plan:
    """Both tasks are started, and then the given stretches come."""
    return Plan((), Segments((STARTED, *segments)))


def done_by(trace: Trace, task: str) -> str:
    """The operations of a task, in one line."""
    return " ".join(
        operation.kind.name
        for each, operation in zip(trace.tasks, trace.operations, strict=True)
        if each == task
    )


def stretches(trace: Trace) -> list[tuple[str, int]]:
    return [(task, len(list(steps))) for task, steps in groupby(trace.tasks)]


class Box:
    """Something with an attribute."""

    x = 0
