"""What is checked before a step, though seldom due: the user's interrupt, a limit, an invariant."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.runtime.policies import earliest
from bohrbug.runtime.threads.advancing import MOST_TASKS, Looks
from bohrbug.runtime.threads.pace import (
    ADVANCE_PART,
    EXTENSIONS,
    LONELY_STEPS,
    LONELY_STEPS_LATER,
    STEP_SECONDS,
    STEPS_OF_REAL_TIME,
    SWITCH_INTERVAL,
)
from bohrbug.runtime.threads.task import Task

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution
    from bohrbug.runtime.threads.monitoring import Visitor


class Checks:
    """The checks of one execution; ``execution.next_check`` is the step at which one is due.

    Parameters:
        execution: the execution.
        max_steps: steps after which it is taken for a livelock.
        invariant: called before every step from the second task on; what it
            raises, or a false result, decides the outcome.
        visitor: looks in on it between two steps, until its outcome is decided.
    """

    __slots__ = (
        "_advance_at",
        "_execution",
        "_extensions",
        "_has_been_lonely",
        "_invariant",
        "_jumps",
        "_looks",
        "_next_look_at_time",
        "_next_visit",
        "_since",
        "_step_limit",
        "_visitor",
    )

    def __init__(
        self,
        execution: Execution,
        max_steps: int,
        invariant: Callable[[], object] | None,
        visitor: Visitor | None = None,
    ) -> None:
        self._execution = execution
        self._step_limit = max_steps
        # How far the tasks had come a while before the limit, and when that is to be found out.
        self._looks = Looks(execution)
        self._advance_at: float = max_steps - max_steps // ADVANCE_PART
        self._extensions = 0
        self._has_been_lonely = False
        # How often virtual time had jumped at the last check, and since when it has not.
        self._jumps = self._since = 0
        self._invariant = invariant
        usual = max_steps if max_steps < LONELY_STEPS else LONELY_STEPS  # sooner than by min()
        execution.next_check = 0
        if invariant is None and visitor is None:
            execution.next_check = usual if usual < max_steps else int(self._advance_at)
        self._visitor = visitor
        self._next_visit = 0
        self._next_look_at_time = STEPS_OF_REAL_TIME if execution.clock.is_real else usual

    def limit_steps(self, steps: int) -> None:
        """There may be no more steps than this."""
        execution = self._execution
        if steps < self._step_limit:
            self._step_limit = steps
            self._looks = Looks(execution)
            self._advance_at = steps - (steps - execution.steps) // ADVANCE_PART
            execution.next_check = min(execution.next_check, int(self._advance_at))

    @property
    def has_invariant(self) -> bool:
        """Whether something is to hold before every step."""
        return self._invariant is not None

    def only_limit_steps(self, steps: int) -> None:
        """There may be as many steps as this, and nothing else is checked any more."""
        self._invariant = None
        self._step_limit = self._execution.next_check = steps
        self._advance_at = inf

    def note_lonely(self, step: int) -> None:
        """A task has long run alone while others sleep: the next time, time passes sooner.

        Otherwise a program that spins beside many short sleeps would reach its limit.
        """
        self._has_been_lonely = True
        soon = step + LONELY_STEPS_LATER
        self._next_look_at_time = min(self._next_look_at_time, soon)
        self._execution.next_check = min(self._execution.next_check, soon)

    def make(self, step: int, sleeping: list[Task], enabled: list[Task]) -> bool:
        """Check what is due; false ends the execution.

        Parameters:
            step: the number of the step that comes next.
            sleeping: the tasks whose timeouts are to come.
            enabled: the tasks that can run.
        """
        execution = self._execution
        if execution.interrupted:
            execution.ending.abort(Outcome(OutcomeKind.INTERRUPTED, "interrupted by the user"))
            return False
        if step >= self._advance_at:
            self._looks.look()
            left = self._looks.left
            pause = (self._step_limit - step) // (left + 1)
            self._advance_at = step + pause if left and pause else inf
        has_too_many = self._has_too_many_tasks()
        if step >= self._step_limit or has_too_many:
            is_over = execution.ending.aftermath or not sleeping or self._extensions == EXTENSIONS
            if is_over or has_too_many:
                execution.ending.exceed_steps(self._comes_further())
                return not execution.aborting
            # What never ends may be waiting for a task that only time can wake.
            self._extensions += 1
            execution.time_is_up = True
            self._step_limit = step + LONELY_STEPS
        visitor = self._visitor
        if visitor is not None and not execution.ending.aftermath:
            if step >= self._next_visit:
                self._visit(visitor, step, enabled)
            # It may have let go of the steps before this one.
            step = execution.steps
        if self._invariant is not None:
            execution.next_check = step + 1
            if len(execution.all_tasks) + len(execution.loop_tasks) > 1:
                self._check_invariant(self._invariant)
            return not execution.aborting
        # Other checks come at any step: when time passes must not depend on them.
        if step >= self._next_look_at_time:
            if sleeping and not execution.ending.aftermath:
                self._pass_time(step, sleeping, len(enabled))
            pause = LONELY_STEPS_LATER if self._has_been_lonely else LONELY_STEPS
            if execution.clock.is_real:
                pause = STEPS_OF_REAL_TIME
            self._next_look_at_time = step + pause
        execution.next_check = min(
            self._step_limit if self._advance_at == inf else int(self._advance_at),
            self._next_look_at_time,
        )
        if visitor is not None:
            execution.next_check = min(execution.next_check, self._next_visit)
        return True

    def _has_too_many_tasks(self) -> bool:
        execution = self._execution
        return (
            len(execution.all_tasks) > MOST_TASKS
            and not execution.ending.aftermath
            and not execution.settings.is_service
        )

    def _comes_further(self) -> bool:
        """Whether the tasks still come any further, as the limit is reached."""
        if self._execution.ending.aftermath:
            return False
        goes_on = self._looks.goes_on()
        return self._has_too_many_tasks() if goes_on is None else goes_on

    def _visit(self, visitor: Visitor, step: int, enabled: list[Task]) -> None:
        execution = self._execution
        execution.suspended += 1
        try:
            self._next_visit = visitor.visit(execution, step, enabled)
        finally:
            execution.suspended -= 1

    def visit_soon(self) -> None:
        """The visitor wants to look in at the next step; may be called in any thread.

        What is checked there just now may come between; then it looks in when it said it would.
        """
        self._next_visit = 0
        self._execution.next_check = 0

    def forget(self, steps: int) -> None:
        """The first so many steps are forgotten, and those after them have other numbers."""
        self._since -= steps
        self._next_look_at_time -= steps

    def _pass_time(self, step: int, sleeping: list[Task], enabled: int) -> None:
        """Let virtual time pass if it has not for as long as so many steps take in reality."""
        execution = self._execution
        clock = execution.clock
        if clock.is_real:
            first = earliest(sleeping)
            assert first.deadline is not None
            execution.time_is_up = first.deadline + SWITCH_INTERVAL <= clock.now
            return
        if clock.jumps != self._jumps:
            self._jumps = clock.jumps
            self._since = step
        if enabled == 0 or step == self._since:
            return
        first = earliest(sleeping)
        assert first.deadline is not None
        is_over = first.deadline - clock.now <= (step - self._since) * STEP_SECONDS
        if is_over or (self._has_been_lonely and enabled == 1):
            self._has_been_lonely = True
            execution.time_is_up = True

    def _check_invariant(self, invariant: Callable[[], object]) -> None:
        execution = self._execution
        exception: str | None = None
        message = f"invariant {getattr(invariant, '__qualname__', repr(invariant))} is false"
        holds: object = None
        execution.suspended += 1
        try:
            holds = invariant()
        except Exception as error:  # noqa: BLE001  (an outcome, whatever it is)
            exception = type(error).__name__
            message = f"invariant raised {exception}: {error}"
        finally:
            execution.suspended -= 1
        if exception is None and (holds is None or holds):
            return
        outcome = Outcome(
            OutcomeKind.INVARIANT, message, task=execution.current.id, exception=exception
        )
        execution.ending.decide(outcome, evict_root=True)
