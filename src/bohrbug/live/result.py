"""What came of a run with live rounds."""

from __future__ import annotations

from dataclasses import dataclass, field

from bohrbug.exploration.result import Failure
from bohrbug.live.figures import Figures
from bohrbug.model.outcome import Outcome, OutcomeKind, Race


@dataclass(slots=True)
class LiveResult:
    """What came of a run.

    Parameters:
        outcome: how it ended.
        figures: of its rounds.
        seconds: of real time.
        steps: how many it had.
        failure: if it failed.
        is_whole: the failure has all steps from the start, so that it can be replayed.
        why_not: why a replay is not to be counted on; empty if it is.
        code: what the program has exited with, if it is one of its own.
        races: data races that were seen in the run, each pair of places once.
    """

    outcome: Outcome
    figures: Figures
    seconds: float
    steps: int
    failure: Failure | None = None
    is_whole: bool = True
    why_not: str = ""
    code: int = 0
    races: list[Race] = field(default_factory=list)

    @property
    def interrupted(self) -> bool:
        """Whether the user has ended it."""
        return self.outcome.kind is OutcomeKind.INTERRUPTED
