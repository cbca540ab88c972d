"""The happens-before graph of an execution, and a canonical hash of it.

CHESS (OSDI 2008, section 3.3): the nodes are the operations of a trace, with
its ``effects``; two of them are ordered if they are of one task, or on one
resource and at least one of them ``is_write``.  Two executions with the same
graph differ only in the order of independent operations, and are at the same
state of a program without data races other than those that are scheduling
points (section 4.4.2).

Creating, starting, ending and joining a thread are ordinary operations on the
thread's resource and need no rule of their own.  What an operation *gave* is
part of its node where the graph alone does not say it: the value of a data
choice, and whether the task ran because its timeout fired.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from bohrbug.accelerator import native
from bohrbug.model.operation import Kind, ResourceId, TaskId
from bohrbug.model.plan import Choice
from bohrbug.model.trace import Trace
from bohrbug.model.vector_clock import VectorClock

_MASK = (1 << 64) - 1
_START = 0
_READS = "effect that reads"
_WRITES = "effect that writes"

# Why ``hash`` of a tuple of ints, below: it is the fastest mixing function that
# CPython has (xxHash over 64-bit lanes, some 70 ns), and unlike that of a ``str``
# it is not randomised: a unit test holds it to fixed values on every version.
# Strings enter only through the BLAKE2 digests of ``_digest``.
if sys.hash_info.width != 64:  # pragma: no cover - there is no such CPython 3.11 for servers
    raise ImportError("Bohrbug needs a 64-bit Python")


def _digest(*words: str) -> int:
    """A number below 2**60 for some words, the same in every process."""
    content = "\0".join(words).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little") >> 4


_KnownOperation = tuple[TaskId, Kind, ResourceId]


class _Digests(dict[_KnownOperation, int]):
    """Digests of operations by task, kind and resource; made when first asked for.

    An exploration repeats the same few operations in every execution.  Should
    a long process see more than ``LIMIT`` of them, it begins again.
    """

    LIMIT = 1 << 17

    def __missing__(self, operation: _KnownOperation) -> int:
        if len(self) >= self.LIMIT:
            self.clear()
        task, kind, resource = operation
        digest = self[operation] = _digest(task, kind.name, resource)
        return digest


_digests = _Digests()


@lru_cache(maxsize=1 << 16)
def _effect_digest(task: TaskId, resource: ResourceId, is_write: bool) -> int:
    return _digest(task, _WRITES if is_write else _READS, resource)


@lru_cache(maxsize=1 << 16)
def choice_digest(choice: Choice) -> int:
    """A number below 2**60 for a choice, the same in every process."""
    if isinstance(choice, int):
        return _digest("value", str(choice))
    return _digest("task", choice)


@lru_cache(maxsize=1 << 16)
def options_digest(enabled: tuple[TaskId, ...], timed: tuple[TaskId, ...]) -> int:
    """A number below 2**60 for the options of a step, the same in every process."""
    return _digest("enabled", *enabled, "timed", *timed)


def _results(trace: Trace, limit: int) -> dict[int, int]:
    """What operations gave, by step, where the graph does not say it."""
    results: dict[int, int] = {}
    for index in trace.arities:
        choice = trace.choices[index]
        results[index] = choice_digest(choice)
    if any(trace.timed):
        enabled = trace.enabled
        tasks = trace.tasks
        for index, timed in enumerate(trace.timed[:limit]):
            if timed and tasks[index] not in enabled[index]:
                results[index] = 1
    return results


def _effects_by_step(trace: Trace) -> dict[int, list[tuple[int, TaskId, ResourceId, bool]]]:
    effects: dict[int, list[tuple[int, TaskId, ResourceId, bool]]] = {}
    for effect in trace.effects:
        effects.setdefault(effect[0], []).append(effect)
    return effects


class _Pasts(NamedTuple):
    """What the next events come after.

    Parameters:
        of_task: the last event of each task.
        before_read: for each resource what a reader comes after: the last write.
        before_write: the same for a writer: the last write and the set of reads since.
    """

    of_task: dict[TaskId, int]
    before_read: dict[ResourceId, int]
    before_write: dict[ResourceId, int]

    def add(
        self,
        digest: int,
        task: TaskId,
        touched: dict[ResourceId, bool],
        effects: Iterable[tuple[int, TaskId, ResourceId, bool]],
    ) -> int:
        """The number of an event, which takes its place in the pasts.

        Parameters:
            digest: of the event without its past.
            task: whose it is.
            touched: the resource of its operation, with whether it writes; the others are added.
            effects: what else it touches.
        """
        parts = [digest, self.of_task.get(task, _START)]
        actors = {task}
        for _, actor, other, is_write in effects:
            parts.append(_effect_digest(actor, other, is_write))
            actors.add(actor)
            touched[other] = touched.get(other, False) or is_write
        if len(actors) > 1:
            parts += [self.of_task.get(actor, _START) for actor in sorted(actors)]
        for other, is_write in touched.items():
            past = self.before_write if is_write else self.before_read
            parts.append(past.get(other, _START))
        node = hash(tuple(parts))
        for actor in actors:
            self.of_task[actor] = node
        for other, is_write in touched.items():
            if is_write:
                self.before_write[other] = self.before_read[other] = node
            else:
                self.before_write[other] = self.before_write.get(other, _START) ^ node
        return node


def state_hashes(trace: Trace, limit: int | None = None) -> list[int]:
    """For each step the hash of the happens-before graph of the steps before it.

    Equal for any two executions with the same graph up to that step, whatever
    their linear order, also in different processes; different for different
    graphs but for collisions of 64-bit numbers.

    A step is one event, whatever its effects touch.  Each event's number is
    made of what it is, of the number of its task's event before, and of those
    of the events on its resources that it comes after; so it stands for all of
    the event's past.  The events of a state are a set, and exclusive-or is the
    cheapest function of a set.

    Parameters:
        trace: the execution; its plan and outcome do not matter.
        limit: stop before this step; all steps if ``None``.

    Returns:
        ``min(limit, len(trace)) + 1`` numbers of 64 bits (signed, as ``hash``
        gives them): number ``i`` is for the moment before step ``i``, the last
        for the end.
    """
    tasks = trace.tasks
    operations = trace.operations
    if limit is not None and limit < len(tasks):
        tasks = tasks[:limit]
        operations = operations[:limit]
    results = _results(trace, len(tasks)) if trace.arities or any(trace.timed) else {}
    effects = _effects_by_step(trace) if trace.effects else {}
    if native is not None and not results and not effects:
        hashes: list[int] = native.chained_states(_digests, tasks, operations, len(tasks))
        return hashes
    state = _START
    states = [state]
    append = states.append
    digests = _digests
    pasts = _Pasts({}, {}, {})
    task_last, before_read, before_write = pasts
    last_of = task_last.get
    writer_past = before_write.get
    reader_past = before_read.get
    special = results.keys() | effects.keys()
    index = -1
    for task, (kind, resource, _) in zip(tasks, operations, strict=True):
        if special:
            index += 1
            if index in special:
                digest = digests[task, kind, resource]
                if index in results:
                    digest = hash((digest, results[index]))
                touched = {resource: kind.is_write}
                state ^= pasts.add(digest, task, touched, effects.get(index, ()))
                append(state)
                continue
        # The same for the ordinary step: one resource, nothing but its past.
        digest = digests[task, kind, resource]
        if kind.is_write:
            node = hash((digest, last_of(task, _START), writer_past(resource, _START)))
            before_write[resource] = before_read[resource] = node
        else:
            node = hash((digest, last_of(task, _START), reader_past(resource, _START)))
            before_write[resource] = writer_past(resource, _START) ^ node
        task_last[task] = node
        state ^= node
        append(state)
    return states


def canonical_hash(trace: Trace) -> int:
    """The hash of the happens-before graph of a whole execution, of 64 bits, unsigned.

    Two executions with different hashes are different in more than the order
    of independent operations.
    """
    return state_hashes(trace)[-1] & _MASK


def clocks(trace: Trace) -> list[VectorClock]:
    """The vector clock of each step.  A step is one event, whatever its effects touch.

    Step ``i`` happens before step ``j`` if and only if ``i < j`` and
    ``clocks[i] <= clocks[j]``; see :func:`happens_before`.
    """
    nothing = VectorClock()
    effects = _effects_by_step(trace)
    of_task: dict[TaskId, VectorClock] = {}
    of_writes: dict[ResourceId, VectorClock] = {}
    of_all: dict[ResourceId, VectorClock] = {}
    result: list[VectorClock] = []
    for index, (task, operation) in enumerate(zip(trace.tasks, trace.operations, strict=True)):
        clock = of_task.get(task, nothing)
        actors = {task}
        touched = {operation.resource: operation.is_write}
        for _, actor, resource, is_write in effects.get(index, ()):
            actors.add(actor)
            clock = clock.joined_with(of_task.get(actor, nothing))
            touched[resource] = touched.get(resource, False) or is_write
        for resource, is_write in touched.items():
            clock = clock.joined_with((of_all if is_write else of_writes).get(resource, nothing))
        clock = clock.advanced(task)
        for actor in actors:
            of_task[actor] = clock
        for resource, is_write in touched.items():
            of_all[resource] = of_all.get(resource, nothing).joined_with(clock)
            if is_write:
                of_writes[resource] = clock
        result.append(clock)
    return result


def happens_before(trace: Trace, first: int, second: int) -> bool:
    """Whether step ``first`` happens before step ``second``.

    For one question; for many keep the result of :func:`clocks`.
    """
    if first >= second:
        return False
    times = clocks(trace)
    return times[first] <= times[second]
