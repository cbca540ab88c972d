"""Partial-order reduction within a bound of preemptions."""

from __future__ import annotations

from collections.abc import Sequence

from bohrbug.model.plan import Choice, Plan
from bohrbug.model.trace import Trace
from bohrbug.search.bounded_dpor_trunk import Addition, BoundedNode, BoundedTrunk
from bohrbug.search.branching import BRANCHING_LIMIT, counted, last_branching_step
from bohrbug.search.divided_path import DividedPath
from bohrbug.search.divisible import State
from bohrbug.search.races_of_trace import RaceFinder
from bohrbug.search.tree_parts import PathFacts


class BoundedReduction(DividedPath[BoundedNode, Addition]):
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

    *Several processes.*  A branch of a node is a piece of work: the prefix and one more choice.
    Whoever has it explores all that is behind; which choices its races add at nodes above it comes
    back with the piece, and the owner of such a node knows which of them were made.  So nothing
    is executed twice, in whatever order pieces come back.

    Parameters:
        bound: the largest number of preemptions, or ``None`` for no bound.
        steps: branch at the first ``steps`` steps of an execution only.
    """

    name = "bpor"

    def __init__(self, bound: int | None = 2, steps: int = BRANCHING_LIMIT) -> None:
        if bound is not None and bound < 0:
            raise ValueError(f"the preemption bound can't be {bound}; give 0 or more, or None")
        self._bound = bound
        super().__init__(steps)

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        super().restart()
        self._races = RaceFinder(self._limit, irreversible=True)
        self._beyond_bound = False
        self._begin_whole()

    def _clear_path(self) -> None:
        super()._clear_path()
        self._choices: list[Choice] = []
        # The number of preemptions before each step.
        self._preemptions = [0]
        self._start = 0
        self._taken: Choice | None = None
        # The races of what was executed by another process are known to it.
        self._is_cold = False

    def _plan_at(self, depth: int, node: BoundedNode) -> Plan | None:
        if not node.branches:
            return None
        self._start = depth
        self._taken = node.branches.pop(0)
        return Plan((*self._choices[:depth], self._taken), foreseen=depth)

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        plan, self._plan = self._plan, None
        self._taken = None
        self._is_fresh = False
        prefix = len(plan.prefix) if plan is not None else 0
        start = self._start
        self._tally.count(trace, self._limit)
        end = len(trace)
        if trace.divergence is not None:
            end = min(end, trace.divergence.step)
        if end < prefix:
            return
        preemptions = self._preemptions
        counted_from = 0 if self._is_cold else start
        del preemptions[counted_from + 1 :]
        for step in range(counted_from, end):
            cost = trace.is_preemption(step, trace.tasks[step])
            preemptions.append(preemptions[step] + cost)
        self._choices = trace.choices
        self._nodes += [None] * (end - len(self._nodes))
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
                self._let_explore(trace, step, (choice,))
                continue
            self._add_task(trace, step, choice)
            began = step
            while began and trace.tasks[began - 1] == trace.tasks[step]:
                began -= 1
            if began != step:
                self._add_task(trace, began, choice)

    def _add_task(self, trace: Trace, step: int, task: str) -> None:
        if task in trace.enabled[step]:
            self._let_explore(trace, step, (task,))
        else:
            self._let_explore(trace, step, trace.options(step))

    def _let_explore(self, trace: Trace, step: int, choices: tuple[Choice, ...]) -> None:
        """Let choices be explored at a step, as far as the bound allows it."""
        for choice in choices:
            if choice == trace.choices[step]:
                continue
            costs = isinstance(choice, str) and trace.is_preemption(step, choice)
            if self._bound is not None and self._preemptions[step] + costs > self._bound:
                self._beyond_bound = True
            elif step < self._base:
                self._tell(Addition(step, choice))
            else:
                here = self._nodes[step]
                if here is None:
                    here = self._nodes[step] = BoundedNode((trace.choices[step],))
                here.add(choice)

    @property
    def complete(self) -> bool:
        """Whether a schedule for every happens-before graph was executed, without a bound."""
        return self.exhausted and not self._beyond_bound and self._tally.is_whole

    @property
    def completed(self) -> str | None:
        """See :class:`~bohrbug.search.strategy.Bounding`."""
        if self._bound is None or not (self.exhausted and self._tally.is_whole):
            return None
        return f"at most {counted(self._bound, 'preemption')}" if self._bound else "no preemptions"

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
        waiting = sum(len(here.branches) for here in self._nodes if here is not None)
        if self._trunk is not None:
            for segment in self._trunk.segments.values():
                waiting += sum(node.waiting for node in segment.nodes.values())
        return f"bounded partial-order reduction, {waiting:,} waiting"

    # -- how it is cut -----------------------------------------------------------------

    _node_type = BoundedNode
    _insertion_type = Addition

    def _new_trunk(self) -> BoundedTrunk:
        return BoundedTrunk(BoundedNode)

    def _put_back(self) -> None:
        if self._plan is not None and self._taken is not None:
            here = self._nodes[self._start]
            assert here is not None
            here.branches.insert(0, self._taken)
            self._plan = self._taken = None

    def _opened(self) -> list[int]:
        self._put_back()
        return [depth for depth, node in enumerate(self._nodes) if node and node.branches]

    def _known_choices(self) -> Sequence[Choice]:
        return self._choices

    def _known(self, first: int, last: int) -> tuple[dict[int, BoundedNode], PathFacts]:
        depths = range(first, last + 1)
        return {depth: node for depth in depths if (node := self._nodes[depth])}, PathFacts()

    def _take_over(self, choices: list[Choice], facts: PathFacts) -> None:  # noqa: ARG002
        self._choices = list(choices)
        self._is_cold = True

    def _figures(self) -> State:
        return {**super()._figures(), "beyond_bound": self._beyond_bound}

    def _add_figures(self, figures: State) -> None:
        super()._add_figures(figures)
        self._beyond_bound |= figures["beyond_bound"]
