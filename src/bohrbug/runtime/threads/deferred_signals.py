"""Signals that wait until the root task runs, which stands for the main thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bohrbug.model.operation import RAISE, Kind
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.outside import Handler
from bohrbug.runtime.threads.recording import look_as_well
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.task import TaskKilled, TimeoutPolicy

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution


BEHIND = "what event loops do for signals as coming after what they were about to run"
"""A loop learns of a signal by a descriptor, and looks at these when a turn begins."""

_SENT = "signals sent to the main thread by other tasks"
_RAISED = "handlers of such signals that raise"


def signals_of(execution: Execution) -> ResourceState:
    """What who sends a signal changes, and who waits for one looks at."""
    return execution.resources.state_named("signals", "a signal", "signal")


def expect_signals(execution: Execution) -> None:
    """An execution begins: if signals have interrupted the root in an earlier one, any may here."""
    if _SENT in execution.namespaces:
        execution.root.looks_at = signals_of(execution)


def may_raise(execution: Execution) -> bool:
    """Whether a handler has raised into what the root did, in an earlier execution."""
    return _RAISED in execution.namespaces


def note_exception(execution: Execution) -> None:
    """A handler has raised into what the root does."""
    execution.namespaces.add(_RAISED)


def _note_signal(execution: Execution) -> None:
    """A task has sent a signal to the root.

    From the next execution on each step of the root looks whether one has come, so that sending
    one and any of these steps are tried in both orders.
    """
    execution.namespaces.add(_SENT)


def announce_signal(place: Any) -> None:
    """A scheduling point: the running task is about to send a signal, which the root handles.

    One that the root sends to itself is handled before anybody else could go on.
    """
    execution = controlled()
    if execution is None or execution.current.inside:
        return
    if (execution.current.host or execution.current) is not execution.root:
        execution.perform(RAISE, signals_of(execution), place)


def defer_signal(execution: Execution, handler: Handler, number: int, frame: Any) -> None:
    """Let the root task handle a signal when it runs next.

    A waiting root becomes ready for it, as a waiting main thread wakes up.
    """
    _note_signal(execution)
    root = execution.root
    sender = execution.current
    is_of_loop = getattr(handler, "__module__", "") == "asyncio.unix_events"
    if is_of_loop and (sender.host or sender) is not root:
        execution.trace.uncontrolled.assume(BEHIND)
    signals = execution.signals
    signals.append((handler, number, frame))
    # What an event loop of it runs stands for it; where the loop may choose, it does not wait.
    standing = [task for task in execution.alive if (task.host or task) is root]
    if len(standing) != 1:
        return
    (main,) = standing
    waits = main.ready
    if waits is not None:
        main.ready = lambda: bool(signals) or waits()


def after_signals(
    execution: Execution,
    kind: Kind,
    state: ResourceState,
    place: Any,
    ready: Callable[[], bool] | None,
    external: bool = False,
    firing: TimeoutPolicy = TimeoutPolicy.EARLY,
) -> bool:
    """The root, or what its event loop runs, was chosen and signals wait for it: handle them first.

    Parameters:
        execution: the execution.
        kind, state, place, ready, external, firing: what the root was about to do, see
            :meth:`~bohrbug.runtime.threads.execution.Execution.perform`.
    """
    task = execution.current
    left = None if task.deadline is None else max(task.deadline - execution.clock.now, 0.0)
    timed_out = task.timed_out
    task.ready = None
    task.deadline = None
    task.external = False
    task.firing = TimeoutPolicy.EARLY
    task.timed_out = False
    _note_look(execution)
    handle_signals(execution)
    if timed_out:
        return False
    return execution.perform(kind, state, place, ready, left, external, firing)


def access_after_signals(execution: Execution, place: Any, kind: Kind, shadow: Any) -> bool:
    """The root was chosen to access a variable, and signals wait for it; see above.

    Parameters:
        execution: the execution.
        place, kind, shadow: see :meth:`~bohrbug.runtime.threads.execution.Execution.access`.
    """
    _note_look(execution)
    handle_signals(execution)
    return execution.access(place, kind, shadow)


def _note_look(execution: Execution) -> None:
    if execution.current.looks_at is not None:
        look_as_well(execution, execution.current)


def handle_now() -> None:
    """A call of ours has sent a signal: the main thread handles it before the call returns."""
    execution = controlled()
    if execution is not None and (execution.current.host or execution.current) is execution.root:
        handle_signals(execution)


def handle_signals(execution: Execution) -> None:
    """Handle what waits for the root task; what a handler raises leaves it."""
    interruptions = execution.interruptions
    while execution.signals:
        handler, number, frame = execution.signals.pop(0)
        if interruptions is not None:
            interruptions.begin()
        try:
            handler(number, frame)
        except TaskKilled:
            raise
        except BaseException:
            # Once the test is over and its outcome decided, no code of it is left to raise into.
            if not execution.ending.is_past_the_test():
                note_exception(execution)
                raise
        finally:
            if interruptions is not None:
                interruptions.end()
