"""What an exploration needs from a runtime, on any platform."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from bohrbug.accelerator.plain import plain
from bohrbug.model.conditions import PlaceKey
from bohrbug.model.plan import Plan
from bohrbug.model.protocols import leaves_typing_alone
from bohrbug.model.trace import Trace


@plain
@dataclass(slots=True)
class Executed:
    """What executing a plan shows besides the trace.

    Parameters:
        trace: of the execution.
        tasks: how many tasks there were.
        is_concurrent: more than one of them could have come next somewhere; so it may be with
            several threads, and not with a loop in which nothing ever had to wait its turn.
        found: data accesses that matter, according to what was seen, and are not scheduling points
            in it.
        changes: how many other differences there are in executions from now on: operations that
            conflict and did not before, or are seen and were not.
        has_learned: the runtime sees more of the test now than before, so that another process
            has to execute the plan, too, to see as much.
        saw_all: everything that could be seen of accesses to data was seen.
        is_rare: it called functions that few executions call.
        missed: it called functions whose accesses it did not report, and whose changes would not
            be looked for again: the order of its steps does not depend on them.
        free_threaded_only_steps: steps that begin with a preemption which a build of Python with
            the GIL could not make.
        nudged: a spinning task was made to yield, at a moment that real time chose.
        once: seconds of real time for what later executions need not do again, such as loading
            modules.
    """

    trace: Trace
    tasks: int
    is_concurrent: bool
    found: frozenset[PlaceKey] = frozenset()
    changes: int = 0
    has_learned: bool = False
    saw_all: bool = True
    is_rare: bool = False
    missed: bool = False
    free_threaded_only_steps: tuple[int, ...] = ()
    nudged: bool = False
    once: float = 0.0

    @property
    def new_points(self) -> int:
        """How many places are scheduling points, or conflict, only in executions from now on."""
        return len(self.found) + self.changes


Foresight = Callable[[int], Iterable[Plan]]
"""Returns at most so many plans that will be executed, sooner or later."""


@leaves_typing_alone
@runtime_checkable
class Foreseeing(Protocol):
    """A runtime that is faster if it knows the next plans."""

    def foresee(self, plans: Foresight | None) -> None:
        """Use these plans from now on to look ahead.

        Executions and their order are the same as without.

        Parameters:
            plans: asked when a plan is to be executed; ``None`` to stop looking ahead.
        """
        ...


@leaves_typing_alone
@runtime_checkable
class Discovering(Protocol):
    """A runtime that makes accesses visible while it executes, function by function."""

    discovers: bool
    """False where it is to see none."""

    def known_functions(self) -> set[tuple[str, str, int]]:
        """Functions whose accesses it sees by now: file, qualified name and first line of each."""
        ...


class Interruptible(Protocol):
    """An execution that a user may end."""

    def interrupt(self) -> None:
        """End it as soon as possible."""
        ...


class Guard(Protocol):
    """Ends executions that make no progress, or that take too long."""

    has_cut: bool
    """Since it began to watch, it has ended an execution that took too long."""

    def start(self) -> None:
        """Begin to watch; does nothing if it has begun."""
        ...

    def stop(self) -> None:
        """Stop watching; does nothing if it has not begun."""
        ...

    def limit(self, seconds: float) -> None:
        """Interrupt what is executed when so many seconds have passed; ``math.inf`` for never."""
        ...


class Runtime(Protocol):
    """Executes plans of one test; entered once, around all of its executions.

    A plan alone determines what an execution does.  State that a runtime keeps between executions,
    such as functions that it has rewritten, only makes more visible in later ones, and each says
    so by :class:`Executed`.
    """

    policies: frozenset[type]
    """The policies of plans that it executes."""
    discovers: bool
    """Its accesses to data are discovered during executions, and seen in some of them."""
    unseen: str
    """What the happens-before graph never has, so that a reduction by it proves nothing; or ""."""
    made: int
    """Executions so far."""

    @property
    def faults(self) -> str:
        """Which calls may fail by a data choice, as text; "" where none can."""
        ...

    @property
    def accesses(self) -> str:
        """For a native program, whose accesses to memory are seen, as text; otherwise ""."""
        ...

    @property
    def execution(self) -> Interruptible | None:
        """The running execution."""
        ...

    def __enter__(self) -> object:
        """Get ready."""
        ...

    def __exit__(self, *exc_info: object) -> None:
        """Restore everything."""
        ...

    def guard(self, seconds: float, on_stuck: Callable[[str], object] | None, more: int) -> Guard:
        """A guard that ends executions that hang.

        Parameters:
            seconds: real seconds without progress after which an execution hangs; 0 for never.
            on_stuck: called with a message, in a thread of its own, if it can't be ended.
            more: how many further such periods have to pass before that.
        """
        ...

    def afresh(self) -> AbstractContextManager[object]:
        """Meanwhile executions know no names that earlier ones have shown.

        So it is where a plan is replayed: some operations are steps only once it is known that
        tasks share what they act on, which no plan says.
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
        """The accesses that are scheduling points in addition to those of the plan's conditions."""
        ...

    def sources(self) -> Sequence[str]:
        """The files that determine what an execution does."""
        ...

    def counters(self) -> list[int]:
        """Counts that continue from one execution to the next, as plain data."""
        ...

    def set_counters(self, counters: list[int]) -> None:
        """Continue from what :meth:`counters` returned."""
        ...

    def skipped_functions(self) -> tuple[tuple[str, str], ...]:
        """Functions whose data accesses could not be made visible, each with the reason."""
        ...


class NoGuard:
    """The guard of a runtime that ends hanging executions by itself."""

    has_cut = False

    def start(self) -> None:
        """See :class:`Guard`."""

    def stop(self) -> None:
        """See :class:`Guard`."""

    def limit(self, seconds: float) -> None:
        """See :class:`Guard`."""
