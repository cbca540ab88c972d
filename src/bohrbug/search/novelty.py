"""What an execution shows that none before it has shown."""

from __future__ import annotations

from typing import Any

from bohrbug.model.happens_before import state_hashes
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT
from bohrbug.search.estimates import ClassCounts


class Novelty:
    """Tells how new the behaviour of an execution is, compared with those before it.

    Two measures.  The *happens-before class* tells any two executions apart that differ in
    more than the order of independent operations; in a large space every execution is of a new
    class.  A *conflict pair*, two places of which one came directly before the other on some
    resource, in different tasks, is a coarser measure, which stays informative there
    (Wolff, Shi, Duck, Mathur and Roychoudhury, ASPLOS 2024, use pairs of a write and a read).

    Parameters:
        limit: look at so many steps of an execution.
    """

    def __init__(self, limit: int = BRANCHING_LIMIT) -> None:
        self._limit = limit
        self.classes = ClassCounts()
        self._pairs: set[Any] = set()

    def of(self, trace: Trace, has_new_pair: bool) -> float:
        """How new the behaviour of the next randomised execution is.

        Parameters:
            trace: the execution.
            has_new_pair: what :meth:`has_new_pair` said of it.

        Returns:
            1.0 if it has a new conflict pair, 0.5 if it is at least of a new class, else 0.0.
        """
        is_new_class = self.classes.add(state_hashes(trace, self._limit)[-1])
        return 1.0 if has_new_pair else 0.5 if is_new_class else 0.0

    def has_new_pair(self, trace: Trace) -> bool:
        """Whether an execution, whoever planned it, shows a conflict pair that none before did."""
        pairs = self._pairs
        known = len(pairs)
        last: dict[str, tuple[str, Any, bool]] = {}
        for task, (kind, resource, place) in zip(
            trace.tasks[: self._limit], trace.operations[: self._limit], strict=True
        ):
            before = last.get(resource)
            if before is not None and before[0] != task and (kind.is_write or before[2]):
                pairs.add((before[1], place))
            last[resource] = (task, place, kind.is_write)
        return len(pairs) > known
