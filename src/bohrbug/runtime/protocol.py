"""What an exploration needs of a runtime, whatever platform it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from bohrbug.accelerator.plain import plain
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace


@plain
@dataclass(slots=True)
class Executed:
    """What executing a plan tells besides the trace.

    Parameters:
        trace: of the execution.
        new_points: places that became scheduling points through it; executions
            from now on have more steps than before.
        tasks: how many tasks there were.
        beyond_gil: steps that begin with a preemption which a build of Python with the GIL could
            not make.
        nudged: a task that span was made to yield, at a moment that real time chose.
    """

    trace: Trace
    new_points: int
    tasks: int
    beyond_gil: tuple[int, ...] = ()
    nudged: bool = False


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


class Runtime(Protocol):
    """Executes plans of one test; entered once, around all of its executions."""

    settings: Any
    """A dataclass, with the field ``max_steps`` among others."""
    watchdog: Any
    """Ends executions that make no progress, for runtimes that can't themselves."""
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
    def is_settling(self) -> bool:
        """Whether the next executions are likely to have other scheduling points."""
        ...

    @property
    def has_learned(self) -> bool:
        """Whether the last execution showed more of the test."""
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

    def execute(self, plan: Plan, learn: bool = True, watch: bool = False) -> Executed:
        """Execute a plan.

        Parameters:
            plan: the plan.
            learn: whether what is found changes what is a scheduling point from
                the next execution on; false for replays.
            watch: look for data races even if ``learn`` is false.
        """
        ...

    def look_closer(self) -> bool:
        """After a hang: whether the next executions are watched more closely."""
        ...

    def point_keys(self) -> Sequence[tuple[str, str, int, int]]:
        """The data accesses that are scheduling points, as plain data."""
        ...

    def take_new_points(self) -> None:
        """Let places that the last execution has found be scheduling points now, not later."""
        ...

    def name_older_objects(self, origin: str) -> None:
        """Let ids that are given from now on to objects older than an execution differ.

        Parameters:
            origin: names this process; part of these ids.
        """
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
