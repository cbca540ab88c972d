"""Operations: what a task is about to do at a scheduling point.

As in CHESS (OSDI 2008, section 3.3) two bits say all that the happens-before
graph and the waiting sets need to know of an operation: whether it changes
the state of its resource, and whether it may unblock tasks that wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

TaskId = str
"""The path of a task in the spawn tree: the root is ``0``, its second child ``0.2``."""

ResourceId = str
"""``creating task:count``, with ``.name`` or ``[key]`` behind it for a variable."""

ROOT: TaskId = "0"
"""The id of the task that runs the test, and of the thread that it stands for."""

OTHERS_END = "the end of other tasks"
"""The type of the resource that a task of an event loop waits for which awaits others."""

EVENT_LOOP = "event loop"
"""The type of the resource that an event loop of asyncio is."""

TRIO_RUN = "trio run"
"""The type of the resource that all steps of a run of trio act on."""

EXIT: ResourceId = "exit"
"""What the root waits for at its end: that the other tasks have done what they have to do.

It depends on everything, which the happens-before graph does not tell.
"""


def path_names(tasks: Iterable[TaskId]) -> dict[TaskId, int]:
    """Numbers for tasks and all their ancestors, a parent always before its children."""
    names: dict[TaskId, int] = {}
    for task in tasks:
        parts = task.split(".")
        for end in range(1, len(parts) + 1):
            names.setdefault(".".join(parts[:end]), len(names))
    return names


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A kind of operation; the instances in this module are the only ones.

    Parameters:
        name: what reports and files call it.
        is_write: it changes the state of the resource, so that it is ordered
            with every other operation on it; false where two neighbours commute.
        is_release: it may enable tasks that wait for the resource.
        is_data: it is an access to a variable rather than synchronisation.
        is_yield: the task says that it can make no progress (fairness).
    """

    name: str
    is_write: bool = True
    is_release: bool = False
    is_data: bool = False
    is_yield: bool = False

    def __repr__(self) -> str:
        return f"Kind({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (kind_named, (self.name,))


KINDS: dict[str, Kind] = {}


def kind_named(name: str) -> Kind:
    """The kind of that name; ``KeyError`` for a name that this version does not know."""
    return KINDS[name]


def _kind(name: str, **flags: bool) -> Kind:
    kind = Kind(name, **flags)
    KINDS[name] = kind
    return kind


SPAWN = _kind("spawn", is_release=True)
BEGIN = _kind("begin")
END = _kind("end", is_release=True)
JOIN = _kind("join", is_write=False)
IS_ALIVE = _kind("is_alive", is_write=False)

ACQUIRE = _kind("acquire")
TRY_ACQUIRE = _kind("try_acquire")
RELEASE = _kind("release", is_release=True)
LOCKED = _kind("locked", is_write=False)

WAIT = _kind("wait", is_release=True)
WAKE = _kind("wake")
NOTIFY = _kind("notify", is_release=True)
SET = _kind("set", is_release=True)
CLEAR = _kind("clear")
IS_SET = _kind("is_set", is_write=False)
PUT = _kind("put", is_release=True)
GET = _kind("get", is_release=True)
TASK_DONE = _kind("task_done", is_release=True)
INSPECT = _kind("inspect", is_write=False)
SHUTDOWN = _kind("shutdown", is_release=True)
RESULT = _kind("result", is_write=False)
RESOLVE = _kind("resolve", is_release=True)
SET_RUNNING = _kind("set_running", is_release=True)
ADD_CALLBACK = _kind("add_callback", is_release=True)

SLEEP = _kind("sleep", is_write=False, is_yield=True)
YIELD = _kind("yield", is_write=False, is_yield=True)
CONTINUE = _kind("continue", is_write=False)
"""Going on after an operation that let others go on, where accesses can't be seen: what follows
may be a plain store that another task should see, or should not yet."""
RESUME = _kind("resume")
"""A task of an event loop goes on behind an ``await``; or the loop's thread behind the loop."""
CANCELLED = _kind("cancelled")
"""A task of an event loop goes on behind an ``await`` that was cancelled."""
CALLBACK = _kind("callback")
"""An event loop calls what it was asked to."""
CALL = _kind("call")
"""A call of a function with a buffer of its own, which the next call overwrites."""
STATEMENT = _kind("statement", is_release=True)
"""One of a database, or the end of a transaction; the next only reads."""
QUERY = _kind("query", is_write=False)
EXECUTE = _kind("execute", is_release=True)
"""A process becomes another program."""
SIGNAL = _kind("signal", is_release=True)
CANCEL = _kind("cancel", is_release=True)
EXTERNAL = _kind("external")
"""Waiting for something outside our control, such as a child process; or asking it for something.
The next ones are the same, where more is known of it."""
CONNECT = _kind("connect")
ACCEPT = _kind("accept")
SEND = _kind("send")
RECEIVE = _kind("receive")
OPEN = _kind("open")
CLOSE = _kind("close")
POLL = _kind("poll")
"""Whether some descriptors are ready; waiting until one is."""
USE = _kind("use")
"""Of what one task at a time can use, and the others wait for: a buffer of a file."""
LAUNCH = _kind("launch")
"""The start of a child process."""
RAISE = _kind("raise")
"""Sending a signal to the own process."""

OUTSIDE = frozenset(
    {EXTERNAL, CONNECT, ACCEPT, SEND, RECEIVE, OPEN, CLOSE, POLL, USE, LAUNCH, RAISE}
)
"""The kinds of operations that may be seen outside, or depend on it."""

READ = _kind("read", is_write=False, is_data=True)
WRITE = _kind("write", is_data=True)

LOAD = _kind("load", is_write=False)
"""An atomic one; so are the next two."""
STORE = _kind("store")
UPDATE = _kind("update")
"""Reading, changing and writing back at once."""

BUFFER = _kind("buffer")
"""A store goes into the store buffer of its task, where memory is weaker than sequentially
consistent; on the entry there.  No other task sees it."""
FLUSH = _kind("flush", is_release=True)
"""The oldest store in a store buffer reaches memory; the buffer is the task that does it."""
FENCE = _kind("fence")
"""A task goes on when all its stores have reached memory; on the entry of the last one."""

CHOOSE = _kind("choose", is_write=False)
"""A data choice: :func:`bohrbug.choose` picks one of ``n`` values."""


_FAULT = "fault:"


def fault_id(call: str) -> ResourceId:
    """The resource of the data choices by which calls of a function fail; 0 lets them do."""
    return _FAULT + call


def is_fault(resource: ResourceId) -> bool:
    """Whether it is one that :func:`fault_id` gave."""
    return resource.startswith(_FAULT)


SPURIOUS_WAKE = fault_id("wake")
"""That a wait for a condition variable ends by itself, although nobody has signalled."""

OLDER_VALUE = fault_id("older value")
"""Of the data choices by which a load of an atomic sees an older store than the newest, 0."""

_CANCEL = _FAULT + "cancel "


def cancellation_id(tasks: Iterable[TaskId]) -> ResourceId:
    """The resource of the data choices by which one of some tasks is cancelled; 0 for none."""
    return _CANCEL + " ".join(tasks)


def cancelled_task(resource: ResourceId, value: int) -> TaskId | None:
    """The task that a choice cancels on a resource that :func:`cancellation_id` gave.

    ``None``: it is no such resource, or the value cancels nobody.
    """
    if not value or not resource.startswith(_CANCEL):
        return None
    return resource.removeprefix(_CANCEL).split(" ")[value - 1]


COLLECTION = _FAULT + "collection"
"""The resource of the data choices by which the garbage collector collects; 0 is for no."""


class Site(NamedTuple):
    """A place in the source of the tested program.

    ``line`` and ``column`` count from 1; ``column`` is 0 where unknown.
    """

    filename: str
    line: int
    function: str
    column: int = 0

    def __str__(self) -> str:
        return f"{self.filename}:{self.line} in {self.function}"


Point = Site | ResourceId
"""What an operation is recognised by in another execution: its site, else its resource."""


class Operation(NamedTuple):
    """What a task does, or is about to do.

    ``place`` is either a :class:`Site` or, while still in the process that made
    it, a ``(code object, instruction offset)`` pair that
    :func:`bohrbug.model.site.site_of` turns into one; the pair costs
    nothing to make and the line is looked up only when somebody asks.
    """

    kind: Kind
    resource: ResourceId
    place: Any = None

    @property
    def is_write(self) -> bool:
        """Whether the operation changes the state of its resource."""
        return self.kind.is_write

    @property
    def is_release(self) -> bool:
        """Whether the operation may enable tasks that wait for its resource."""
        return self.kind.is_release

    def conflicts_with(self, other: Operation) -> bool:
        """Whether the order of the two matters: same resource, at least one writes."""
        return self.resource == other.resource and (self.kind.is_write or other.kind.is_write)


@dataclass(frozen=True, slots=True)
class Resource:
    """What operations act on, described for people.

    Parameters:
        id: the same in every execution, see :data:`ResourceId`.
        type: the class a user would name, such as ``Lock`` or ``Queue``.
        label: how reports call it, such as ``Lock bank.py:12``.
        created: where the program made it, if that was seen.
    """

    id: ResourceId
    type: str
    label: str
    created: Site | None = None
