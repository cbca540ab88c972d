"""Random schedules, none twice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from bohrbug.model.plan import Choice, Plan, UniformRandom
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT, Tally, counted, last_branching_step
from bohrbug.search.divisible import Dividing, State
from bohrbug.search.estimates import rounded_up
from bohrbug.search.plain import random_from_json, random_to_json
from bohrbug.search.sampling import CONFIDENCE, unseen_probability
from bohrbug.search.sampling_tree import Part, SamplingTree

ROOM = 1_000_000
"""Choices and nodes that are remembered, at up to some 400 bytes each."""


LARGEST_PART = 1 / 32
"""Of what is left of the tree: what has no more of it is drawn from by one process."""

FIRST_ROUND = 64
"""Draws that are allotted to parts of the tree at a time, in the beginning."""

GROWTH = 4
"""Draws that are allotted at a time for each execution that was made."""

PIECES = 16
"""Into about so many the draws of a round are divided."""


@dataclass(slots=True)
class _Work:
    """A part of the tree, in the process that has it.

    Parameters:
        part: where it is, and the draws that are left to do.
        tree: what is behind its prefix.
    """

    part: Part
    tree: SamplingTree

    @property
    def is_done(self) -> bool:
        return not self.part.draws or self.tree.is_exhausted


_WHOLE = Part([], 0, 1.0, 1.0)


class UniformSampling(Dividing):
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

    *Several processes* have disjoint parts of the tree.  Into which of them a draw falls is drawn
    first, for many draws at once; where in the part, by the process that has it.  The guarantee
    stays: what was executed meanwhile only makes a failing schedule more probable.

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
        self._plan: Plan | None = None
        # In a worker: its parts, and how many leaves the first process knew.
        self._work: list[_Work] | None = None
        self._known_before = 0
        # In the first process: parts that wait for a worker, of so many draws, and pieces that
        # are with workers.
        self._allotted: list[Part] = []
        self._round = 0
        self._out = 0
        # Where the random numbers were before it was drawn.
        self._drawn_at = self._random.getstate()
        self._tally = Tally()
        self._tree = SamplingTree(self._room)
        self._estimates = 0.0
        self._estimated = 0

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._plan is None and self._can_draw():
            self._drawn_at = self._random.getstate()
            prefix = (*self._drawn_from.prefix, *self._tree.draw(self._random))
            self._plan = Plan(prefix, UniformRandom(self._random.getrandbits(32)))
        return self._plan

    def _can_draw(self) -> bool:
        if self._work is None:
            return not self._out and self._remaining != 0 and not self._tree.is_exhausted
        # Those that are done come last.
        self._work.sort(key=lambda work: work.is_done)
        if not self._work or self._work[0].is_done:
            return False
        self._tree = self._work[0].tree
        return True

    @property
    def _drawn_from(self) -> Part:
        return self._work[0].part if self._work else _WHOLE

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        prefix = self._plan.prefix if self._plan is not None else ()
        self._plan = None
        part = self._drawn_from
        if self._work is not None:
            part.draws -= 1
        else:
            # What was allotted before may not be left any more.
            self._allotted = []
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
            walks = float(math.prod([len(options) for _, options in branches]))
        except OverflowError:
            walks = math.inf
        # Each draw of a part stands for those that have fallen into others, too.
        new = self._tree.remembered + part.share * self._tree.left * walks
        self._estimates += self._known_before + new / part.weight
        self._estimated += 1
        begin = len(part.prefix)
        behind = [(step - begin, options) for step, options in branches if step >= len(prefix)]
        self._tree.see(trace.choices[begin:], behind)

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
        return self._work is None and not self._out and self._tree.is_exhausted

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
            counted(self._tally.executions, "random schedule")
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

    # -- dividing ----------------------------------------------------------------------

    def _put_back(self) -> None:
        if self._plan is not None:
            # It is drawn again.
            self._plan = None
            self._random.setstate(self._drawn_at)

    def _all(self) -> State:
        if self._work is not None:
            parts = [_part_to_json(work.part, work.tree.to_json()) for work in self._work]
            return self._piece(parts, self._random, self._known_before)
        return {
            "random": random_to_json(self._random),
            "remaining": self._remaining,
            "tree": self._tree.to_json(),
            "out": self._out,
        }

    def _piece(self, parts: list[Any], random: Random, known_before: int) -> State:
        at = random_to_json(random)
        return {"random": at, "parts": parts, "known_before": known_before}

    def _become(self, state: State) -> None:
        self.restart()
        self._random = random_from_json(state["random"])
        if "parts" in state:
            self._work = [_part_from_json(row, self._room) for row in state["parts"]]
            self._known_before = state["known_before"]
            return
        self._remaining = state["remaining"]
        self._tree.merge(state["tree"])
        self._out = state["out"]

    def _cut(self, most: int, wanted: int) -> State | None:  # noqa: ARG002
        # All of a round has to come back before the next one is allotted.
        if not self._allotted and not self._out and self._can_draw():
            # Not too many, for the tree may turn out to be small.
            self._round = max(FIRST_ROUND, GROWTH * self._tally.executions)
            if self._remaining is not None:
                self._round = min(self._round, self._remaining)
            self._allotted = self._tree.allot(self._random, self._round, LARGEST_PART)
        if not self._allotted or most < 1:
            return None
        enough = min(most, -(-self._round // PIECES))
        rows: list[Any] = []
        draws = 0
        while self._allotted and draws < enough:
            part = self._allotted.pop()
            # What is too much for the budget of a piece is drawn anew in the next round.
            part.draws = min(part.draws, most - draws)
            draws += part.draws
            rows.append(_part_to_json(part, self._tree.part_to_json(part)))
        if self._remaining is not None:
            self._remaining -= draws
        self._out += 1
        random = Random(self._random.getrandbits(64))
        return self._piece(rows, random, self._tree.remembered)

    def _add(self, state: State) -> None:
        if self._remaining is not None:
            self._remaining += sum(draws for _, draws, *_ in state["parts"])
        for row in state["parts"]:
            self._tree.graft(row[-1], row[0])
        self._out -= 1

    def _figures(self) -> State:
        # As text, for it may be infinite.
        estimates = str(self._estimates)
        return {**super()._figures(), "estimates": estimates, "estimated": self._estimated}

    def _add_figures(self, figures: State) -> None:
        super()._add_figures(figures)
        self._estimates += float(figures["estimates"])
        self._estimated += figures["estimated"]


def _part_to_json(part: Part, tree: dict[str, Any]) -> list[Any]:
    return [part.prefix, part.draws, part.weight, part.share, tree]


def _part_from_json(row: list[Any], room: int) -> _Work:
    prefix, draws, weight, share, data = row
    tree = SamplingTree(room)
    tree.merge(data)
    return _Work(Part(list(prefix), draws, weight, share), tree)


def _options(trace: Trace, step: int) -> Sequence[Choice]:
    arity = trace.arities.get(step, 0)
    return range(arity) if arity else trace.options(step)


def _rounded(number: float) -> int:
    """Two significant digits."""
    return int(float(f"{number:.1e}"))
