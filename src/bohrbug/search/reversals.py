"""Reversals: what an execution leads to when two of its steps come in the other order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bohrbug.accelerator import native, with_fast_path
from bohrbug.model.plan import Choice
from bohrbug.search.footprint import Asleep, Event, Footprint, still_asleep

Clock = list[int]
"""For each task the index behind its last step that happened before; 0 for none."""


@with_fast_path
def independent_events(
    tasks: list[int],
    choices: list[Choice],
    footprints: list[Footprint],
    clocks: list[Clock],
    step: int,
) -> list[Event]:
    """The events after a step that do not happen after it.

    Parameters:
        tasks: the number of the task of each step.
        choices: of each step.
        footprints: of each step.
        clocks: of each step, itself included.
        step: the index of the step.
    """
    task = tasks[step]
    following = slice(step + 1, len(tasks))
    return [
        Event(other, choice, footprint)
        for other, choice, footprint, clock in zip(
            tasks[following],
            choices[following],
            footprints[following],
            clocks[following],
            strict=True,
        )
        if clock[task] <= step
    ]


@with_fast_path
def sleepers_along(
    tasks: list[int],
    choices: list[Choice],
    footprints: list[Footprint],
    sleeping: Asleep,
    start: int,
    end: int,
    /,
) -> tuple[list[Asleep], bool]:
    """Who still sleeps behind each step of an execution, as long as somebody does.

    Parameters:
        tasks: the number of the task of each step.
        choices: of each step.
        footprints: of each step.
        sleeping: who sleeps before the first step.
        start: the first step.
        end: the one behind the last.

    Returns:
        Who sleeps behind each step, up to the first behind which nobody does; and whether one of
        them was executed all the same, so that the execution repeats another.
    """
    along: list[Asleep] = []
    in_vain = False
    step = start
    while sleeping and step < end:
        event = Event(tasks[step], choices[step], footprints[step])
        if not in_vain:
            in_vain = any(event.choice == other.choice for other in sleeping)
        sleeping = still_asleep(sleeping, event)
        step += 1
        along.append(sleeping)
    return along, in_vain


@dataclass(slots=True)
class Recorded:
    """What is kept of an execution until its reversals are done.

    Parameters:
        tasks: the number of the task of each step.
        choices: the choice sequence.
        footprints: of each step, EVERYTHING where its order with all others matters.
        touched: of each step, only what it really touched.
        clocks: of each step, itself included.
        known: before each step the resources that were touched before it, and at the end all.
    """

    tasks: list[int]
    choices: list[Choice]
    footprints: list[Footprint]
    touched: list[Footprint]
    clocks: list[Clock]
    known: list[int]

    @classmethod
    def beginning(cls, of: Recorded, steps: int, choices: list[Choice]) -> Recorded:
        """The first steps of another execution, with the choices of this one."""
        return cls(
            of.tasks[:steps],
            choices,
            of.footprints[:steps],
            of.touched[:steps],
            of.clocks[:steps],
            of.known[: steps + 1],
        )

    def __len__(self) -> int:
        return len(self.tasks)

    def event(self, step: int) -> Event:
        """A step as an event."""
        return Event(self.tasks[step], self.choices[step], self.footprints[step])

    def independent_of(self, step: int) -> list[Event]:
        """The events after a step that do not happen after it."""
        return independent_events(self.tasks, self.choices, self.footprints, self.clocks, step)


class Reversal(NamedTuple):
    """An event that can come before a step of an execution instead of after it.

    Parameters:
        recorded: the execution.
        step: the index of the step.
        event: what comes before it.
        uncertain: the event may not be possible there.
        later: the index of the event in the execution; -1 if it is not there.
        resumes: the step still comes, after the event, for the two do not really conflict.
    """

    recorded: Recorded
    step: int
    event: Event
    uncertain: bool
    later: int = -1
    resumes: bool = False

    def sequence(self) -> list[Event]:
        """All that does not depend on the step, then the event, and the step if it resumes."""
        return [*self.recorded.independent_of(self.step), *self._end()]

    def _end(self) -> list[Event]:
        return [self.event, self.recorded.event(self.step)] if self.resumes else [self.event]

    def necessary_sequence(self) -> list[Event]:
        """Only what the event depends on, and then the event."""
        if self.later < 0:
            return self.sequence()
        recorded = self.recorded
        task = recorded.tasks[self.step]
        known = recorded.clocks[self.later]
        steps = [
            step
            for step in range(self.step + 1, self.later)
            if recorded.clocks[step][task] <= self.step and known[recorded.tasks[step]] > step
        ]
        return [*map(recorded.event, steps), *self._end()]


if native is not None:
    native.use_reversals(Reversal)
