"""What still runs once the outcome of an execution is decided, and is no part of its trace.

In a real program the other threads go on after one of them has failed, and the
teardown of the test finds them as they are.  So it is here: what is left runs to
its end without preemptions, so that global state (a registry of actors, say) is
left as a failing test would leave it, and later executions don't fail for it.
Only what does not end by itself is unwound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bohrbug.runtime.threads.deferred_signals import defer_signal
from bohrbug.runtime.threads.task import TaskKilled

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

STEPS = 2_000
"""Steps after which what is left is unwound."""


class Aftermath:
    """From the step that decides the outcome on.

    Parameters:
        execution: whose outcome was just decided.
    """

    __slots__ = ("_effects", "_execution", "_races", "_steps", "_time", "root_is_evicted")

    def __init__(self, execution: Execution) -> None:
        trace = execution.trace
        self._execution = execution
        self._steps = execution.steps
        self._effects = len(trace.effects)
        self._races = len(trace.races)
        self._time = execution.clock.now
        # The test itself was made to leave its wait, once.
        self.root_is_evicted = False

    def evict_root(self) -> None:
        """Unwind the test, which would wait for ever, so that its teardown can run."""
        self.root_is_evicted = True
        defer_signal(self._execution, _unwind, 0, None)

    def cut_off(self) -> float:
        """Take out of the trace what happened since; returns the virtual time until then."""
        execution = self._execution
        trace = execution.trace
        del execution.rows[self._steps :]
        execution.free_threaded_only_steps = [
            step for step in execution.free_threaded_only_steps if step < self._steps
        ]
        del trace.effects[self._effects :]
        del trace.races[self._races :]
        trace.early_timeouts[:] = [step for step in trace.early_timeouts if step < self._steps]
        for facts in (trace.arities, trace.defaults, trace.gates):
            for step in [step for step in facts if step >= self._steps]:
                del facts[step]
        return self._time


def _unwind(number: int, frame: Any) -> None:
    """In the way of a signal handler that raises."""
    raise TaskKilled
