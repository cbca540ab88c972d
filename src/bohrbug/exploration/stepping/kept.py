"""Executions that somebody has stepped through, as they are reported and kept."""

from __future__ import annotations

from bohrbug.exploration.program_text import PointText
from bohrbug.exploration.result import Failure
from bohrbug.exploration.stepping.session import Session, SteppingError
from bohrbug.model.conditions import PlaceKey
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace

FINDER = "step"
"""Stands in files and reports where else the name of a strategy does."""


def failure_of(
    trace: Trace, points: tuple[PlaceKey, ...] = (), accesses: tuple[PointText, ...] = ()
) -> Failure:
    """A whole execution in the form in which failures are reported and kept; it may have passed.

    Parameters:
        trace: the execution.
        points: the data accesses that were scheduling points.
        accesses: what each of these looks like in the source.
    """
    preemptions = tuple(trace.preemptions())
    return Failure(
        trace.outcome,
        trace,
        Plan(tuple(trace.choices)),
        FINDER,
        0,
        len(preemptions),
        essential=preemptions,
        early_timeouts=trace.fired_early(),
        points=points,
        accesses=accesses,
    )


def repeatable_end(session: Session) -> Trace:
    """The execution of a session, gone on to its end, and executed once more by its choices.

    Raises:
        SteppingError: the second time was not like the first.
    """
    trace = session.ended().trace
    again = session.repeat(trace.choices).trace
    if again.divergence is not None or again.outcome.signature() != trace.outcome.signature():
        raise SteppingError(
            "executed again by the same choices it did not end in the same way: something differs "
            "between executions that is not controlled"
        )
    trace.divergence = None
    return trace
