"""What executions show of a test, and hence the conditions under which the next ones run.

A runtime executes one plan after the other and knows nothing of the search.  What becomes a
scheduling point, which executions are watched for data races, when everything has settled: this
module learns that from what each execution returns.
"""

from __future__ import annotations

from dataclasses import replace

from bohrbug.exploration.figures import step_limit
from bohrbug.model.checksum import checksum_of_plan
from bohrbug.model.conditions import Conditions
from bohrbug.model.plan import NonPreemptive, Plan, Sleeping
from bohrbug.runtime.protocol import Executed, Runtime

WATCHED_AT_FIRST = 40
"""Executions, since something new was found, in which all accesses are watched for races."""

WATCHED_LATER = 8
"""After these, one drawn execution of so many is watched; the plan decides which."""

_OF_COMPLETE_SEARCHES = (NonPreemptive, Sleeping)
"""Policies of plans that leave nothing to chance.

A search that is complete promises something of each schedule.  Where one order of many leads a task
to code that nobody has watched, or to another lock, only that one execution shows the race."""

MOST_REPEATED = 10
"""Executions that are repeated because they have called functions not seen before."""


class Sampling:
    """Counts the executions of an exploration, and says what to look for in the next one.

    Attributes:
        executions: how many there were.
        quiet: how many since something new was found.
    """

    __slots__ = ("_repeated", "executions", "quiet")

    def __init__(self) -> None:
        self.executions = 0
        self.quiet = 0
        self._repeated = 0

    def takes_again(self) -> bool:
        """Whether to repeat an execution, for what was not seen in it."""
        self._repeated += 1
        return self._repeated <= MOST_REPEATED

    def next(self, plan: Plan) -> bool:
        """One more execution begins: return whether to look for races in it."""
        self.executions += 1
        self.quiet += 1
        # CHESS, section 3.5: races are looked for "on the first few runs".
        return (
            self.quiet <= WATCHED_AT_FIRST
            or isinstance(plan.policy, _OF_COMPLETE_SEARCHES)
            or checksum_of_plan(plan) % WATCHED_LATER == 0
        )


class Learner:
    """Executes the plans of a search, and learns from what they show.

    Parameters:
        runtime: executes them.
        conditions: under which to begin.

    Attributes:
        runtime: executes them.
        conditions: those of the next execution.
        has_learned: whether the last one has shown more of the test, so that another process has
            to execute its plan, too, to see as much.
        longest_passed: steps of the longest execution that passed.
    """

    def __init__(self, runtime: Runtime, conditions: Conditions) -> None:
        self.runtime = runtime
        self.conditions = conditions
        self.has_learned = False
        self.longest_passed = 0
        self._most_steps = conditions.max_steps
        self._sampling = Sampling()
        self._saw_all = True

    def execute(self, plan: Plan, watch: bool = False) -> Executed:
        """Execute a plan of the search under the current conditions.

        Parameters:
            plan: the plan.
            watch: look for data races, whether or not it is in the sample.
        """
        runtime = self.runtime
        if not runtime.discovers:
            executed = runtime.execute(plan.under(self.conditions), watch=watch)
            self._take(executed)
            return executed
        watch = self._sampling.next(plan) or watch
        executed = runtime.execute(plan.under(self.conditions), watch=watch)
        if executed.is_rare and not watch and not executed.new_points:
            # What few executions call is unlikely to be seen in a sample of all.
            again = runtime.execute(executed.trace.as_plan(), watch=True)
            executed.found, executed.changes = again.found, again.changes
            executed.has_learned = executed.has_learned or again.has_learned
        elif executed.missed and self._sampling.takes_again():
            # The first execution to call something may be the last: it is watched at once.
            again = runtime.execute(executed.trace.as_plan(), watch=True)
            executed.trace.races += again.trace.races
        self._take(executed)
        return executed

    def _take(self, executed: Executed) -> None:
        self.has_learned = executed.has_learned
        self._saw_all = executed.saw_all
        if executed.found:
            points = self.conditions.points | executed.found
            # How long those were that passed says nothing of how long the next ones are.
            self.longest_passed = 0
            self.conditions = replace(self.conditions, points=points, max_steps=self._most_steps)
        if executed.new_points:
            self._sampling.quiet = 0

    def learn_from(self, plan: Plan) -> Executed:
        """Execute a plan under its own conditions, watched, and learn from what it shows."""
        executed = self.runtime.execute(plan, watch=True)
        self._take(executed)
        return executed

    def replay(self, plan: Plan, watch: bool = False) -> Executed:
        """Execute a plan under its own conditions, and learn nothing."""
        return self.runtime.execute(plan, learn=False, watch=watch)

    @property
    def is_settling(self) -> bool:
        """Whether the next executions are likely to have other scheduling points."""
        if not self.runtime.discovers:
            return self.has_learned
        return self._sampling.quiet <= WATCHED_AT_FIRST

    def look_closer(self) -> bool:
        """After a hang: whether the next execution will see more than the last one did."""
        if not self.runtime.discovers:
            return False
        self._sampling.quiet = 0
        return self.has_learned or not self._saw_all

    # -- conditions ----------------------------------------------------------------------

    def note_pass(self, steps: int) -> None:
        """An execution of so many steps has passed: one that is far longer will never end."""
        if self.longest_passed < steps < self.conditions.max_steps:
            self.longest_passed = steps
            self.conditions = replace(self.conditions, max_steps=step_limit(steps))

    def name_older_objects(self, origin: str) -> None:
        """Let the ids of objects older than an execution name this process.

        Parameters:
            origin: part of these ids from now on.
        """
        self.conditions = replace(self.conditions, origin=origin)

    # -- for explorations that are kept in a file -----------------------------------------

    def counters(self) -> list[int]:
        """Counts that continue from one execution to the next, as plain data."""
        sampling = self._sampling
        return [sampling.executions, sampling.quiet, *self.runtime.counters()]

    def set_counters(self, counters: list[int]) -> None:
        """Continue from what :meth:`counters` returned."""
        self._sampling.executions, self._sampling.quiet, *others = counters
        self.runtime.set_counters(others)
