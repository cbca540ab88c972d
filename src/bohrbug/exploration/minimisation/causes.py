"""What makes a test fail: the smallest set of orderings, checked by executions on both sides.

The question is Hermit's and Lotto's (a failure explained by the order of few events), the
answer is learnt from examples: executions are drawn, a smallest set of orderings is
looked for that all failing executions meet and no passing one does, and then
executions are drawn that try to refute it: some in which the orderings are imposed
and everything else is random, some in which one of them is turned round and the others
are kept, some without any of this.  Whatever refutes the set is one more example, and the next set is
looked for.  What survives is reported with the number of executions on either side.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from bohrbug.exploration.minimisation.candidates import Candidates
from bohrbug.exploration.minimisation.covering import greedy_cover, smallest_cover
from bohrbug.exploration.minimisation.preemptions import Execute
from bohrbug.model.cause import Cause, Strength
from bohrbug.model.ordering import (
    History,
    Ordering,
    Places,
    data_choices,
    history_of,
    in_order,
)
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import NonPreemptive, Ordered, Plan
from bohrbug.model.trace import Trace
from bohrbug.search.preemption_bounding import PreemptionBounding

LARGEST = 4
"""Orderings in one cause: a sentence with more of them explains nothing."""

SYSTEMATIC_SHARE = 0.4
"""Share of the budget for executions with few preemptions; small tests are exhausted by it."""

SEEDS = 10
"""Executions of each sort with which a set of orderings is tested, and ..."""

FEWEST = 3
"""... the fewest different ones on each side for a claim that does not cover all there are."""

_NO_EXAMPLE = frozenset({OutcomeKind.INTERRUPTED, OutcomeKind.HANG, OutcomeKind.STEP_LIMIT})

_now = time.perf_counter


@dataclass(slots=True)
class Budget:
    """What may be spent.

    Parameters:
        executions: how many are left.
        until: the time on :func:`time.perf_counter` when it is over.
    """

    executions: int
    until: float

    @classmethod
    def of(cls, executions: int, seconds: float) -> Budget:
        """A budget that begins now."""
        return cls(executions, _now() + seconds)

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.executions <= 0 or _now() >= self.until


@dataclass(frozen=True, slots=True)
class _Guess:
    """A set of orderings, and what it is taken for."""

    strength: Strength
    orderings: tuple[Ordering, ...]


class _Interrupted(Exception):
    """The user wants no more executions."""


class _Examples:
    """Executions made so far, as far as their data choices are those of the failing one."""

    def __init__(self, failing: Trace, execute: Execute, budget: Budget) -> None:
        self._execute = execute
        self._budget = budget
        self._signature = failing.outcome.signature()
        self._places = Places()
        self.values = data_choices(failing)
        self._known: set[int] = set()
        self._histories: list[History] = []
        self.count = 0
        self.failed = 0
        """The examples that failed in the same way, as bits."""
        self.candidates = Candidates(failing, self._places)
        # For each candidate the examples that met it, as bits.
        self.met: dict[Ordering, int] = dict.fromkeys(self.candidates.ranks, 0)
        self._ranked: list[Ordering] | None = None
        self.add(failing)

    @property
    def passed(self) -> int:
        """The examples that did not fail in the same way, as bits."""
        return ((1 << self.count) - 1) & ~self.failed

    def ranked(self) -> list[Ordering]:
        """All candidates, the best ones first."""
        if self._ranked is None:
            self._ranked = sorted(self.met, key=self.candidates.ranks.__getitem__)
        return self._ranked

    def run(self, plan: Plan) -> Trace:
        """Execute a plan and make an example of it."""
        if self._budget.is_spent:
            raise _Interrupted
        self._budget.executions -= 1
        trace = self._execute(plan)
        if trace.outcome.kind is OutcomeKind.INTERRUPTED:
            raise _Interrupted
        self.add(trace)
        return trace

    def add(self, trace: Trace) -> None:
        """Take an execution in, unless it is known or no example."""
        if (
            trace.outcome.kind in _NO_EXAMPLE
            or trace.divergence is not None
            or not _agrees(data_choices(trace), self.values)
        ):
            return
        schedule = hash(tuple(trace.choices))
        if schedule in self._known:
            return
        self._known.add(schedule)
        history = history_of(trace, self._places)
        bit = 1 << self.count
        self.count += 1
        self._histories.append(history)
        if trace.outcome.signature() == self._signature:
            self.failed |= bit
        else:
            for ordering in self.candidates.learn(trace):
                self.met[ordering] = sum(
                    1 << number
                    for number, earlier in enumerate(self._histories[:-1])
                    if earlier.meets(ordering)
                )
                self._ranked = None
        for ordering in self.met:
            if history.meets(ordering):
                self.met[ordering] |= bit

    def meeting(self, orderings: tuple[Ordering, ...]) -> int:
        """The examples that met all of some orderings, as bits."""
        bits = (1 << self.count) - 1
        for ordering in orderings:
            bits &= self.met[ordering]
        return bits

    def sorted(self, orderings: list[Ordering]) -> tuple[Ordering, ...]:
        """Orderings in the order in which the failing execution met them."""
        return in_order(orderings, self._histories[0])


def _agrees(made: object, wanted: object) -> bool:
    """Whether data choices are those of the failing execution, as far as both go."""
    assert isinstance(made, tuple) and isinstance(wanted, tuple)
    values = dict(wanted)
    return all(
        all(mine == theirs for mine, theirs in zip(own, values.get(task, own), strict=False))
        for task, own in made
    )


def _guess(examples: _Examples) -> _Guess | None:
    """The strongest claim that all examples agree with."""
    everything = (1 << examples.count) - 1
    passed, failed = examples.passed, examples.failed
    if not passed:
        return _Guess(Strength.ALWAYS, ())
    # What an ordering rules out: the passing examples that did not meet it.
    in_all = {
        ordering: everything & ~examples.met[ordering] & passed
        for ordering in examples.ranked()
        if not failed & ~examples.met[ordering]
    }
    chosen = smallest_cover(in_all, passed, LARGEST)
    if chosen is not None:
        return _Guess(Strength.EXACT, examples.sorted(chosen))
    # The orderings of most failing executions first.
    in_one = sorted(
        examples.ranked(), key=lambda o: -(examples.met[o] & failed).bit_count()
    )
    rules_out = {ordering: ~examples.met[ordering] & passed for ordering in in_one}
    chosen = smallest_cover(rules_out, passed, LARGEST)
    if chosen is not None:
        return _Guess(Strength.SUFFICIENT, examples.sorted(chosen))
    some, covered = greedy_cover(in_all, passed, LARGEST - 1)
    if covered:
        return _Guess(Strength.NECESSARY, examples.sorted(some))
    return None


def _holds(guess: _Guess, examples: _Examples) -> bool:
    """Whether all examples agree with a claim."""
    met = examples.meeting(guess.orderings)
    match guess.strength:
        case Strength.ALWAYS:
            return not examples.passed
        case Strength.EXACT:
            return met == examples.failed
        case Strength.SUFFICIENT:
            return not met & examples.passed
        case Strength.NECESSARY:
            return not examples.failed & ~met


def _tests(guess: _Guess, examples: _Examples, first_seed: int) -> Iterator[Plan]:
    """Executions that may refute a claim."""
    values = examples.values
    orderings = guess.orderings
    for seed in range(first_seed, first_seed + SEEDS):
        if orderings:
            yield Plan(policy=Ordered(orderings, seed, values))
        # Nearly met: one of them turned round.  Whatever fails then, fails without it.
        for turned in orderings:
            rest = tuple(o for o in orderings if o != turned)
            yield Plan(policy=Ordered((*rest, turned.reversed()), seed, values))
        yield Plan(policy=Ordered((), seed, values))


def _first_executions(failing: Trace, examples: _Examples, share: int) -> bool:
    """The executions with the fewest preemptions; true if these were all there are."""
    prefix = failing.choices
    for step in failing.preemptions()[:10]:
        examples.run(Plan(tuple(prefix[:step]), NonPreemptive()))
    strategy = PreemptionBounding(None)
    for _ in range(share):
        plan = strategy.next_plan()
        if plan is None:
            return strategy.complete
        strategy.observe(examples.run(plan))
    return False


def find_cause(failing: Trace, execute: Execute, budget: Budget) -> Cause | None:
    """The orderings that make a test fail as an execution of it did.

    Parameters:
        failing: the execution.
        execute: executes a plan.
        budget: what may be spent; what is left of it is updated.

    Returns:
        The smallest set of orderings that was found, with what is claimed of it; or
        ``None`` if no claim with up to :data:`LARGEST` orderings agrees with all executions, or
        too few were made.
    """
    examples = _Examples(failing, execute, budget)
    complete = False
    guess: _Guess | None = None
    tested = False
    try:
        complete = _first_executions(failing, examples, int(budget.executions * SYSTEMATIC_SHARE))
        seed = 0
        while not tested:
            guess = _guess(examples)
            if guess is None or complete:
                break
            tested = True
            for plan in _tests(guess, examples, seed):
                examples.run(plan)
                if not _holds(guess, examples):
                    tested = False
                    seed += 1
                    break
    except _Interrupted:
        guess = _guess(examples)
    return None if guess is None else _cause(guess, examples, complete)


def _cause(guess: _Guess, examples: _Examples, complete: bool) -> Cause | None:
    met = examples.meeting(guess.orderings)
    unmet = ((1 << examples.count) - 1) & ~met
    cause = Cause(
        guess.strength,
        guess.orderings,
        met.bit_count(),
        (met & examples.failed).bit_count(),
        unmet.bit_count(),
        (unmet & examples.failed).bit_count(),
        complete,
    )
    if not complete and guess.strength is not Strength.ALWAYS:
        if min(cause.met, cause.unmet) < FEWEST:
            return None
    return cause
