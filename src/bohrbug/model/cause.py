"""What makes a test fail, in terms of orderings, and how that was checked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from bohrbug.model.operation import BEGIN, CALLBACK, CANCELLED, RESUME, TaskId
from bohrbug.model.ordering import Ordering


class Strength(str, Enum):
    """How much the executions that were made say about the orderings."""

    EXACT = "if and only if"
    """Every execution that met them failed, none of the others did."""
    SUFFICIENT = "whenever"
    """Every execution that met them failed; some others did too."""
    NECESSARY = "only if"
    """No execution without them failed; some with them did not either."""
    ALWAYS = "always"
    """Every execution failed, whatever the schedule."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The orderings that make a test fail, with the executions that this rests on.

    Executions are counted once for each different schedule.  "Failed" is: failed in
    the same way as the execution that is explained.

    Parameters:
        strength: what is claimed.
        orderings: the smallest set found; empty for ``ALWAYS``.
        met: executions that met all of them.
        met_failed: how many of these failed.
        unmet: executions that did not.
        unmet_failed: how many of these failed.
        complete: the executions were all that there are (up to the order of
            independent operations), so that the claim is not only a sample's.
        alike: groups of tasks that run the same function and may take each other's places in
            the orderings, if the claim is made with this freedom.
    """

    strength: Strength
    orderings: tuple[Ordering, ...]
    met: int
    met_failed: int
    unmet: int
    unmet_failed: int
    complete: bool = False
    alike: tuple[tuple[TaskId, ...], ...] = ()

    @property
    def executions(self) -> int:
        """Executions with different schedules that the claim rests on."""
        return self.met + self.unmet

    @property
    def explains_all(self) -> bool:
        """Whether its orderings say when the test fails, and when it does not."""
        return self.strength is Strength.EXACT and bool(self.orderings)

    @property
    def is_of_turns(self) -> bool:
        """Whether its orderings name only turns of an event loop, not what tasks do in them."""
        kinds = {event.kind for each in self.orderings for event in (each.first, each.second)}
        return bool(kinds & _TURNS) and kinds <= _TURNS | {BEGIN}


_TURNS = frozenset({RESUME, CANCELLED, CALLBACK})
