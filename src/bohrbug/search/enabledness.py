"""Whether an operation would have blocked at a moment when no task stood before it.

A trace tells of each waiting task whether it was enabled.  For a task that had not come
to its operation yet, the state of the resource has to be inferred from what was done with
it.  That is possible where the operations tell the state (locks, events, threads) and
where the runtime has noted it (:class:`~bohrbug.model.trace.Gate`: semaphores, queues); for
the others nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from bohrbug.model.operation import (
    ACQUIRE,
    BEGIN,
    BUFFER,
    CLEAR,
    END,
    FENCE,
    FLUSH,
    GET,
    IS_ALIVE,
    IS_SET,
    JOIN,
    LOCKED,
    NOTIFY,
    PUT,
    READ,
    RELEASE,
    SET,
    SPAWN,
    TRY_ACQUIRE,
    WAIT,
    WAKE,
    WRITE,
    YIELD,
    Kind,
    Operation,
    ResourceId,
)
from bohrbug.model.trace import Trace

NEVER_BLOCK = frozenset(
    {SPAWN, BEGIN, END, IS_ALIVE, TRY_ACQUIRE, RELEASE, LOCKED, NOTIFY, SET, CLEAR, IS_SET}
    | {READ, WRITE, FLUSH, YIELD}
)
"""Kinds of operations that a task can always do when it stands before them."""

OPENS: dict[tuple[Kind, str], dict[Kind, bool]] = {
    (ACQUIRE, "Lock"): {ACQUIRE: False, TRY_ACQUIRE: False, RELEASE: True},
    (ACQUIRE, "RLock"): {ACQUIRE: False, TRY_ACQUIRE: False, RELEASE: True},
    (WAIT, "Event"): {SET: True, CLEAR: False},
    (JOIN, "Thread"): {END: True, SPAWN: False, BEGIN: False},
}
"""For a kind of operation on a type of resource: what each write leaves, open or closed."""

_OF_QUEUES = frozenset({GET, PUT})
_OF_SEMAPHORES = frozenset({ACQUIRE, TRY_ACQUIRE, RELEASE})
"""Other operations on the resource of an ``ACQUIRE`` are those of a queue, which takes its mutex.

The gate of a queue says nothing of that.  Waiting for a condition is an operation on the condition.
"""


_WITHIN = {WAIT: True, WAKE: False}
"""The same for the lock of a condition, within an operation on the condition."""

_AT_FIRST = {ACQUIRE: True, WAIT: False, JOIN: False}
"""Whether a resource that nobody has written yet is open."""


def was_open(
    trace: Trace,
    operation: Operation,
    done: int | None,
    type_of: Callable[[Trace, ResourceId], str],
    step: int,
    write_before: Callable[[int, ResourceId], int],
    several: Collection[tuple[int, ResourceId]],
) -> bool | None:
    """Whether an operation would have been possible just before a step on its resource.

    Parameters:
        trace: what happened.
        operation: of a task that came to it only later.
        done: the step in which it was done, or ``None`` if it never was.
        type_of: the type of a resource, "" if that is not known.
        step: it writes the resource of the operation.
        write_before: the write of a resource before a step that touched it, -1 for none.
        several: steps that did more than one thing with a resource, so that it may have been left
            in any state: waiting for a condition releases its lock, and may have acquired it just
            before.

    Returns:
        ``None`` if nobody knows.
    """
    kind, resource, _ = operation
    if kind in NEVER_BLOCK:
        return True
    if kind is FENCE or kind is BUFFER:
        # Of others only the store in the entry, as it reaches memory, has to do with the entry.
        return False
    gate = trace.gates.get(step)
    other = trace.operations[step]
    is_semaphore = other.kind in _OF_SEMAPHORES or other.resource != resource
    if gate is not None and (kind in _OF_QUEUES or (kind is ACQUIRE and is_semaphore)):
        mine = trace.gates.get(done) if done is not None else None
        if done is None or mine is not None:
            waits = mine is None or mine.waits
            return not waits or (gate.can_put if kind is PUT else gate.can_take)
    opens = OPENS.get((kind, type_of(trace, resource)))
    if opens is None:
        return None
    while True:
        step = write_before(step, resource)
        if step < 0:
            # An older resource may have been left in any state.
            return None if resource.startswith("before:") else _AT_FIRST[kind]
        if (step, resource) in several:
            return None
        did, on, _ = trace.operations[step]
        if on != resource:
            return _WITHIN.get(did) if kind is ACQUIRE else None
        if did not in opens:
            if kind is WAIT and did is WAIT:
                continue
            return None
        return opens[did]
