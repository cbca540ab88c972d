"""All schedules with no preemption, then all with one, then all with two, ..."""

from __future__ import annotations

from bohrbug.accelerator import native
from bohrbug.model.happens_before import choice_digest
from bohrbug.model.plan import Choice
from bohrbug.model.trace import Trace
from bohrbug.search.bounded import BoundedSearch
from bohrbug.search.branching import alternatives
from bohrbug.search.keys import is_in_c


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

    def _branches(
        self, trace: Trace, start: int, end: int, recording: bool
    ) -> tuple[list[tuple[int, list[Choice]]], dict[int, list[tuple[int, Choice, int]]]]:
        """See :class:`~bohrbug.search.bounded.BoundedSearch`."""
        if native is None or not self._caching or not is_in_c(self._visited) or trace.defaults:
            # Keys that are shared between processes are of another type.
            return super()._branches(trace, start, end, recording)
        columns = (
            trace.choices,
            trace.tasks,
            trace.enabled,
            trace.timed,
            trace.yielded,
            trace.arities,
        )
        states = self._states(trace, end)
        branches, later = native.branches(
            trace,
            columns,
            states,
            start,
            end,
            self._visited,
            recording,
            choice_digest,
            alternatives,
        )
        return branches, {1: later} if later else {}

    def options(
        self,
        trace: Trace,
        step: int,
        most: int,  # noqa: ARG002  (all cost the same)
    ) -> tuple[list[Choice], list[tuple[Choice, int]]]:
        """See :class:`~bohrbug.search.bounded.BoundedSearch`."""
        free, costly = alternatives(trace, step)
        return free, [(choice, 1) for choice in costly]
