"""One plan, once."""

from __future__ import annotations

from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace


class Replay:
    """Executes a given plan once; the way to reproduce a failure (CHESS, section 4.1).

    Parameters:
        plan: the plan, as a rule with all choices of an execution in its prefix.
    """

    name = "replay"
    complete = False

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self._trace: Trace | None = None

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return self._plan if self._trace is None else None

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self._trace = trace

    @property
    def exhausted(self) -> bool:
        """Whether the plan was executed."""
        return self._trace is not None

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._trace is None:
            return "nothing: the plan was not executed"
        if self._trace.divergence is not None:
            return f"one execution, which diverged from its plan at step {self._divergence_step()}"
        return f"one execution of a given plan, with {len(self._trace):,} steps"

    def _divergence_step(self) -> int:
        assert self._trace is not None
        assert self._trace.divergence is not None
        return self._trace.divergence.step

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return "replaying"
