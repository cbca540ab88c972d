"""What the runtime needs of the monitors, which are above it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from bohrbug.model.operation import TaskId
from bohrbug.model.outcome import Outcome
from bohrbug.runtime.threads.data.places import PlaceSet

if TYPE_CHECKING:
    from bohrbug.runtime.policies import Asked
    from bohrbug.runtime.threads.execution import Execution
    from bohrbug.runtime.threads.task import Task


class Visitor(Protocol):
    """Looks in on an execution between two of its steps; what it does there is up to it."""

    def visit(self, execution: Execution, step: int, enabled: Sequence[Task]) -> int:
        """Between two steps.

        Parameters:
            execution: the execution.
            step: the number of the one that comes next.
            enabled: the tasks that can run.

        Returns:
            The number of the step before which it wants to look in again.
        """
        ...

    def decided(self, outcome: Outcome) -> None:
        """The execution fails."""

    def raised(self, task: Task, error: BaseException) -> None:
        """An exception has left a task, and nothing was made of it yet."""

    def waits(self, execution: Execution) -> None:
        """What is outside our control is waited for, in real time; told at each look at it."""

    def ends(self, execution: Execution) -> None:
        """All that was to be executed was; what is left is unwound next."""


class Explainer(Protocol):
    """Turns what ends an execution into an outcome."""

    def stuck(self, execution: Execution) -> Outcome:
        """No task can go on."""
        ...

    def idle(
        self, execution: Execution, pollers: Collection[TaskId], is_certain: bool
    ) -> Outcome | None:
        """Only the timeouts of some tasks still fire.

        Parameters:
            execution: the execution.
            pollers: these tasks.
            is_certain: nothing will ever change; else it has only gone on for long.

        Returns:
            The outcome; ``None`` if the test may still end.
        """
        ...

    def step_limit(self, execution: Execution, comes_further: bool) -> Outcome:
        """The execution does not end.

        Parameters:
            execution: the execution.
            comes_further: it may be only long.
        """
        ...

    def exception(self, execution: Execution, task: Task, error: BaseException) -> Outcome:
        """An exception left a task."""
        ...

    def asked(self, execution: Execution, asked: Asked) -> Outcome:
        """The plan leaves a decision to somebody else."""
        ...


PublishedClock = tuple[int, int, list[int]]
"""Who learns of it: a task, its epoch, and the epochs of the others that it has learnt of."""


class ClockHolder(Protocol):
    """A synchronisation resource, for who watches."""

    clock: PublishedClock | None
    """What the last operation that changed it has published; ``None`` before the first."""


class Detector(Protocol):
    """What is told of synchronisation."""

    def spawn(self, parent_index: int, child_index: int) -> None:
        """A task was created."""

    def synchronise(self, task_index: int, clock_holder: ClockHolder, is_write: bool) -> None:
        """A task did an operation on a synchronisation resource."""


class AccessDetector(Protocol):
    """What is told of accesses to data.

    ``epochs`` and ``tags`` have an entry for each task; they are read directly
    because a call for every access of the tested program would cost too much.
    """

    epochs: list[int]
    tags: list[int]

    def read(self, shadow: Any, task_index: int, place: Any) -> object:
        """A task reads a variable."""

    def write(self, shadow: Any, task_index: int, place: Any) -> object:
        """A task writes a variable."""


class Watcher(Detector, AccessDetector, Protocol):
    """What watches one execution: told of both."""


class RaceDetector(Watcher, Protocol):
    """What watches for data races, and is asked at the end."""

    racy_places: PlaceSet
    shared_places: PlaceSet

    def interrupt(self, shadow: Any, task_index: int, place: Any, is_write: bool) -> None:
        """A handler of a signal accesses a variable, in the middle of what a task does."""

    def races(self, task_id: Callable[[int], str]) -> list[Any]:
        """The races found, for people."""
