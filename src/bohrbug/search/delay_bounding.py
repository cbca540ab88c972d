"""All schedules with no delay, then all with one, then all with two, ..."""

from __future__ import annotations

from bohrbug.model.plan import Choice
from bohrbug.model.trace import Trace
from bohrbug.search.bounded import BoundedSearch


class DelayBounding(BoundedSearch):
    """Iterative delay bounding with happens-before caching.

    Emmi, Qadeer and Rakamaric, *Delay-bounded scheduling*, POPL 2011.  A deterministic
    scheduler (here :class:`~bohrbug.model.plan.NonPreemptive`: keep running, on blocking,
    ending or yielding the next in the order of creation) may be told to skip the task that
    it would run, and takes the next one in turn; that is a *delay*.  All schedules with
    ``c`` delays are executed before any with ``c + 1``.  With ``k`` steps there are at
    most ``k**c`` of them, however many tasks there are: where a
    preemption bound leaves it open who goes on when a task blocks, a delay bound
    does not.

    Choosing the task that comes ``j`` places after the scheduler's in the round
    costs ``j`` delays.  A timeout that fires although a task is enabled costs one; among
    timeouts alone, as with data choices, any is free.

    Parameters: see :class:`~bohrbug.search.bounded.BoundedSearch`.
    """

    name = "idb"
    unit = "delay"

    def options(
        self, trace: Trace, step: int, most: int
    ) -> tuple[list[Choice], list[tuple[Choice, int]]]:
        """See :class:`~bohrbug.search.bounded.BoundedSearch`.

        Behind its prefix a plan is non-preemptive, so the task that was chosen is the
        one that the deterministic scheduler runs there.
        """
        chosen = trace.choices[step]
        if step in trace.arities:
            return [value for value in range(trace.arities[step]) if value != chosen], []
        enabled = trace.enabled[step]
        timed = trace.timed[step]
        if not enabled:
            return [task for task in timed if task != chosen], []
        place = enabled.index(trace.tasks[step])
        later = enabled[place + 1 : place + 1 + most]
        later += enabled[: min(place, most - len(later))]
        costly: list[tuple[Choice, int]] = [
            (task, delays) for delays, task in enumerate(later, start=1)
        ]
        return [], costly + [(task, 1) for task in timed]
