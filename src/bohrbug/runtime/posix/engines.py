"""Which engine executes a plan.

An *engine* is a way to get a program to where an execution begins.  All give the same traces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from bohrbug.model.plan import Plan

if TYPE_CHECKING:
    from bohrbug.runtime.posix.segment import Segment


class Engine(Enum):
    """A way to get to the beginning of main."""

    ANEW = "anew"
    """The program is started for each execution."""
    FORK_SERVER = "fork-server"
    """The program waits before main, and is forked for each execution."""
    SNAPSHOT = "snapshot"
    """The program waits before main, and is put back there after each execution."""


AUTO = "auto"
"""The fastest engine that makes no difference."""

ENGINES = (AUTO, *(engine.value for engine in Engine))
"""What can be asked for."""

_FASTEST_FIRST = (Engine.SNAPSHOT, Engine.FORK_SERVER)

_MOST_LOSSES = 20
"""Processes in a row that were lost after a single execution: restoring pays no more."""


class Serving(Protocol):
    """A program that waits for orders to make executions.

    Attributes:
        engine: what it does for each execution.
        is_safe: its forks are to leave nothing behind.
        executions: how many it has made.
    """

    engine: Engine
    is_safe: bool
    executions: int

    @property
    def has_ended(self) -> bool:
        """Whether it is no more."""
        ...


class Choice:
    """The engine for the next execution, as far as it is known what the program does.

    Parameters:
        wanted: one of :data:`ENGINES`; one that is not safe for the program is left for the next
            slower one.
        may_restore: the process may be put back.
    """

    def __init__(self, wanted: str = AUTO, *, may_restore: bool = True) -> None:
        if wanted not in ENGINES:
            raise ValueError(f"there is no engine {wanted}: {', '.join(ENGINES)}")
        self._wanted = wanted
        self._may_restore = may_restore
        self.reset()

    def reset(self) -> None:
        """Forget what was seen of the program, for instance in another process."""
        allowed = [e for e in _FASTEST_FIRST if self._wanted in (AUTO, e.value)]
        if self._wanted == Engine.SNAPSHOT.value:
            allowed.append(Engine.FORK_SERVER)
        if not self._may_restore and Engine.SNAPSHOT in allowed:
            allowed.remove(Engine.SNAPSHOT)
        self._left: list[Engine] | None = None
        self._allowed = allowed
        self._losses = 0
        self._reasons: dict[Engine, str] = {}
        self.leaves_something = False
        """Whether an execution was seen to do what remains after it."""
        self.stacks: tuple[int, ...] = ()
        """How large the stacks were of the threads that the first execution started, in bytes; 0 if
        there is more to say of a thread."""

    @property
    def is_settled(self) -> bool:
        """Whether an execution was looked at."""
        return self._left is not None

    @property
    def current(self) -> Engine:
        """The engine for the next execution."""
        return self._left[0] if self._left else Engine.ANEW

    @property
    def reasons(self) -> tuple[tuple[Engine, str], ...]:
        """The engines that were left, the fastest first, each with why."""
        return tuple((e, self._reasons[e]) for e in _FASTEST_FIRST if e in self._reasons)

    def settle(self, segment: Segment) -> None:
        """Look at the first execution, which was started anew."""
        header = segment.header
        is_same_at_main = (
            header.reached_main
            and not header.steps_before_main
            and not header.resources_before_main
        )
        self.stacks = tuple(
            task.stack_size for task in segment.tasks if task.number and not task.main
        )
        self._left = list(self._allowed)
        if not is_same_at_main:
            why = "the program has no main function that could be waited in"
            if header.reached_main:
                why = "the program synchronises before its main function"
            for engine in _FASTEST_FIRST:
                self.drop(engine, why)
        if header.processes > 1:
            self.drop(Engine.SNAPSHOT, "the program starts processes")
            self.leaves_something = True

    def take_in(self, server: Serving, segment: Segment, executions: int) -> None:
        """Take note of how a waiting program has carried out an order.

        Parameters:
            server: the program.
            segment: of the first execution that was ordered.
            executions: how many were made.
        """
        if not executions:
            self.leave(server.engine, segment, server.is_safe)
        elif server.has_ended and server.engine is Engine.SNAPSHOT:
            self.lost(server.executions)

    def leave(self, engine: Engine, segment: Segment | None, is_safe: bool) -> None:
        """An engine could not make an execution.

        Parameters:
            engine: the engine.
            segment: of what is no execution; ``None`` if the program did not wait for its order.
            is_safe: it was to make forks that leave nothing behind: others may be possible.
        """
        self.leaves_something |= is_safe
        if segment is None:
            reason = "the program can't wait before its main function"
        else:
            reason = reason_of(segment)
            self.leaves_something |= _is_call(segment.header.given_up)
        if not is_safe:
            self.drop(engine, reason)

    def drop(self, engine: Engine, reason: str) -> None:
        """An engine is not safe for the program.

        Parameters:
            engine: the engine.
            reason: for people.
        """
        if self._left and engine in self._left:
            self._left.remove(engine)
            self._reasons[engine] = reason

    def lost(self, executions: int) -> None:
        """The process that is restored has ended, as the program does when it fails.

        Parameters:
            executions: how many it had executed.
        """
        self._losses = self._losses + 1 if executions <= 1 else 0
        if self._losses >= _MOST_LOSSES:
            self.drop(Engine.SNAPSHOT, "most executions end the process")


_WAYS = {
    Engine.ANEW: "a program started anew for each execution",
    Engine.FORK_SERVER: "forks of a program that waits before main",
    Engine.SNAPSHOT: "a process that was put back before main after each execution",
}
_SHORT = {Engine.FORK_SERVER: "fork server", Engine.SNAPSHOT: "snapshot"}


def ways_in_words(choice: Choice, on_fibers: bool, no_fibers: str) -> str:
    """How executions are made, in one sentence, and why not faster.

    Parameters:
        choice: of the engine.
        on_fibers: whether one kernel thread wears all tasks.
        no_fibers: why not; "" if there is nothing to say of that.
    """
    carriers = "all tasks in one kernel thread (fibers)" if on_fibers else "kernel threads"
    left = [f"no {_SHORT[engine]}, as {reason}" for engine, reason in choice.reasons]
    if no_fibers and not on_fibers:
        left.append(f"no fibers, because of {no_fibers}")
    return "; ".join((f"executed by {_WAYS[choice.current]}, with {carriers}", *left))


@dataclass(frozen=True, slots=True)
class Done:
    """What an execution did, to be compared with what it does when it is repeated."""

    plan: Plan
    engine: Engine
    steps: bytes
    options: Sequence[int]
    printed: object

    @classmethod
    def of(cls, plan: Plan, engine: Engine, segment: Segment, printed: object) -> Done:
        """What the execution did that a segment holds."""
        return cls(plan, engine, segment.read_steps(), segment.read_pool(), printed)

    def is_like(self, other: Done) -> bool:
        """Whether both did the same."""
        if self.steps != other.steps or self.options != other.options:
            return False
        # The heap may lie elsewhere in another process, and its addresses may be printed.
        return self.engine is not other.engine or self.printed == other.printed


_UNSAFE = {
    1: "write",
    2: "open",
    3: "close",
    10: "mprotect",
    11: "munmap",
    13: "sigaction",
    16: "ioctl",
    20: "writev",
    22: "pipe",
    25: "mremap",
    28: "madvise",
    32: "dup",
    33: "dup2",
    37: "alarm",
    38: "setitimer",
    41: "socket",
    56: "clone",
    57: "fork",
    58: "vfork",
    59: "execve",
    62: "kill",
    72: "fcntl",
    77: "ftruncate",
    87: "unlink",
    137: "statfs",
    200: "tkill",
    213: "epoll_create",
    222: "timer_create",
    234: "tgkill",
    257: "openat",
    283: "timerfd_create",
    290: "eventfd",
    291: "epoll_create",
    293: "pipe",
}
"""Names of the system calls that programs make most of those that are not safe (x86-64)."""

_OTHER_REASONS = {
    100001: "a thread that is not controlled stays",
    100002: "the program uses signals or cancels threads",
    100003: "the main thread ends before the others",
    100004: "memory can't be put back",
}
"""``enum given_up`` of ``shim/snapshot.h``."""


def _is_call(given_up: int) -> bool:
    """Whether it is a system call for which an execution was given up."""
    return 0 < given_up < min(_OTHER_REASONS)


def reason_of(segment: Segment) -> str:
    """Why an execution is none, for people."""
    given_up: int = segment.header.given_up
    if given_up in _OTHER_REASONS:
        return _OTHER_REASONS[given_up]
    if given_up:
        name = _UNSAFE.get(given_up - 1, f"number {given_up - 1}")
        return f"the system call {name} leaves something behind"
    return "the waiting program is gone"
