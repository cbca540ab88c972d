"""Lets a crew of workers explore on behalf of an explorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bohrbug.exploration.figures import Figures, Signature
from bohrbug.exploration.parallel.crew import Crew
from bohrbug.exploration.parallel.messages import Piece
from bohrbug.exploration.parallel.worker import Task
from bohrbug.exploration.saving import SavedPiece
from bohrbug.model.plan import Plan
from bohrbug.search.divisible import is_divisible

if TYPE_CHECKING:
    from bohrbug.exploration.explorer import Explorer

STATE_EVERY = 1.0
"""Seconds after which workers tell how far they are, if the exploration is kept in a file."""


def search_together(explorer: Explorer, settle: Callable[[int], object] | None) -> None:
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
        longest_passed=explorer.longest_passed,
        known_failures=frozenset(findings.failures),
        known_races=frozenset(findings.races),
        known_predictions=explorer.known_predictions,
        state_every=STATE_EVERY if explorer.can_save else None,
    )
    chief = _ExplorersChief(explorer)
    Crew(options.workers, chief, explorer.runtime, strategy, task, settle).work()


class _ExplorersChief:
    """See :class:`~bohrbug.exploration.parallel.crew.Chief`."""

    def __init__(self, explorer: Explorer) -> None:
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
        return explorer.options.executions - explorer.result.executions

    @property
    def stops_at_first_failure(self) -> bool:
        return not self._explorer.options.keep_going

    def confirms(self, plan: Plan, signature: Signature) -> bool:
        findings = self._explorer.findings
        confirmed = findings.reproduces(plan, signature)
        if not confirmed:
            findings.not_confirmed(signature)
        return confirmed

    def take_failure(self, plan: Plan, signature: Signature, is_counted: bool) -> None:
        self._explorer.take_failure(plan, signature, is_counted)

    def take_race(self, plan: Plan) -> None:
        self._explorer.take_race(plan)

    def take_lock_order(self, plan: Plan, spare: int) -> None:
        self._explorer.take_lock_order(plan, spare)

    def learn_from(self, plan: Plan) -> None:
        self._explorer.learn_from(plan)

    def take_figures(self, figures: Figures) -> None:
        self._explorer.take_figures(figures)

    def note_hang(self, message: str) -> None:
        self._explorer.caveats.note_hang(message)

    def note_death(self, message: str) -> None:
        self._explorer.caveats.note_given_up(message)

    def tell_progress(self, executions: int) -> None:
        self._explorer.tell_progress(executions)

    def save(self, pieces: list[Piece]) -> None:
        if self._explorer.is_saving:
            self._explorer.save([SavedPiece(piece.state, piece.figures) for piece in pieces])
