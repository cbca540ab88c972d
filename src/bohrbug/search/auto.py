"""The default strategy: a portfolio of all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.search.auto_piece import Piece, PieceWork
from bohrbug.search.branching import counted
from bohrbug.search.divisible import Dividing, State, StateError, is_divisible
from bohrbug.search.estimates import Estimate, TreeProbes, share_in_words
from bohrbug.search.novelty import Novelty, pair_from_json
from bohrbug.search.portfolio import Member, Rotation
from bohrbug.search.recapture import Recapture
from bohrbug.search.strategy import (
    Bounding,
    Estimating,
    Foreseeing,
    Foresighted,
    GivingUp,
    Learning,
    Strategy,
    Taught,
)
from bohrbug.search.surw import SelectivelyUniform

BEGINNING = 50
"""The first executions, in which a systematic member has fewer turns the more it has to do."""

BEGINNING_SHARES = ((100.0, 0.4), (1_000.0, 0.3), (math.inf, 0.2))
"""Executions that a systematic member takes at most, and its share of the turns then."""

AFFORDABLE = 100_000
"""Executions that a systematic member may need to complete where there is no budget."""

SYSTEMATIC_SHARE = 0.6
"""Its share after the beginning, if it can complete."""

OUT_OF_REACH_SHARE = 0.1
"""Their common share, at any time, when none of them can."""

_MANY = 0.7
"""Where an execution is less likely than this to show a behaviour not seen, the classes that were
met at random tell how many there are at most."""

_FAR_FROM_ALL = 0.5
"""Where an execution is likelier than this to show a behaviour not seen, few were seen."""

PROBES = 16
"""Executions of randomised members before their estimate is used."""

PIECE = 64
"""Executions of a member that another process makes at a time."""

LOOK_AGAIN = 8
"""Executions, and the fraction of those before, after which to check again, at the latest, which
member can complete."""


class Auto(Dividing):
    """First the non-preemptive execution, then all members in turn, each with a fair share.

    *Systematic* members are tried in their order: the first is to execute every schedule, those
    after it every schedule within a bound.  As long as one of them can complete within
    the budget, the first that can has a share of the turns: the less there is to do, the larger
    (:data:`BEGINNING_SHARES`), and :data:`SYSTEMATIC_SHARE` once :data:`BEGINNING` executions
    have found nothing.
    Whether it can is estimated from what the member itself says, and from how many different
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
        systematic: members that can complete; the first is to execute every schedule.
        randomised: members that never do, each with its weight.
        executions: the budget, ``None`` for none.
        in_large: their weights as long as no systematic member can complete; the same if
            not given.
    """

    name = "auto"

    def __init__(
        self,
        systematic: Sequence[Strategy],
        randomised: Sequence[tuple[Strategy, float]],
        executions: int | None = None,
        in_large: Sequence[float] | None = None,
    ) -> None:
        if not systematic or not randomised:
            raise ValueError("auto needs at least one systematic and one randomised member")
        self._systematic = [Member(strategy) for strategy in systematic]
        weights_in_large: Sequence[float | None] = in_large or [None] * len(randomised)
        self._randomised = [
            Member(strategy, weight, weight_in_large)
            for (strategy, weight), weight_in_large in zip(
                randomised, weights_in_large, strict=True
            )
        ]
        self._members = (*self._systematic, *self._randomised)
        # Checked once, because checking whether a class follows a protocol takes long.
        self._learners = [
            (member, member.strategy)
            for member in self._randomised
            if isinstance(member.strategy, Learning)
        ]
        self._foresighted = {
            id(member): member.strategy
            for member in self._members
            if isinstance(member.strategy, Foresighted)
        }
        self._budget = executions
        self._executions = 0
        # After how many there was a conflict pair that none before had shown.
        self._new_at = 0
        # In a worker: learns from all executions, whichever member has planned them.
        self._pupil = SelectivelyUniform()
        self._begin()

    def _begin(self) -> None:
        self._member = self._members[0]
        self._rotation = Rotation(self._randomised)
        # Each of those that can't complete goes a part of its way.
        self._unreachable = Rotation(self._systematic)
        self._novelty = Novelty()
        self._recapture = Recapture()
        self._probes = TreeProbes()
        self._has_first = False
        self._plan: Plan | None = None
        self._owed = 0.0
        # The credits before the plan that was proposed last.
        self._before: tuple[float, list[float]] | None = None
        # In a worker: its piece.
        self._work: PieceWork | None = None
        self._reach(self._systematic[0])
        self._began = self._executions
        self._looked_at: int | None = None
        self._size = 0.0

    def restart(self) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        for member in self._members:
            member.reset()
        self._begin()

    # -- turns -----------------------------------------------------------------------

    def next_plan(self) -> Plan | None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._plan is not None:
            return self._plan
        if self._work is not None:
            return self._work.next_plan()
        if not self._has_first:
            self._plan = Plan()
            return self._plan
        self._before = self._owed, [member.credit for member in self._members]
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

    def lookahead_plans(self, most: int) -> Sequence[Plan]:
        """See :class:`~bohrbug.search.strategy.Foresighted`; each member has a share of them."""
        if self._work is not None:
            return self._work.lookahead_plans(most)
        if not self._has_first:
            return ()
        rotation = self._rotation
        weights = {id(member): rotation.weight_of(member) for member in rotation.members}
        if self._reachable is not None:
            weights[id(self._reachable)] = sum(weights.values())
        share = most / sum(weights.values())
        plans: list[Plan] = []
        for member in self._members:
            strategy = self._foresighted.get(id(member))
            weight = weights.get(id(member), 0.0)
            if strategy is not None and weight and not member.is_over:
                plans += strategy.lookahead_plans(math.ceil(weight * share))
        return plans

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
        """The first systematic member that can complete within the budget.

        Checked only now and then: an estimate takes time in proportion to the depth of a path.
        """
        reachable = self._reachable
        done = self._executions - self._began
        if self._looked_at is not None and not (reachable is not None and reachable.is_over):
            since = done - self._looked_at
            looked_at = self._looked_at
            if since < min(LOOK_AGAIN + looked_at // LOOK_AGAIN, max(looked_at, 1)):
                return reachable
        self._looked_at = done
        for member in self._systematic:
            size = self._size_of(member)
            if not member.is_over and self._is_affordable(size - member.executions):
                self._size = size
                return self._reach(member)
        return self._reach(None)

    def _reach(self, reachable: Member | None) -> Member | None:
        self._reachable = reachable
        self._rotation.is_large = reachable is None
        return reachable

    def _is_affordable(self, executions: float) -> bool:
        if self._budget is None:
            return executions <= AFFORDABLE
        return executions <= self._budget - self._executions

    def _size_of(self, member: Member) -> float:
        """How many executions a systematic member takes in all, as far as that is known."""
        strategy = member.strategy
        if isinstance(strategy, Foreseeing):
            # To begin in vain costs little; not to begin would give a possible *holds* away.
            own = strategy.estimate_found()
        else:
            own = strategy.estimate if isinstance(strategy, Estimating) else None
        size = 0.0 if own is None else own.size
        if member is self._systematic[0] and self._novelty.classes.samples >= PROBES:
            # The classes met at random are a second opinion, and both tend to be too low.
            classes = self._novelty.classes.estimate()
            if classes is not None:
                # What one corner of a tree looks like may be too high by far.
                if self._knows_many() and member.executions < classes.high:
                    size = min(size, classes.high)
                recaptured = self._recapture.size(member.executions, self._novelty.classes.met)
                if recaptured is not None:
                    size = min(size, recaptured)
                size = max(size, classes.size)
        return size

    def _knows_many(self) -> bool:
        """Whether random executions often show what others have shown."""
        classes = self._novelty.classes
        chance, _ = classes.chance_of_new()
        return classes.samples >= BEGINNING and chance < _MANY

    # -- results ---------------------------------------------------------------------

    def observe(self, trace: Trace) -> None:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        if self._work is not None:
            self._work.observe(trace)
            return
        member = self._member
        self._executions += 1
        self._plan = None
        self._before = None
        if not self._has_first:
            self._has_first = True
            self._share_the_first(trace)
            return
        member.strategy.observe(trace)
        has_new_pair = self._novelty.has_new_pair(trace)
        if has_new_pair:
            self._new_at = self._executions
        self._learn(trace, member, has_new_pair)
        self._probes.add(trace)
        if member in self._rotation.members:
            self._rotation.reward(member, self._novelty.of(trace, has_new_pair))
        else:
            member.executions += 1
            if member is self._systematic[0]:
                self._recapture.add(self._novelty.class_of(trace), member.executions)

    def _share_the_first(self, trace: Trace) -> None:
        """Every member that would begin without preemptions has done so."""
        self._recapture.add(self._novelty.class_of(trace), 0)
        for member in self._members:
            if member.strategy.next_plan() == Plan():
                member.strategy.observe(trace)
            elif isinstance(member.strategy, Learning):
                member.strategy.learn(trace)

    def _learn(self, trace: Trace, planner: Member, is_remarkable: bool) -> None:
        """Let the members learn from another's execution, if it is worth their time."""
        for member, strategy in self._learners:
            if member is not planner and (is_remarkable or not strategy.learns_slowly):
                strategy.learn(trace)

    # -- what is known -----------------------------------------------------------------

    @property
    def current(self) -> Strategy:
        """The member that made the last plan."""
        return self._member.strategy

    @property
    def shows_new(self) -> bool:
        """See :class:`~bohrbug.search.strategy.Noticing`: a new conflict pair."""
        return 2 * self._new_at > self._executions

    @property
    def chance_of_new(self) -> float:
        """See :class:`~bohrbug.search.strategy.Noticing`: a class of equivalent schedules."""
        return self._novelty.classes.chance_of_new()[0]

    @property
    def exhausted(self) -> bool:
        """Whether every schedule was executed, as far as a systematic member goes."""
        return self.complete

    @property
    def given_up(self) -> int:
        """See :class:`~bohrbug.search.strategy.GivingUp`; of the member that gave up most."""
        members = [member.strategy for member in self._systematic]
        return max((each.given_up for each in members if isinstance(each, GivingUp)), default=0)

    @property
    def complete(self) -> bool:
        """Whether a member has executed every schedule there is."""
        return any(not member.out and member.strategy.complete for member in self._systematic)

    @property
    def completed(self) -> str | None:
        """See :class:`~bohrbug.search.strategy.Bounding`."""
        for member in self._systematic:
            if isinstance(member.strategy, Bounding) and member.strategy.completed is not None:
                return member.strategy.completed
        return None

    @property
    def estimate(self) -> Estimate | None:
        """How many executions the first systematic member takes, or how many classes there are.

        It takes at least one for each class, and what it estimates of a tree of which it has seen
        only the beginning may be less by far.
        """
        if self.complete:
            return None
        first = self._systematic[0].strategy
        own = first.estimate if isinstance(first, Estimating) else None
        classes = self._novelty.classes.estimate()
        if own is None or (classes is not None and classes.log_size > own.log_size):
            own = classes
        schedules = self._probes.estimate()
        if own is None or schedules is None or schedules.log_size <= own.log_size:
            return own
        return replace(own, log_schedules=schedules.log_size)

    def covered_by_member(self) -> tuple[str, ...]:
        """One sentence for each member that had its turn, and one on what is left.

        When one has executed everything, the others' executions add nothing.
        """
        for member in self._systematic:
            if member.strategy.complete:
                return (member.strategy.covered(),)
        sentences = [member.strategy.covered() for member in self._members if member.executions]
        if self._novelty.classes.samples:
            sentences.append(self._outlook())
        if not sentences and self._has_first:
            sentences.append("one execution without preemptions")
        return tuple(sentences)

    def _outlook(self) -> str:
        classes = self._novelty.classes
        chance, _ = classes.chance_of_new()
        # How many there are is another estimate, and a different count: see ``estimate``.
        far = ", far from all" if chance > _FAR_FROM_ALL else ""
        return (
            f"{counted(classes.distinct, 'different behaviour')} in"
            f" {counted(classes.samples, 'randomised execution')}{far}:"
            f" about {share_in_words(chance)} of further ones would show another"
        )

    def covered(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return "; ".join(self.covered_by_member())

    def progress(self) -> str:
        """See :class:`~bohrbug.search.strategy.Strategy`."""
        return f"{self.current.name}: {self.current.progress()}"

    # -- dividing ----------------------------------------------------------------------

    @property
    def divisible(self) -> bool:
        """Whether the work of every member can be saved and divided."""
        return all(is_divisible(member.strategy) for member in self._members)

    def _put_back(self) -> None:
        self._plan = None
        if self._before is not None:
            self._owed, owed_to = self._before
            for member, credit in zip(self._members, owed_to, strict=True):
                member.credit = credit
            self._before = None

    def _all(self) -> State:
        if self._work is not None:
            return self._work.to_json()
        reachable = self._reachable
        return {
            "members": [[member.divisible.state(), member.to_json()] for member in self._members],
            "current": self._members.index(self._member),
            "novelty": self._novelty.to_json(),
            "recapture": self._recapture.to_json(),
            "probes": self._probes.to_json(),
            "has_first": self._has_first,
            "executions": self._executions,
            "owed": self._owed,
            "reachable": None if reachable is None else self._members.index(reachable),
            "began": self._began,
            "looked_at": self._looked_at,
            # As text, because it may be infinite.
            "size": str(self._size),
        }

    def _become(self, state: State) -> None:
        if "piece" in state:
            # A worker keeps what it knows from one piece to the next.
            self._restore_piece(state)
            return
        if len(state["members"]) != len(self._members):
            raise StateError(f"this is a state of {len(state['members'])} members")
        self._begin()
        for member, (own, figures) in zip(self._members, state["members"], strict=True):
            member.divisible.restore(own)
            member.merge(figures)
        self._member = self._members[state["current"]]
        self._novelty.merge(state["novelty"])
        self._recapture.merge(state["recapture"])
        for weight in state["probes"]:
            self._probes.add_weight(weight)
        self._has_first = state["has_first"]
        self._executions = state["executions"]
        self._owed = state["owed"]
        reachable = state["reachable"]
        self._reach(None if reachable is None else self._systematic[reachable])
        self._began = state["began"]
        self._looked_at = state["looked_at"]
        self._size = float(state["size"])

    def _figures(self) -> State:
        # They are stored with what they decide about.
        return {}

    def _add_figures(self, figures: State) -> None:
        pass

    def _cut(self, most: int, wanted: int) -> State | None:
        # A piece is of one member.
        if not self._has_first or self.complete:
            return None
        most = min(most, PIECE)
        reachable = self._within_reach()
        if self._owed >= 1.0:
            for member in [reachable] if reachable is not None else self._unreachable.in_order(0):
                piece = self._hand_out_of(member, most, wanted)
                if piece is not None:
                    if reachable is None:
                        self._unreachable.in_order(most)
                        member.credit -= most
                    return piece
        for member in (*self._rotation.in_order(0), *self._systematic):
            piece = self._hand_out_of(member, most, wanted)
            if piece is not None:
                return piece
        return None

    def _hand_out_of(self, member: Member, most: int, wanted: int) -> State | None:
        if member.is_over:
            return None
        strategy = member.divisible
        state = strategy.take_piece(most, wanted)
        if state is None and not member.out:
            # This may be the time for its next bound.
            if strategy.next_plan() is None:
                member.is_over = True
                return None
            state = strategy.take_piece(most, wanted)
        if state is None:
            return None
        member.out += 1
        # The reward is added when it is known how many executions were made.
        if member in self._systematic:
            self._owed -= most
        else:
            member.credit -= most
        return Piece(self._members.index(member), most).to_json(state)

    def _restore_piece(self, state: State) -> None:
        self._member = self._members[state["piece"]]
        self._member.divisible.restore(state["state"])
        self._work = PieceWork(
            Piece.from_json(state),
            self._member,
            self._member in self._randomised,
            self._member is self._systematic[0],
            self._novelty,
            self._pupil,
        )

    def can_be_cut(self) -> bool:
        """See :class:`~bohrbug.search.divisible.Divisible`: whether the member's piece can."""
        return self._work is not None and self._member.divisible.can_be_cut()

    def _add(self, state: State) -> None:
        member = self._members[state["piece"]]
        member.divisible.merge(state["state"])
        member.out -= 1
        made, unused = state["made"], state["charged"] - state["made"]
        self._executions += made
        if made:
            self._member = member
        if member in self._systematic:
            self._owed += unused
            member.executions += made
        else:
            member.credit += unused
            self._rotation.in_order(made)
        for known_by, pairs in state["seen"]:
            is_new = self._novelty.add_pairs([pair_from_json(pair) for pair in pairs])
            if is_new:
                self._new_at = self._executions
            if known_by is None:
                continue
            if member in self._systematic:
                self._recapture.add(known_by, member.executions)
            else:
                self._rotation.reward(member, self._novelty.count(known_by, is_new))
        self._owed += made * self._systematic_share(self._within_reach())
        for weight in state["weights"]:
            self._probes.add_weight(weight)
        for lessons in state["lessons"]:
            self._teach(lessons)

    def _teach(self, lessons: State) -> None:
        for member in self._randomised:
            if isinstance(member.strategy, Taught):
                member.strategy.learn_from(lessons)

    def begin_sharing(self) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        for member in self._members:
            member.divisible.begin_sharing()

    def lost_a_worker(self) -> None:
        """See :class:`~bohrbug.search.divisible.Divisible`."""
        for member in self._members:
            member.divisible.lost_a_worker()
