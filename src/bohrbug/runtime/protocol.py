"""What an exploration needs of a runtime, whatever platform it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from bohrbug.accelerator.plain import plain
from bohrbug.model.conditions import PlaceKey
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace


@plain
@dataclass(slots=True)
class Executed:
    """What executing a plan tells besides the trace.

    Parameters:
        trace: of the execution.
        tasks: how many tasks there were.
        found: data accesses that matter, by what was seen, and are no scheduling points in it.
        changes: what else is different in executions from now on: so many operations conflict
            that did not, or are seen that were not.
        has_learned: the runtime sees more of the test now than it did, so that another process
            has to execute the plan, too, to see as much.
        saw_all: all that could be seen of accesses to data was seen.
        is_rare: it called functions that few executions call.
        missed: it called functions whose accesses it did not tell, and changes of which would not
            be looked for again: the order of its steps does not depend on them.
        free_threaded_only_steps: steps that begin with a preemption which a build of Python with
            the GIL could not make.
        nudged: a task that span was made to yield, at a moment that real time chose.
    """

    trace: Trace
    tasks: int
    found: frozenset[PlaceKey] = frozenset()
    changes: int = 0
    has_learned: bool = False
    saw_all: bool = True
    is_rare: bool = False
    missed: bool = False
    free_threaded_only_steps: tuple[int, ...] = ()
    nudged: bool = False

    @property
    def new_points(self) -> int:
        """How many places are scheduling points, or conflict, in executions from now on only."""
        return len(self.found) + self.changes


Foresight = Callable[[int], Iterable[Plan]]
"""Gives plans that will be executed, soon or later, at most so many."""


@runtime_checkable
class Foreseeing(Protocol):
    """A runtime that is faster if it knows what will come."""

    def foresee(self, plans: Foresight | None) -> None:
        """Know from now on what will come.

        Executions and their order are the same as without.

        Parameters:
            plans: asked when a plan is to be executed; ``None`` if nobody knows any more.
        """
        ...


class Interruptible(Protocol):
    """An execution that a user may want to end."""

    def interrupt(self) -> None:
        """End it as soon as possible."""
        ...


class Guard(Protocol):
    """Ends executions that make no progress."""

    def start(self) -> None:
        """Begin to look; does nothing if it has begun."""
        ...

    def stop(self) -> None:
        """Stop looking; does nothing if it has not begun."""
        ...


class Runtime(Protocol):
    """Executes plans of one test; entered once, around all of its executions.

    What an execution does follows from its plan alone.  What a runtime keeps between executions,
    such as functions that it has rewritten, only makes more visible of later ones, and each says
    by :class:`Executed` whether it was so.
    """

    policies: frozenset[type]
    """The policies of plans that it executes."""
    discovers: bool
    """Which accesses to data there are is found out on the way, and seen in some executions."""
    unseen: str
    """What the happens-before graph never has, so that a reduction by it proves nothing; or ""."""
    made: int
    """Executions so far."""

    @property
    def faults(self) -> str:
        """Which calls may fail by a data choice, for people; "" where none can."""
        ...

    @property
    def accesses(self) -> str:
        """Of a native program whose accesses to memory are seen, for people; else ""."""
        ...

    @property
    def execution(self) -> Interruptible | None:
        """The running execution."""
        ...

    def __enter__(self) -> object:
        """Get ready."""
        ...

    def __exit__(self, *exc_info: object) -> None:
        """Leave everything as it was."""
        ...

    def guard(self, seconds: float, on_stuck: Callable[[str], object] | None, more: int) -> Guard:
        """Let something end the executions that hang.

        Parameters:
            seconds: real seconds without progress after which one does; 0 for never.
            on_stuck: called with a message, in a thread of its own, if it can't be ended.
            more: how many further periods of so many seconds are to pass before that.
        """
        ...

    def execute(self, plan: Plan, learn: bool = True, watch: bool = False) -> Executed:
        """Execute a plan.

        Parameters:
            plan: the plan.
            learn: whether what it shows for the first time may be visible in later executions;
                false for replays.
            watch: look for data races even if ``learn`` is false.
        """
        ...

    def point_keys(self) -> Sequence[PlaceKey]:
        """The accesses that are scheduling points beside those of the plan's conditions."""
        ...

    def sources(self) -> Sequence[str]:
        """The files on which it depends what an execution does."""
        ...

    def counters(self) -> list[int]:
        """What is counted from one execution to the next, as plain data."""
        ...

    def set_counters(self, counters: list[int]) -> None:
        """Go on counting from what :meth:`counters` gave."""
        ...

    def skipped_functions(self) -> tuple[tuple[str, str], ...]:
        """Functions whose data accesses could not be made visible, each with the reason."""
        ...


class NoGuard:
    """The guard of a runtime that ends by itself what hangs."""

    def start(self) -> None:
        """See :class:`Guard`."""

    def stop(self) -> None:
        """See :class:`Guard`."""
