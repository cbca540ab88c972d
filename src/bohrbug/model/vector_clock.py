"""Vector clocks (Mattern 1989, Fidge 1988): how many steps of each task happened before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bohrbug.model.operation import TaskId


@dataclass(frozen=True, slots=True)
class VectorClock:
    """A moment in the partial order of an execution.

    Parameters:
        times: for each task how many of its events are at or before this moment;
            a task that is not mentioned has 0.
    """

    times: Mapping[TaskId, int] = field(default_factory=dict)

    def __getitem__(self, task: TaskId) -> int:
        return self.times.get(task, 0)

    def __le__(self, other: VectorClock) -> bool:
        """Whether everything that is known here is known to ``other``."""
        return all(time <= other[task] for task, time in self.times.items())

    def joined_with(self, other: VectorClock) -> VectorClock:
        """The earliest moment after both."""
        times = dict(self.times)
        for task, time in other.times.items():
            if time > times.get(task, 0):
                times[task] = time
        return VectorClock(times)

    def advanced(self, task: TaskId) -> VectorClock:
        """The moment after one more event of ``task``."""
        return VectorClock({**self.times, task: self[task] + 1})
