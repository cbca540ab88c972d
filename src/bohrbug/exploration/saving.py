"""The state of an exploration as plain data, so that another process can go on with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bohrbug.exploration.figures import RaceKey, counts_from_json, counts_to_json
from bohrbug.exploration.findings import Findings
from bohrbug.exploration.result import Failure
from bohrbug.exploration.verdicts import Caveat, CaveatKind
from bohrbug.model.conditions import PlaceKey
from bohrbug.model.outcome import Race
from bohrbug.model.plan import Plan
from bohrbug.model.serialise import plan_from_json, plan_to_json
from bohrbug.search.divisible import State


class ResumeError(ValueError):
    """An exploration can't be resumed; the message says why, and what to do."""


class InUseError(ResumeError):
    """Another process keeps its exploration in the file."""


@dataclass(slots=True)
class Loaded:
    """What a file holds.

    Parameters:
        saved: the state; ``None`` if something was found before it was saved for the first time.
        failures: found so far; findings are kept at once, so there may be newer ones than
            the state knows of; with whether each was put aside.
        races: seen so far.
    """

    saved: Saved | None
    failures: list[tuple[Failure, bool]]
    races: dict[RaceKey, Race]


@dataclass(slots=True)
class Saved:
    """An exploration between two executions.

    Parameters:
        strategy: the state of the strategy.
        pieces: the work that was with workers, as it was handed out.
        lessons: plans whose executions have shown the runtime more of the test, in order:
            executed again, they bring another process to see as much.
        points: the data accesses that were scheduling points.
        counters: see :meth:`~bohrbug.runtime.threads.runtime.ThreadsRuntime.counters`.
        executions: made so far, without those of the pieces since then.
        diverged, steps, tasks, seconds: see :class:`~bohrbug.exploration.result.Result`.
        proposed: plans of the strategy that were executed.
        restarts: how often the search began again.
        longest_passed: steps of the longest execution that passed.
        notes: caveats so far.
        uncontrolled: what ran outside our control, with how often.
        occurrences: how often each failure, and each data race, had been seen.
    """

    strategy: State
    pieces: list[State]
    lessons: list[Plan]
    points: list[PlaceKey]
    counters: list[int]
    executions: int
    diverged: int
    steps: int
    tasks: int
    seconds: float
    proposed: int
    restarts: int
    longest_passed: int
    notes: list[Caveat]
    uncontrolled: dict[str, int]
    occurrences: dict[tuple[object, ...], int]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        return {
            **plain,
            "notes": [[str(note), note.kind.value] for note in self.notes],
            "lessons": [plan_to_json(plan) for plan in self.lessons],
            "points": [list(point) for point in self.points],
            "occurrences": counts_to_json(self.occurrences),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Saved:
        """What :meth:`to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: it is damaged.
        """
        plain = {name: data[name] for name in _PLAIN}
        return cls(
            **plain,
            notes=[Caveat(text, CaveatKind(kind)) for text, kind in data["notes"]],
            lessons=[plan_from_json(plan) for plan in data["lessons"]],
            points=[(file, name, line, offset) for file, name, line, offset in data["points"]],
            occurrences=counts_from_json(data["occurrences"]),
        )


_PLAIN = (
    "strategy",
    "pieces",
    "counters",
    "executions",
    "diverged",
    "steps",
    "tasks",
    "seconds",
    "proposed",
    "restarts",
    "longest_passed",
    "uncontrolled",
)


class Keeper(Protocol):
    """Keeps an exploration, so that another process can go on with it."""

    def load(self) -> Loaded | None:
        """What an earlier process has kept, if it is to be resumed.

        Raises:
            ResumeError: it can't be.
        """
        ...

    def is_due(self) -> bool:
        """Whether it is time to save."""
        ...

    def save(self, saved: Saved, findings: Findings, sources: Sequence[str]) -> None:
        """Keep the state, all at once or not at all.

        Parameters:
            saved: the state; the findings are given apart.
            findings: failures and races so far.
            sources: files with functions of the test that have run.
        """
        ...

    def save_findings(self, findings: Findings) -> None:
        """Keep what was found, at once."""
        ...

    def close(self) -> None:
        """The exploration has ended, and can be resumed."""
        ...

    def discard(self) -> None:
        """The exploration has ended, and nothing is left to do."""
        ...


class GoingOn:
    """The keeper of an exploration that goes on where an earlier one has ended.

    Parameters:
        loaded: what the earlier one has left.
    """

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded

    def load(self) -> Loaded | None:
        """See :class:`Keeper`."""
        return self._loaded

    def is_due(self) -> bool:
        """Nothing is kept while it lasts."""
        return False

    def save(self, saved: Saved, findings: Findings, sources: Sequence[str]) -> None:
        """Nothing is kept: whoever explores asks for it at the end."""

    def save_findings(self, findings: Findings) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing was opened."""

    def discard(self) -> None:
        """Nothing was kept."""


def check_points(expected: Sequence[PlaceKey], found: Sequence[PlaceKey]) -> None:
    """What has to be a scheduling point is one again.

    Raises:
        ResumeError: there is a difference.
    """
    missing = sorted(set(expected) - set(found))
    if missing:
        file, name, line, _ = missing[0]
        raise ResumeError(
            f"the exploration can't be resumed: {len(missing)} of its {len(expected)} racy places, "
            f"such as one in {name} ({file}:{line}), did not show again; the test is not "
            "deterministic, or something that it depends on has changed. Explore it again from "
            "the start"
        )
