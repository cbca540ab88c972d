"""What an exploration has found: failures, confirmed and reduced, and data races."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bohrbug.exploration.figures import RaceKey, Signature, race_key
from bohrbug.exploration.learning import Learner
from bohrbug.exploration.minimisation.budget import MOST_WITH_THE_GIL
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.platform import Platform
from bohrbug.exploration.result import MOST_SURVEYED, Failure, Result
from bohrbug.exploration.spending import Spending
from bohrbug.model.conditions import Level
from bohrbug.model.history import history_of
from bohrbug.model.outcome import LONG_RUNS, SENT_EXCEPTIONS, TAKING, Outcome, OutcomeKind, Race
from bohrbug.model.plan import Plan
from bohrbug.model.standstill import UNNOTICED_STALL, is_long
from bohrbug.model.trace import Trace

if TYPE_CHECKING:
    from bohrbug.exploration.follow_up import FollowUp

CONFIRMATIONS = 3
"""Replays that must fail in the same way before a failure is reported."""

LONG = 50_000
"""Executions with more steps are confirmed once and not minimised."""

ATTEMPTS = 5
"""How often to try to confirm the same failure, in different executions."""

WITNESSED = 20
"""Executions repeated to see the stacks of both accesses of new data races."""

LookCloser = Callable[[Trace], Trace | None]
"""Takes an execution that failed; gives one that fails alike and shows more, or nothing."""


def _tells(trace: Trace, other: Failure) -> bool:
    """Whether an execution has met all of the cause of a failure in another, by the same names."""
    history = history_of(trace)
    orderings = () if other.cause is None else other.cause.orderings
    resources = {event.resource for each in orderings for event in (each.first, each.second)}
    return all(map(history.meets, orderings)) and all(
        trace.resources.get(resource) == other.trace.resources.get(resource)
        for resource in resources
    )


class Findings:
    """Takes traces, and keeps what should be reported.

    Parameters:
        options: of the exploration.
        spending: the time that it may take.
        result: where failures go.
        learner: knows the current conditions, and executes replays.
        platform: of the test.
        strategy_name: the strategy that proposed the last plan.
        is_interrupted: the user wants it to end.
    """

    def __init__(
        self,
        options: ExploreOptions,
        spending: Spending,
        result: Result,
        learner: Learner,
        platform: Platform,
        strategy_name: Callable[[], str],
        is_interrupted: Callable[[], bool],
    ) -> None:
        self._options = options
        self._spending = spending
        self._result = result
        self._learner = learner
        self._platform = platform
        self._strategy_name = strategy_name
        self._is_interrupted = is_interrupted
        self._races: dict[RaceKey, Race] = {}
        # How often some of them were seen in addition to their own count.
        self._seen_again: Counter[RaceKey] = Counter()
        self.failures: dict[Signature, Failure] = {}
        self.unconfirmed: dict[Signature, int] = {}
        # Failures of executions in which a timeout ended early, which no replay has shown again.
        self.untimely_once: list[Outcome] = []
        self._witnessed = 0
        # Executions from now on follow other rules: the strategy has to start again.
        self.rules_changed = False
        self._passes_undisturbed = False
        # Why the test can't be executed again and again, if it can't; then nothing more is found.
        self.unrepeatable = ""
        # Its very schedule shows that: no other one, which may have a bug, was seen to fail first.
        self.fails_when_repeated = False
        # Plans under which the test passes, for failures that were explained.
        self._passing: dict[Signature, Plan] = {}
        # The one that was: it may have left behind what lets the test fail from then on.
        self.doubtful: Failure | None = None

    def restore(
        self,
        failures: Sequence[tuple[Failure, bool]],
        races: Mapping[RaceKey, Race],
        occurrences: Mapping[tuple[object, ...], int],
    ) -> None:
        """Restore what an earlier process has found.

        Parameters:
            failures: see :meth:`kept`.
            races: by their keys.
            occurrences: see :meth:`occurrences`; anything missing will be seen again.
        """
        conditions = self._learner.conditions
        for failure, is_untimely in failures:
            points = frozenset(failure.points)
            failure.plan = failure.plan.under(replace(conditions, points=points))
            if is_untimely:
                self._result.untimely.append(failure)
                self._learner.conditions = self._options.after_setting_aside(conditions)
                continue
            self._result.failures.append(failure)
            race = failure.outcome.race
            is_race = failure.outcome.kind is OutcomeKind.RACE and race is not None
            key = race_key(race) if is_race and race is not None else failure.outcome.signature()
            self.failures[key] = failure
            failure.occurrences = occurrences.get(key, 0)
        for key, race in races.items():
            self._races[key] = replace(race, count=occurrences.get(key, 0))

    def occurrences(self) -> dict[tuple[object, ...], int]:
        """How often each data race and each failure was seen."""
        seen: dict[tuple[object, ...], int] = {key: race.count for key, race in self.races.items()}
        return seen | {key: failure.occurrences for key, failure in self.failures.items()}

    # -- data races --------------------------------------------------------------------

    @property
    def races(self) -> dict[RaceKey, Race]:
        """The data races, each with how often it was seen."""
        for key, count in self._seen_again.items():
            known = self._races[key]
            self._races[key] = replace(known, count=known.count + count)
        self._seen_again.clear()
        return self._races

    def note_races(
        self, trace: Trace, are_counted: bool = False, are_described: bool = True
    ) -> None:
        """Keep the data races of a trace, and add up how often each was seen.

        Parameters:
            trace: the execution.
            are_counted: figures that are still to come count them, see :meth:`count_race`.
            are_described: new ones are described, which takes one more execution.
        """
        for key, race in self._described(trace, are_described):
            seen = 0 if are_counted else race.count
            if key in self._races:
                self._seen_again[key] += seen
                continue
            self._races[key] = replace(race, count=seen)
            is_wanted = self._options.keep_going or not self._result.failures
            if self._options.races == "fail" and is_wanted and not trace.outcome.is_failure:
                outcome = Outcome(
                    OutcomeKind.RACE,
                    race.title,
                    task=race.second.task,
                    race=race,
                    stack=race.second.stack,
                )
                confirmed = self._confirm_race(trace, race)
                if confirmed:
                    failure = self._failure(trace.with_outcome(outcome), confirmed)
                    self.failures[key] = failure
                    self._result.failures.append(failure)

    def _described(self, trace: Trace, are_wanted: bool) -> list[tuple[RaceKey, Race]]:
        """The races of an execution; new ones with both stacks and a pattern."""
        races = [(race_key(race), race) for race in trace.races]
        fresh = {key: race for key, race in races if key not in self._races}
        if not fresh:
            return races
        news = list(fresh.values())
        has_stale = any(race.stale is not None for race in news)
        is_affordable = self._witnessed < WITNESSED or has_stale
        if are_wanted and is_affordable and not self._is_interrupted():
            self._witnessed += 1
            news = self._platform.complete_races(trace, news)
        news = self._platform.classified(news)
        told = {race_key(race): race for race in news}
        # A race that did not happen again is not reported.
        return [
            (key, told.get(key, race)) for key, race in races if key in told or key not in fresh
        ]

    def count_race(self, key: RaceKey, count: int) -> None:
        """A known data race was seen in another process."""
        if key in self._races:
            self._seen_again[key] += count

    def _confirm_race(self, trace: Trace, race: Race) -> int:
        """The number of replays, all of which must show the race again; 0 if one did not."""
        plan = trace.as_plan()
        for _ in range(CONFIRMATIONS):
            replayed = self._learner.replay(plan, watch=True).trace
            if replayed.divergence is not None or not any(
                other.title == race.title for other in replayed.races
            ):
                return 0
        return CONFIRMATIONS

    # -- failures ----------------------------------------------------------------------

    def note_pass(self, trace: Trace) -> None:
        """Remember that the schedule without preemptions passes: it must pass when another fails.

        That schedule is the same whatever else becomes a scheduling point, unless it has runs so
        long that other tasks interrupt them, or exceptions that a thread sends to another.
        """
        self._passes_undisturbed = self._passes_undisturbed or trace.plan == Plan()

    def forget_passes(self) -> None:
        """What has passed may fail: it is known better now what the test should do."""
        self._passes_undisturbed = False

    def note_failure(
        self,
        trace: Trace,
        strategy: str | None = None,
        is_counted: bool = False,
        look_closer: LookCloser | None = None,
    ) -> None:
        """Confirm the failure of a trace, reduce it and keep it, unless it is known.

        Parameters:
            trace: the failing execution.
            strategy: what found it, if not the strategy of the exploration.
            is_counted: figures that are still to come count it, see :meth:`count_failure`.
            look_closer: where the execution was the first to show something that is no step of it:
                gives one that fails alike, of which it is a step, if there is one.
        """
        signature = trace.outcome.signature()
        seen = 0 if is_counted else 1
        known = self.failures.get(signature)
        if known is not None:
            known.occurrences += seen
            return
        if self.unconfirmed.get(signature, 0) >= ATTEMPTS:
            return
        if self.unrepeatable:
            return
        plan = trace.as_plan()
        # A livelock is long: it is confirmed once, not three times.
        wanted = CONFIRMATIONS if len(trace) <= LONG else 1
        confirmations = 0
        # One that takes long is confirmed as often as there is time for, and once at least.
        while confirmations < wanted and not (confirmations and self._spending.is_overdrawn):
            if self.reproduces(plan, signature):
                confirmations += 1
            else:
                if self._would_put_aside(trace) and trace.fired_early():
                    # It counts only if it also happens without early timeouts.
                    self.untimely_once.append(trace.outcome)
                    self._let_timeouts_be_late()
                else:
                    self.not_confirmed(signature)
                return
        undisturbed = None
        if self._passes_undisturbed:
            again = self.replay(Plan().under(self._learner.conditions))
            taken = again.uncontrolled.counts
            if not (taken.get(TAKING + LONG_RUNS) or taken.get(TAKING + SENT_EXCEPTIONS)):
                undisturbed = again.outcome
        if undisturbed is not None and undisturbed.is_failure:
            self.fails_when_repeated = trace.plan == Plan()
            self.unrepeatable = (
                "the test can't be executed again and again: the schedule without preemptions, "
                f"which has passed, fails now ({undisturbed.message or undisturbed.kind.value})"
                "; the reason may be what the test leaves behind outside its own fixtures"
            )
            if not self.fails_when_repeated:
                self.doubtful = self._failure(trace, confirmations)
            return
        failure = self._failure(trace, confirmations)
        failure.occurrences = seen
        if strategy is not None:
            failure.strategy = strategy
        self.failures[signature] = failure
        self.unconfirmed.pop(signature, None)
        self._result.failures.append(failure)
        self._reduce(failure)
        if self._would_put_aside(failure.trace) and self._is_untimely(failure):
            # The timeout is the reason; looking for a cause would cost every such test seconds.
            self._put_aside(failure)
            return
        if look_closer is None or not self._explain_closer(failure, look_closer):
            self._explain(failure)
            if look_closer is not None and failure.cause is not None:
                # There are more schedules than those of what was a step.
                failure.cause = replace(failure.cause, complete=False)

    def believe(self, failure: Failure) -> None:
        """The doubtful failure happens where nothing was executed before, by its schedule only.

        It can't be reduced: each candidate would need a process of its own.
        """
        self.failures[failure.outcome.signature()] = failure
        self._result.failures.append(failure)
        self.doubtful, self.unrepeatable = None, ""

    def _may_follow_up(self, failure: Failure) -> bool:
        is_short = len(failure.trace) <= LONG
        return is_short and not self._spending.is_overdrawn and not self._is_interrupted()

    def _reduce(self, failure: Failure) -> None:
        if self._options.minimise and self._may_follow_up(failure):
            self._follow_up().reduce(failure)

    def _explain(self, failure: Failure) -> None:
        if self._may_follow_up(failure):
            passing = self._follow_up().explain(failure)
            if passing is not None:
                self._passing[failure.outcome.signature()] = passing

    def _explain_closer(self, failure: Failure, look_closer: LookCloser) -> bool:
        """Explain a failure by all that its execution was the first to show.

        It stays in the execution that was found, which has fewer steps, if that tells all that the
        cause speaks of.

        Returns:
            Whether there is an execution that shows that as steps.
        """
        closer = look_closer(failure.trace) if self._may_follow_up(failure) else None
        if closer is None:
            return False
        shown = self._failure(closer, failure.confirmed)
        with self._learner.runtime.afresh():
            self._reduce(shown)
        if self._would_put_aside(shown.trace) and self._is_untimely(shown):
            return False
        self._explain(shown)
        failure.cause = shown.cause
        if shown.cause is not None and _tells(failure.trace, shown):
            self._follow_up().find_out_when_it_was_raised(failure)
            return True
        failure.outcome, failure.trace, failure.plan = shown.outcome, shown.trace, shown.plan
        failure.essential, failure.early_timeouts = shown.essential, shown.early_timeouts
        failure.points, failure.accesses = shown.points, shown.accesses
        failure.is_unaware = True
        return True

    def _would_put_aside(self, trace: Trace) -> bool:
        """Whether a failure does not count if it needs what a timeout or a sleep has done early."""
        rule, stall = self._options.timeouts, trace.longest_stall
        if rule == "report":
            # What is due at the same moment ends in either order; for that nobody stands still.
            return is_long(stall, UNNOTICED_STALL) or not self._platform.measures_stalls
        return rule == "short" and is_long(stall)

    def _is_untimely(self, failure: Failure) -> bool:
        """Whether a failure needs a timeout or a sleep to end before its time.

        It ends early while other tasks can still run, or before another whose time comes first.
        Then its schedule is impossible where timeouts are late.
        """
        if failure.early_timeouts:
            return True
        plan = failure.plan
        late = self._options.after_setting_aside(plan.conditions)
        if late == plan.conditions or not any(failure.trace.timed):
            return False
        return not self.reproduces(plan.under(late), failure.outcome.signature())

    def _put_aside(self, failure: Failure) -> None:
        """Set aside a failure that needs a timeout to fire early; go on without such timeouts.

        Most tests guard themselves with timeouts that they never expect to fire.
        """
        self._result.failures.remove(failure)
        self._result.untimely.append(failure)
        # The same failure without early timeouts would count.
        del self.failures[failure.outcome.signature()]
        self._let_timeouts_be_late()

    def _let_timeouts_be_late(self) -> None:
        learner = self._learner
        learner.conditions = self._options.after_setting_aside(learner.conditions)
        self.rules_changed = True

    def kept(self) -> list[tuple[Failure, bool]]:
        """All failures, with whether each was set aside, for a file."""
        return [
            *((failure, False) for failure in self.failures.values()),
            *((failure, True) for failure in self._result.untimely),
        ]

    def not_confirmed(self, signature: Signature) -> None:
        """A replay did not show a failure that was seen."""
        self.unconfirmed[signature] = self.unconfirmed.get(signature, 0) + 1

    def count_failure(self, signature: Signature, count: int) -> None:
        """A known failure was seen in another process."""
        known = self.failures.get(signature)
        if known is not None:
            known.occurrences += count

    def replay(self, plan: Plan) -> Trace:
        """Execute a plan once more; what was found before an interrupt is still confirmed."""
        trace = self._learner.replay(plan).trace
        if trace.outcome.kind is OutcomeKind.INTERRUPTED:
            trace = self._learner.replay(plan).trace
        return trace

    def reproduces(self, plan: Plan, signature: Signature) -> bool:
        """Whether a plan can be followed and fails in this way."""
        trace = self.replay(plan)
        return trace.outcome.signature() == signature and trace.divergence is None

    def _failure(self, trace: Trace, confirmed: int) -> Failure:
        texts = self._platform.texts_of_points(trace.plan.conditions.points)
        points = sorted(texts)
        return Failure(
            trace.outcome,
            trace,
            trace.as_plan(),
            self._strategy_name(),
            self._result.executions,
            len(trace.preemptions()),
            essential=tuple(trace.preemptions()),
            confirmed=confirmed,
            early_timeouts=trace.fired_early(),
            points=(*points, *self._learner.runtime.point_keys()),
            accesses=tuple(texts[key] for key in points),
        )

    def _follow_up(self) -> FollowUp:
        # Loaded with the first failure.
        from bohrbug.exploration.follow_up import FollowUp

        return FollowUp(self._options, self._spending, self._learner, self.replay, self.reproduces)

    def finish(self) -> None:
        """Find out on which builds of Python each failure can happen, and which races it shows."""
        if self._is_interrupted() or self._options.level == Level.SYNC.value:
            return
        failures = [f for f in self._result.failures if f.outcome.kind is not OutcomeKind.RACE]
        for number, failure in enumerate(failures):
            budget = self._spending.share(1 / (len(failures) - number), MOST_WITH_THE_GIL)
            points = self._learner.conditions.points
            failure.interpreter = self._platform.interpreter_of(failure, points, budget)
        for failure in failures:
            self._look_for_telling_races(failure)

    def _look_for_telling_races(self, failure: Failure) -> None:
        """Where no ordering explains a failure, a value that was out of date may.

        Where the orderings are of turns of an event loop, it may say what happens in these, if it
        is out of date in executions that fail only.
        And of a schedule that nobody can survey, the races in it say at least where to look.
        """
        cause = failure.cause
        is_explained = cause is not None and cause.explains_all
        is_of_turns = cause is not None and cause.is_of_turns
        if is_explained and is_of_turns:
            # Until it is known that executions that pass have no such race.
            failure.trace.races = [race for race in failure.trace.races if race.stale is None]
        is_known = any(race.stale is not None for race in self._races.values())
        is_long = len(failure.essential) > MOST_SURVEYED
        if (is_explained and not is_of_turns) or not (is_known or is_long):
            return
        passing = self._passing.get(failure.outcome.signature())
        if self._spending.is_overdrawn or (is_explained and passing is None):
            return
        again = self._learner.replay(failure.plan, watch=True).trace
        if again.tasks != failure.trace.tasks:
            return
        self.note_races(again)
        keys = [race_key(race) for race in again.races]
        if is_explained and passing is not None:
            usual = self._learner.replay(passing, watch=True).trace.races
            keys = [key for key in keys if key not in {race_key(race) for race in usual}]
        failure.trace.races = [self._races[key] for key in keys if key in self._races]
