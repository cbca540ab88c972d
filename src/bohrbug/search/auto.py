"""The strategy for whoever names none: all that there is, without a choice to make."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.search.branching import counted
from bohrbug.search.estimates import Estimate, TreeProbes, share_in_words
from bohrbug.search.novelty import Novelty
from bohrbug.search.portfolio import Member, Rotation
from bohrbug.search.strategy import Bounding, Estimating, Learning, Strategy

BEGINNING = 50
"""Executions in which a systematic member has the less turns the more it has to do."""

BEGINNING_SHARES = ((100.0, 0.4), (1_000.0, 0.3), (math.inf, 0.2))
"""Executions that a systematic member takes at most, and the part of the turns that it has then."""

SYSTEMATIC_SHARE = 0.6
"""The part that it has after the beginning, if it can come to its end."""

OUT_OF_REACH_SHARE = 0.1
"""The part that they have, at any time, when none of them can."""

PROBES = 16
"""Executions of randomised members before their estimate is relied on."""

LOOK_AGAIN = 8
"""Executions after which it is looked again, at the latest, which member can come to its end."""


class Auto:
    """First the non-preemptive execution, then everything at once, each with a fair share.

    *Systematic* members are tried in their order: the first is to execute every schedule, those
    after it every schedule within a bound.  As long as one of them can come to its end within
    the budget, the first that can has a part of the turns: the less there is to do, the more
    (:data:`BEGINNING_SHARES`), and :data:`SYSTEMATIC_SHARE` once :data:`BEGINNING` executions
    have found nothing.
    Whether it can is estimated from what the member says itself, and from how many different
    happens-before classes the *randomised* members meet
    (:class:`~bohrbug.search.estimates.ClassCounts`).  If none can, they take turns in
    :data:`OUT_OF_REACH_SHARE`.

    The randomised members share the rest.  No sampler dominates: each misses bugs that another
    finds in tens of schedules (Zhao, Wolff, Mathur and Roychoudhury, ASPLOS 2025; Wolff et al.,
    ASPLOS 2024).  So each has a share that it keeps, and a further one that goes to those that
    find new behaviour (:class:`~bohrbug.search.portfolio.Rotation`).

    The search is over when a systematic member has executed every schedule there is, or when the
    budget is spent.

    Parameters:
        systematic: members that come to an end; the first is to execute every schedule.
        randomised: members that never do.
        executions: the budget, ``None`` for none.
    """

    name = "auto"

    def __init__(
        self,
        systematic: Sequence[Strategy],
        randomised: Sequence[tuple[Strategy, float]],
        executions: int | None = None,
    ) -> None:
        if not systematic or not randomised:
            raise ValueError("auto needs at least one systematic and one randomised member")
        self._systematic = [Member(strategy) for strategy in systematic]
        self._randomised = [Member(strategy, weight) for strategy, weight in randomised]
        self._members = (*self._systematic, *self._randomised)
        self._budget = executions
        self._executions = 0
        self._begin()

    def _begin(self) -> None:
        self._member = self._members[0]
        self._rotation = Rotation(self._randomised)
        # Of those that can't come to their end each goes a part of its way.
        self._unreachable = Rotation(self._systematic)
        self._novelty = Novelty()
        self._probes = TreeProbes()
        self._first: Trace | None = None
        self._plan: Plan | None = None
        self._owed = 0.0
        self._reachable: Member | None = self._systematic[0]
        self._began = self._executions
        self._looked_at: int | None = None
        self._size = 0.0

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        for member in self._members:
            member.reset()
        self._begin()

    # -- whose turn it is ------------------------------------------------------------

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._plan is not None:
            return self._plan
        if self._first is None:
            self._plan = Plan()
            return self._plan
        while not self.complete:
            member = self._next_member()
            if member is None:
                return None
            plan = member.strategy.next_plan()
            if plan is None:
                member.is_over = True
            else:
                self._member = member
                self._plan = plan
                return plan
        return None

    def _next_member(self) -> Member | None:
        reachable = self._within_reach()
        self._owed += self._systematic_share(reachable)
        if self._owed >= 1.0:
            self._owed -= 1.0
            systematic = reachable or self._unreachable.next()
            if systematic is not None:
                return systematic
        return self._rotation.next() or reachable or self._unreachable.next()

    def _systematic_share(self, reachable: Member | None) -> float:
        if reachable is None:
            return OUT_OF_REACH_SHARE
        if self._executions - self._began >= BEGINNING:
            return SYSTEMATIC_SHARE
        return next(share for size, share in BEGINNING_SHARES if self._size <= size)

    def _within_reach(self) -> Member | None:
        """The first systematic member that can come to its end within the budget.

        Looked for only now and then: an estimate takes as long as a path is deep.
        """
        reachable = self._reachable
        done = self._executions - self._began
        if self._looked_at is not None and not (reachable is not None and reachable.is_over):
            since = done - self._looked_at
            if since < min(LOOK_AGAIN, max(self._looked_at, 1)):
                return reachable
        self._looked_at = done
        for member in self._systematic:
            size = self._size_of(member)
            if not member.is_over and self._is_affordable(size - member.executions):
                self._reachable, self._size = member, size
                return member
        self._reachable = None
        return None

    def _is_affordable(self, executions: float) -> bool:
        return self._budget is None or executions <= self._budget - self._executions

    def _size_of(self, member: Member) -> float:
        """How many executions a systematic member takes in all, as far as that is known."""
        own = member.strategy.estimate if isinstance(member.strategy, Estimating) else None
        size = 0.0 if own is None else own.size
        if member is self._systematic[0] and self._novelty.classes.samples >= PROBES:
            # What was met at random is a second opinion, and both tend to be too low.
            classes = self._novelty.classes.estimate()
            size = size if classes is None else max(size, classes.size)
        return size

    # -- what came of it -------------------------------------------------------------

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        self._executions += 1
        self._plan = None
        if self._first is None:
            self._first = trace
            self._share_the_first(trace)
            return
        member = self._member
        member.strategy.observe(trace)
        has_new_pair = self._novelty.has_new_pair(trace)
        self._learn(trace, member, has_new_pair)
        self._probes.add(trace)
        if member in self._rotation.members:
            self._rotation.reward(member, self._novelty.of(trace, has_new_pair))
        else:
            member.executions += 1

    def _share_the_first(self, trace: Trace) -> None:
        """Every member that would begin without preemptions has done so."""
        for member in self._members:
            if member.strategy.next_plan() == Plan():
                member.strategy.observe(trace)
            elif isinstance(member.strategy, Learning):
                member.strategy.learn(trace)

    def _learn(self, trace: Trace, planner: Member, is_remarkable: bool) -> None:
        """Let the members learn from what another has planned, if it is worth their time."""
        for member in self._randomised:
            strategy = member.strategy
            if member is planner or not isinstance(strategy, Learning):
                continue
            if is_remarkable or not strategy.learns_slowly:
                strategy.learn(trace)

    # -- what is known -----------------------------------------------------------------

    @property
    def current(self) -> Strategy:
        """The member that made the last plan."""
        return self._member.strategy

    @property
    def exhausted(self) -> bool:
        """Whether every schedule was executed, as far as a systematic member goes."""
        return self.complete

    @property
    def complete(self) -> bool:
        """Whether a member has executed every schedule there is."""
        return any(member.strategy.complete for member in self._systematic)

    @property
    def completed(self) -> str | None:
        """See :class:`~bohrbug.search.strategy.Bounding`."""
        for member in self._systematic:
            if isinstance(member.strategy, Bounding) and member.strategy.completed is not None:
                return member.strategy.completed
        return None

    @property
    def estimate(self) -> Estimate | None:
        """How many executions the first systematic member takes, or how many classes there are."""
        if self.complete:
            return None
        first = self._systematic[0].strategy
        own = first.estimate if isinstance(first, Estimating) else None
        return own if own is not None else self._novelty.classes.estimate()

    def covered_by_member(self) -> tuple[str, ...]:
        """One sentence for each member that had its turn, and one on what is left.

        When one has executed everything, what the others did adds nothing.
        """
        for member in self._systematic:
            if member.strategy.complete:
                return (member.strategy.covered(),)
        sentences = [member.strategy.covered() for member in self._members if member.executions]
        if self._novelty.classes.samples:
            sentences.append(self._outlook())
        if not sentences and self._first is not None:
            sentences.append("one execution without preemptions")
        return tuple(sentences)

    def _outlook(self) -> str:
        classes = self._novelty.classes
        chance, error = classes.chance_of_new()
        text = (
            f"{classes.distinct:,} different behaviours in"
            f" {counted(classes.samples, 'randomised execution')}; another one would show a new"
            f" one with probability about {share_in_words(chance)}"
        )
        if error:
            text += f" (± {share_in_words(error)})"
        schedules = self._probes.estimate()
        return text if schedules is None else f"{text}; {schedules} in all (Knuth 1975)"

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return "; ".join(self.covered_by_member())

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return f"{self.current.name}: {self.current.progress()}"
