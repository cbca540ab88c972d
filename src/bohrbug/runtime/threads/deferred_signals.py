"""Signals that wait until the root task runs, which stands for the main thread.

And exceptions that wait until the task runs to which another one has sent them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bohrbug.model.operation import END, RAISE, Kind
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.outside import Handler
from bohrbug.runtime.threads.recording import look_as_well
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.task import Task, TaskKilled, TimeoutPolicy

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution


BEHIND = "what event loops do for signals as coming after what they were about to run"
"""A loop learns of a signal by a descriptor, and looks at these when a turn begins."""

_SENT = "signals sent to the main thread by other tasks"
_RAISED = "handlers of such signals that raise"
_EXCEPTION = "exceptions sent to a thread"


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


def sent_to(execution: Execution, task: Task) -> ResourceState:
    """What who sends an exception to a task changes, and the task looks at before each step."""
    if task is execution.root:
        return signals_of(execution)
    name = f"an exception in thread {task.id}"
    return execution.resources.state_named(f"{task.id}:sent", name, "exception")


def expect_exception(execution: Execution, task: Task) -> None:
    """From now on, and in later executions, each step of a thread looks whether one was sent."""
    # The root looks, too: then threads are not started in C, where nobody asks who is to look.
    execution.namespaces.update((_SENT, _EXCEPTION, (_EXCEPTION, task.id)))
    task.looks_at = sent_to(execution, task)


def are_exceptions_sent(namespaces: set[object]) -> bool:
    """Whether threads have sent exceptions to others, in an earlier execution.

    They come where a build with the GIL could switch threads, also in one without it: an
    interpreter looks for them at these places.
    """
    return _EXCEPTION in namespaces


def look_for_exceptions(execution: Execution, task: Task) -> None:
    """A task is new: if exceptions were sent to it in earlier executions, any step may see one."""
    if (_EXCEPTION, task.id) in execution.namespaces:
        task.looks_at = sent_to(execution, task)


def sent_error(exception: Any) -> BaseException:
    """What is raised in a thread to which something was sent."""
    if isinstance(exception, type) and issubclass(exception, BaseException):
        return exception()
    text = f"_PyErr_SetObject: exception {exception!r} is not a BaseException subclass"
    return SystemError(text)


def _raise_what_was_sent(execution: Execution, kind: Kind | None = None) -> None:
    """Raise what was sent to the running thread, unless nothing of the program is left of it."""
    running = execution.current
    if execution.sees_exception(running):
        thread = running.host or running
        exception, thread.sent = thread.sent, None
        is_over = thread is execution.root and execution.ending.is_past_the_test()
        if kind is not END and not is_over:
            raise sent_error(exception)


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

    Or an exception was sent to whichever thread was chosen.

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
    _raise_what_was_sent(execution, kind)
    if (task.host or task) is execution.root:
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
    _raise_what_was_sent(execution)
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
