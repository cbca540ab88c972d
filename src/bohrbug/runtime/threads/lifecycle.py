"""A task from its spawn to its end."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bohrbug.accelerator import native
from bohrbug.model.operation import BEGIN, END, Operation
from bohrbug.runtime.threads.deferred_signals import look_for_exceptions
from bohrbug.runtime.threads.outside import Outside
from bohrbug.runtime.threads.resources import ResourceState, ResourceTable
from bohrbug.runtime.threads.task import Carrier, CarrierPool, Task, TaskKilled, TimeoutPolicy

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

_MOST_TRIES = 100
"""How often a task may catch the exception that unwinds it, and wait again."""

MOST_CAUGHT = 20
"""How often a task may catch it without waiting in between."""

_new_operation = tuple.__new__

_increment_references = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))


def spawn(
    execution: Execution,
    function: Callable[[], object],
    place: Any,
    name: str,
    target: str,
    daemon: bool,
    ident: int,
) -> Task:
    """The running task creates another; it runs only when it is chosen (or by :func:`run_prelude`).

    Parameters:
        execution: the execution.
        function: what the task does.
        place: of the call that spawns it.
        name: of the thread.
        target: what it runs, as text.
        daemon: the test does not wait for it.
        ident: what ``threading.get_ident()`` returns in it.
    """
    parent = execution.current
    parent.children += 1
    task = Task(f"{parent.id}.{parent.children}", len(execution.all_tasks), ident)
    task.name = name
    task.target = target
    # A mock of ``threading.current_thread`` has a daemon flag that is a mock, too.
    task.daemon = bool(daemon)
    task.spawned = place
    task.state = state = execution.resources.thread(task.id)
    task.pending = _new_operation(Operation, (BEGIN, state.id, place))
    task.function = function
    look_for_exceptions(execution, task)
    carrier = execution.pool.get()
    carrier.task = task
    carrier.execution = execution
    task.carrier = carrier
    task.greenlet = carrier
    execution.all_tasks.append(task)
    rows = execution.rows
    if rows and rows[-1][2][1] != state.id:
        # Within another operation, such as handing a job to an executor.
        execution.trace.effects.append((len(rows) - 1, parent.id, state.id, True))
    detector = execution.detector
    if detector is not None:
        detector.spawn(parent.index, task.index)
        detector.synchronise(parent.index, state, True)
    if not execution.aborting:
        execution.alive.append(task)
    sink = execution.sink
    if sink is not None:
        # What the root did before happens before everything that other tasks do.
        sink.enabled = True
    return task


def carry(execution: Execution, task: Task) -> None:
    """What a carrier does: a task from its first operation to its last."""
    task.entered = True
    try:
        if task.prelude_of is None:
            _begin(execution, task)
        if not execution.aborting:
            assert task.function is not None
            task.function()
    except TaskKilled:
        pass
    except SystemExit:
        pass
    except BaseException as error:  # noqa: BLE001  (an outcome, whatever it is)
        _fail(execution, task, error)
    if execution.outside.in_child:
        _leave_child(execution)
    end(execution, task)


def _fail(execution: Execution, task: Task, error: BaseException) -> None:
    execution.outside.end_child(error)
    execution.ending.fail_with_exception(task, error)


def _leave_child(execution: Execution) -> None:
    execution.outside.end_child(None)


def run_prelude(execution: Execution, task: Task) -> None:
    """Run a new task at once up to :func:`end_prelude`, without a scheduling point.

    ``Thread.start`` returns only after the new thread has signalled that it runs;
    nothing in between is visible to the program.
    """
    parent = execution.current
    if execution.aborting:
        return
    task.prelude_of = parent
    execution.switch(parent, task)


def end_prelude(execution: Execution, task: Task) -> None:
    """Return to the task that started this one; continue here when chosen."""
    parent = task.prelude_of
    assert parent is not None
    execution.switch(task, parent)
    task.prelude_of = None
    if execution.aborting:
        raise TaskKilled
    _begin(execution, task)


def _begin(execution: Execution, task: Task) -> None:
    """The first operation of a task, which was chosen for it."""
    task.begun = True
    task.breakable = True
    detector = execution.detector
    if detector is not None:
        detector.synchronise(task.index, task.state, True)
    if execution.aborting:
        raise TaskKilled


def _end(execution: Execution, task: Task) -> None:
    """The last operation of a task."""
    if not execution.aborting:
        # Not contextlib.suppress, which takes longer than everything else here.
        try:  # noqa: SIM105
            execution.perform(END, task.state, task.spawned)
        except TaskKilled:
            pass
    for hook in task.on_end:
        hook()
    task.on_end.clear()
    # Values of threading.local die with their thread, which may die itself.
    task.local_values.clear()
    if task.thread is not None:
        task.thread = weakref.ref(task.thread)
    task.ended = True
    alive = execution.alive
    if task in alive:
        alive.remove(task)


end: Callable[[Execution, Task], object] = _end
if native is not None:
    end = native.use_tasks(Task, ResourceState, ResourceTable, TimeoutPolicy.EARLY, END, _end)
    native.use_carriers(Carrier, CarrierPool, Task, Outside, _fail, _leave_child)


def unwind(execution: Execution, task: Task) -> None:
    """End a suspended task, from the root, by an exception that passes through its frames."""
    carrier, ending = task.carrier, execution.ending
    if carrier is None:
        return
    why = ""
    for _ in range(_MOST_TRIES):
        if task.ended:
            return
        if not task.entered:
            # It never began: nothing to unwind, and its carrier can be reused.
            for hook in task.on_end:
                hook()
            task.ended = True
            task.function = None
            carrier.task = carrier.execution = None
            execution.pool.put(carrier)
            return
        ending.is_unwinding, ending.caught = True, 0
        execution.throw(task, TaskKilled)
        ending.is_unwinding = False
        if ending.caught >= MOST_CAUGHT:
            why = ": it catches every exception, in a loop"
            break
    if not task.ended:
        # Python would throw another exception into what is no longer referred to, which the task
        # would catch as well, and go on without anybody who controls it.
        _increment_references(carrier)
        execution.trace.uncontrolled.note(
            f"task {task.id} ({task.name}) could not be stopped at the end of an execution{why}"
        )
        task.ended = True
