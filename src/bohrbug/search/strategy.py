"""The one interface between a search and everything else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from bohrbug.model.plan import Plan
from bohrbug.model.protocols import leaves_typing_alone
from bohrbug.model.trace import Trace
from bohrbug.search.estimates import Estimate


class Strategy(Protocol):
    """Turns traces into the next plan; knows nothing of threads.

    The explorer calls :meth:`next_plan` and :meth:`observe` in turn.  Every
    step of a trace shows the enabled tasks and the pending operation of each.
    A strategy is deterministic: the same traces give the same plans.
    """

    name: str

    def next_plan(self) -> Plan | None:
        """The next plan to execute, or ``None`` when nothing is left to explore."""
        ...

    def observe(self, trace: Trace) -> None:
        """Take the trace of the plan that was proposed last.

        A trace with a ``divergence`` did not follow its plan; its prefix must
        not be extended as if it had.
        """
        ...

    def restart(self) -> None:
        """Start again: the scheduling points have changed (a new racy place was found)."""
        ...

    @property
    def exhausted(self) -> bool:
        """Whether every schedule that the strategy aims at was executed."""
        ...

    @property
    def complete(self) -> bool:
        """Whether every schedule at all was executed, and nothing was given up."""
        ...

    def covered(self) -> str:
        """One sentence for the verdict about what was covered so far."""
        ...

    def progress(self) -> str:
        """A few words for the progress line, such as ``bound 1, 40 waiting``."""
        ...


@leaves_typing_alone
@runtime_checkable
class Bounding(Protocol):
    """A strategy that can have executed everything within a bound."""

    @property
    def completed(self) -> str | None:
        """The bound within which every schedule was executed, such as ``at most 2 preemptions``.

        ``None`` if there is none, or if some part was given up.
        """
        ...


@leaves_typing_alone
@runtime_checkable
class GivingUp(Protocol):
    """A strategy that goes no further where an execution did not follow its plan."""

    @property
    def given_up(self) -> int:
        """Schedules after which nothing was executed, because they diverged."""
        ...


@leaves_typing_alone
@runtime_checkable
class Estimating(Protocol):
    """A strategy that can say how large the space is."""

    @property
    def estimate(self) -> Estimate | None:
        """How many executions it takes in all, or how many schedules or classes there are."""
        ...


@leaves_typing_alone
@runtime_checkable
class Foreseeing(Protocol):
    """A strategy that finds its branches late, and whose estimate has some that are to come."""

    def estimate_found(self) -> Estimate | None:
        """The estimate from the branches that were found: soon made, and too low at first."""
        ...


@leaves_typing_alone
@runtime_checkable
class Noticing(Protocol):
    """A strategy that notices whether executions still show something new."""

    @property
    def shows_new(self) -> bool:
        """Whether the second half of them has shown something that none before had."""
        ...

    @property
    def chance_of_new(self) -> float:
        """How likely a further one is to show a behaviour that none before had, from 0 to 1."""
        ...


LIKELY = 0.1
"""How likely a further execution has to be to show something new, for a search to go on."""


def finds_new(strategy: Noticing) -> bool:
    """Whether it is worth while to go on with a search."""
    return strategy.shows_new or strategy.chance_of_new >= LIKELY


@leaves_typing_alone
@runtime_checkable
class Learning(Protocol):
    """A strategy that learns from executions which it did not plan."""

    learns_slowly: bool
    """Whether learning costs about as much as an execution, and is for remarkable ones only."""

    def learn(self, trace: Trace) -> None:
        """Learn from an execution that another strategy has planned."""
        ...


@leaves_typing_alone
@runtime_checkable
class Taught(Protocol):
    """A strategy that learns from executions of another process, without their traces."""

    def learn_from(self, lessons: dict[str, Any]) -> None:
        """Learn from these, as plain data.

        Parameters:
            lessons: ``touches``, how resources were touched (see
                :meth:`~bohrbug.search.conflicts.Conflicts.since`); ``counts``, how often tasks did
                something at a place; ``tasks`` and ``steps``, the most that an execution had.
        """
        ...


@leaves_typing_alone
@runtime_checkable
class Foresighted(Protocol):
    """A strategy that knows plans before it has seen the traces of those before them."""

    def lookahead_plans(self, most: int) -> Sequence[Plan]:
        """Plans that it will propose, sooner or later, whatever the traces are; changes nothing.

        Unless it starts again, or its work is divided, or finds that one of a few is known by then.
        The last one proposed may be among them.

        Parameters:
            most: how many are useful; the first ones are returned.
        """
        ...


@leaves_typing_alone
@runtime_checkable
class Composite(Protocol):
    """A strategy that is made of others."""

    @property
    def current(self) -> Strategy:
        """The one that made the last plan."""
        ...

    def covered_by_member(self) -> tuple[str, ...]:
        """One sentence for each that had its turn."""
        ...
