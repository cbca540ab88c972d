"""What a step does beside its operation: other resources that it touches, and what they allow.

Partial-order reduction needs to know it: two steps are independent only if nothing that they touch
is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bohrbug.model.trace import Gate
from bohrbug.runtime.threads.resources import ResourceState

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution
    from bohrbug.runtime.threads.task import Task


def effect(execution: Execution, state: ResourceState, is_write: bool) -> None:
    """The running step also touches another resource (the lock that a ``wait`` releases)."""
    task = execution.current
    if execution.aborting:
        return
    execution.trace.effects.append((len(execution.rows) - 1, task.id, state.id, is_write))
    if execution.detector is not None:
        execution.detector.synchronise(task.index, state, is_write)


def touch(execution: Execution, state: ResourceState | None) -> None:
    """The running step changes a primitive, too, on behalf of a library that uses it.

    Such as the queue of an executor, to which ``submit`` adds: no scheduling point of
    its own, but what waits for the primitive depends on the step.
    """
    if state is not None and execution.rows:
        effect(execution, state, True)


def saw(execution: Execution, state: ResourceState) -> None:
    """The running step looked at another resource, which tells it nothing of what was before.

    It is an effect, but orders no data accesses: a lock that could not be acquired does not
    synchronise with who holds it.
    """
    if not execution.aborting:
        step = len(execution.rows) - 1
        execution.trace.effects.append((step, execution.current.id, state.id, False))


def look_as_well(execution: Execution, task: Task) -> None:
    """The running step of a task that looks at something in each of them has begun.

    In the middle of what it runs, a loop runs nothing else.  A root that signals come to only
    looks whether one is there: who sends one does not wait for it.
    """
    if task.host is None:
        saw(execution, task.looks_at)
    else:
        effect(execution, task.looks_at, True)
        if task.host.looks_at is not None:
            saw(execution, task.host.looks_at)


def note_gate(execution: Execution, can_take: bool, can_put: bool, waits: bool) -> None:
    """Before the running step changes a semaphore or a queue: what would block; see Gate."""
    if not execution.aborting:
        execution.trace.gates[len(execution.rows) - 1] = Gate(can_take, can_put, waits)
