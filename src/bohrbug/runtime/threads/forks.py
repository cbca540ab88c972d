"""Locks of which a child has locked copies that nobody can release, as it was forked meanwhile.

A fork copies memory, and of the threads only the one that forks.  A lock that another task holds
is held for ever in the child: who acquires it there waits for ever, and so does who waits for the
child.  So a fork and what tasks do with locks depend on each other.

A child runs natively.  Before it waits for such a lock it says so, in memory that it shares.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from bohrbug.model.operation import Site, TaskId
from bohrbug.model.site import site_of
from bohrbug.paths import line_in_notes
from bohrbug.runtime.threads.leftovers import forgotten_afterwards

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

AT_FORK = "locks at a fork"
"""The resource that a fork changes, and all operations on locks look at."""

_FORKS = "forks"
"""In the namespaces of an execution: this one or an earlier one has forked beside other tasks."""

LOCKS = frozenset({"Lock", "RLock"})
"""The types of resources that a child has copies of."""

MOST_CHILDREN = 256
"""Children of one execution that can tell."""

_ENTRY = 1024
"""Bytes for what one of them says: the address of the lock, and where the child stands."""

_ADDRESS = 8

_real_kill, _real_waitpid = os.kill, os.waitpid
_real_waitid: Any = getattr(os, "waitid", None)


class _Copied(NamedTuple):
    """A lock that was held at a fork, by whom, and since where."""

    lock: Any
    holder: TaskId
    taken: Any


class _Fork(NamedTuple):
    """A fork beside other tasks: who has forked, and what these held, by address."""

    task: TaskId
    entry: int
    copied: dict[int, _Copied]


class InChild:
    """What a forked child does before it waits for a lock.

    Attributes:
        fork: of which it is the child; ``None`` in a process that was not forked by a task.
    """

    fork: _Fork | None = None


_steps: list[int] = []
"""The steps in which this execution has forked."""
_forks: list[_Fork] = []
"""Those forks."""
_children: dict[int, _Fork] = {}
"""The children that came of them, by their ids."""
forgotten_afterwards(_steps, _forks, _children)

_said: mmap.mmap | None = None


def about_to_fork(execution: Execution) -> None:
    """The running task forks next: note which locks the others hold.

    Parameters:
        execution: of the task.
    """
    global _said
    if len(execution.all_tasks) == 1:
        return
    execution.namespaces.add(_FORKS)
    _steps.append(len(execution.rows) - 1)
    running = execution.current
    others = [task for task in execution.alive if task is not running]
    if not others or len(_forks) == MOST_CHILDREN:
        return
    if _said is None:
        _said = mmap.mmap(-1, MOST_CHILDREN * _ENTRY)
    entry = len(_forks) * _ENTRY
    _said[entry : entry + _ENTRY] = bytes(_ENTRY)
    copied = {
        id(lock): _Copied(lock, task.id, taken)
        for task in others
        for lock, taken in task.holding.items()
    }
    _forks.append(_Fork(running.id, entry, copied))
    InChild.fork = _forks[-1]


def forked(pid: int | None) -> None:
    """In the parent: it has forked.

    Parameters:
        pid: of the child; ``None``: the system has refused.
    """
    if pid is not None and InChild.fork is not None:
        _children[pid] = InChild.fork
    InChild.fork = None


def about_to_wait(lock: Any, place: Any) -> None:
    """In a child: it waits for a lock that is locked, and has no timeout.

    Parameters:
        lock: the lock.
        place: where it is acquired.
    """
    fork = InChild.fork
    # Another thread of the child could release it, if not the one that has taken it.
    if fork is None or _said is None or id(lock) not in fork.copied or len(threading._active) > 1:  # type: ignore[attr-defined]
        return
    site = site_of(place)
    # To put it into words is for its parent, which may have to wait for this.
    parts = () if site is None else (str(site.line), site.function, site.filename)
    text = "\0".join(parts).encode("utf-8", "replace")[: _ENTRY - _ADDRESS]
    start = fork.entry + _ADDRESS
    _said[start : start + len(text)] = text
    _said[fork.entry : start] = id(lock).to_bytes(_ADDRESS, sys.byteorder)


def _standing(fork: _Fork, said: mmap.mmap) -> Site | None:
    """Where a child says that it waits."""
    text = said[fork.entry + _ADDRESS : fork.entry + _ENTRY].rstrip(b"\0")
    if not text:
        return None
    # What had no room is missing.
    parts = text.decode("utf-8", "replace").split("\0", 2)
    line, function, filename = (*parts, "", "")[:3]
    return Site(filename, int(line), function)


def _where(site: Site | None) -> str:
    if site is None:
        return "a place without a source"
    return f"{line_in_notes(site.filename, site.line)} in {site.function}"


def _waited_for(fork: _Fork) -> _Copied | None:
    """The lock for which a child waits for ever, if it does."""
    if _said is None:
        return None
    address = _said[fork.entry : fork.entry + _ADDRESS]
    return fork.copied.get(int.from_bytes(address, sys.byteorder))


def _is_alive(pid: int) -> bool:
    """Whether a process is a child that has not ended; it may be gone, and another have its id."""
    try:
        return _real_waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return False


def waits_for_ever(pid: int) -> bool:
    """Whether a child waits for a lock that nobody can release there, and was not ended."""
    fork = _children.get(pid)
    return (
        fork is not None
        and _real_waitid is not None
        and _waited_for(fork) is not None
        and _is_alive(pid)
    )


def waits_in_words() -> list[str]:
    """What children wait for that wait for ever, one sentence each."""
    found = []
    for pid, fork in _children.items():
        copied = _waited_for(fork) if waits_for_ever(pid) else None
        if copied is None or _said is None:
            continue
        state = copied.lock._state
        kind = "lock" if state is None else state.type
        found.append(
            f"The child process that task {fork.task} has forked waits for ever, "
            f"at {_where(_standing(fork, _said))}, for a {kind} that task {copied.holder} had "
            f"taken at {_where(site_of(copied.taken))} "
            "when it was forked: nobody can release the child's copy."
        )
    return found


def end_those_that_wait(theirs: set[int]) -> None:
    """At the end of an execution: children that wait for ever end, too.

    Parameters:
        theirs: the ids of children for whose ends somebody else waits.
    """
    for pid in [pid for pid in _children if waits_for_ever(pid)]:
        _real_kill(pid, signal.SIGKILL)
        if pid not in theirs:
            _real_waitpid(pid, 0)


def note_dependence(execution: Execution) -> None:
    """The trace is complete: what happened to locks depends on the forks, and the other way round.

    It is noted in executions that have not forked, too, and of locks that nobody has used before
    the fork: where executions begin alike, what their steps touch must be alike.
    """
    if _FORKS not in execution.namespaces:
        return
    resources = execution.resources
    locks = resources.ids_of(LOCKS)
    rows = execution.rows
    trace = execution.trace
    touched = {step for step, _, resource, _ in trace.effects if resource in locks}
    touched.update(step for step, row in enumerate(rows) if row[2].resource in locks)
    resources.state_named(AT_FORK, AT_FORK, "fork")
    effects = [(step, rows[step][1], AT_FORK, False) for step in touched]
    effects += [(step, rows[step][1], AT_FORK, True) for step in _steps if step < len(rows)]
    trace.effects[:] = sorted([*trace.effects, *effects], key=lambda effect: effect[0])
