"""Signals that wait until the root task runs, which stands for the main thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bohrbug.model.operation import Kind
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.outside import Handler
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.task import TaskKilled, TimeoutPolicy

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution


def defer_signal(execution: Execution, handler: Handler, number: int, frame: Any) -> None:
    """Let the root task handle a signal when it runs next.

    A waiting root becomes ready for it, as a waiting main thread wakes up.
    """
    root = execution.root
    signals = execution.signals
    signals.append((handler, number, frame))
    waits = root.ready
    if waits is not None:
        root.ready = lambda: bool(signals) or waits()


def after_signals(
    execution: Execution,
    kind: Kind,
    state: ResourceState,
    place: Any,
    ready: Callable[[], bool] | None,
    external: bool = False,
    firing: TimeoutPolicy = TimeoutPolicy.EARLY,
) -> bool:
    """The root was chosen and signals wait for it: handle them, then go on as before.

    Parameters:
        execution: the execution.
        kind, state, place, ready, external, firing: what the root was about to do, see
            :meth:`~bohrbug.runtime.threads.execution.Execution.perform`.
    """
    task = execution.root
    left = None if task.deadline is None else max(task.deadline - execution.clock.now, 0.0)
    timed_out = task.timed_out
    task.ready = None
    task.deadline = None
    task.external = False
    task.firing = TimeoutPolicy.EARLY
    task.timed_out = False
    handle_signals(execution)
    if timed_out:
        return False
    return execution.perform(kind, state, place, ready, left, external, firing)


def handle_now() -> None:
    """A call of ours has sent a signal: the main thread handles it before the call returns."""
    execution = controlled()
    if execution is not None and (execution.current.host or execution.current) is execution.root:
        handle_signals(execution)


def handle_signals(execution: Execution) -> None:
    """Handle what waits for the root task; what a handler raises leaves it."""
    while execution.signals:
        handler, number, frame = execution.signals.pop(0)
        try:
            handler(number, frame)
        except TaskKilled:
            raise
        except BaseException:
            # Once the test is over and its outcome decided, no code of it is left to raise into.
            if not execution.ending.is_past_the_test():
                raise
