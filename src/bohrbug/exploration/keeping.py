"""What is kept of an exploration while it lasts and when it ends, and how it goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bohrbug.exploration.caveats import Caveats
from bohrbug.exploration.ongoing import Ongoing
from bohrbug.exploration.saving import Keeper, Loaded, Saved, check_points
from bohrbug.exploration.spending import Spending
from bohrbug.model.conditions import PlaceKey
from bohrbug.model.outcome import OutcomeKind
from bohrbug.search.divisible import State, is_divisible
from bohrbug.search.strategy import Noticing, Strategy, finds_new


class Resumable(Ongoing, Protocol):
    """An exploration that another process can go on with.

    Attributes:
        spending: the time that it has taken.
        caveats: what limits its verdict.
        proposed: plans of the strategy that were executed.
        restarts: how often the search began again.
        was_cut: its time was up in the middle of an execution.
    """

    spending: Spending
    caveats: Caveats
    proposed: int
    restarts: int
    was_cut: bool

    @property
    def strategy(self) -> Strategy:
        """Makes its plans."""
        ...


class Keeping:
    """Keeps an exploration, and restores one that was kept.

    Parameters:
        exploration: the exploration.
        keeper: where it is kept; ``None``: nowhere, as if its strategy can't be saved.
    """

    def __init__(self, exploration: Resumable, keeper: Keeper | None) -> None:
        self._exploration = exploration
        is_possible = keeper is not None and is_divisible(exploration.strategy)
        self._keeper = keeper if is_possible else None

    @property
    def is_due(self) -> bool:
        """Whether it is time to save."""
        return self._keeper is not None and self._keeper.is_due()

    def save(self, pieces: Sequence[State] = ()) -> None:
        """Save the state of the search, so that it can be resumed from here.

        Parameters:
            pieces: the work that other processes have, or that waits for one.
        """
        if self._keeper is not None:
            exploration = self._exploration
            sources = exploration.learner.runtime.sources()
            self._keeper.save(self._snapshot(pieces), exploration.findings, sources)

    def save_findings(self) -> None:
        """Save what was found, at once."""
        if self._keeper is not None:
            self._keeper.save_findings(self._exploration.findings)

    def end(self, searched: bool) -> None:
        """The exploration has ended: save what can be resumed, delete what is done.

        Parameters:
            searched: whether it came to its search.
        """
        if self._keeper is None:
            return
        exploration = self._exploration
        unfinished = (
            exploration.is_interrupted or exploration.was_cut or exploration.spending.is_over
        )
        if searched and unfinished and exploration.proposed and not exploration.caveats.hung:
            self.save()
        else:
            self._keeper.discard()

    def close(self) -> None:
        """Nothing more will be kept, whatever has ended the exploration."""
        if self._keeper is not None:
            self._keeper.close()

    def to_go_on(self) -> Loaded | None:
        """What another exploration needs to go on where this one has ended, as its time was up.

        ``None`` if it ended for another reason, or if there is little left to find: further
        executions are unlikely to show anything new.
        """
        exploration = self._exploration
        strategy, findings = exploration.strategy, exploration.findings
        timed_out = exploration.spending.is_over and not exploration.is_interrupted
        is_done = exploration.result.failures or exploration.caveats.hung
        left = exploration.options.left_after(exploration.result.executions)
        if not (exploration.proposed and timed_out) or is_done or left <= 0:
            return None
        if not (is_divisible(strategy) and isinstance(strategy, Noticing) and finds_new(strategy)):
            return None
        return Loaded(self._snapshot(()), findings.kept(), dict(findings.races))

    def _snapshot(self, pieces: Sequence[State]) -> Saved:
        exploration = self._exploration
        result, strategy = exploration.result, exploration.strategy
        assert is_divisible(strategy)
        return Saved(
            strategy=strategy.state(),
            pieces=list(pieces),
            lessons=list(exploration.lessons),
            points=self._points(),
            counters=exploration.learner.counters(),
            executions=result.executions,
            diverged=exploration.caveats.diverged,
            steps=result.points,
            tasks=result.tasks,
            seconds=exploration.spending.spent,
            proposed=exploration.proposed,
            restarts=exploration.restarts,
            longest_passed=exploration.learner.longest_passed,
            notes=list(exploration.caveats.notes),
            uncontrolled=dict(exploration.caveats.uncontrolled),
            occurrences=exploration.findings.occurrences(),
        )

    def _points(self) -> list[PlaceKey]:
        """The accesses that are scheduling points."""
        learner = self._exploration.learner
        return [*sorted(learner.conditions.points), *learner.runtime.point_keys()]

    # -- going on ------------------------------------------------------------------------

    def resume(self) -> bool:
        """Restore what was kept; whether a search was under way.

        Raises:
            ResumeError: that can't be.
        """
        loaded = self._keeper.load() if self._keeper is not None else None
        if loaded is None:
            return False
        saved = loaded.saved
        seen = {} if saved is None else saved.occurrences
        self._exploration.findings.restore(loaded.failures, loaded.races, seen)
        if saved is not None and self._learn_again(saved):
            self._restore(saved)
        return saved is not None

    def _learn_again(self, saved: Saved) -> bool:
        """Let the runtime see as much of the test as it had seen; False if the user interrupted."""
        exploration = self._exploration
        for number, plan in enumerate(saved.lessons):
            if number == 2:
                # Objects may be used in another order than before.
                exploration.learner.name_older_objects("resumed.")
            executed = exploration.learner.execute(plan, watch=True)
            if executed.trace.outcome.kind is OutcomeKind.INTERRUPTED:
                exploration.is_interrupted = True
                return False
            exploration.lessons.append(plan)
        return True

    def _restore(self, saved: Saved) -> None:
        exploration = self._exploration
        result, strategy = exploration.result, exploration.strategy
        assert is_divisible(strategy)
        check_points(saved.points, self._points())
        exploration.learner.set_counters(saved.counters)
        result.executions = saved.executions
        result.points, result.tasks = saved.steps, saved.tasks
        # Or there would have been no search.
        result.is_concurrent = True
        exploration.caveats = Caveats(list(saved.notes), dict(saved.uncontrolled), saved.diverged)
        exploration.proposed, exploration.restarts = saved.proposed, saved.restarts
        exploration.spending.begin(saved.seconds)
        exploration.learner.note_pass(saved.longest_passed)
        strategy.restore(saved.strategy)
        for piece in saved.pieces:
            strategy.merge(piece)
