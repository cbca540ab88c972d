"""What other threads ask a run of trio to do: the jobs that wait for its next turn.

A thread that adds a job wakes the run up.  A run that is awake anyway, for another thread's job,
takes both: without a word from the second thread, except for the job itself.  So who takes a job
comes after who has added it, and who looks whether there is any depends on who adds one.
"""

from __future__ import annotations

from collections import deque
from sys import _getframe
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.loops.trio_tasks import place_of_caller
from bohrbug.runtime.threads.recording import effect, saw
from bohrbug.runtime.threads.resources import ResourceState

_TYPE = "jobs of a trio run"


class _Jobs:
    """What both containers of jobs have in common.

    Attributes:
        state: the resource that the jobs of a run are.
    """

    state: ResourceState

    def _execution(self) -> Execution | None:
        execution = controlled()
        if execution is None or execution.resources.serial != self.state.serial:
            return None
        return execution if execution.rows else None

    def _touch(self) -> None:
        execution = self._execution()
        if execution is not None:
            effect(execution, self.state, True)

    def _look(self) -> None:
        execution = self._execution()
        if execution is not None:
            saw(execution, self.state)

    def __len__(self) -> int:
        self._look()
        length: int = super().__len__()  # type: ignore[misc]
        return length


class _Queue(_Jobs, deque[Any]):
    """Jobs in their order."""

    def append(self, job: Any) -> None:
        self._touch()
        super().append(job)

    def popleft(self) -> Any:
        job = super().popleft()
        self._touch()
        return job


class _Once(_Jobs, dict[Any, Any]):
    """Jobs of which the same one is done once."""

    def __setitem__(self, job: Any, nothing: Any) -> None:
        self._touch()
        super().__setitem__(job, nothing)

    def __delitem__(self, job: Any) -> None:
        super().__delitem__(job)
        self._touch()


@patches.when_imported("trio._core._entry_queue")
def _wrap_jobs(module: Any) -> None:
    begin = module.EntryQueue.__init__

    @patches.method(module.EntryQueue, "__init__")
    def begun(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        execution = controlled()
        if execution is None:
            return
        place = place_of_caller(_getframe(1))
        state = execution.resources.new(execution.current, _TYPE, place)
        self.queue, self.idempotent_queue = _Queue(self.queue), _Once(self.idempotent_queue)
        self.queue.state = self.idempotent_queue.state = state
