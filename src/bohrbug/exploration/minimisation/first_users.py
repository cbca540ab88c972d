"""Which resources of native programs are called the same in all executions.

Memory that is not static is named after the task that came to it first, which may be another one in
another execution.  Events of native programs are told apart by these names, see
:class:`~bohrbug.model.ordering.Event`: two executions speak of the same event only if they mean the
same resource by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain

from bohrbug.model.history import History
from bohrbug.model.operation import ResourceId, Site
from bohrbug.model.ordering import Event, Ordering
from bohrbug.model.trace import Trace

_AFTER_A_TASK = re.compile(r"([0-9.]+):\d+\.(.+)", re.DOTALL)
"""The id of such a resource: a task, how many it had made before, and the type."""

_ROOT = "0"

Names = Mapping[ResourceId, ResourceId]
"""What resources of an execution are called in the first one."""


class FirstUsers:
    """Learns from executions which names mean the same in all of them."""

    def __init__(self) -> None:
        self._known: dict[str, set[ResourceId]] = {}
        self._unsteady: set[str] = set()

    def take(self, trace: Trace) -> Names:
        """Take an execution in.

        Where all executions have only one resource of a type, it is the same one.  If there are
        several, the same names are taken to mean the same; not so if another execution lacks one
        of those that tasks other than the root have come to first.

        Parameters:
            trace: the execution.

        Returns:
            What to call its resources.
        """
        names: dict[ResourceId, ResourceId] = {}
        for of_type, ids in _named_after_tasks(trace).items():
            known = self._known.setdefault(of_type, set(ids))
            if ids == known:
                continue
            if len(ids) == len(known) == 1:
                names[next(iter(ids))] = next(iter(known))
                continue
            if any(not each.startswith(f"{_ROOT}:") for each in ids ^ known):
                self._unsteady.add(of_type)
            known |= ids
        return names

    def are_steady(self, orderings: Iterable[Ordering]) -> bool:
        """Whether some orderings mean the same in all executions taken in."""
        return not self._unsteady or all(
            self._is_steady(event) for each in orderings for event in (each.first, each.second)
        )

    def _is_steady(self, event: Event) -> bool:
        match = None if event.site is not None else _AFTER_A_TASK.fullmatch(event.resource)
        return match is None or match[2] not in self._unsteady


def _named_after_tasks(trace: Trace) -> dict[str, set[ResourceId]]:
    found: dict[str, set[ResourceId]] = {}
    for operation in chain(trace.operations, trace.final_pending.values()):
        if isinstance(operation.place, tuple | Site):
            # Of a test in Python, whose events are told apart by their places.
            continue
        match = _AFTER_A_TASK.fullmatch(operation.resource)
        if match is not None:
            found.setdefault(match[2], set()).add(operation.resource)
    return found


def renamed_event(event: Event, names: Names) -> Event:
    """The event that the first execution calls so."""
    name = names.get(event.resource) if event.site is None else None
    return event if name is None else replace(event, resource=name)


def renamed_history(history: History, names: Names) -> History:
    """When the events of an execution happened, as the first execution calls them."""
    if not names:
        return history
    return History(
        {
            (task, kind, names.get(where, where) if isinstance(where, str) else where, fired): steps
            for (task, kind, where, fired), steps in history.steps.items()
        }
    )
