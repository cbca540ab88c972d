"""All schedules with no preemption, then all with one, then all with two, ..."""

from __future__ import annotations

from bohrbug.model.plan import Choice
from bohrbug.model.trace import Trace
from bohrbug.search.bounded import BoundedSearch
from bohrbug.search.branching import alternatives


class PreemptionBounding(BoundedSearch):
    """Iterative preemption bounding with happens-before caching.

    Musuvathi and Qadeer, PLDI 2007 (iterative context bounding); Musuvathi et
    al., CHESS, OSDI 2008, sections 4.4.1 and 4.4.2.  All schedules with ``c``
    preemptions are executed before any with ``c + 1``.  What is a preemption is
    defined by :meth:`bohrbug.model.trace.Trace.is_preemption`; data choices are free.

    Parameters: see :class:`~bohrbug.search.bounded.BoundedSearch`.
    """

    name = "ipb"
    unit = "preemption"

    def options(self, trace: Trace, step: int) -> tuple[list[Choice], list[tuple[Choice, int]]]:
        """See :class:`~bohrbug.search.bounded.BoundedSearch`."""
        free, costly = alternatives(trace, step)
        return free, [(choice, 1) for choice in costly]
