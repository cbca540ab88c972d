"""Random schedules, none twice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from bohrbug.model.plan import Choice, Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT, Tally, counted, last_branching_step
from bohrbug.search.divisible import VERSION, AsAWhole, State, checked_state
from bohrbug.search.estimates import rounded_up
from bohrbug.search.plain import random_from_json, random_to_json
from bohrbug.search.sampling import CONFIDENCE, unseen_probability
from bohrbug.search.sampling_tree import SamplingTree

ROOM = 1_000_000
"""Choices and nodes that are remembered, at up to some 400 bytes each."""


class UniformSampling(AsAWhole):
    """Uniform sampling of the interleaving tree without repeats.

    As a random walk, which takes each option of a step with the same probability, but no
    schedule is executed twice (as in Lincheck: Koval et al., CAV 2023).  A part
    of the tree that has been executed as a whole is never entered again, so a small tree
    is exhausted with exactly as many executions as it has schedules.

    Guarantee: schedules are measured by their *share*, the probability of a random walk to
    take them.  If failing schedules have share ``p``, each draw hits one
    with probability at least ``p``, so ``N`` draws miss them with probability at most ``(1 -
    p)**N``.  And none can have a larger share than what is left.  Where
    schedules differ in their length, the share is not the same as the part
    of their number.

    The number of schedules is estimated as by Knuth (*Estimating the efficiency of
    backtrack programs*, 1975): a leaf drawn with probability ``q`` stands for ``1 / q``
    leaves not seen before.  Each draw estimates without bias, and the mean is taken.

    Parameters:
        seed: determines all plans.
        executions: stop after so many, or never if ``None``.
        steps: tell schedules apart by their first so many steps.
        room: see :class:`~bohrbug.search.sampling_tree.SamplingTree`.
    """

    name = "uniform"

    def __init__(
        self,
        seed: int = 0,
        executions: int | None = None,
        *,
        steps: int = BRANCHING_LIMIT,
        room: int = ROOM,
    ) -> None:
        if steps < 0:
            raise ValueError(f"the number of steps to branch at can't be {steps}; give 0 or more")
        self._random = Random(seed)
        self._remaining = executions
        self._limit = steps
        self._room = room
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`; the budget is not given again."""
        self.is_out = False
        self._plan: Plan | None = None
        # Where the random numbers were before it was drawn.
        self._drawn_at = self._random.getstate()
        self._tally = Tally()
        self._tree = SamplingTree(self._room)
        self._estimates = 0.0
        self._estimated = 0

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self.is_out:
            return None
        if self._plan is None and self._remaining != 0 and not self._tree.is_exhausted:
            self._drawn_at = self._random.getstate()
            prefix = self._tree.draw(self._random)
            self._plan = Plan(prefix, UniformRandom(self._random.getrandbits(32)))
        return self._plan

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        prefix = self._plan.prefix if self._plan is not None else ()
        self._plan = None
        if self._remaining is not None:
            self._remaining -= 1
        self._tally.count(trace, self._limit)
        end = last_branching_step(trace, self._limit)
        if trace.divergence is not None and end < len(prefix):
            self._tree.give_up()
            return
        branches = [
            (step, options) for step in range(end) if len(options := _options(trace, step)) > 1
        ]
        # A draw has the walk's probability under the condition that it is new.
        try:
            new = self._tree.left * float(math.prod([len(options) for _, options in branches]))
        except OverflowError:
            new = math.inf
        self._estimates += self._tree.remembered + new
        self._estimated += 1
        behind = [branch for branch in branches if branch[0] >= len(prefix)]
        self._tree.see(trace.choices, behind)

    @property
    def estimated_schedules(self) -> float:
        """About how many schedules there are; infinite if the number is beyond measure."""
        return self._estimates / self._estimated if self._estimated else math.nan

    @property
    def unseen_share(self) -> float:
        """Failing schedules of a larger share would have been hit, with 95 % confidence."""
        return min(unseen_probability(self._estimated), self._tree.left)

    @property
    def exhausted(self) -> bool:
        """Whether every schedule was executed, up to the given number of steps."""
        return self._tree.is_exhausted

    @property
    def complete(self) -> bool:
        """Whether every schedule was executed, and nothing was given up."""
        return self.exhausted and self._tally.is_whole

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        executions = counted(self._tally.executions, "execution")
        if self.exhausted:
            return self._tally.sentence(f"all schedules ({executions})", self._limit)
        if not self._tally.executions:
            return "0 random schedules"
        text = self._tally.sentence(
            f"{self._tally.executions:,} random schedules"
            + (", none twice" if not self._tree.forgotten else "")
            + f", of {self._about()}",
            self._limit,
        )
        return (
            f"{text}: failing ones with a share of {rounded_up(self.unseen_share)} or more would"
            f" have been hit ({CONFIDENCE:.0%} confidence)"
        )

    def _about(self) -> str:
        number = self.estimated_schedules
        if number < 1e9:
            return f"about {_rounded(number):,}"
        return f"about {number:.0e}" if math.isfinite(number) else "more than 1e+300"

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if not self._tally.executions:
            return "0 schedules"
        return f"{self._tally.executions:,} of {self._about()} schedules"

    # -- saving ------------------------------------------------------------------------

    def state(self) -> State:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        if self._plan is not None:
            # It is drawn again.
            self._plan = None
            self._random.setstate(self._drawn_at)
        return {
            "strategy": self.name,
            "version": VERSION,
            "is_out": self.is_out,
            "random": random_to_json(self._random),
            "remaining": self._remaining,
            "tally": self._tally.to_json(),
            "tree": self._tree.to_json(),
            "estimates": str(self._estimates),
            "estimated": self._estimated,
        }

    def restore(self, state: State) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        state = checked_state(state, self.name)
        self.restart()
        self.is_out = state["is_out"]
        self._random = random_from_json(state["random"])
        self._remaining = state["remaining"]
        self._tally = Tally.from_json(state["tally"])
        self._tree.take_in(state["tree"])
        # As text, for it may be infinite.
        self._estimates = float(state["estimates"])
        self._estimated = state["estimated"]


def _options(trace: Trace, step: int) -> Sequence[Choice]:
    arity = trace.arities.get(step, 0)
    return range(arity) if arity else trace.options(step)


def _rounded(number: float) -> int:
    """Two significant digits."""
    return int(float(f"{number:.1e}"))
