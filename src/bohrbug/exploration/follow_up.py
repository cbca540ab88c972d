"""What is found out about a failure once it is confirmed: with how little it happens, and why.

Most sessions of pytest have no failure: this is loaded with the first one.
"""

from __future__ import annotations

from collections.abc import Callable

from bohrbug.exploration.figures import Signature
from bohrbug.exploration.learning import Learner
from bohrbug.exploration.minimisation.candidates import raised_in_a_step
from bohrbug.exploration.minimisation.causes import find_cause
from bohrbug.exploration.minimisation.normal_form import normalise
from bohrbug.exploration.minimisation.preemptions import LONG, MOST, cost, minimise
from bohrbug.exploration.minimisation.systematic import MOST_FOR_FEWER, fewest_preemptions
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.result import Failure
from bohrbug.exploration.spending import HALF, LITTLE, Spending
from bohrbug.model.cause import Strength
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Ordered, Plan
from bohrbug.model.trace import Trace


class FollowUp:
    """Reduces and explains failures.

    Parameters:
        options: of the exploration.
        spending: the time that it may take.
        learner: executes plans, and learns nothing from these.
        replay: executes a plan once more, also after an interrupt.
        reproduces: whether a plan can be followed and fails in a way.
    """

    def __init__(
        self,
        options: ExploreOptions,
        spending: Spending,
        learner: Learner,
        replay: Callable[[Plan], Trace],
        reproduces: Callable[[Plan, Signature], bool],
    ) -> None:
        self._options = options
        self._spending = spending
        self._learner = learner
        self._replay = replay
        self._reproduces = reproduces

    def reduce(self, failure: Failure) -> None:
        """Find a schedule with as few preemptions as possible that fails in the same way."""
        signature = failure.outcome.signature()
        # Most tests guard themselves with timeouts that they never expect to fire.
        part = LITTLE if failure.early_timeouts else HALF
        budget = self._spending.share(part, MOST)
        conditions = failure.plan.conditions

        def replay(plan: Plan) -> Trace:
            return self._replay(plan.under(conditions))

        policies = self._learner.runtime.policies
        smallest = normalise(minimise(failure.trace, replay, budget, policies), replay)
        preemptions = len(smallest.preemptions())
        if preemptions and not smallest.faults() and len(smallest) <= LONG:
            # This minimised the schedule that was found; others may need fewer.  Where they are
            # long, so few executions would look at too small a part of them.
            other = fewest_preemptions(
                replay,
                lambda outcome: outcome.signature() == signature,
                preemptions - 1,
                budget.anew(MOST_FOR_FEWER),
            ).found
            if other is not None and cost(other) < cost(smallest):
                smallest = normalise(minimise(other, replay, budget.anew(MOST)), replay)
        plan = smallest.as_plan()
        if smallest is not failure.trace and self._reproduces(plan, signature):
            # From here on the strict plan counts, not the lenient one that led to it.
            smallest.plan = plan
            failure.trace = smallest
            failure.plan = plan
            failure.outcome = smallest.outcome
            failure.essential = tuple(smallest.preemptions())
            failure.early_timeouts = smallest.fired_early()

    def explain(self, failure: Failure) -> Plan | None:
        """Find the orderings that make the test fail, where a runtime can enforce some.

        Returns:
            A plan under which the test passes, if there was one.
        """
        options = self._options
        if not options.causes or Ordered not in self._learner.runtime.policies:
            return None
        self.find_out_when_it_was_raised(failure)
        budget = self._spending.share(HALF, options.causes, options.causes_seconds)
        conditions = failure.plan.conditions

        passing: Plan | None = None

        def execute(plan: Plan) -> Trace:
            nonlocal passing
            trace = self._learner.replay(plan.under(conditions)).trace
            if passing is None and trace.outcome.kind is OutcomeKind.PASSED:
                passing = trace.as_plan()
            return trace

        cause = find_cause(failure.trace, execute, budget)
        # If the same call fails in each of them, that all fail explains nothing.
        is_of_fault = bool(failure.trace.faults())
        if cause is not None and not (is_of_fault and cause.strength is Strength.ALWAYS):
            failure.cause = cause
        return passing

    def find_out_when_it_was_raised(self, failure: Failure) -> None:
        """Only executions in which accesses are watched report each exception."""
        if failure.trace.raised is None and failure.outcome.exception is not None:
            again = self._learner.replay(failure.plan, watch=True).trace
            if again.tasks == failure.trace.tasks:
                failure.trace.raised = again.raised or raised_in_a_step(again)
