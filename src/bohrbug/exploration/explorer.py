"""The loop around strategy and runtime."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any, Protocol

from bohrbug.exploration.minimise import early_timeouts, minimise
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.program_text import texts_of_points
from bohrbug.exploration.result import Failure, Interpreter, Result
from bohrbug.exploration.subject import threads_subject
from bohrbug.exploration.verdicts import Evidence, Verdict, VerdictKind, estimate_of, judge
from bohrbug.exploration.watchdog import Watchdog
from bohrbug.model.outcome import Outcome, OutcomeKind, Race
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.runtime import Level, ThreadsRuntime
from bohrbug.search.estimates import Estimate
from bohrbug.search.registry import Options, strategy_named
from bohrbug.search.strategy import Composite, Strategy

CONFIRMATIONS = 3
"""Replays that must fail alike before a failure is reported."""

LONG = 50_000
"""Steps of an execution beyond which it is confirmed once and not minimised."""

FIRST = "non-preemptive"
"""Stands for the strategy where the first executions, which it has not planned, have failed."""

ATTEMPTS = 5
"""How often the confirmation of the same failure is tried, in different executions."""

_now = time.perf_counter
_seed = random.seed


class Progress(Protocol):
    """Told how an exploration goes on."""

    def update(
        self,
        executions: int,
        budget: int,
        elapsed: float,
        failures: int,
        races: int,
        words: str,
        estimate: Estimate | None = None,
    ) -> None:
        """Called several times a second.

        Parameters:
            executions: executions so far.
            budget: executions at most.
            elapsed: seconds so far.
            failures: distinct failures so far.
            races: distinct data races so far.
            words: the strategy's own words.
            estimate: of the size of the space, if there is one.
        """
        ...


class Explorer:
    """Explores one test.

    Parameters:
        function: the test; called once for each execution.
        name: how reports call it.
        options: see :class:`ExploreOptions`.
        progress: told how it goes, or ``None``.
        on_stuck: called with a message, in a thread of its own, if an execution
            hangs and can't be ended: such as to end the process.
    """

    def __init__(
        self,
        function: Callable[[], object],
        name: str,
        options: ExploreOptions,
        progress: Progress | None = None,
        on_stuck: Callable[[str], object] | None = None,
    ) -> None:
        self.options = options
        self.result = Result(name, Verdict(VerdictKind.INCONCLUSIVE))
        self._progress = progress
        self._on_stuck = on_stuck
        self.runtime: ThreadsRuntime = threads_subject(
            partial(_from_a_seed, function),
            options.settings(),
            Level(options.level),
            Scope(options.scope),
            options.invariant,
        )
        self.strategy: Strategy = strategy_named(
            options.strategy,
            Options(options.executions, options.seed, options.bound, options.depth),
        )
        self._races: dict[Any, Race] = {}
        self._signatures: dict[Any, Failure] = {}
        self._unconfirmed: dict[Any, int] = {}
        self._uncontrolled: dict[str, int] = {}
        self._notes: list[str] = []
        self._hung = ""
        self._proposed = 0
        self._interrupted = False
        # Executions from now on follow other rules: the strategy has to begin again.
        self._rules_changed = False
        self._started = 0.0
        self._shown = 0.0
        self._longest_passed = 0

    # -- the loop ------------------------------------------------------------------

    def explore(self) -> Result:
        """Execute plans until a failure is found, nothing is left or the budget is spent."""
        result = self.result
        self._started = _now()
        state = random.getstate()
        handler = self._take_interrupts()
        searched = False
        hang_seconds = self.options.hang_seconds
        watchdog = Watchdog(hang_seconds, self._on_stuck) if hang_seconds else None
        if watchdog is not None:
            watchdog.start()
        self.runtime.watchdog = watchdog
        try:
            with self.runtime:
                searched = self._prime() and self._search()
                self._finish_failures()
        finally:
            if watchdog is not None:
                watchdog.stop()
            self._give_interrupts_back(handler)
            random.setstate(state)
        result.seconds = _now() - self._started
        for kind, *_ in self._unconfirmed:
            self._notes.append(f"a failure was seen but not confirmed by replay ({kind.value})")
        if result.untimely:
            self._notes.append(
                "the test fails if a timeout or a sleep ends although other tasks could still run "
                f"({result.untimely[0].outcome.message or result.untimely[0].outcome.kind.value}); "
                "explored without that from then on"
            )
        result.races = list(self._races.values())
        result.interrupted = self._interrupted
        result.verdict = judge(self._evidence(searched))
        return result

    def _evidence(self, searched: bool) -> Evidence:
        result = self.result
        return Evidence(
            self.options,
            self.strategy if searched else None,
            self._proposed > 0,
            result.executions,
            result.seconds,
            len(result.failures),
            result.diverged,
            result.interrupted,
            self._hung,
            self._uncontrolled,
            self.runtime.skipped_functions(),
            tuple(self._notes),
        )

    def _prime(self) -> bool:
        """The first executions find functions and racy places; True if there is more to do.

        CHESS primes the pump so that lazy initialisation is over (section 4.2).
        """
        quiet = 0
        for _ in range(6):
            executed = self._execute(Plan())
            if executed is None or self._done():
                return True
            trace, new_points = executed
            if self.result.tasks <= 1 and not trace.arities:
                return False
            if self.options.level == Level.SYNC.value:
                return True
            # The first execution rewrites, the second is the first to see accesses.
            quiet = 0 if new_points else quiet + 1
            if quiet > 1:
                break
        return True

    def _search(self) -> bool:
        strategy = self.strategy
        restarts = 0
        while not self._done():
            plan = strategy.next_plan()
            if plan is None:
                break
            self._proposed += 1
            executed = self._execute(plan)
            if executed is None:
                break
            trace, new_points = executed
            if trace.divergence is not None and not trace.outcome.is_failure:
                again = self._execute(plan)
                if again is None:
                    break
                trace, more = again
                new_points += more
            strategy.observe(trace)
            if (new_points or self._rules_changed) and restarts < 100:
                restarts += 1
                self._rules_changed = False
                strategy.restart()
        return True

    def _done(self) -> bool:
        result, options = self.result, self.options
        return (
            self._interrupted
            or bool(self._hung)
            or result.executions >= options.executions
            or (bool(result.failures) and not options.keep_going)
            or (options.seconds is not None and _now() - self._started >= options.seconds)
        )

    def _execute(self, plan: Plan) -> tuple[Trace, int] | None:
        """Execute a plan and take note of everything; ``None`` if the user interrupted."""
        executed = self.runtime.execute(plan)
        trace = executed.trace
        result = self.result
        outcome = trace.outcome
        if outcome.kind is OutcomeKind.INTERRUPTED or self._interrupted:
            self._interrupted = True
            return None
        result.executions += 1
        result.points = max(result.points, len(trace))
        result.tasks = max(result.tasks, executed.tasks)
        if trace.divergence is not None and not executed.nudged:
            if not result.diverged:
                where = trace.divergence
                self._notes.append(
                    f"the test is not deterministic: at step {where.step} of an execution the plan "
                    f"asks for {where.expected}, but there is {where.found}"
                )
            result.diverged += 1
        if trace.uncontrolled.counts:
            for what, count in trace.uncontrolled.counts.items():
                self._uncontrolled[what] = self._uncontrolled.get(what, 0) + count
        if trace.races and self.options.races != "ignore":
            self._note_races(trace)
        if outcome.kind is OutcomeKind.HANG and self.runtime.look_closer():
            return trace, max(executed.new_points, 1)
        if outcome.kind is OutcomeKind.HANG or outcome.kind is OutcomeKind.STEP_LIMIT:
            self._hung = outcome.message
            self._notes.append(outcome.message)
        elif outcome.kind is OutcomeKind.PASSED:
            self._learn_step_limit(len(trace))
        elif outcome.is_failure:
            self._note_failure(trace)
        now = _now()
        if self._progress is not None and now - self._shown > 0.1:
            self._shown = now
            self._progress.update(
                result.executions,
                self.options.executions,
                now - self._started,
                len(result.failures),
                len(self._races),
                self.strategy.progress(),
                estimate_of(self.strategy),
            )
        return trace, executed.new_points

    def _learn_step_limit(self, length: int) -> None:
        """A livelock is an execution far longer than any that ended (CHESS: "abnormally")."""
        if self._longest_passed < length < self.runtime.settings.max_steps:
            self._longest_passed = length
            limit = max(20_000, 20 * length)
            self.runtime.settings = replace(self.runtime.settings, max_steps=limit)

    # -- failures --------------------------------------------------------------------

    def _note_races(self, trace: Trace) -> None:
        for race in trace.races:
            key = frozenset((race.first.operation.place, race.second.operation.place))
            known = self._races.get(key)
            if known is not None:
                self._races[key] = replace(known, count=known.count + race.count)
                continue
            self._races[key] = race
            if self.options.races == "fail" and not trace.outcome.is_failure:
                outcome = Outcome(
                    OutcomeKind.RACE,
                    f"data race on {race.label}",
                    task=race.second.task,
                    race=race,
                    stack=race.second.stack,
                )
                confirmed = self._confirm_race(trace, race)
                if confirmed:
                    failure = self._failure(replace_outcome(trace, outcome), confirmed)
                    self._signatures[key] = failure
                    self.result.failures.append(failure)

    def _confirm_race(self, trace: Trace, race: Race) -> int:
        """Replays, all of which must show the race again; 0 if one did not."""
        plan = Plan(tuple(trace.choices))
        for _ in range(CONFIRMATIONS):
            replayed = self.runtime.execute(plan, learn=False, watch=True).trace
            if replayed.divergence is not None or not any(
                other.label == race.label for other in replayed.races
            ):
                return 0
        return CONFIRMATIONS

    def _note_failure(self, trace: Trace) -> None:
        signature = trace.outcome.signature()
        known = self._signatures.get(signature)
        if known is not None:
            known.occurrences += 1
            return
        if self._unconfirmed.get(signature, 0) >= ATTEMPTS:
            return
        plan = Plan(tuple(trace.choices))
        # A livelock is long: what it needs is seen once more, not three times.
        confirmations = CONFIRMATIONS if len(trace) <= LONG else 1
        for _ in range(confirmations):
            if not self._reproduces(plan, signature):
                self._unconfirmed[signature] = self._unconfirmed.get(signature, 0) + 1
                return
        failure = self._failure(trace, confirmations)
        self._signatures[signature] = failure
        self._unconfirmed.pop(signature, None)
        self.result.failures.append(failure)
        if self.options.minimise and not self._interrupted and len(trace) <= LONG:
            self._minimise(failure)
        if failure.early_timeouts and self.options.timeouts == "report":
            self._put_aside(failure)

    def _put_aside(self, failure: Failure) -> None:
        """A failure that needs a timeout to fire early: go on without such timeouts.

        Most tests guard themselves with timeouts that they never expect to fire.
        """
        self.result.failures.remove(failure)
        self.result.untimely.append(failure)
        # The same failure without early timeouts would count.
        del self._signatures[failure.outcome.signature()]
        self.runtime.settings = replace(self.runtime.settings, late_timeouts=True)
        self._rules_changed = True

    def _replay(self, plan: Plan) -> Trace:
        trace = self.runtime.execute(plan, learn=False).trace
        if trace.outcome.kind is OutcomeKind.INTERRUPTED:
            # What was found before the interrupt is still confirmed.
            trace = self.runtime.execute(plan, learn=False).trace
        return trace

    def _reproduces(self, plan: Plan, signature: Any) -> bool:
        trace = self._replay(plan)
        return trace.outcome.signature() == signature and trace.divergence is None

    def _failure(self, trace: Trace, confirmed: int) -> Failure:
        points = self.runtime.point_keys()
        return Failure(
            trace.outcome,
            trace,
            Plan(tuple(trace.choices)),
            self._strategy_name(),
            self.result.executions,
            len(trace.preemptions()),
            essential=tuple(trace.preemptions()),
            confirmed=confirmed,
            early_timeouts=early_timeouts(trace),
            points=tuple(points),
            accesses=texts_of_points(points, self.runtime.points),
        )

    def _strategy_name(self) -> str:
        strategy = self.strategy
        if not self._proposed:
            return FIRST
        return strategy.current.name if isinstance(strategy, Composite) else strategy.name

    def _minimise(self, failure: Failure) -> None:
        signature = failure.outcome.signature()
        smallest = minimise(failure.trace, self._replay)
        plan = Plan(tuple(smallest.choices))
        if smallest is not failure.trace and self._reproduces(plan, signature):
            # From here on the strict plan counts, not the lenient one that led to it.
            smallest.plan = plan
            failure.trace = smallest
            failure.plan = plan
            failure.outcome = smallest.outcome
            failure.essential = tuple(smallest.preemptions())
            failure.early_timeouts = early_timeouts(smallest)

    def _finish_failures(self) -> None:
        """Which builds of Python each failure can happen on."""
        if self._interrupted or self.options.level == Level.SYNC.value:
            return
        for failure in self.result.failures:
            if failure.outcome.kind is OutcomeKind.RACE:
                continue
            if self.options.interpreter == "gil":
                failure.interpreter = Interpreter.GIL
                continue
            trace, beyond = self.runtime.preemptions_beyond_gil(failure.plan, failure.points)
            if trace.outcome.signature() != failure.outcome.signature():
                continue
            failure.interpreter = Interpreter.FREE_THREADED if beyond else Interpreter.GIL

    # -- interrupts --------------------------------------------------------------------

    def _take_interrupts(self) -> Any:
        """Ctrl-C ends the execution at its next step; a second one ends everything."""
        if threading.current_thread() is not threading.main_thread():
            return None

        def interrupt(*_: Any) -> None:
            if self._interrupted:
                raise KeyboardInterrupt
            self.stop()

        handler = signal.getsignal(signal.SIGINT)
        signal.signal(signal.SIGINT, interrupt)
        return handler

    def stop(self) -> None:
        """End the exploration at the next step of the running execution; what was found is kept."""
        self._interrupted = True
        execution = self.runtime.execution
        if execution is not None:
            execution.interrupt()

    def _give_interrupts_back(self, handler: Any) -> None:
        if handler is not None:
            signal.signal(signal.SIGINT, handler)


def _from_a_seed(function: Callable[[], object]) -> None:
    """The test, with the same random numbers each time.

    Not a method: the runtime, which calls it, then holds no explorer and dies with it at once.
    """
    _seed(0)
    function()


def replace_outcome(trace: Trace, outcome: Outcome) -> Trace:
    """The same trace with another outcome."""
    columns = {field.name: getattr(trace, field.name) for field in fields(Trace)}
    return Trace(**{**columns, "outcome": outcome})
