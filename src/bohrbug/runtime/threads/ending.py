"""How an execution ends: with the test, with a failure that decides its outcome, or at once.

Once the outcome is decided, what is left still goes on to its end, outside of the trace (see
:mod:`~bohrbug.runtime.threads.aftermath`). What does not end by itself is unwound.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bohrbug.accelerator.plain import plain
from bohrbug.model.operation import END, EXIT, JOIN, ROOT, TaskId
from bohrbug.model.outcome import Outcome
from bohrbug.runtime.policies import Asked
from bohrbug.runtime.threads import aftermath, replaced_builtins
from bohrbug.runtime.threads.lifecycle import MOST_CAUGHT, unwind
from bohrbug.runtime.threads.monitoring import Explainer
from bohrbug.runtime.threads.raised import raised_at
from bohrbug.runtime.threads.task import Task, TaskKilled
from bohrbug.runtime.threads.unraisable import fall_silent

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

STUCK_PAUSE = 0.1
"""Seconds for which a service in which nobody can go on waits for a signal, again and again."""


@contextmanager
def _printing_nothing() -> Iterator[None]:
    """What a task prints while it is unwound is lost: natively it would just stop."""
    before = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


@plain
class Ending:
    """The end of one execution.

    Parameters:
        execution: the execution.
        explainer: builds outcomes.
        hooks: called when the test has ended and threads are still alive.

    Attributes:
        root_is_exiting: the test has ended, but not all threads that it started have.
        aftermath: set once the outcome is decided, until all that is left has ended or
            is unwound.
        is_unwinding: a task is unwound from the root.
        caught: how often in a row that task has come back after it was told to end.
    """

    __slots__ = (
        "_execution",
        "_explainer",
        "_hooks",
        "aftermath",
        "caught",
        "is_unwinding",
        "root_is_exiting",
    )

    def __init__(
        self,
        execution: Execution,
        explainer: Explainer,
        hooks: tuple[Callable[[Execution], object], ...],
    ) -> None:
        self._execution = execution
        self._explainer = explainer
        self._hooks = hooks
        self.root_is_exiting = False
        self.aftermath: aftermath.Aftermath | None = None
        self.is_unwinding = False
        self.caught = 0

    # -- with the test -----------------------------------------------------------

    def finish(self) -> None:
        """The test has returned: let the other tasks end, as the interpreter would at its exit."""
        execution = self._execution
        root = execution.root
        if [task for task in execution.alive if not task.daemon and task is not root]:
            self.root_is_exiting = True
            execution.checks.limit_steps(execution.steps + execution.settings.leak_steps)
            for hook in self._hooks:
                hook(execution)
            self.wait_for_the_rest(self._only_daemons_left)
        elif [task for task in execution.all_tasks if task.daemon]:
            # Daemon threads may get further before the test ends, or not.
            execution.perform(
                END, execution.resources.state_named(ROOT, "thread 0", "Thread"), None
            )
        root.ended = True

    def wait_for_the_rest(self, ready: Callable[[], bool]) -> None:
        """After the end of the test: run the other tasks until ``ready`` holds."""
        execution = self._execution
        state = execution.resources.state_named(EXIT, "the end of the other threads", "exit")
        frame = sys._getframe(0)
        execution.perform(JOIN, state, (frame.f_code, frame.f_lasti), ready)

    def _only_daemons_left(self) -> bool:
        root = self._execution.root
        # Asked at every step; a loop takes less time than all() with a generator.
        for task in self._execution.alive:  # noqa: SIM110
            if not task.daemon and task is not root:
                return False
        return True

    # -- with a failure ----------------------------------------------------------

    def fail_with_exception(self, task: Task, error: BaseException) -> None:
        """An exception left a task."""
        execution = self._execution
        if not execution.aborting and self.aftermath is None:
            if execution.visitor is not None:
                execution.visitor.raised(task, error)
            with replaced_builtins.as_before():
                outcome = self._explainer.exception(execution, task, error)
            execution.trace.raised = raised_at(outcome.stack)
            self.decide(outcome)

    def ask(self, asked: Asked) -> None:
        """A decision that somebody else is to make, once this execution is over."""
        execution = self._execution
        if execution.aborting or self.aftermath is not None:
            return
        execution.suspended += 1
        try:
            outcome = self._explainer.asked(execution, asked)
        finally:
            execution.suspended -= 1
        self.decide(outcome)

    def exceed_steps(self, comes_further: bool) -> None:
        """The step limit is reached.

        Parameters:
            comes_further: it may be only long.
        """
        if self.aftermath is not None:
            self.abort(None)
        else:
            outcome = self._execution.outside.idle_outcome()
            outcome = outcome or self._explainer.step_limit(self._execution, comes_further)
            self.decide(outcome, evict_root=True)

    def explain_idling(self, pollers: Collection[TaskId], is_certain: bool) -> Outcome | None:
        """See :meth:`.monitoring.Explainer.idle`; called between two steps."""
        execution = self._execution
        execution.suspended += 1
        try:
            return self._explainer.idle(execution, pollers, is_certain)
        finally:
            execution.suspended -= 1

    def give_up(self) -> None:
        """No task can go on, and nothing outside is worth waiting for."""
        after = self.aftermath
        if after is None:
            self.decide(self._explainer.stuck(self._execution), evict_root=True)
            if self._execution.settings.is_service:
                # It stands still, as it would natively, until a signal comes.
                self._execution.outside.wait(STUCK_PAUSE, external_only=False, is_noted=False)
        elif after.root_is_evicted or self.root_is_exiting:
            self.abort(None)
        else:
            after.evict_root()

    def decide(self, outcome: Outcome, evict_root: bool = False) -> None:
        """The execution has this outcome; what is left goes on to its end, outside of the trace.

        Parameters:
            outcome: the failure.
            evict_root: the test itself would not come to its teardown.
        """
        execution = self._execution
        if execution.aborting or self.aftermath is not None:
            return
        if execution.visitor is not None:
            execution.visitor.decided(outcome)
        if execution.settings.is_service:
            # Whoever wants to know does; natively it would go on, too.
            return
        if self.root_is_exiting:
            # The test has had its teardown.
            self.abort(outcome)
            return
        execution.trace.outcome = outcome
        self._note_pending()
        self.aftermath = after = aftermath.Aftermath(execution)
        execution.leave_plan()
        execution.checks.only_limit_steps(execution.steps + aftermath.STEPS)
        if evict_root:
            after.evict_root()

    def abort(self, outcome: Outcome | None) -> None:
        """Unwind all tasks now; the running one must return to the root.

        Parameters:
            outcome: of the execution, unless one was decided before.
        """
        execution = self._execution
        if not execution.aborting:
            if self.aftermath is None:
                assert outcome is not None
                execution.trace.outcome = outcome
            execution.aborting = True

    # -- what is left --------------------------------------------------------------

    def is_past_the_test(self) -> bool:
        """Whether the outcome is decided and the test has returned, so that only the rest runs."""
        return self.aftermath is not None and self.root_is_exiting

    def let_the_rest_end(self) -> None:
        """After a failure: the other tasks go on to their end, as far as they come."""
        self.root_is_exiting = True
        if not self._execution.aborting and not self._only_daemons_left():
            with suppress(TaskKilled):
                self.wait_for_the_rest(self._only_daemons_left)

    def unwind_tasks(self) -> None:
        """End every task that is still suspended."""
        execution = self._execution
        execution.aborting = True
        root = execution.root
        execution.current = root
        if self.aftermath is None and (len(execution.alive) > 1 or not root.ended):
            self._note_pending()
        self._note_withdrawn()
        if len(execution.alive) > 1:
            # A thread in the midst of ``asyncio.run`` leaves coroutines that nobody will await.
            fall_silent()
            with _printing_nothing():
                for task in list(execution.alive):
                    thread = task.host or task
                    if thread is not root:
                        unwind(execution, thread)
            execution.current = root
            execution.alive = [root]
        # A lock may be older than the execution; one of a thread may be held by a loop's task.
        for task in (*execution.all_tasks, *execution.loop_tasks):
            if task.holding:
                for lock in list(task.holding):
                    lock._reset()

    def unwind_running(self) -> None:
        """The execution is over, and the running task can't go on.

        A task that catches everything, in a loop, would come here for ever. The root is not to wait
        for that: the task stays where it is.

        Raises:
            TaskKilled: unless it stays.
        """
        execution = self._execution
        task, root = execution.current, execution.root
        self.caught += 1
        if self.caught < MOST_CAUGHT or (task.host or task) is root:
            raise TaskKilled
        assert root.greenlet is not None
        if self.is_unwinding:
            root.greenlet.switch()
        else:
            self.caught = 0
            execution.switch(task, root)
        raise TaskKilled

    def _note_pending(self) -> None:
        execution = self._execution
        execution.trace.final_pending = {
            task.id: task.pending
            for task in execution.alive
            if not task.ended and task.pending is not None and task.waiting
        }

    def _note_withdrawn(self) -> None:
        trace, loops = self._execution.trace, self._execution.loops
        if loops is not None:
            trace.withdrawn = {
                task: operation
                for task, operation in loops.offered.items()
                if task not in trace.final_pending
            }
