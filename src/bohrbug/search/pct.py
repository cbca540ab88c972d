"""Probabilistic concurrency testing: random priorities with a few change points."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan, Priorities
from bohrbug.model.trace import Trace
from bohrbug.search.branching import counted
from bohrbug.search.divisible import VERSION, State, checked_state
from bohrbug.search.seeds import Indices, Seeds


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


class PCT:
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
    learns_slowly = False
    exhausted = False
    """Never: another execution may always show another schedule."""
    complete = False

    def __init__(
        self, depths: Sequence[int] = (1, 2, 3), seed: int = 0, executions: int | None = None
    ) -> None:
        if not depths or min(depths) < 1:
            raise ValueError(f"the depth of a bug is at least 1; {tuple(depths)} were given")
        self._depths = tuple(depths)
        self._seeds = Seeds(seed)
        self._left = Indices([(0, None)])
        # Counts down in ``observe``; what is handed out counts as made.
        self._remaining = executions
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`; the budget is not given again."""
        self._plan: Plan | None = None
        self._tasks = 0
        self._steps = 0
        self._turn = 0
        # The number of the first plan since the restart, the generation's length, and what
        # the next generation waits for: plans made and taken in.
        self._first = self._left.first or 0
        self._length = 0
        self._learned_at = -1
        # Executions by depth and by the number of steps that change points were spread over.
        self._made: Counter[tuple[int, int]] = Counter()

    def learn(self, trace: Trace) -> None:
        """Take the numbers of tasks and steps from an execution, whoever planned it.

        One that did not come to an end by itself says nothing of ``k``: change points
        spread over all steps of a livelock would hardly ever fall on the others.
        """
        if trace.outcome.kind not in (OutcomeKind.LIVELOCK, OutcomeKind.STEP_LIMIT):
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

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._plan is None and self._remaining != 0:
            index = self._left.first
            if self._tasks == 0:
                self._plan = Plan()
            elif index is not None:
                turn = index - self._first
                self._begin_generation(turn)
                depth = self._depths[turn % len(self._depths)]
                policy = Priorities(self._seeds.at(index), depth, max(self._length, 1))
                self._plan = Plan((), policy)
        return self._plan

    def _begin_generation(self, turn: int) -> None:
        """What was learned takes effect when a generation begins."""
        start = generation_of(turn)
        if start != self._learned_at:
            self._learned_at = start
            self._length = self._steps

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        plan, self._plan = self._plan, None
        if self._remaining is not None:
            self._remaining -= 1
        self.learn(trace)
        if plan is not None and isinstance(plan.policy, Priorities):
            self._turn += 1
            self._left.advance()
            self._made[plan.policy.depth, plan.policy.length] += 1

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
        text = counted(self._turn, "PCT execution")
        if not self._turn:
            return text
        first, *others = [
            (depth, _rounded_up(bound)) for depth, bound in self.miss_probabilities().items()
        ]
        text += f": a bug of depth {first[0]} would be missed with probability at most {first[1]}"
        text += "".join(f", of depth {depth} at most {bound}" for depth, bound in others)
        tasks = counted(self._tasks, "task")
        steps = counted(self._steps, "step")
        return f"{text} (n = {tasks}, k = {steps})"

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return f"{counted(self._turn, 'PCT execution')}, k = {self._steps}"

    # -- dividing ----------------------------------------------------------------------

    def state(self) -> State:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        return {
            **self._piece(self._left.ranges()),
            "remaining": self._remaining,
            "turn": self._turn,
            "made": [[depth, length, count] for (depth, length), count in self._made.items()],
        }

    def _piece(self, ranges: list[list[int]]) -> State:
        return {
            "strategy": self.name,
            "version": VERSION,
            "left": ranges,
            "first": self._first,
            "tasks": self._tasks,
            "steps": self._steps,
            "length": self._length,
            "learned_at": self._learned_at,
            "remaining": None,
            "turn": 0,
            "made": [],
        }

    def restore(self, state: State) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        state = checked_state(state, self.name)
        self._plan = None
        self._left = Indices(state["left"])
        self._first = state["first"]
        self._tasks = state["tasks"]
        self._steps = state["steps"]
        self._length = state["length"]
        self._learned_at = state["learned_at"]
        self._remaining = state["remaining"]
        self._turn = state["turn"]
        self._made = Counter({(depth, length): count for depth, length, count in state["made"]})

    def hand_out(self, most: int) -> State | None:
        """See :class:`~bohrbug.search.divisible.Divisible`.

        No piece reaches into the next generation, and that one begins only when all of
        this one has come back.
        """
        self._plan = None
        first = self._left.first
        if first is None or self._tasks == 0:
            return None
        turn = first - self._first
        start = generation_of(turn)
        if start != self._learned_at:
            if self._turn < turn:
                return None
            self._begin_generation(turn)
        most = min(most, max(2 * start, 1) - turn)
        if self._remaining is not None:
            most = min(most, self._remaining)
        taken = self._left.take(most)
        if taken is None:
            return None
        if self._remaining is not None:
            self._remaining -= taken[1] - taken[0]
        return self._piece([taken])

    def split(self) -> State | None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        self._plan = None
        taken = self._left.halve()
        return None if taken is None else self._piece([taken])

    def take_in(self, state: State) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        state = checked_state(state, self.name)
        self._plan = None
        self._left.take_in(state["left"])
        if self._remaining is not None:
            self._remaining += sum(end - start for start, end in state["left"])
        self.take_learned(state["tasks"], state["steps"])
        self._turn += state["turn"]
        for depth, length, count in state["made"]:
            self._made[depth, length] += count

    def position(self) -> int | None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        return self._left.first if self._tasks else None


def generation_of(turn: int) -> int:
    """The first turn of the generation that a turn belongs to: 0, 1, 2, 4, 8, ..."""
    return 1 << (turn.bit_length() - 1) if turn else 0


def _rounded_up(probability: float) -> str:
    """Two significant digits, never less than the number itself."""
    if probability < 1e-9:
        return "0.000000001" if probability else "0"
    digits = 1 - math.floor(math.log10(probability))
    scale = 10.0**digits
    return f"{min(math.ceil(probability * scale) / scale, 1.0):.{digits}f}".rstrip("0").rstrip(".")
