"""Partial-order reduction within a bound of preemptions."""

from __future__ import annotations

from bohrbug.model.plan import Choice, Plan
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT, Tally, counted, last_branching_step
from bohrbug.search.divisible import VERSION, AsAWhole, State, checked_state
from bohrbug.search.races_of_trace import RaceFinder


class _Options:
    """What else is to be explored at a step.

    Parameters (one per slot):
        seen: the choices that were made there or will be.
        waiting: those that will be, in the order of their discovery.
    """

    __slots__ = ("seen", "waiting")

    def __init__(self, chosen: Choice) -> None:
        self.seen: set[Choice] = {chosen}
        self.waiting: list[Choice] = []


class BoundedReduction(AsAWhole):
    """Bounded partial-order reduction: all that a number of preemptions can do.

    Coons, Musuvathi and McKinley, *Bounded partial-order reduction*, OOPSLA 2013, section 5.
    As in the original dynamic partial-order reduction (Flanagan and Godefroid, POPL 2005),
    each race adds a branch just before its first step, for the task of the second, or for
    all tasks if that one can't run there.  Leaving out what is beyond the bound would lose
    more than that: the same result may be had with fewer preemptions by switching earlier.
    So each race adds a *conservative* branch too, where the task of the first step began
    to run.  And so does a pair that can't be reversed, such as a release and the acquisition
    that waits for it: switching to a task that then blocks costs nothing on the way back.
    There are no sleep sets and no wakeup trees, which are not sound within a bound; so one
    happens-before graph may be executed several times.

    What is a preemption is defined by :meth:`bohrbug.model.trace.Trace.is_preemption`.

    Parameters:
        bound: the largest number of preemptions, or ``None`` for no bound.
        steps: branch at the first ``steps`` steps of an execution only.
    """

    name = "bpor"

    def __init__(self, bound: int | None = 2, steps: int = BRANCHING_LIMIT) -> None:
        if bound is not None and bound < 0:
            raise ValueError(f"the preemption bound can't be {bound}; give 0 or more, or None")
        if steps < 0:
            raise ValueError(f"the number of steps to branch at can't be {steps}; give 0 or more")
        self._bound = bound
        self._limit = steps
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self.is_out = False
        self._tally = Tally()
        self._races = RaceFinder(self._limit, irreversible=True)
        self._options: list[_Options | None] = []
        # The number of preemptions before each step.
        self._preemptions = [0]
        self._choices: list[Choice] = []
        self._plan: Plan | None = Plan()
        self._start = 0
        self._taken: Choice | None = None
        self._beyond_bound = False
        # The races of what was executed by another process are known to it.
        self._is_cold = False

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._plan is None and not self.is_out:
            options = self._options
            while options:
                here = options[-1]
                if here is not None and here.waiting:
                    self._start = len(options) - 1
                    self._taken = here.waiting[0]
                    prefix = (*self._choices[: self._start], here.waiting.pop(0))
                    self._plan = Plan(prefix, foreseen=len(prefix) - 1)
                    break
                options.pop()
        return self._plan

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        plan, self._plan = self._plan, None
        self._taken = None
        prefix = len(plan.prefix) if plan is not None else 0
        start = self._start
        self._tally.count(trace, self._limit)
        end = len(trace)
        if trace.divergence is not None:
            end = min(end, trace.divergence.step)
            if end < prefix:
                return
        preemptions = self._preemptions
        del preemptions[start + 1 :]
        for step in range(start, end):
            cost = trace.is_preemption(step, trace.tasks[step])
            preemptions.append(preemptions[step] + cost)
        self._choices = trace.choices
        self._options += [None] * (end - len(self._options))
        limit = last_branching_step(trace, self._limit)
        if self._is_cold:
            self._races.take(trace, 0, end)
            self._is_cold = False
        for reversal in self._races.take(trace, start, end):
            step = reversal.step
            if step >= limit:
                continue
            choice = reversal.event.choice
            if isinstance(choice, int):
                self._add(trace, step, (choice,))
                continue
            self._add_task(trace, step, choice)
            began = step
            while began and trace.tasks[began - 1] == trace.tasks[step]:
                began -= 1
            if began != step:
                self._add_task(trace, began, choice)

    def _add_task(self, trace: Trace, step: int, task: str) -> None:
        if task in trace.enabled[step]:
            self._add(trace, step, (task,))
        else:
            self._add(trace, step, trace.options(step))

    def _add(self, trace: Trace, step: int, choices: tuple[Choice, ...]) -> None:
        """Let choices be explored at a step, as far as the bound allows it."""
        here = self._options[step]
        if here is None:
            here = self._options[step] = _Options(trace.choices[step])
        for choice in choices:
            if choice in here.seen:
                continue
            here.seen.add(choice)
            costs = isinstance(choice, str) and trace.is_preemption(step, choice)
            if self._bound is not None and self._preemptions[step] + costs > self._bound:
                self._beyond_bound = True
            else:
                here.waiting.append(choice)

    @property
    def exhausted(self) -> bool:
        """Whether nothing within the bound is left to explore."""
        return not self.is_out and self.next_plan() is None

    @property
    def complete(self) -> bool:
        """Whether a schedule for every happens-before graph was executed, without a bound."""
        return self.exhausted and not self._beyond_bound and self._tally.is_whole

    @property
    def completed(self) -> str | None:
        """See :class:`~bohrbug.search.strategy.Bounding`."""
        if self._bound is None or not (self.exhausted and self._tally.is_whole):
            return None
        return f"at most {counted(self._bound, 'preemption')}"

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        executions = counted(self._tally.executions, "execution")
        if not self.exhausted:
            what = f"{executions} of a bounded partial-order reduction"
        elif not self._beyond_bound or self._bound is None:
            what = f"all schedules up to the order of independent operations ({executions})"
        else:
            with_bound = (
                f"with at most {counted(self._bound, 'preemption')}"
                if self._bound
                else "without preemptions"
            )
            what = (
                f"all schedules {with_bound}, up to the order of independent operations"
                f" ({executions})"
            )
        return self._tally.sentence(what, self._limit)

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        waiting = sum(len(here.waiting) for here in self._options if here is not None)
        return f"bounded partial-order reduction, {waiting:,} waiting"

    # -- saving ------------------------------------------------------------------------

    def state(self) -> State:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        if self._plan is not None and self._taken is not None:
            here = self._options[self._start]
            assert here is not None
            here.waiting.insert(0, self._taken)
            self._plan = self._taken = None
        last = max(
            [step for step, here in enumerate(self._options) if here and here.waiting], default=-1
        )
        return {
            "strategy": self.name,
            "version": VERSION,
            "is_out": self.is_out,
            "tally": self._tally.to_json(),
            "options": [
                [step, list(here.seen), list(here.waiting)]
                for step, here in enumerate(self._options[: last + 1])
                if here is not None
            ],
            "preemptions": self._preemptions[: last + 2],
            "choices": list(self._choices[: last + 1]),
            "beyond_bound": self._beyond_bound,
        }

    def restore(self, state: State) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        state = checked_state(state, self.name)
        self.restart()
        self.is_out = state["is_out"]
        self._tally = Tally.from_json(state["tally"])
        if not self._tally.executions:
            return
        self._plan = None
        self._options = [None] * len(state["choices"])
        for step, seen, waiting in state["options"]:
            here = self._options[step] = _Options(state["choices"][step])
            here.seen.update(seen)
            here.waiting = waiting
        self._preemptions = state["preemptions"]
        self._choices = state["choices"]
        self._beyond_bound = state["beyond_bound"]
        self._is_cold = True
