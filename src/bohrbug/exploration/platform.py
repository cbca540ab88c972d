"""What an exploration knows of the platform of its test, beside the runtime that executes plans."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from bohrbug.exploration.figures import RaceKey
from bohrbug.exploration.minimisation.budget import Budget
from bohrbug.exploration.program_text import PointText
from bohrbug.exploration.result import Failure, Interpreter
from bohrbug.model.conditions import Conditions, PlaceKey
from bohrbug.model.outcome import Race
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.monitors.race_classes import pattern_of
from bohrbug.monitors.weak_order import PossibleRace
from bohrbug.runtime.protocol import Runtime


class Platform:
    """A test on its platform.

    What is here every platform has; each overrides what it can do better.

    Parameters:
        runtime: executes plans of the test.
    """

    measures_stalls = False
    """Whether traces tell for how long others had to stand still while a timeout fired."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    def begins(self) -> None:
        """No execution was made yet, and the runtime is in control."""

    def races_of_the_first(self, conditions: Conditions, known: Collection[RaceKey]) -> list[Race]:
        """Data races that only the first execution can have had, as later ones find what it made.

        Parameters:
            conditions: under which executions are made by now.
            known: the races that were seen.
        """
        return []

    def complete_races(self, trace: Trace, races: Sequence[Race]) -> list[Race]:
        """Races with the stacks of both accesses, by one more execution of a trace.

        Parameters:
            trace: the execution in which they were seen.
            races: some of its races.

        Returns:
            Those without the races over an await that did not happen again.
        """
        return list(races)

    def classified(self, races: Iterable[Race]) -> list[Race]:
        """Races with what they look like."""
        return [
            race if race.stale is not None else replace(race, pattern=pattern_of(race))
            for race in races
        ]

    def possible_races(self, plan: Plan) -> list[PossibleRace]:
        """Races that the execution of a plan gives reason to expect under other schedules."""
        return []

    def texts_of_points(self, keys: Iterable[PlaceKey]) -> dict[PlaceKey, PointText]:
        """What accesses look like in the source, as far as executions have shown them."""
        return {}

    def interpreter_of(
        self, failure: Failure, points: frozenset[PlaceKey], budget: Budget
    ) -> Interpreter:
        """Which builds of Python a failure can happen on.

        Parameters:
            failure: of the test.
            points: the accesses that are known to matter by now.
            budget: what may be spent on looking for another schedule.
        """
        return Interpreter.UNKNOWN

    def spurious_wakes(self, trace: Trace) -> Sequence[int]:
        """Steps that begin a wait which might end although nothing has happened.

        A plan says so by a data choice of 1 behind that step.
        """
        return ()

    def take_doubted(self) -> Sequence[Plan]:
        """Plans of passing executions that are to be executed again, once.

        They passed when it was not known yet what the test should give.
        """
        return ()
