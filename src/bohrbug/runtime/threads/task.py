"""Tasks of the threads runtime, and the greenlets that carry them."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from greenlet import getcurrent, greenlet

from bohrbug.model.operation import Operation, TaskId


class TaskKilled(BaseException):
    """Unwinds a task whose execution is over; never seen by the tester.

    It derives from :class:`BaseException` so that ``except Exception`` in the
    tested program lets it pass.
    """


class TimeoutPolicy(Enum):
    """When the timeout of a waiting task may fire."""

    EARLY = "early"
    """At any time: a choice of the schedule."""
    LATE = "late"
    """When no task is enabled: a safety net, such as the timeout of a socket."""
    IN_REAL_TIME = "in real time"
    """When no task is enabled and as much real time has passed: something outside needs it."""


SEPARATE, ANNOUNCING, JOINING, JOINED = range(4)
"""What the accesses are that a task tells of: steps of their own; parts of one step, of which first
all are announced; the first of these, which makes the step; those that belong to it."""


class Task:
    """One schedulable thread of an execution.

    Parameters:
        id: path in the spawn tree.
        index: how many tasks were created before it in this execution.
        ident: what ``threading.get_ident()`` returns in it.
    """

    __slots__ = (
        "begun",
        "blocked_since",
        "breakable",
        "carrier",
        "children",
        "daemon",
        "deadline",
        "ended",
        "entered",
        "external",
        "firing",
        "function",
        "greenlet",
        "holding",
        "host",
        "id",
        "ident",
        "index",
        "inside",
        "joined",
        "last_yield",
        "local_values",
        "looks",
        "looks_at",
        "loop_task",
        "name",
        "on_end",
        "pending",
        "prelude_of",
        "ready",
        "resources",
        "running_loop",
        "sent",
        "spawned",
        "started_directly",
        "state",
        "target",
        "thread",
        "timed_out",
        "waiting",
        "waits_for",
    )

    def __init__(self, id: TaskId, index: int, ident: int) -> None:
        self.id = id
        self.index = index
        self.ident = ident
        self.greenlet: greenlet | None = None
        # The thread that runs it, for a task that is not a thread itself: one of an event loop.
        self.host: Task | None = None
        self.carrier: Carrier | None = None
        self.function: Callable[[], object] | None = None
        self.name = ""
        self.target = ""
        self.daemon = False
        self.spawned: Any = None
        self.ended = False
        self.thread: Any = None
        self.started_directly = False
        # What the task is about to do; ``ready`` says whether it would not block.
        self.pending: Operation | None = None
        self.ready: Callable[[], bool] | None = None
        self.deadline: float | None = None
        self.timed_out = False
        self.external = False
        # ``pending`` is still to come, not what the task is doing now.
        self.waiting = True
        self.firing = TimeoutPolicy.EARLY
        self.waits_for: Any = None
        self.blocked_since = 0
        # Depth of calls into modelled primitives, within which nothing is a scheduling point.
        self.inside = 0
        # Whether the accesses that it tells of now are one step, and how far that is.
        self.joined = SEPARATE
        self.prelude_of: Task | None = None
        self.children = 0
        self.resources = 0
        self.holding: dict[Any, Any] = {}
        self.state: Any = None
        self.on_end: list[Callable[[], object]] = []
        self.last_yield = -1
        # What each of its steps touches beside its operation: of one that is no thread its loop,
        # of the root whether a signal has come, of another thread whether an exception has.
        self.looks_at: Any = None
        # An exception that another task has sent to it, and that has not come yet.
        self.sent: Any = None
        # How often the task looked where without making progress itself, and what it could reach.
        self.looks: dict[Any, Any] = {}
        self.begun = index == 0
        self.entered = index == 0
        # A GIL build could have switched threads since the last operation.
        self.breakable = True
        self.local_values: dict[Any, dict[str, Any]] = {}
        self.running_loop: Any = None
        # What asyncio's loop runs in this task, while another has control; from Python 3.14 on.
        self.loop_task: Any = None

    def has_ended(self) -> bool:
        """Whether the task is over: what joins it waits for."""
        return self.ended

    def __repr__(self) -> str:
        return f"<Task {self.id} {self.name}>"


class Carrier(greenlet):
    """A greenlet that carries one task after the other.

    A fresh greenlet costs about 12 us, a pooled one almost nothing.

    Attributes:
        task: the one that it carries.
        execution: of the task; carries it to its end, and says who goes on.
    """

    __slots__ = ("execution", "pool", "task")

    def __init__(self, pool: CarrierPool) -> None:
        super().__init__()
        # Where control goes if it dies; else that would be whoever happened to make it.
        self.parent = pool.hub
        self.pool = pool
        self.task: Task | None = None
        self.execution: Any = None
        # A greenlet counts recursion from where it was switched to first.  That would be in
        # whichever task waits before it begins, which had it from another, and so on to the limit.
        self.switch(getcurrent())

    def run(self, maker: greenlet) -> None:
        """Carry tasks for ever; between two tasks the carrier lies in its pool."""
        maker.switch()
        while True:
            assert self.task is not None
            successor = self.execution.carry(self.task)
            self.task.carrier = None
            self.task.function = None
            self.task = self.execution = None
            # The next task begins without context variables, as a thread does.
            self.gr_context = None
            self.pool.put(self)
            successor.switch()


class CarrierPool:
    """Idle carriers, kept between executions; belongs to the greenlet that makes it."""

    __slots__ = ("_idle", "hub")

    def __init__(self) -> None:
        self.hub = getcurrent()
        self._idle: list[Carrier] = []

    def get(self) -> Carrier:
        """An idle carrier, or a new one."""
        return self._idle.pop() if self._idle else Carrier(self)

    def put(self, carrier: Carrier) -> None:
        """Take back a carrier whose task has ended."""
        self._idle.append(carrier)

    def close(self) -> None:
        """Let all idle carriers end."""
        for carrier in self._idle:
            carrier.throw()
        self._idle.clear()
