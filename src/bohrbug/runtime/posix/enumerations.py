"""What numbers in the shared segment stand for: the other side of the shim's ``enum`` types.

Their order is that of the shim; a test compares both sides.
"""

from __future__ import annotations

from bohrbug.model.native_resources import SHARED_WITHOUT_LOCKS, SYNCHRONISERS
from bohrbug.model.operation import (
    ACQUIRE,
    BEGIN,
    BUFFER,
    CALL,
    CANCEL,
    CHOOSE,
    CONTINUE,
    END,
    EXECUTE,
    EXTERNAL,
    FENCE,
    FLUSH,
    GET,
    INSPECT,
    JOIN,
    LOAD,
    NOTIFY,
    PUT,
    READ,
    RELEASE,
    SET,
    SIGNAL,
    SLEEP,
    SPAWN,
    STORE,
    TRY_ACQUIRE,
    UPDATE,
    WAIT,
    WAKE,
    WRITE,
    YIELD,
)

KINDS = (
    *(SPAWN, BEGIN, END, JOIN, ACQUIRE, TRY_ACQUIRE, RELEASE, WAIT, WAKE, NOTIFY),
    *(SLEEP, YIELD, EXTERNAL, INSPECT, SET, CONTINUE, PUT, GET, READ, WRITE),
    *(LOAD, STORE, UPDATE, CALL, CHOOSE, EXECUTE, SIGNAL, CANCEL, BUFFER, FENCE, FLUSH),
)
"""``enum kind``."""

FUNCTION = "function"
"""The type of functions that are not reentrant."""

CHILDREN = "children"
"""The type of what a wait for any child process is on."""

DESCRIPTOR = "descriptor"
"""The type of pipes and sockets, and of what ``poll`` and its like wait for."""

SOCKET = "socket"

KINDS_OF_DESCRIPTORS = {1: SOCKET, 3: "pipe", 6: "message queue", 7: "semaphore set"}
"""By the ``space`` of the resource, in the words of reports; see ``shim/descriptors.c``
and ``shim/blocking.c``."""

SHARED_BIT = 1 << 63
"""Set in the space of what processes share."""

MEMORY = "memory"
"""The type of blocks of the heap that were used after they had been freed."""

STORE_BUFFER = "store buffer"
"""The type of entries of store buffers."""

PROCESS_STATE = "process state"
"""The type of what all threads of a process share without a lock."""

STATES = (
    "the working directory",
    "the file mode creation mask",
    "the environment",
    "the locale",
    "the random numbers of rand() and random()",
    "the signal handlers",
    "the numbers of descriptors",
    "the order of fences",
    "the descriptors that new programs inherit",
    "the masks of signals",
    "the mappings of memory",
)
"""``enum process_state`` of ``shim/process_state.h``, in the words of reports."""

FAULT = "fault"
"""The type of calls that fail by a data choice."""

FAULTS = {
    "connect": "ECONNREFUSED",
    "accept": "ECONNABORTED",
    "send": "ECONNRESET",
    "recv": "ECONNRESET",
    "fork": "EAGAIN",
    "thread": "EAGAIN",
    "malloc": "ENOMEM",
    "wake": "0",
}
"""The table ``FAULTS`` of ``shim/faults.h``: calls that may fail, and how; 0 is no error."""

MEMORIES = ("sc", "tso", "relaxed")
"""``enum memory``, as users name them."""

USE_AFTER_FREE = "use-after-free"

ALLOWABLE_MISUSES = (
    "unlock-unowned",
    "wait-unowned",
    "destroy-locked",
    "use-destroyed",
    "left-locked",
    "not-reentrant",
    USE_AFTER_FREE,
    "use-ended-thread",
)
"""Kinds of misuse that an execution can go on behind, as users name them."""

MISUSES = (*ALLOWABLE_MISUSES, "unlock-rwlock", "free-twice")
"""``enum misuse_kind``."""

TYPES = (
    *SYNCHRONISERS,
    DESCRIPTOR,
    CHILDREN,
    "variable",
    "atomic",
    FUNCTION,
    FAULT,
    MEMORY,
    STORE_BUFFER,
    *SHARED_WITHOUT_LOCKS,
)
"""``enum type``, in the words of reports."""

RWLOCK = TYPES.index("reader-writer lock")
FUTEX = TYPES.index("futex")

ALWAYS, READABLE, WRITABLE = 0, 3, 4
"""Of ``enum condition``: nothing to wait for; to read; to write."""

(
    NON_PREEMPTIVE,
    UNIFORM_RANDOM,
    PRIORITIES,
    SEGMENTS,
    SLEEPING,
    PARTIAL_ORDER,
    WEIGHTED,
    ASK,
    ORDERED,
    READS_FROM,
) = range(10)
"""``enum policy``."""

ASLEEP, DOZING = 1, 2
"""``enum sleep``; the task goes on sleeping whatever it is, or wakes with any step."""

YIELDED, GATED, OPEN, WAITS, COULD_FIRE, READS_KERNEL, WRITES_KERNEL, ON_DESCRIPTOR = (
    1 << bit for bit in range(8)
)
"""``enum step_flag``."""

(
    UNFINISHED,
    DEADLOCK,
    STEP_LIMIT,
    MISUSE,
    ASSERTION,
    CRASH,
    STUCK_OUTSIDE,
    TOO_BIG,
    ASKED,
    NOT_ON_FIBERS,
    COMES_FURTHER,
) = range(11)
"""``enum ending``."""

NOT_OVER, IN_FILES, PRINTED_KEPT = 0, 1, 2
"""``enum over``, of a process that is put back: whether an execution has ended."""

PREPARED, ALIVE, OVER = 1, 2, 3
"""``enum task_state``, of tasks and processes."""
