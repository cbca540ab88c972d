"""The stacks of both accesses of a data race.

When the second access is made, it is too late for the stack of the first one, and
keeping the stack of every access would cost too much.  So the execution in which a race
was first seen is executed once more, and the two places are waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from bohrbug.model.operation import TaskId
from bohrbug.model.outcome import Access, Frame, Held, Race
from bohrbug.monitors.clocks import Clocks
from bohrbug.runtime.threads.data.places import Place
from bohrbug.runtime.threads.data.shadows import Shadow


class Witness(Clocks):
    """Watches one execution and keeps the stacks of the first accesses at given places.

    Parameters:
        races: the races whose accesses are waited for.
        task_id: the id of the task with an index.
        stack: the stack of the task with an index, which is running.
        locks_held: what it holds.
        steps: how many steps the execution has made.
    """

    def __init__(
        self,
        races: Iterable[Race],
        task_id: Callable[[int], TaskId],
        stack: Callable[[int], tuple[Frame, ...]],
        locks_held: Callable[[int], tuple[Held, ...]],
        steps: Callable[[], int],
    ) -> None:
        super().__init__()
        self._task_id = task_id
        self._stack_of = stack
        self._locks_of = locks_held
        self._steps = steps
        self._wanted = {_key(access) for race in races for access in (race.first, race.second)}
        self._seen: dict[tuple[TaskId, int], tuple[tuple[Frame, ...], tuple[Held, ...], int]] = {}

    def read(self, shadow: Shadow, task_index: int, place: Place) -> None:  # noqa: ARG002
        """A task reads a variable."""
        self._look_at(task_index, place)

    def write(self, shadow: Shadow, task_index: int, place: Place) -> None:  # noqa: ARG002
        """A task writes a variable."""
        self._look_at(task_index, place)

    def _look_at(self, index: int, place: Place) -> None:
        if index >= len(self.epochs):
            self.add_tasks(index + 1)
        key = (self._task_id(index), id(place))
        if key in self._wanted and key not in self._seen:
            self._seen[key] = (self._stack_of(index), self._locks_of(index), self._steps())

    def completed(self, race: Race) -> Race:
        """A race with what was seen of its accesses."""
        return replace(race, first=self._seen_of(race.first), second=self._seen_of(race.second))

    def _seen_of(self, access: Access) -> Access:
        seen = self._seen.get(_key(access))
        if seen is None:
            return access
        stack, holding, step = seen
        if access.stack:
            return replace(access, step=step)
        return replace(access, stack=stack, holding=holding, step=step)


def _key(access: Access) -> tuple[TaskId, int]:
    return (access.task, id(access.operation.place))
