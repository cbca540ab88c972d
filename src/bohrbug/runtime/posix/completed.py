"""An execution before and after it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bohrbug.model.operation import TaskId
from bohrbug.model.plan import Plan
from bohrbug.runtime.posix.ended import Ended, Printed
from bohrbug.runtime.posix.engines import Engine
from bohrbug.runtime.posix.segment import Segment


@dataclass(frozen=True, slots=True)
class Prepared:
    """An execution that is to be made.

    Parameters:
        plan: that is to be executed.
        names: the tasks that the plan names, see :meth:`Segment.prepare`.
        segment: where the plan is.
    """

    plan: Plan
    names: tuple[TaskId, ...]
    segment: Segment


@dataclass(frozen=True, slots=True)
class CompletedExecution(Prepared):
    """An execution.

    Parameters:
        plan: that was executed.
        names: the tasks that the plan names, see :meth:`Segment.prepare`.
        segment: what happened.
        engine: what it was made by.
        ended: how it ended.
        printed: what it printed.
    """

    engine: Engine
    ended: Ended
    printed: Printed


def made_of(
    prepared: Sequence[Prepared], engine: Engine, ends: Sequence[tuple[Ended, Printed]]
) -> list[CompletedExecution]:
    """The first executions that were prepared, as many as have ended."""
    return [
        CompletedExecution(each.plan, each.names, each.segment, engine, *end)
        for each, end in zip(prepared, ends, strict=False)
    ]
