"""RFF: meet constraints on who reads from whom, as far as possible."""

from __future__ import annotations

from collections.abc import Container

from bohrbug.model.operation import Operation, ResourceId, TaskId
from bohrbug.model.plan import Constraint, ReadsFrom, ResourceEvent
from bohrbug.model.reads_from import EventCounter
from bohrbug.runtime.policies.decider import Tasks, TaskView
from bohrbug.runtime.policies.in_c import partial_order_decider

PATIENCE = 20
"""Yields and early timeouts, while something is held back, after which nothing is any more."""

_UNNAMED = ResourceEvent("", "", "", None, 0)
"""Stands for all events that no constraint names."""


class ReadsFromDecider:
    """Holds back what would break a constraint; else as POS.

    Wolff, Shi, Duck, Mathur and Roychoudhury, *Greybox fuzzing for concurrency testing*,
    ASPLOS 2024.  For "``reader`` reads from ``source``": until ``source`` was
    executed, ``reader`` waits; from then on, what would overwrite it waits for
    ``reader``.  For the opposite: ``reader`` waits while ``source`` was the
    last to change the resource.  When all that can run is held back, the constraints can't
    be met together, and anything may run.  When tasks yield again and again, or their
    timeouts fire, they may be waiting in a loop for one that is held back; then the
    constraints are given up (:data:`PATIENCE`).

    An operation that a constraint names is always a decision.
    """

    __slots__ = (
        "_constraints",
        "_counter",
        "_done",
        "_last",
        "_named",
        "_open",
        "_order",
        "_patience",
        "_readers",
    )

    def __init__(self, policy: ReadsFrom) -> None:
        self._counter = EventCounter()
        # By resource: what the plan says, and the part of it whose readers were not executed.
        self._constraints: dict[ResourceId, list[Constraint]] = {}
        self._order = partial_order_decider(policy.seed, policy.points, self._constraints)
        self._readers: set[ResourceEvent] = set()
        # The events that constraints name: to look at an event more closely takes long.
        self._named: set[tuple[TaskId, str, ResourceId]] = set()
        for constraint in policy.constraints:
            self._constraints.setdefault(constraint.reader.resource, []).append(constraint)
            self._readers.add(constraint.reader)
            for event in (constraint.reader, constraint.source):
                if event is not None:
                    self._named.add((event.task, event.kind, event.resource))
        self._open = {resource: [*each] for resource, each in self._constraints.items()}
        self._last: dict[ResourceId, ResourceEvent | None] = {}
        self._done: set[ResourceEvent] = set()
        self._patience = PATIENCE

    def choose(
        self, running: TaskView, enabled: Tasks, timed: Tasks, yielded: bool, step: int
    ) -> TaskView:
        """See :class:`~bohrbug.runtime.policies.decider.Decider`."""
        order = self._order
        chosen = order.runs_at_once(running, enabled, yielded)
        if chosen is None:
            options = [*enabled, *timed]
            allowed = options
            if self._open:
                allowed = self._allowed(options) or options
            chosen = order.highest(allowed)
            if len(allowed) < len(options) and (yielded or chosen not in enabled):
                self._patience -= 1
                if not self._patience:
                    self._constraints.clear()
                    self._open.clear()
        order.executed(chosen)
        self._note(chosen.id, chosen.pending)
        return chosen

    def value(self, arity: int) -> int:
        """See :class:`~bohrbug.runtime.policies.decider.Decider`."""
        return self._order.value(arity)

    def _note(self, task: TaskId, operation: Operation | None) -> None:
        if operation is None:
            return
        kind, resource, _ = operation
        if resource not in self._constraints:
            return
        event = _UNNAMED
        if (task, kind.name, resource) in self._named:
            event = self._counter.executed(task, operation)
            self._done.add(event)
            if event in self._readers:
                self._close(event)
        if kind.is_write:
            self._last[resource] = event

    def _close(self, reader: ResourceEvent) -> None:
        """The reader of a constraint was executed."""
        constraints = self._open.get(reader.resource, ())
        still_open = [each for each in constraints if each.reader != reader]
        if still_open:
            self._open[reader.resource] = still_open
        else:
            self._open.pop(reader.resource, None)

    def _allowed(self, options: list[TaskView]) -> list[TaskView]:
        """The tasks that are not held back.

        Many may wait at the same resource, so what holds for all of them is looked at once.
        """
        constrained = self._open
        looked_at: dict[ResourceId, tuple[set[tuple[TaskId, str]], bool]] = {}
        allowed = []
        for task in options:
            operation = task.pending
            if operation is not None and operation.resource in constrained:
                resource = operation.resource
                known = looked_at.get(resource)
                if known is None:
                    known = looked_at[resource] = self._look_at(resource)
                readers, is_protected = known
                if (task.id, operation.kind.name) in readers:
                    if self._is_held_back(task, operation):
                        continue
                elif is_protected and operation.kind.is_write:
                    continue
            allowed.append(task)
        return allowed

    def _look_at(self, resource: ResourceId) -> tuple[set[tuple[TaskId, str]], bool]:
        """Of a resource: what its readers are by task and kind, and whether no other may write."""
        last = self._last.get(resource)
        constraints = self._open[resource]
        return (
            {(each.reader.task, each.reader.kind) for each in constraints},
            any(each.holds and last == each.source for each in constraints),
        )

    def _is_held_back(self, task: TaskView, operation: Operation) -> bool:
        """Whether what may be the reader of a constraint would break that or another one."""
        last = self._last.get(operation.resource)
        event: ResourceEvent | None = None
        for constraint in self._open[operation.resource]:
            source, reader = constraint.source, constraint.reader
            # Most are of other tasks, and to name an event takes long.
            if task.id == reader.task and operation.kind.name == reader.kind:
                if event is None:
                    event = self._counter.pending(task.id, operation)
                if event == reader:
                    if _is_too_early(constraint, last, self._done):
                        return True
                    continue
            if constraint.holds and last == source and operation.is_write:
                return True
        return False


def _is_too_early(
    constraint: Constraint, last: ResourceEvent | None, done: Container[ResourceEvent]
) -> bool:
    """Whether the reader of a constraint has to wait.

    Parameters:
        constraint: the constraint.
        last: what changed the resource last.
        done: what was executed.
    """
    source = constraint.source
    if not constraint.holds:
        return last == source
    # Once overwritten, the source is lost and there is nothing to wait for.
    return last != source and source is not None and source not in done
