"""Lets a crew of workers explore on behalf of an explorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from bohrbug.exploration.caveats import Caveats
from bohrbug.exploration.closer_look import CloserLook
from bohrbug.exploration.directing import Directing
from bohrbug.exploration.figures import Figures, Signature
from bohrbug.exploration.findings import LookCloser
from bohrbug.exploration.keeping import Keeping
from bohrbug.exploration.ongoing import Ongoing
from bohrbug.exploration.parallel.crew import Crew
from bohrbug.exploration.parallel.messages import Piece
from bohrbug.exploration.parallel.worker import Task
from bohrbug.model.outcome import OutcomeKind
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.search.divisible import is_divisible
from bohrbug.search.strategy import Strategy

LOOKS = 3
"""Executions of a plan that showed a worker more of the test: one may rewrite, the next see."""


class Shared(Ongoing, Protocol):
    """An exploration whose search workers do."""

    directing: Directing
    caveats: Caveats
    keeping: Keeping

    @property
    def strategy(self) -> Strategy:
        """Makes its plans."""
        ...

    def restart(self) -> None:
        """Let the search begin again."""
        ...

    def keep_failure(
        self, trace: Trace, is_counted: bool = False, look_closer: LookCloser | None = None
    ) -> None:
        """Confirm and keep a failure."""
        ...

    def take_figures(self, figures: Figures) -> None:
        """Add up what a worker has counted."""
        ...

    def tell_progress(self, more: int) -> None:
        """Tell how it goes, with executions beyond those that are counted."""
        ...


def search_together(explorer: Shared, settle: Callable[[int], object] | None) -> None:
    """Search with worker processes, until nothing is left or all has to begin again.

    Parameters:
        explorer: keeps the findings; its strategy is divisible.
        settle: called in each worker first.
    """
    strategy, options = explorer.strategy, explorer.options
    assert is_divisible(strategy)
    findings = explorer.findings
    task = Task(
        number=0,
        ignore_races=options.races == "ignore",
        hang_seconds=options.hang_seconds,
        known_failures=frozenset(findings.failures),
        known_races=frozenset(findings.races),
        known_predictions=explorer.directing.known,
    )
    chief = _ExplorersChief(explorer)
    Crew(options.workers, chief, explorer.learner, strategy, task, settle).work()


class _ExplorersChief:
    """See :class:`~bohrbug.exploration.parallel.crew.Chief`."""

    def __init__(self, explorer: Shared) -> None:
        self._explorer = explorer

    @property
    def has_ended(self) -> bool:
        return self._explorer.has_ended

    @property
    def has_to_restart(self) -> bool:
        return self._explorer.findings.rules_changed

    @property
    def executions_left(self) -> int:
        explorer = self._explorer
        return explorer.options.left_after(explorer.result.executions)

    @property
    def stops_at_first_failure(self) -> bool:
        return not self._explorer.options.keep_going

    def _here(self, plan: Plan) -> Plan:
        """A plan of a worker under the conditions of this process."""
        return plan.under(self._explorer.learner.conditions)

    def confirms(self, plan: Plan, signature: Signature) -> bool:
        findings = self._explorer.findings
        confirmed = findings.reproduces(self._here(plan), signature)
        if not confirmed:
            findings.not_confirmed(signature)
        return confirmed

    def take_failure(self, plan: Plan, signature: Signature, is_counted: bool) -> None:
        explorer = self._explorer
        trace = explorer.findings.replay(self._here(plan))
        if trace.outcome.is_failure:
            look_closer = CloserLook(explorer).where_it_shows_more(trace)
            # Workers don't know what that has shown.
            explorer.findings.rules_changed |= look_closer is not None
            explorer.keep_failure(trace, is_counted, look_closer)
        else:
            explorer.findings.not_confirmed(signature)

    def take_race(self, plan: Plan) -> None:
        explorer = self._explorer
        trace = explorer.learner.replay(self._here(plan), watch=True).trace
        explorer.findings.note_races(trace, are_counted=True)
        explorer.keeping.save_findings()

    def take_lock_order(self, plan: Plan, spare: int) -> None:
        explorer, directing = self._explorer, self._explorer.directing
        trace = explorer.learner.replay(self._here(plan)).trace
        if trace.outcome.kind is OutcomeKind.PASSED:
            directing.look_at(trace)
        if directing.waiting <= spare and directing.follow():
            explorer.findings.rules_changed = True

    def learn_from(self, plan: Plan) -> None:
        explorer, learner = self._explorer, self._explorer.learner
        for _ in range(LOOKS):
            executed = learner.execute(plan, watch=True)
            outcome = executed.trace.outcome
            if outcome.kind is OutcomeKind.INTERRUPTED or explorer.is_interrupted:
                explorer.is_interrupted = True
                return
            if not learner.has_learned:
                return
            explorer.lessons.append(plan)
            if outcome.kind is OutcomeKind.HANG:
                if learner.look_closer():
                    explorer.caveats.note_unended(plan, outcome.message)
                else:
                    explorer.caveats.note_hang(outcome.message)
            if executed.new_points or outcome.kind is OutcomeKind.HANG:
                explorer.restart()
                return

    def take_figures(self, figures: Figures) -> None:
        self._explorer.take_figures(figures)

    def note_hang(self, message: str) -> None:
        self._explorer.caveats.note_hang(message)

    def note_death(self, message: str) -> None:
        self._explorer.caveats.note_given_up(message)

    def tell_progress(self, executions: int) -> None:
        self._explorer.tell_progress(executions)

    def save(self, pieces: list[Piece]) -> None:
        if self._explorer.keeping.is_due:
            self._explorer.keeping.save([piece.state for piece in pieces])
