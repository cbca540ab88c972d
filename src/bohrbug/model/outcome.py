"""Outcomes: how an execution ended, and what reports need to explain it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from bohrbug.accelerator.plain import plain
from bohrbug.model.operation import Operation, ResourceId, Site, TaskId


class OutcomeKind(str, Enum):
    """The closed set of ways in which an execution can end."""

    PASSED = "passed"
    ASSERTION = "assertion"
    EXCEPTION = "exception"
    CRASH = "crash"
    DEADLOCK = "deadlock"
    LIVELOCK = "livelock"
    RACE = "race"
    LEAK = "leak"
    MISUSE = "misuse"
    """A synchronisation object was used as its interface forbids."""
    INVARIANT = "invariant"
    STEP_LIMIT = "step limit"
    INTERRUPTED = "interrupted"
    HANG = "hang"

    @property
    def is_failure(self) -> bool:
        """Whether the program, and not the tool or the user, is to blame."""
        return self in _FAILURES


_FAILURES = {
    OutcomeKind.ASSERTION,
    OutcomeKind.EXCEPTION,
    OutcomeKind.CRASH,
    OutcomeKind.DEADLOCK,
    OutcomeKind.LIVELOCK,
    OutcomeKind.RACE,
    OutcomeKind.LEAK,
    OutcomeKind.MISUSE,
    OutcomeKind.INVARIANT,
}


@plain
@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a stack, innermost last in every list of frames."""

    site: Site
    text: str = ""


@plain
@dataclass(frozen=True, slots=True)
class Held:
    """A resource that a task holds, and where it took it."""

    resource: ResourceId
    acquired: Site | None


@dataclass(frozen=True, slots=True)
class Abandoned:
    """A resource whose holder has ended without releasing it: who, and where it took it.

    No task: the process has a locked copy of it, and the holder was not forked.
    """

    task: TaskId
    acquired: Site | None


@dataclass(frozen=True, slots=True)
class BlockedTask:
    """A task that can't go on: what it waits for, who holds that, and where it stands.

    Parameters:
        task: who waits.
        operation: what it is about to do.
        holders: the tasks that hold what it waits for (empty: nobody can signal it).
        holding: what it holds itself.
        stack: where it stands, innermost frame last.
        daemon: whether it is a daemon thread.
        since: the number of the step after which it has been waiting.
        abandoned: who ended while holding what it waits for, if somebody did.
    """

    task: TaskId
    operation: Operation
    holders: tuple[TaskId, ...] = ()
    holding: tuple[Held, ...] = ()
    stack: tuple[Frame, ...] = ()
    daemon: bool = False
    since: int = 0
    abandoned: Abandoned | None = None


@plain
@dataclass(frozen=True, slots=True)
class Access:
    """One side of a data race.

    Parameters:
        task: who made it.
        operation: what was read or written, and where.
        stack: where the task stood, innermost frame last.
        holding: the locks that it held.
        step: how many steps of the execution came before it, if that was seen; an access that is
            a scheduling point is itself the last of them.
    """

    task: TaskId
    operation: Operation
    stack: tuple[Frame, ...] = field(default=(), repr=False)
    holding: tuple[Held, ...] = field(default=(), repr=False)
    step: int | None = None


class RacePattern(str, Enum):
    """What a data race looks like in the source; a hint, and no proof of harm or harmlessness."""

    LOST_UPDATE = "lost update"
    """Both read, compute and write back: the result of one is lost."""
    LOSSY_COUNTER = "lossy counter"
    """A number that is only ever increased by constants, as in statistics."""
    CHECK_THEN_ACT = "check-then-act"
    """A test whose answer is old when it is acted upon."""
    DOUBLE_CHECKED_LOCKING = "double-checked locking"
    """A test without the lock that is made again under the lock."""
    IDEMPOTENT_WRITE = "idempotent write"
    """Both write the same value."""
    ATOMIC_CONTAINER_CALL = "atomic container calls"
    """Two calls of a built-in container, each of which happens at once."""
    PUBLICATION = "unsynchronised publication"
    """One writes, the other reads without waiting for it."""
    REFERENCE_COUNT = "reference count"
    """A number that goes up and down: when it is wrong, something is freed too early or never."""
    FREED = "freed memory"
    """One frees what the other uses."""
    DIFFERENT_BITS = "different bits"
    """A read looks at other bits of a word than the write changes."""
    UNCLASSIFIED = "unclassified"

    @property
    def is_often_benign(self) -> bool:
        """Whether races that look like this are often harmless, so that they are reported last.

        As in DataCollider (Erickson et al., OSDI 2010): no race is hidden, some are de-emphasised;
        but not double-checked locking, nor idempotent writes, which often led to a bug.
        """
        return self in (
            RacePattern.LOSSY_COUNTER,
            RacePattern.ATOMIC_CONTAINER_CALL,
            RacePattern.DIFFERENT_BITS,
        )


@plain
@dataclass(frozen=True, slots=True)
class StaleRead:
    """What makes a race of two writes one over an await: what the later of them rests on.

    Parameters:
        access: the read, by the task of the later write and before the earlier one.
        awaited: where the task gave way after it; ``None`` if that was not seen.
        reader: what a person knows that task by; may be empty.
        other: the same of the task that wrote in between.
    """

    access: Access
    awaited: Site | None = None
    reader: str = ""
    other: str = ""


@plain
@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses to one variable, at least one a write, unordered by happens-before.

    Or, over an await, two writes by tasks of one event loop: the earlier one came between
    what the later one rests on, a read, and the later one.

    Parameters:
        resource: the variable.
        label: how reports call it.
        first: the earlier access, in the execution in which the race was first seen.
        second: the later one.
        count: how often the two places raced.
        pattern: what it looks like.
        is_triangular: whether an earlier store of its reader may still wait in a buffer of an x86
            processor (Owens, ECOOP 2010); ``None`` where that is not known.
        allocated: where memory of the heap was allocated, if that was seen.
        may_be_atomic: both accesses are instructions as which compilers translate plain ones and
            atomic loads and stores alike, and nothing else is known of them.
        stale: of a race over an await, the read before it.
    """

    resource: ResourceId
    label: str
    first: Access
    second: Access
    count: int = 1
    pattern: RacePattern = RacePattern.UNCLASSIFIED
    is_triangular: bool | None = None
    allocated: Site | None = None
    may_be_atomic: bool = False
    stale: StaleRead | None = None

    @property
    def title(self) -> str:
        """What it is, and of which variable: ``data race on Account.balance``."""
        what = "data race" if self.stale is None else "race over an await"
        return f"{what} on {self.label}"


@plain
@dataclass(frozen=True, slots=True)
class Grouped:
    """One of the exceptions in an exception group, or in a group that is in it.

    Parameters:
        exception: its type name.
        stack: where it was raised, innermost frame last.
    """

    exception: str
    stack: tuple[Frame, ...] = field(default=(), repr=False)

    @property
    def key(self) -> tuple[str, str, int]:
        """What makes two of them the same, whatever the schedule: the type and the place."""
        return (self.exception, *(self.stack[-1].site[:2] if self.stack else ("", 0)))


@plain
@dataclass(frozen=True, slots=True)
class Outcome:
    """How an execution ended.

    Parameters:
        kind: one of the closed set.
        message: one line for people, such as ``AssertionError: assert 1 == 2``.
        task: the task it happened in, if it happened in one.
        exception: type name of the exception, for ``assertion`` and ``exception``.
        stack: where it was raised, innermost frame last.
        traceback: the traceback as Python prints it.
        blocked: the tasks that can't go on, for ``deadlock`` and ``leak``.
        cycle: the tasks of the waiting cycle in order, if there is one.
        repeating: the steps (indices into the trace) that repeat, for ``livelock``, and beside a
            deadlock for those who go on.
        race: for ``race``.
        grouped: the different exceptions in an exception group.
    """

    kind: OutcomeKind
    message: str = ""
    task: TaskId | None = None
    exception: str | None = None
    stack: tuple[Frame, ...] = field(default=(), repr=False)
    traceback: str = field(default="", repr=False)
    blocked: tuple[BlockedTask, ...] = field(default=(), repr=False)
    cycle: tuple[TaskId, ...] = ()
    repeating: tuple[int, ...] = field(default=(), repr=False)
    race: Race | None = None
    grouped: tuple[Grouped, ...] = field(default=(), repr=False)

    @property
    def is_failure(self) -> bool:
        """Whether the program is to blame."""
        return self.kind.is_failure

    @property
    def is_endless(self) -> bool:
        """Whether steps went on until it was decided that they would for ever."""
        return bool(self.repeating) or self.kind in (OutcomeKind.LIVELOCK, OutcomeKind.STEP_LIMIT)

    def frames(self) -> Iterator[Frame]:
        """Those of the exception, and of all exceptions in it if it is a group."""
        for stack in (self.stack, *(each.stack for each in self.grouped)):
            yield from stack

    def signature(self) -> tuple[object, ...]:
        """What makes two outcomes *the same failure*, whatever the schedule.

        Minimisation and replay compare outcomes by it: the kind and, depending
        on it, the exception and the place where it was raised, what the tasks of a
        deadlock were about to do, or the variable of a race.  All exception groups of
        task groups are raised at one place: of these count the exceptions in them, too.
        """
        if self.kind in (OutcomeKind.DEADLOCK, OutcomeKind.LEAK):
            return (self.kind, tuple(sorted(b.operation.kind.name for b in self.blocked)))
        if self.kind is OutcomeKind.RACE and self.race is not None:
            return (self.kind, self.race.label)
        innermost = self.stack[-1].site[:2] if self.stack else None
        grouped = sorted({each.key for each in self.grouped})
        return (self.kind, self.exception, innermost, *grouped)

    def is_like(self, other: Outcome) -> bool:
        """Whether a user would call it the same kind of failure, wherever it shows."""
        return self._type() == other._type()

    def _type(self) -> tuple[object, ...]:
        return (self.kind, self.exception, {each.exception for each in self.grouped})


PASSED = Outcome(OutcomeKind.PASSED)

ASKED = Outcome(OutcomeKind.INTERRUPTED, "stopped at a decision")
"""Of an execution that was ended so that somebody can make a decision."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a replay could not follow its plan.

    Parameters:
        step: index of the first step that differed.
        expected: the choice that the plan asks for.
        found: the options there were instead, for people.
    """

    step: int
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task, described for people."""

    id: TaskId
    name: str = ""
    target: str = ""
    daemon: bool = False
    spawned: Site | None = None


TAKING = "taking "
"""What an assumption begins with, among what was uncontrolled."""

REPEATED_YIELDS = "loops of reads, yields or sleeps as waiting for the other tasks"
"""What is assumed where fairness holds a task back that may be about to make progress."""

LEFT_AS_IT_IS = "what the first execution leaves behind as it is"
"""The condition where only the first execution of a test has some data races."""

SENT_EXCEPTIONS = "exceptions sent to other threads as coming just before one of their steps"
"""What is assumed of exceptions that a thread raises in another."""

LONG_RUNS = "runs of 2,000 steps as interrupted by the other tasks"
"""What is assumed where it does so because others have waited long."""

SPINNING = "spinning "
"""What a loop that does not yield begins with, among what was uncontrolled."""

LOGGED = "asyncio logged: "
"""Begins what an event loop has told nobody but its log."""

UNSAFE = "not safe among threads: "
"""Begins a call of an event loop that only its own thread may make."""

UNMET = "no task of an event loop is called "
"""Begins a name of tasks to be cancelled by which none was meant."""

_ALLOWED = " as allowed"


@plain
@dataclass(slots=True)
class Uncontrolled:
    """What ran outside our control during an execution, or unseen, with how often.

    Parameters:
        counts: by what it was, for people. What begins with :data:`TAKING` is an assumption under
            which the execution tells the truth; with :data:`SPINNING`, a loop that takes time from
            other tasks; with :data:`LOGGED`, :data:`UNSAFE` or :data:`UNMET`, what is only worth
            a note; all else is a doubt.
    """

    counts: dict[str, int] = field(default_factory=dict)

    def assume(self, what: str) -> None:
        """Count one more occurrence of something that was taken for what it need not be.

        Parameters:
            what: such as ``csv.writer.writerow as one step``.
        """
        self.note(f"{TAKING}{what}")

    def spin(self, where: str) -> None:
        """Count one more time that a task spun without a yield while others could run.

        Parameters:
            where: such as ``at poller.py:12``.
        """
        self.note(f"{SPINNING}{where}")

    def log(self, words: str) -> None:
        """Note that an event loop has told nobody but its log of something.

        Parameters:
            words: such as ``Task was destroyed but it is pending``; however often.
        """
        self.counts[LOGGED + words] = 1

    def call_unsafely(self, words: str) -> None:
        """Note that a thread has called what only another one may.

        Parameters:
            words: what it has called, and what to call instead; however often.
        """
        self.counts[UNSAFE + words] = 1

    def let_misuse_pass(self, kind: str, place: str = "") -> None:
        """Count misuse behind which the execution went on.

        Parameters:
            kind: such as ``unlock-unowned``.
            place: of the first of that kind, if it is known: ``queue.c:12``.
        """
        self.assume(f"{kind} at {place}{_ALLOWED}" if place else f"{kind}{_ALLOWED}")

    @property
    def misuses_let_pass(self) -> list[str]:
        """What :meth:`let_misuse_pass` has counted: ``unlock-unowned at queue.c:12``."""
        return [
            what.removeprefix(TAKING).removesuffix(_ALLOWED)
            for what in self.counts
            if what.startswith(TAKING) and what.endswith(_ALLOWED)
        ]

    def note(self, what: str) -> None:
        """Count one more occurrence of ``what``, a phrase for people."""
        self.counts[what] = self.counts.get(what, 0) + 1
