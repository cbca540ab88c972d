"""A session: the choices made so far, and the decision that they have led to.

Every stop is an execution of its own, of the choices made so far; so that to undo is to execute
fewer of them, and nothing depends on a program that waits somewhere for an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bohrbug.exploration.result import Failure
from bohrbug.model.decision import Decision
from bohrbug.model.operation import TaskId
from bohrbug.model.outcome import Divergence
from bohrbug.model.plan import Choice
from bohrbug.model.trace import Trace


class SteppingError(ValueError):
    """What was asked for can't be done here; the message says why."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Where an execution has stopped.

    Parameters:
        trace: all steps that were done.
        decision: the next one; ``None`` if the execution has come to its end.
        printed: what the test has printed until then.
    """

    trace: Trace
    decision: Decision | None
    printed: str = ""

    @property
    def length(self) -> int:
        """Steps that were done."""
        return len(self.trace)

    def decisions(self) -> list[int]:
        """The steps done so far that had more than one option."""
        return decisions_of(self.trace)


def decisions_of(trace: Trace) -> list[int]:
    """The steps of a trace that had more than one option."""
    return [step for step in range(len(trace)) if len(trace.options(step)) > 1]


class Stepped(Protocol):
    """A test that can be stepped through."""

    def ask(self, prefix: Sequence[Choice], passed: int = 0) -> Stop:
        """Execute a prefix, go on to a decision, and stop there.

        Parameters:
            prefix: the choices.
            passed: how many decisions to make without preemption before that.
        """
        ...

    def finish(self, prefix: Sequence[Choice]) -> Stop:
        """Execute a prefix, and go on to the end without preemption."""
        ...

    def as_failure(self, trace: Trace) -> Failure:
        """A whole execution in the form in which failures are reported and kept."""
        ...


class Session:
    """Goes back and forth in the executions of one test.

    Parameters:
        test: executes prefixes.
        plan: choices to follow as long as nobody makes others.
    """

    def __init__(self, test: Stepped, plan: Sequence[Choice] = ()) -> None:
        self._test = test
        self._plan: tuple[Choice, ...] = tuple(plan)
        self._planned: Trace | None = None
        if plan:
            # As the program is now, which may differ from what was recorded.
            self._planned = test.finish(plan).trace
            self._plan = tuple(self._planned.choices[: len(plan)])
        self.stop = test.ask(())
        self.since = 0
        """The first step that is new since the last stop."""

    # -- where we are ------------------------------------------------------------------

    @property
    def choices(self) -> tuple[Choice, ...]:
        """All choices up to here."""
        return tuple(self.stop.trace.choices)

    @property
    def is_over(self) -> bool:
        """Whether the execution has come to its end."""
        return self.stop.decision is None

    @property
    def follows(self) -> bool:
        """Whether the next choice is that of the plan."""
        length = self.stop.length
        return length < len(self._plan) and self._plan[:length] == self.choices

    @property
    def divergence(self) -> Divergence | None:
        """Where the program of today went another way than it was told to, if it did."""
        if self.stop.trace.divergence is not None:
            return self.stop.trace.divergence
        return None if self._planned is None else self._planned.divergence

    @property
    def default(self) -> Choice:
        """What is chosen if nobody says otherwise: by the plan, else without preemption.

        Raises:
            SteppingError: the execution is over.
        """
        decision = self._decision()
        return self._plan[self.stop.length] if self.follows else decision.default

    def _decision(self) -> Decision:
        decision = self.stop.decision
        if decision is None:
            raise SteppingError("the execution is over")
        return decision

    # -- going on ----------------------------------------------------------------------

    def choose(self, choice: Choice) -> None:
        """Make the decision, and go on to the next one.

        Raises:
            SteppingError: it is no option.
        """
        decision = self._decision()
        if choice not in decision.options:
            options = ", ".join(map(str, decision.options))
            raise SteppingError(f"{choice} can't be chosen here; there are {options}")
        self._go_to((*self.choices, choice))

    def go_on(self, decisions: int = 1) -> None:
        """Pass decisions: by the plan as long as it is followed, else without preemption.

        Raises:
            SteppingError: the execution is over.
        """
        default = self.default
        if not self.follows:
            self._go_to((*self.choices, default), decisions - 1)
            return
        planned = self._planned_decisions()
        if decisions < len(planned):
            self._go_to(self._plan[: planned[decisions]])
        else:
            self._go_to(self._plan, decisions - len(planned))

    def _planned_decisions(self) -> list[int]:
        """The steps of the plan from here on that are decisions."""
        assert self._planned is not None
        steps = decisions_of(self._planned)
        return [step for step in steps if self.stop.length <= step < len(self._plan)]

    def to_preemption(self) -> None:
        """Go on to the next preemption of the plan, and stop before it.

        Raises:
            SteppingError: there is none.
        """
        self._decision()
        if not self.follows or self._planned is None:
            raise SteppingError("no plan is followed here, and without one nothing is preempted")
        steps = [step for step in self._planned.preemptions() if step > self.stop.length]
        if not steps or steps[0] >= len(self._plan):
            raise SteppingError("there is no further preemption in the plan")
        self._go_to(self._plan[: steps[0]])

    def to_blocking(self, task: TaskId | None = None) -> None:
        """Go on until a task blocks, or to the end if none does.

        Parameters:
            task: which one; ``None`` for any.

        Raises:
            SteppingError: the execution is over.
        """
        self._decision()
        rest = self._rest()
        step = next_blocking(rest.trace, self.stop.length, task)
        if step is None:
            self._stop_at(rest)
        else:
            self._go_to(tuple(rest.trace.choices[:step]))

    def to_end(self) -> None:
        """Go on to the end, if it is not there already."""
        if not self.is_over:
            self._stop_at(self._rest())

    def _rest(self) -> Stop:
        return self._test.finish(self._plan if self.follows else self.choices)

    # -- going back --------------------------------------------------------------------

    def undo(self, decisions: int = 1) -> None:
        """Go back to an earlier decision.

        Raises:
            SteppingError: there were not so many.
        """
        made = self.stop.decisions()
        if decisions > len(made):
            raise SteppingError(
                "no decision was made yet" if not made else f"only {len(made)} decisions were made"
            )
        self._go_to(self.choices[: made[-decisions]])

    def start_again(self) -> None:
        """Go back to the first decision; the plan is followed again."""
        self._go_to(())

    # -- moving ------------------------------------------------------------------------

    def _go_to(self, prefix: Sequence[Choice], passed: int = 0) -> None:
        self._stop_at(self._test.ask(prefix, passed))

    def _stop_at(self, stop: Stop) -> None:
        before = self.choices
        self.stop = stop
        after = self.choices
        same = 0
        for old, new in zip(before, after, strict=False):
            if old != new:
                break
            same += 1
        self.since = same

    def ended(self) -> Stop:
        """The whole execution: to its end if it has not come to it; the session stays here."""
        return self.stop if self.is_over else self._rest()

    def repeat(self, choices: Sequence[Choice]) -> Stop:
        """Execute choices once more, to the end; the session stays where it is."""
        return self._test.finish(choices)


def next_blocking(trace: Trace, after: int, task: TaskId | None = None) -> int | None:
    """The first step behind another before which a task has just become blocked.

    Parameters:
        trace: a whole execution.
        after: the step from which on to look.
        task: which task; ``None`` for any.
    """
    last_run: dict[TaskId, int] = {who: step for step, who in enumerate(trace.tasks)}
    for step in range(after + 1, len(trace) + 1):
        # At the end of a deadlock nobody is enabled.
        enabled = trace.enabled[step] if step < len(trace) else ()
        for who in {*trace.enabled[step - 1], trace.tasks[step - 1]}:
            if task not in (None, who) or who in enabled:
                continue
            goes_on = last_run.get(who, -1) >= step or who in trace.final_pending
            if goes_on and not _has_yielded(trace, step, who):
                return step
    return None


def _has_yielded(trace: Trace, step: int, task: TaskId) -> bool:
    """Whether the task can't be chosen only because it gave control away."""
    return step < len(trace) and trace.yielded[step] and task == trace.tasks[step - 1]
