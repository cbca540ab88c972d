"""From what was unseen to what a verdict says of it: the conditions under which it was reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bohrbug.exploration.options import ExploreOptions
from bohrbug.model.outcome import LOGGED, SPINNING, TAKING, UNMET, UNSAFE


@dataclass(frozen=True, slots=True)
class VerdictConditions:
    """Under which a verdict was reached; it says nothing of others.

    Parameters:
        level: what is a scheduling point, see :class:`ExploreOptions`, as for the others.
        scope: changes to the modules whose data accesses are seen.
        timeouts: when a timeout can fire.
        interpreter: whose rules for switching threads are followed.
        faults: which calls could fail, for people; "" where none could.
        accesses: of a native program, whose accesses to memory are seen, for people.
        entropy: whether what the system gives at random is the same in each execution.
        async_order: how many turns of an event loop ``asyncio.sleep(0)`` may take.
        taking: what was taken for something that it need not be, for people: calls of code in C
            that no table knows, to which tasks get without being ordered, "as one step".
    """

    level: str
    scope: tuple[str, ...]
    timeouts: str
    interpreter: str
    faults: str = ""
    accesses: str = ""
    entropy: str = "same"
    async_order: str = "arrivals"
    taking: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        options: ExploreOptions,
        faults: str = "",
        accesses: str = "",
        taking: tuple[str, ...] = (),
    ) -> VerdictConditions:
        """The conditions that options set, those of the runtime, and those of what was unseen."""
        # How long a native program would have to stand still is not measured: all of it counts.
        timeouts = "early" if accesses and options.timeouts == "short" else options.timeouts
        return cls(
            options.level,
            options.scope,
            timeouts,
            options.interpreter,
            faults,
            accesses,
            options.entropy,
            options.async_order,
            taking,
        )

    def __str__(self) -> str:
        # What runs a native program is no interpreter.
        last = self.accesses or f"interpreter {self.interpreter}"
        text = f"level {self.level}, timeouts {self.timeouts}, {last}"
        if self.entropy != "same":
            text += f", entropy {self.entropy}"
        if self.async_order != "arrivals":
            text += f", async order {self.async_order}"
        if self.faults:
            text += f", {self.faults}"
        if self.scope:
            text += f", scope {' '.join(self.scope)}"
        if self.taking:
            text += f", {TAKING}{' and '.join(self.taking)}"
        return text


class Unseen(NamedTuple):
    """What executions did that was not seen, or not controlled.

    Parameters:
        taking: what each was taken for, see :class:`VerdictConditions`; the verdict may promise
            under it.
        spinning: where tasks spun without a yield while others could run.
        logged: what event loops told nobody but their logs, with in how many executions.
        unsafe: calls of event loops by threads that may not, with in how many executions.
        unmet: names by which no task of an event loop was meant, with in how many executions.
        doubts: all else, with how often: no verdict can promise anything.
    """

    taking: tuple[str, ...]
    spinning: tuple[str, ...]
    logged: tuple[tuple[str, int], ...]
    unsafe: tuple[tuple[str, int], ...]
    unmet: tuple[tuple[str, int], ...]
    doubts: tuple[tuple[str, int], ...]


ALL_SEEN = Unseen((), (), (), (), (), ())


def sort_unseen(counts: Mapping[str, int]) -> Unseen:
    """Tell what is a condition of a verdict from what forbids a promise.

    Parameters:
        counts: as in :class:`bohrbug.model.outcome.Uncontrolled`, of all executions.
    """
    if not counts:
        return ALL_SEEN

    def those_with(prefix: str) -> tuple[tuple[str, int], ...]:
        found = ((what, count) for what, count in counts.items() if what.startswith(prefix))
        return tuple(sorted((what.removeprefix(prefix), count) for what, count in found))

    known = (TAKING, SPINNING, LOGGED, UNSAFE, UNMET)
    return Unseen(
        tuple(what for what, _ in those_with(TAKING)),
        tuple(where for where, _ in those_with(SPINNING)),
        those_with(LOGGED),
        those_with(UNSAFE),
        those_with(UNMET),
        tuple(sorted(item for item in counts.items() if not item[0].startswith(known))),
    )
