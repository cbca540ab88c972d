"""What resources of native programs are called, in traces and in reports."""

from __future__ import annotations

CONDITION = "condition variable"
"""The type of condition variables."""

SYNCHRONISERS = (
    "mutex",
    CONDITION,
    "reader-writer lock",
    "semaphore",
    "barrier",
    "spin lock",
    "once",
    "futex",
    "file lock",
)
"""Types of resources that tasks synchronise by."""

DESCRIPTORS = ("descriptor", "socket", "pipe", "message queue", "semaphore set")
"""Types of what a descriptor, or a number that the kernel has given, stands for."""

SHARED_WITHOUT_LOCKS = ("file", "file name", "stream", "process state")
"""Types of what tasks of native programs share beside memory."""

MADE_BY_CALLS = frozenset({*SYNCHRONISERS, *DESCRIPTORS, *SHARED_WITHOUT_LOCKS})
"""Types of resources that a program makes, connects and destroys by calls of the C library."""

ANY_CHILD = "any child process"
"""What a wait for whichever process ends first is for."""
