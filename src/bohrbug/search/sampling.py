"""What the strategies share that draw each execution anew from one distribution."""

from __future__ import annotations

from random import Random

from bohrbug.model.plan import Plan, Point, Policy
from bohrbug.model.trace import Trace
from bohrbug.search.branching import BRANCHING_LIMIT, Tally, counted
from bohrbug.search.conflicts import Conflicts

CONFIDENCE = 0.95
"""Of the statements about what was not seen."""

UNFILTERED_SHARE = 0.1
"""The part of the executions in which every operation is a decision."""


def unseen_probability(executions: int) -> float:
    """What fails more often than this was seen, with :data:`CONFIDENCE`.

    Of ``n`` independent executions none shows what each shows with probability ``p``
    with probability ``(1 - p)**n``; solved for ``p``.  About ``3 / n``.

    Parameters:
        executions: ``n``; with 0 nothing is known and the result is 1.
    """
    return 1.0 - (1.0 - CONFIDENCE) ** (1.0 / executions) if executions else 1.0


def rounded_up(probability: float) -> str:
    """Two significant digits, never less than the number itself."""
    text = f"{probability:.1e}"
    if float(text) < probability:
        mantissa, _, exponent = text.partition("e")
        text = f"{float(mantissa) + 0.1:.1f}e{exponent}"
    number = min(float(text), 1.0)
    return f"{number:.12f}".rstrip("0").rstrip(".") if number >= 1e-9 else f"{number:.1e}"


class ConflictSampler:
    """Samples executions with a policy that skips operations which never conflict.

    The first execution is non-preemptive, to learn from.  Later ones learn too: an operation
    is a decision from the execution on that follows the one in which it was seen to
    conflict.  In :data:`UNFILTERED_SHARE` of the executions every operation is a
    decision, so that no schedule has probability 0.

    Guarantee: the executions since the policy's data last changed are independent and
    have one distribution, so :func:`unseen_probability` holds for them.

    Parameters:
        seed: determines all plans.
        executions: stop after so many, the first one included, or never if ``None``.
    """

    name: str
    title: str
    """What its executions are called in sentences, such as ``POS``."""
    learns_slowly = False
    exhausted = False
    """Never: another execution may always show another schedule."""
    complete = False

    def __init__(self, seed: int = 0, executions: int | None = None) -> None:
        self._random = Random(seed)
        self._remaining = executions
        self.restart()

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`; the budget is not given again."""
        self._plan: Plan | None = None
        self._tally = Tally()
        self._conflicts = Conflicts()
        self._steady = 0

    def policy(self, seed: int, points: frozenset[Point] | None) -> Policy:
        """The policy of the next execution.

        Parameters:
            seed: of the policy.
            points: those that are decisions, or ``None`` for all.
        """
        raise NotImplementedError

    def learn(self, trace: Trace) -> None:
        """Take in an execution, whoever planned it."""
        if self._conflicts.learn(trace):
            self._steady = 0

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._plan is None and self._remaining != 0:
            if not self._tally.executions:
                self._plan = Plan()
            else:
                seed = self._random.getrandbits(32)
                everywhere = self._random.random() < UNFILTERED_SHARE
                points = None if everywhere else self._conflicts.points
                self._plan = Plan((), self.policy(seed, points))
        return self._plan

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self._plan = None
        if self._remaining is not None:
            self._remaining -= 1
        if self._tally.executions:
            self._steady += 1
        self._tally.count(trace, BRANCHING_LIMIT)
        self.learn(trace)

    @property
    def unseen_probability(self) -> float:
        """What one execution shows with a higher probability was seen (95 % confidence)."""
        return unseen_probability(self._steady)

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        executions = max(self._tally.executions - 1, 0)
        text = counted(executions, f"{self.title} execution")
        if self._steady:
            text += (
                f", {self._steady:,} of them since the last new conflict: a failure that one shows"
                f" with probability {rounded_up(self.unseen_probability)} or more would have been"
                f" seen ({CONFIDENCE:.0%} confidence)"
            )
        return text

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        points = counted(len(self._conflicts.points), "conflicting place")
        executions = max(self._tally.executions - 1, 0)
        return f"{counted(executions, f'{self.title} execution')}, {points}"
