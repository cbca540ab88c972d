"""Probabilistic concurrency testing: random priorities with a few change points."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from bohrbug.model.plan import Plan, Priorities
from bohrbug.model.trace import Trace
from bohrbug.search.branching import counted
from bohrbug.search.divisible import State
from bohrbug.search.drawn import DrawnInGenerations
from bohrbug.search.estimates import rounded_up
from bohrbug.search.generations import Generations
from bohrbug.search.seeds import Seeds


def miss_probability(tasks: int, steps: int, depth: int, executions: int) -> float:
    """How likely it is, at most, that PCT misses a bug.

    Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010, section 2: one
    execution finds a bug of depth ``d`` with probability at least
    ``1 / (n * k**(d - 1))``, so ``N`` of them miss it with at most
    ``(1 - 1 / (n * k**(d - 1)))**N``.

    Parameters:
        tasks: ``n``, at least 1.
        steps: ``k``, at least 1.
        depth: ``d``, at least 1.
        executions: ``N``.
    """
    if not executions:
        return 1.0
    found = 1.0 / (float(tasks) * float(steps) ** (depth - 1))
    if found >= 1.0:
        return 0.0
    return math.exp(executions * math.log1p(-found))


class PCT(DrawnInGenerations):
    """PCT (Burckhardt et al., ASPLOS 2010).

    Each task has a random priority, the highest runs, and at ``depth - 1`` random
    steps the priority of the running task drops below all others.  The first
    execution is non-preemptive; from it and all later ones the strategy learns
    the number of tasks ``n`` and of steps ``k`` over which to spread the change points.
    What was learned takes effect with the executions numbered 1, 2, 4, 8 and so on, so
    that those between can be made in any order, by several processes.

    Guarantee: see :func:`miss_probability`.  For each depth only the executions
    made for that depth count, and of them only those whose change points were
    spread over as many steps as the longest execution turned out to have.

    Parameters:
        depths: the depths of the bugs aimed at, taken in turn.
        seed: determines the seeds of all plans.
        executions: stop after so many, the learning one included, or never if ``None``.
    """

    name = "pct"

    def __init__(
        self, depths: Sequence[int] = (1, 2, 3), seed: int = 0, executions: int | None = None
    ) -> None:
        if not depths or min(depths) < 1:
            raise ValueError(f"the depth of a bug is at least 1; {tuple(depths)} were given")
        self._depths = tuple(depths)
        self._seeds = Seeds(seed)
        self._generations = Generations(executions)
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`; the budget is not given again."""
        self._plan: Plan | None = None
        self._generations.restart()
        self._tasks = 0
        self._steps = 0
        # The steps that the change points of this generation are spread over.
        self._length = 0
        # Executions by depth and by the number of steps that change points were spread over.
        self._made: Counter[tuple[int, int]] = Counter()

    def learn(self, trace: Trace) -> None:
        """Take the numbers of tasks and steps from an execution, whoever planned it.

        One that did not come to an end by itself says nothing of ``k``: change points
        spread over all steps of a livelock would hardly ever fall on the others.
        """
        if not trace.outcome.is_endless:
            self._steps = max(self._steps, len(trace))
        self._tasks = max(self._tasks, trace.task_count)

    @property
    def learned(self) -> list[int]:
        """The numbers of tasks and of steps."""
        return [self._tasks, self._steps]

    def take_learned(self, tasks: int, steps: int) -> None:
        """Take in what this strategy has learned in another process."""
        self._tasks = max(self._tasks, tasks)
        self._steps = max(self._steps, steps)

    def learn_from(self, lessons: State) -> None:
        """See :class:`~bohrbug.search.strategy.Taught`."""
        self.take_learned(lessons["tasks"], lessons["steps"])

    @property
    def _has_learned(self) -> bool:
        return self._tasks > 0

    def _plan_at(self, index: int) -> Plan:
        depth = self._depths[self._generations.turn_of(index) % len(self._depths)]
        return Plan((), Priorities(self._seeds.at(index), depth, max(self._length, 1)))

    def _take_effect(self) -> None:
        self._length = self._steps

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        plan, self._plan = self._plan, None
        self.learn(trace)
        policy = None if plan is None else plan.policy
        self._generations.count(isinstance(policy, Priorities))
        if isinstance(policy, Priorities):
            self._made[policy.depth, policy.length] += 1

    def miss_probabilities(self) -> dict[int, float]:
        """For each depth the probability with which a bug of it was missed, at most."""
        return {
            depth: miss_probability(self._tasks, max(self._steps, 1), depth, self._counting(depth))
            for depth in sorted(set(self._depths))
        }

    def _counting(self, depth: int) -> int:
        """The executions for a depth that the guarantee holds for."""
        return self._made[depth, max(self._steps, 1)]

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        text = counted(self._generations.executed, "PCT execution")
        if not self._generations.executed:
            return text
        first, *others = [
            (depth, rounded_up(bound)) for depth, bound in self.miss_probabilities().items()
        ]
        text += f": a bug of depth {first[0]} would be missed with probability at most {first[1]}"
        text += "".join(f", of depth {depth} at most {bound}" for depth, bound in others)
        tasks = counted(self._tasks, "task")
        steps = counted(self._steps, "step")
        return f"{text} (n = {tasks}, k = {steps})"

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        executions = counted(self._generations.executed, "PCT execution")
        return f"{executions}, k = {self._steps}"

    # -- dividing ----------------------------------------------------------------------

    def _piece(self, generations: State) -> State:
        return {
            **generations,
            "tasks": self._tasks,
            "steps": self._steps,
            "length": self._length,
        }

    def _become(self, state: State) -> None:
        self._plan = None
        self._generations.restore(state)
        self._tasks = state["tasks"]
        self._steps = state["steps"]
        self._length = state["length"]
        self._made = Counter()

    def _add(self, state: State) -> None:
        super()._add(state)
        self.take_learned(state["tasks"], state["steps"])

    def _figures(self) -> State:
        return {"made": [[*made, count] for made, count in self._made.items()]}

    def _add_figures(self, figures: State) -> None:
        for depth, length, count in figures["made"]:
            self._made[depth, length] += count
