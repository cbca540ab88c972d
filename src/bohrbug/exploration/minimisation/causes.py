"""What makes a test fail: the smallest set of orderings, checked by executions on both sides.

The question is Hermit's and Lotto's (a failure explained by the order of few events), the
answer is learnt from examples: executions are made, a smallest set of orderings is
looked for that all failing ones met and no passing one did, and then executions
are made that try to refute it: some in which the orderings are imposed and everything
else is random, some in which one of them is turned round and the others are
kept, some that are like the failing one in part, some without any of this.
Whatever refutes the set is one more example, and the next set is looked for.
What survives is reported with the number of executions on either side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from random import Random

from bohrbug.exploration.minimisation.budget import Budget
from bohrbug.exploration.minimisation.candidates import is_about_own_code
from bohrbug.exploration.minimisation.covering import greedy_cover, smallest_cover
from bohrbug.exploration.minimisation.examples import (
    SAME,
    Examples,
    Renaming,
    Table,
    alike_tasks,
    renamed_task,
    renamings,
)
from bohrbug.exploration.minimisation.preemptions import LONG, Execute, segments_of
from bohrbug.model.cause import Cause, Strength
from bohrbug.model.history import history_of, in_order
from bohrbug.model.operation import TaskId
from bohrbug.model.ordering import Ordering
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import NonPreemptive, Ordered, Plan, Segments
from bohrbug.model.trace import Trace
from bohrbug.search.preemption_bounding import PreemptionBounding

LARGEST = 3
"""Orderings in one cause: a sentence with more of them explains nothing."""

SYSTEMATIC_SHARE = 0.35
"""Share of the budget for executions with few preemptions; small tests are exhausted by it."""

OWN_SHARE = 0.7
"""Share of the budget for the orderings of the program's own code, where there are many others."""

LIKENESSES = (0.95, 0.8, 0.6, 0.4)
"""Shares of the failing execution's orderings that are kept to get executions like it."""

MOST_PREEMPTIONS = 10
"""Preemptions of the failing execution of which each is left out with all that come after it."""

MOST_TURNED = 10
"""Orderings of the program's own code of which each is turned round."""

SEEDS = 10
"""Executions of each sort with which a set of orderings is tested, and ..."""

FEWEST = 3
"""... the fewest different ones on each side for a claim that does not cover all there are."""

MOST_INSTEAD = 50
"""Orderings that are tried in the place of one that only some failing executions met."""

MOST_LUCK = 1e-4
"""How likely it may be that a failure that has nothing to do with the orderings of an *only if* was
not seen without them: if few executions fail, all of them meet some orderings or other by luck."""


class _Spent(Exception):
    """There may be no more executions."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """A set of orderings, and what it is taken for."""

    strength: Strength
    orderings: tuple[Ordering, ...]


def resources_in(orderings: tuple[Ordering, ...]) -> int:
    """How many different resources some orderings speak of; the fewer, the easier to read."""
    return len({event.resource for o in orderings for event in (o.first, o.second)})


class _Learner:
    """Makes executions, claims and attempts to refute them."""

    def __init__(
        self, failing: Trace, execute: Execute, budget: Budget, *, only_own: bool = False
    ) -> None:
        self._failing = failing
        self._execute = execute
        self._budget = budget
        self._history = history_of(failing)
        self._examples = Examples(failing, only_own=only_own)
        self._random = Random(0)
        self._seed = 0
        self.complete = False

    # -- executions ----------------------------------------------------------------

    def _run(self, plan: Plan) -> Trace:
        if self._budget.is_spent():
            raise _Spent
        self._budget.executions -= 1
        trace = self._execute(plan)
        if trace.outcome.kind is OutcomeKind.INTERRUPTED:
            self._budget.executions = 0
            raise _Spent
        self._examples.add(trace)
        return trace

    def look_around(self, ways: list[Renaming]) -> None:
        """The first examples: few preemptions, other tasks in the same places, and alike ones."""
        failing = self._failing
        for step in failing.preemptions()[:MOST_PREEMPTIONS]:
            self._run(Plan(tuple(failing.choices[:step]), NonPreemptive()))
        for way in ways[1:]:
            segments = tuple((renamed_task(task, way), n) for task, n in segments_of(failing))
            values = tuple((renamed_task(task, way), made) for task, made in self._examples.values)
            self._run(Plan(policy=Segments(segments, values)))
        strategy = PreemptionBounding(None)
        for _ in range(int(self._budget.executions * SYSTEMATIC_SHARE)):
            plan = strategy.next_plan()
            if plan is None:
                self.complete = strategy.complete
                return
            strategy.observe(self._run(plan))
        for plan in self._alike(2):
            self._run(plan)

    def look_at_own_code(self) -> None:
        """The first examples where only few orderings are in question: each turned round."""
        failing, values = self._failing, self._examples.values
        for step in failing.preemptions()[:MOST_PREEMPTIONS]:
            self._run(Plan(tuple(failing.choices[:step]), NonPreemptive()))
        orderings = self._examples.candidates.of_failing
        for turned in orderings[:MOST_TURNED]:
            self._run(Plan(policy=Ordered((turned.reversed(),), 0, values)))
        for plan in self._alike(2):
            self._run(plan)

    def _alike(self, rounds: int) -> Iterator[Plan]:
        """Executions that are like the failing one in part."""
        orderings = list(self._examples.candidates.of_failing)
        for _ in range(rounds):
            for share in LIKENESSES:
                self._seed += 1
                kept = tuple(o for o in orderings if self._random.random() < share)
                yield Plan(policy=Ordered(kept, self._seed, self._examples.values))

    def _tests(self, claim: _Claim) -> Iterator[Plan]:
        """Executions that may refute a claim."""
        values = self._examples.values
        orderings = claim.orderings
        for seed in range(SEEDS):
            if orderings:
                yield Plan(policy=Ordered(orderings, seed, values))
            # Nearly met: one of them turned round.  Whatever fails then, fails without it.
            for turned in orderings:
                rest = tuple(o for o in orderings if o != turned)
                yield Plan(policy=Ordered((*rest, turned.reversed()), seed, values))
            yield Plan(policy=Ordered((), seed, values))
            yield from self._alike(1)

    # -- claims --------------------------------------------------------------------

    def claim(self, table: Table) -> _Claim | None:
        """The strongest claim that all examples agree with."""
        table.update()
        passed, failed, columns = table.passed, table.failed, table.columns
        if not passed:
            return _Claim(Strength.ALWAYS, ())
        ranked = [o for o in table.ranked() if self._examples.first_users.are_steady([o])]
        # What an ordering rules out: the passing examples that did not meet it.
        in_all = {o: ~columns[o] & passed for o in ranked if not failed & ~columns[o]}
        # One that no example did the other way round only says that its first event happened: a
        # child that is waited for comes before who goes on then, wherever it comes to be.
        for orders_only in (True, False):
            sets = {o: out for o, out in in_all.items() if not orders_only or table.is_turned(o)}
            chosen = smallest_cover(sets, passed, LARGEST, resources_in)
            if chosen is not None:
                return self._sorted(Strength.EXACT, chosen)
        # The orderings of most failing executions first.
        ranked.sort(key=lambda o: -(columns[o] & failed).bit_count())
        in_one = {o: ~columns[o] & passed for o in ranked if columns[o] & 1}
        chosen = smallest_cover(in_one, passed, LARGEST, resources_in)
        if chosen is not None:
            # With renamings, the rows of failing examples are not all that they met.
            exact = self._met_by_all(chosen, in_one, passed, table)
            if exact is not None:
                return self._sorted(Strength.EXACT, exact)
            return self._sorted(Strength.SUFFICIENT, chosen)
        some, covered = greedy_cover(in_all, passed, LARGEST)
        return self._sorted(Strength.NECESSARY, some) if covered else None

    def _met_by_all(
        self, chosen: list[Ordering], in_one: Mapping[Ordering, int], passed: int, table: Table
    ) -> list[Ordering] | None:
        """Orderings that no passing example met either, but all failing ones; ``None``: not found.

        Each of those that were chosen rules out as much as it can, and so may be met by some
        failing examples only; another one in its place may do that is met by more.

        Parameters:
            chosen: orderings that rule out all passing examples.
            in_one: what each ordering of the explained execution rules out.
            passed: the passing examples, as bits.
            table: says what was met.
        """
        failing = [example for example in self._examples.all if example.failed]

        def failing_met(orderings: list[Ordering]) -> int:
            claim = self._sorted(Strength.SUFFICIENT, orderings).orderings
            if not self._examples.first_users.are_steady(claim):
                return 0
            return sum(table.meets(example, claim) for example in failing)

        most = failing_met(chosen)
        for position in range(len(chosen)):
            ruled_out = 0
            for other in chosen[:position] + chosen[position + 1 :]:
                ruled_out |= in_one[other]
            missing = passed & ~ruled_out
            enough = (o for o, bits in in_one.items() if not missing & ~bits)
            for other in islice(enough, MOST_INSTEAD):
                if most == len(failing):
                    return chosen
                instead = [*chosen[:position], other, *chosen[position + 1 :]]
                met = failing_met(instead)
                if met > most:
                    most, chosen = met, instead
        return chosen if most == len(failing) else None

    def _sorted(self, strength: Strength, orderings: list[Ordering]) -> _Claim:
        return _Claim(strength, in_order(orderings, self._history))

    def refuted(self, claim: _Claim, table: Table, start: int) -> bool:
        """Whether an example from number ``start`` on speaks against a claim."""
        if not self._examples.first_users.are_steady(claim.orderings):
            return True
        for example in self._examples.all[start:]:
            met = table.meets(example, claim.orderings)
            if met and not example.failed and claim.strength is not Strength.NECESSARY:
                return True
            if example.failed and not met and claim.strength is not Strength.SUFFICIENT:
                return True
        return False

    def learn(self, ways: list[Renaming]) -> tuple[_Claim | None, Table]:
        """Claim, try to refute, and claim again, until a claim survives or the budget is spent.

        Returns:
            The last claim, which all examples agree with, and the table it was read off.
        """
        table = Table(self._examples, ways)
        claim = self.claim(table)
        survived = self.complete
        while claim is not None and not survived and not self._budget.is_spent():
            survived = True
            for plan in self._tests(claim):
                known = len(self._examples.all)
                try:
                    self._run(plan)
                except _Spent:
                    break
                if self.refuted(claim, table, known):
                    survived = False
                    claim = self.claim(table)
                    break
        return claim, table

    def cause(self, claim: _Claim, table: Table, alike: list[tuple[TaskId, ...]]) -> Cause | None:
        """A claim with the figures that it rests on; ``None`` if they are too small."""
        if not self._examples.first_users.are_steady(claim.orderings):
            return None
        met = [e.failed for e in self._examples.all if table.meets(e, claim.orderings)]
        failed = sum(e.failed for e in self._examples.all)
        unmet = len(self._examples.all) - len(met)
        always = claim.strength is Strength.ALWAYS
        fewest = len(met) if always else min(len(met), unmet)
        if not self.complete and fewest < FEWEST:
            return None
        if not self.complete and claim.strength is Strength.NECESSARY:
            rate = failed / len(self._examples.all)
            if (1 - rate) ** unmet > MOST_LUCK:
                return None
        mentioned = {e.task for o in claim.orderings for e in (o.first, o.second)}
        groups = tuple(group for group in alike if mentioned & set(group))
        return Cause(
            claim.strength,
            claim.orderings,
            len(met),
            sum(met),
            unmet,
            failed - sum(met),
            self.complete,
            groups if len(table.renamings) > 1 else (),
        )


def find_cause(failing: Trace, execute: Execute, budget: Budget) -> Cause | None:
    """The orderings that make a test fail as an execution of it did.

    If no set of orderings is met by exactly the failing executions, tasks that run
    the same function are taken to be interchangeable, and it is tried again.

    Parameters:
        failing: the execution.
        execute: executes a plan.
        budget: what may be spent; what is left of it is updated.

    Returns:
        The smallest set of orderings that was found, with what is claimed of it; or
        ``None`` if no claim with up to :data:`LARGEST` orderings agrees with all executions, or
        too few were made.
    """
    if len(failing) > LONG and is_about_own_code(failing):
        # In a long execution there are more orderings in libraries than can be told apart by a
        # few executions; each explanation is put to the same test.
        found = _find_in_own_code(failing, execute, budget.part(OWN_SHARE))
        if found is not None and found.strength in (Strength.EXACT, Strength.SUFFICIENT):
            return found
    learner = _Learner(failing, execute, budget)
    ways = renamings(failing)
    with suppress(_Spent):
        learner.look_around(ways)
    return _learnt(learner, ways, alike_tasks(failing))


def _find_in_own_code(failing: Trace, execute: Execute, budget: Budget) -> Cause | None:
    learner = _Learner(failing, execute, budget, only_own=True)
    with suppress(_Spent):
        learner.look_at_own_code()
    return _learnt(learner, renamings(failing), alike_tasks(failing))


def _learnt(
    learner: _Learner, ways: list[Renaming], alike: list[tuple[TaskId, ...]]
) -> Cause | None:
    claim, table = learner.learn([SAME])
    if len(ways) > 1 and (
        claim is None or claim.strength in (Strength.SUFFICIENT, Strength.NECESSARY)
    ):
        other, with_renamings = learner.learn(ways)
        if other is not None and (claim is None or other.strength is Strength.EXACT):
            claim, table = other, with_renamings
        elif claim is not None:
            # What came to light meanwhile may speak against it.
            claim = learner.claim(table)
    return None if claim is None else learner.cause(claim, table, alike)
