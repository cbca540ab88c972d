"""The loop around strategy and runtime."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from bohrbug.exploration.caveats import Caveats
from bohrbug.exploration.closer_look import CloserLook
from bohrbug.exploration.directing import DIRECTED, Directing
from bohrbug.exploration.figures import Figures, divergence_words
from bohrbug.exploration.findings import Findings, LookCloser
from bohrbug.exploration.foresight import let_foresee
from bohrbug.exploration.keeping import Keeping
from bohrbug.exploration.learning import Learner
from bohrbug.exploration.notices import notices_of
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.platform import Platform
from bohrbug.exploration.progress import Progress
from bohrbug.exploration.repeating import difference_when_repeated
from bohrbug.exploration.result import Failure, Result
from bohrbug.exploration.spending import Spending
from bohrbug.exploration.surroundings import Surroundings
from bohrbug.exploration.trying_again import TryingAgain
from bohrbug.exploration.verdicts import (
    Evidence,
    Verdict,
    VerdictKind,
    bound_of,
    estimate_of,
    judge,
    unseen,
)
from bohrbug.exploration.waking import WAKING, Waking
from bohrbug.exploration.warm_up import WarmUp
from bohrbug.model.outcome import LEFT_AS_IT_IS, TAKING, OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.interrupts import Interrupts
from bohrbug.runtime.protocol import Executed, Guard, NoGuard
from bohrbug.search.divisible import is_divisible
from bohrbug.search.strategy import Composite, Noticing, Strategy

FIRST = "non-preemptive"
"""The name of the strategy for failures in the first executions, which no strategy has planned."""

NOTHING_AROUND = Surroundings()
"""Nobody follows, and nothing is kept."""

BEFORE_WORKERS = 64
"""Executions of a search before workers join it: a small test needs none."""

SECONDS_BEFORE_WORKERS = 0.5
"""Seconds without anything new after which workers join, however few executions there were."""

STUCK_PERIODS = 5
"""How many hang periods may pass until a blocked thread counts as lost."""

RESTARTS = 100
"""How often a search starts again because there are new scheduling points."""

_now = time.perf_counter


class Explorer:
    """Explores one test.

    Parameters:
        platform: the test on its platform.
        name: how reports call the test.
        options: see :class:`ExploreOptions`.
        surroundings: who follows the exploration, and what is kept of it.
        strategy: the search strategy; by default the one that the options name.

    Attributes:
        result: what was found and counted so far.
        platform: see above.
        learner: executes the plans, and learns from what executions show.
        findings: the failures and data races, and what confirms them.
        directing: makes the executions directed at predictions from passing ones.
        waking: makes those with spurious wake-ups.
        caveats: what limits the verdict.
        keeping: saves its state, and restores what was saved.
        proposed: plans of the strategy that were executed.
        restarts: how often the search began again.
        was_cut: its time was up in the middle of an execution.
        lessons: plans whose executions have shown the runtime more of the test, in order.
        is_interrupted: the user wants it to end.
    """

    def __init__(
        self,
        platform: Platform,
        name: str,
        options: ExploreOptions,
        surroundings: Surroundings = NOTHING_AROUND,
        strategy: Strategy | None = None,
    ) -> None:
        self.options = options
        self.result = Result(name, Verdict(VerdictKind.INCONCLUSIVE))
        self.platform = platform
        self.runtime = platform.runtime
        self.learner = Learner(self.runtime, options.conditions())
        self._surroundings = surroundings
        self._given_strategy = strategy
        self.is_interrupted = False
        self.spending = Spending(options.seconds, lambda: self.is_interrupted)
        self.findings = Findings(
            options,
            self.spending,
            self.result,
            self.learner,
            platform,
            self._strategy_name,
            lambda: self.is_interrupted,
        )
        self.directing = Directing(self, platform)
        self.waking = Waking(self, platform)
        self.caveats = Caveats()
        self.proposed = 0
        self.restarts = 0
        self.lessons: list[Plan] = []
        # Executions that hung are executed again once more is seen; races are reported then.
        self._unended: list[Trace] = []
        self._warm_up = WarmUp(self)
        self._searched = False
        self._shown = 0.0
        self._guard: Guard = NoGuard()
        self.was_cut = False
        # Executions made by the runtime of this process, without follow-ups.
        self._made_to_search = 0
        self.keeping = Keeping(self, surroundings.keeper)

    @cached_property
    def strategy(self) -> Strategy:
        """The strategy; made on first use, because most tests of a suite need no search."""
        from bohrbug.search.registry import Options, strategy_named

        options = self.options
        return self._given_strategy or strategy_named(
            options.strategy,
            Options(
                options.executions,
                options.seed,
                options.bound,
                options.depth,
                sees_all=not unseen(options),
            ),
        )

    # -- the loop ------------------------------------------------------------------

    def explore(self) -> Result:
        """Execute plans until a failure is found, nothing is left or the budget is spent."""
        result = self.result
        self.spending.begin()
        # Most tests of a suite are over before progress would be shown.
        self._shown = _now()
        state = random.getstate()
        searched = False
        self._guard = self.runtime.guard(
            self.options.hang_seconds, self._surroundings.on_stuck, STUCK_PERIODS
        )
        self._guard.start()
        try:
            with Interrupts(self.stop), self.runtime:
                self.platform.begins()
                searched = self._begin() and self._search()
                while searched and self.waking.follow() and not self.has_ended:
                    self.restart()
                    self._search()
                self._execute_again_what_hung()
                self.findings.finish()
                if searched:
                    self._check_determinism()
                    self._look_at_the_first_execution()
                self.keeping.end(searched)
        finally:
            self.keeping.close()
            self._guard.stop()
            random.setstate(state)
        result.seconds = self.spending.spent
        result.follow_ups = self.runtime.made - self._made_to_search
        result.diverged = self.caveats.diverged
        self.caveats.note_unconfirmed(self.findings.unconfirmed)
        untimely = [failure.outcome for failure in result.untimely]
        for outcome in (untimely or self.findings.untimely_once)[:1]:
            self.caveats.note_untimely(outcome, self.options.timeouts == "short")
        result.races = list(self.findings.races.values())
        result.unconfirmed = self.directing.unconfirmed
        result.interrupted = self.is_interrupted
        result.notices += notices_of(
            self.caveats.uncontrolled, result.executions, self.options.asyncio_errors == "note"
        )
        self._searched = searched
        result.verdict = judge(self._evidence(searched))
        return result

    def _look_at_the_first_execution(self) -> None:
        """Where something would be promised: had the first execution data races of its own?"""
        is_searched = self.strategy.complete or bound_of(self.strategy) is not None
        if self.result.failures or not is_searched or self.options.races == "ignore":
            return
        if self.is_interrupted or self.spending.is_overdrawn:
            return
        races = self.platform.races_of_the_first(self.learner.conditions, self.findings.races)
        if races:
            self._note_first_execution([race.label for race in races])

    def note_first_execution(self, labels: Iterable[str]) -> None:
        """After the exploration: only the first execution has some data races.

        Parameters:
            labels: what variables they are on.
        """
        if TAKING + LEFT_AS_IT_IS not in self.caveats.uncontrolled:
            self._note_first_execution(labels)
            self.result.verdict = judge(self._evidence(self._searched))

    def _note_first_execution(self, labels: Iterable[str]) -> None:
        variables = list(dict.fromkeys(labels))
        more = " and others" if len(variables) > 3 else ""
        self.result.notices.append(
            f"only the first execution of the test has data races on {', '.join(variables[:3])}"
            f"{more}, as later ones find what it leaves behind: they were not explored; to have "
            "them explored, reset that in the test"
        )
        self.caveats.note_uncontrolled({TAKING + LEFT_AS_IT_IS: 1})

    def note_lasting_failure(self, failure: Failure) -> None:
        """After the exploration: the doubtful failure happens in processes that are new.

        Parameters:
            failure: :attr:`Findings.doubtful`.
        """
        self.caveats.note_lasting(self.findings.unrepeatable)
        self.findings.believe(failure)
        self.result.verdict = judge(self._evidence(self._searched))

    def _execute_again_what_hung(self) -> None:
        """Executions that hung show nothing unless their plans are executed again, and watched."""
        for plan in list(self.caveats.unended):
            if not self.has_ended and plan in self.caveats.unended:
                self.execute(plan)
        if self.options.races != "ignore":
            for trace in self._unended:
                self.findings.note_races(trace, are_described=False)
        if not self.result.failures:
            self.caveats.note_what_never_ended()

    def _check_determinism(self) -> None:
        """Before every schedule is said to be covered: does the test repeat itself?"""
        strategy, caveats = self.strategy, self.caveats
        if (
            not (self.is_interrupted or self.result.failures)
            and not (caveats.hung or caveats.given_up or caveats.diverged)
            and (strategy.complete or bound_of(strategy) is not None)
        ):
            words = difference_when_repeated(self.learner)
            if words and not self.is_interrupted:
                caveats.note_difference(words)

    def _evidence(self, searched: bool) -> Evidence:
        result = self.result
        return Evidence(
            self.options,
            self.strategy if searched else None,
            self.proposed > 0,
            result.executions,
            result.seconds,
            self.spending.another_takes if self.spending.is_over else 0.0,
            len(result.failures),
            result.diverged,
            result.interrupted,
            self.caveats.hung or self.caveats.given_up,
            self.caveats.uncontrolled,
            self.runtime.skipped_functions(),
            tuple(self.caveats.notes),
            self.runtime.unseen,
            self.runtime.faults,
            self.runtime.accesses,
            self.was_cut,
            result.tasks,
        )

    def _begin(self) -> bool:
        """The first executions, or those of an earlier process; True if more is left to do."""
        if self.keeping.resume():
            self._warm_up.is_over = True
            self._made_to_search = self.runtime.made
            return True
        if not self._warm_up.run():
            return False
        if not self.has_ended:
            TryingAgain(self).all(self._surroundings.remembered)
        return True

    def _search(self) -> bool:
        self.directing.predict_races()
        if self.options.workers == 1:
            self._search_alone()
            return True
        if not is_divisible(self.strategy):
            # Not a caveat: the verdict is as good as ever.
            self.result.notices.append(
                f"one process explored: the work of the strategy {self.strategy.name} can't be "
                "divided among workers"
            )
            self._search_alone()
            return True
        while not self._search_alone(BEFORE_WORKERS, SECONDS_BEFORE_WORKERS):
            if self.waking.follow():
                self.restart()
            elif not self.has_ended:
                self._search_together()
                if self.findings.rules_changed:
                    self.restart()
        return True

    def _search_alone(self, executions: int | None = None, seconds: float = 0.0) -> bool:
        """Execute what the strategy proposes; True if there is nothing left to do.

        Parameters:
            executions: stop after so many, but not before all places have settled.
            seconds: stop then, if there is a limit; counted since the search last restarted.
        """
        strategy = self.strategy
        end = _now() + seconds
        made = 0
        let_foresee(self.runtime, strategy, lambda: self.options.left_after(self.result.executions))
        while self._goes_on():
            if executions is not None and (
                _now() > end or (made >= executions and not self.learner.is_settling)
            ):
                return False
            plan = strategy.next_plan()
            if plan is None:
                return True
            made += 1
            self.proposed += 1
            executed = self.execute(plan)
            if executed is None:
                return True
            trace, new_points = executed
            is_strange = trace.divergence and not plan.foresaw(trace.divergence.step)
            if is_strange and not trace.outcome.is_failure:
                again = self.execute(plan)
                if again is None:
                    return True
                trace, more = again
                new_points += more
            strategy.observe(trace)
            if new_points or self.findings.rules_changed:
                self.restart()
                # Rewriting takes time, too, and what follows is best seen here.
                end = _now() + seconds
            if self.keeping.is_due:
                self.keeping.save()
        return True

    def _goes_on(self) -> bool:
        """Make the directed executions that are due; return whether more is left to do."""
        if self.directing.follow():
            self.restart()
        if self.waking.is_due(self.spending) and self.waking.follow():
            self.restart()
        return not self.has_ended

    def restart(self) -> None:
        """Start the search again, because there are new scheduling points or other rules."""
        self.findings.rules_changed = False
        self.waking.forget()
        if self.restarts < RESTARTS:
            self.restarts += 1
            self.strategy.restart()
        else:
            self.caveats.note_search_that_is_too_old(RESTARTS)

    def _search_together(self) -> None:
        """Search with worker processes, until nothing is left or the search has to start again."""
        # Workers are forked, which not every platform supports.
        from bohrbug.exploration.parallel.chief import search_together

        # A forked process would lack this thread.
        self._guard.stop()
        try:
            search_together(self, self._surroundings.settle)
        finally:
            self._guard.start()

    @property
    def has_ended(self) -> bool:
        """Whether the budget is spent, enough was found, or the user wants it to end."""
        result, options = self.result, self.options
        return (
            self.is_interrupted
            or self.was_cut
            or options.left_after(result.executions) <= 0
            or (not options.keep_going and bool(result.failures))
            or (self.spending.is_over and not self._may_go_on())
            or bool(self.caveats.hung)
        )

    def _may_go_on(self) -> bool:
        """Whether there is more time, now that the budget is spent."""
        ask = self._surroundings.more_seconds
        if ask is None or self.options.seconds is None:
            return False
        shows_new = False
        if self.proposed:
            strategy = self.strategy
            shows_new = isinstance(strategy, Noticing) and strategy.shows_new
        seconds = ask(shows_new)
        if seconds:
            self.spending.prolong(seconds)
            self.options = replace(self.options, seconds=self.options.seconds + seconds)
        return bool(seconds)

    def execute(self, plan: Plan, watch: bool = False) -> tuple[Trace, int] | None:
        """See :class:`~bohrbug.exploration.ongoing.Ongoing`."""
        begun = _now()
        # Nothing is known of a test that has not been executed once.
        self._guard.limit(self.spending.left if self.result.executions else math.inf)
        executed = self.learner.execute(plan, watch)
        self._guard.limit(math.inf)
        self.spending.note_execution(_now() - begun - executed.once)
        if executed.trace.outcome.kind is OutcomeKind.INTERRUPTED or self.is_interrupted:
            self.was_cut = self._guard.has_cut and not self.is_interrupted
            self.is_interrupted = not self.was_cut
            return None
        if self.learner.has_learned:
            self.lessons.append(plan)
        self.count_execution()
        new_points = self._look_at(executed)
        self.tell_progress(0)
        return executed.trace, new_points

    def count_execution(self) -> None:
        """See :class:`~bohrbug.exploration.ongoing.Ongoing`."""
        self.result.executions += 1
        self._made_to_search += 1

    def _look_at(self, executed: Executed) -> int:
        """Record what an execution showed; return how many places are new scheduling points."""
        trace = executed.trace
        result = self.result
        outcome = trace.outcome
        result.points = max(result.points, len(trace))
        result.tasks = max(result.tasks, executed.tasks)
        result.is_concurrent |= executed.is_concurrent
        result.virtual_seconds = max(result.virtual_seconds, trace.virtual_time)
        where = trace.divergence
        is_strange = where is not None and not trace.plan.foresaw(where.step)
        # There may be more scheduling points than where such a plan comes from.
        if is_strange and not executed.nudged and not self.waking.is_under_way:
            self.caveats.note_divergence(1, divergence_words(trace))
        if trace.uncontrolled.counts:
            self.caveats.note_uncontrolled(trace.uncontrolled.counts)
        if outcome.kind is OutcomeKind.HANG and self.learner.look_closer():
            self.caveats.note_unended(trace.plan, outcome.message)
            if trace.races:
                self._unended.append(trace)
            return max(executed.new_points, 1)
        if trace.races and self.options.races != "ignore":
            self.findings.note_races(trace)
        self.caveats.note_end(trace.plan)
        if outcome.kind is OutcomeKind.HANG or outcome.kind is OutcomeKind.STEP_LIMIT:
            self.caveats.note_hang(outcome.message)
        elif outcome.kind is OutcomeKind.PASSED:
            self.findings.note_pass(trace)
            self.learner.note_pass(len(trace))
            if executed.is_concurrent:
                self.directing.observe(trace)
                self.waking.observe(trace)
        elif outcome.is_failure:
            if executed.is_concurrent and not self._warm_up.is_over:
                self._warm_up.is_over = True
                trace = CloserLook(self).at_one_of_the_first(trace)
            has_shown = executed.is_concurrent and executed.new_points
            closer = CloserLook(self).at_what_it_showed if has_shown else None
            self.keep_failure(trace, look_closer=closer)
        return executed.new_points

    def tell_progress(self, more: int) -> None:
        """Report progress now and then.

        Parameters:
            more: executions beyond those that are counted.
        """
        now = _now()
        tell = self._surroundings.progress
        if tell is not None and now - self._shown > 0.1:
            self._shown = now
            # A long test with one task is never searched: nothing is loaded for that.
            strategy = self.strategy if self.proposed else None
            tell(
                Progress(
                    self.result.executions + more,
                    self.options.executions,
                    self.spending.spent,
                    len(self.result.failures),
                    len(self.findings.races),
                    "" if strategy is None else strategy.progress(),
                    estimate_of(strategy),
                )
            )

    def _strategy_name(self) -> str:
        if self.directing.is_under_way:
            return DIRECTED
        if self.waking.is_under_way:
            return WAKING
        if not self.proposed:
            return FIRST
        strategy = self.strategy
        return strategy.current.name if isinstance(strategy, Composite) else strategy.name

    def keep_failure(
        self, trace: Trace, is_counted: bool = False, look_closer: LookCloser | None = None
    ) -> None:
        """Confirm a failure, and save it at once.

        Parameters:
            trace: the failing execution.
            is_counted: figures that are still to come count it.
            look_closer: see :meth:`Findings.note_failure`.
        """
        self.findings.note_failure(trace, is_counted=is_counted, look_closer=look_closer)
        if self.findings.unrepeatable:
            self.caveats.note_unrepeatable(
                self.findings.unrepeatable, self.findings.fails_when_repeated
            )
        self.keeping.save_findings()

    def take_figures(self, figures: Figures) -> None:
        """Add the figures of executions that another process has made."""
        result = self.result
        result.executions += figures.executions
        result.points = max(result.points, figures.points)
        result.tasks = max(result.tasks, figures.tasks)
        self.proposed += figures.executions
        if figures.diverged:
            self.caveats.note_divergence(figures.diverged, figures.first_divergence)
        self.caveats.note_uncontrolled(figures.uncontrolled)
        self.learner.note_pass(figures.longest_passed)
        for signature, count in figures.occurrences.items():
            self.findings.count_failure(signature, count)
        for key, count in figures.races.items():
            self.findings.count_race(key, count)

    # -- interrupts --------------------------------------------------------------------

    def stop(self) -> None:
        """End the exploration at the next step of the running execution; findings are kept."""
        self.is_interrupted = True
        execution = self.runtime.execution
        if execution is not None:
            execution.interrupt()
