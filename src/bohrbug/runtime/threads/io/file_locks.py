"""``fcntl.flock``, ``fcntl.lockf``, ``os.lockf`` and ``F_SETLKW`` under control.

A lock by ``flock`` belongs to an open file, so that it keeps tasks apart that have opened
the file each for itself.  One by ``lockf`` or ``F_SETLKW`` belongs to the process: tasks never
wait for each other there, only for other processes.

Whoever finds the file locked waits as a task.  What the kernel says is looked up
each time, and not kept here: closing a file unlocks it, too.  That is a release as well, also where
nobody closes the file and its last reference is gone.
"""

from __future__ import annotations

import fcntl
import os
import weakref
from collections.abc import Callable
from sys import _getframe
from typing import Any

from bohrbug.model.operation import ACQUIRE, RELEASE, TRY_ACQUIRE
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.opened import Closing, stream_of
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.recording import touch
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.rewrite.callables import tell_call
from bohrbug.runtime.threads.rewrite.descriptors import share_position
from bohrbug.runtime.threads.synchronizers import place_of
from bohrbug.runtime.threads.task import Task, TaskKilled, TimeoutPolicy

_real_basename = os.path.basename
_real_readlink = os.readlink
_real_fstat = os.fstat
_real_flock = fcntl.flock
_real_lockf = fcntl.lockf
_real_fcntl = fcntl.fcntl
_DUPLICATING = (fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC)


class Holding:
    """A task has locked an open file; reports tell who holds what.

    Parameters:
        state: the lock.
        task: who has locked it.
        is_shared: others may have locked it, too, in the same way.
    """

    __slots__ = ("is_shared", "state", "task")

    def __init__(self, state: ResourceState, task: Task, is_shared: bool) -> None:
        self.state = state
        self.task = task
        self.is_shared = is_shared

    def _reset(self) -> None:
        """Nothing: the end of an execution unlocks no file, and neither does that of a thread."""


class _FileLocks:
    """The locks of one execution."""

    def __init__(self, serial: int) -> None:
        self.serial = serial
        self.states: dict[tuple[int, int], ResourceState] = {}
        # By file descriptor.
        self.holdings: dict[int, Holding] = {}

    def state(self, execution: Execution, descriptor: int, place: Any) -> ResourceState:
        """The resource that locking a file acts on, by whichever descriptor."""
        status = _real_fstat(descriptor)
        key = (status.st_dev, status.st_ino)
        state = self.states.get(key)
        if state is None:
            name = _name_of(descriptor)
            created = None if name else place
            state = execution.resources.new(execution.current, "file lock", created)
            if name:
                state.given_label = f"file lock {name}"
            self.states[key] = state
        return state

    def take(self, execution: Execution, descriptor: int, holding: Holding, place: Any) -> None:
        """``flock`` has locked a file: whoever had it in another way has closed it meanwhile."""
        for other, older in list(self.holdings.items()):
            if older.state is holding.state and not (older.is_shared and holding.is_shared):
                _closed_unseen(execution, older)
                self.drop(other)
        self.drop(descriptor)
        self.holdings[descriptor] = holding
        holding.task.holding[holding] = place

    def drop(self, descriptor: int) -> None:
        """It is locked no more by this descriptor."""
        holding = self.holdings.pop(descriptor, None)
        if holding is not None:
            holding.task.holding.pop(holding, None)

    def are_held(self, state: ResourceState) -> bool:
        """Whether some task holds a lock."""
        return any(holding.state is state for holding in self.holdings.values())


_locks = _FileLocks(-1)


def _locks_of(execution: Execution) -> _FileLocks:
    global _locks
    serial = execution.resources.serial
    if _locks.serial != serial:
        _locks = _FileLocks(serial)
    return _locks


def _closed_unseen(execution: Execution, holding: Holding) -> None:
    """Somebody has closed a locked file where nobody saw it: which step it was is not known.

    The last one of who had it stands for it, as it is not known either what was done after that:
    that orders no data accesses.
    """
    for index in range(len(execution.rows) - 1, -1, -1):
        if execution.rows[index][1] == holding.task.id:
            execution.trace.effects.append((index, holding.task.id, holding.state.id, True))
            return


def _name_of(descriptor: int) -> str:
    try:
        return _real_basename(_real_readlink(f"/proc/self/fd/{descriptor}"))
    except OSError:
        return ""


def _watch(descriptor: int, file: Any) -> None:
    """Be told when a locked file is closed: by whom, by ``with``, or as it dies.

    Code in C that closes a file looks for the method ``close``, in its dict first.
    """
    stream = stream_of(descriptor) if isinstance(file, int) else file
    namespace = getattr(stream, "__dict__", None)
    if type(namespace) is not dict or "close" in namespace:
        # Its number is all that is known of it; or this was done already.
        return
    # The file must not live longer for it.
    reference = weakref.ref(stream)

    def close() -> None:
        closed = reference()
        if closed is None:
            return
        vars(closed).pop("close", None)
        if controlled() is None:
            closed.close()
        elif vars(closed).get("_finalizing"):
            _unlock_by_dying(descriptor)
            closed.close()
        else:
            tell_call(closed.close)
            _unlock_by_closing(descriptor, place_of(_getframe(1)))
            closed.close()

    namespace["close"] = close


def _holding_of(execution: Execution, descriptor: int) -> Holding | None:
    if _locks.serial != execution.resources.serial:
        return None
    return _locks.holdings.get(descriptor)


def _unlock_by_closing(descriptor: int, place: Any) -> None:
    """A descriptor is about to be closed; with it goes the lock that was taken by it."""
    execution = controlled()
    holding = None if execution is None else _holding_of(execution, descriptor)
    if execution is not None and holding is not None:
        _point(execution, RELEASE, holding.state, place)
        _locks.drop(descriptor)


def _unlock_by_dying(descriptor: int) -> None:
    """The same in the step that lets go of a file."""
    execution = controlled()
    holding = None if execution is None else _holding_of(execution, descriptor)
    if execution is not None and holding is not None:
        touch(execution, holding.state)
        _locks.drop(descriptor)


Closing.tell = staticmethod(_unlock_by_closing)


def _descriptor_of(file: Any) -> int:
    descriptor = file if isinstance(file, int) else file.fileno()
    return int(descriptor)


@patches.function(fcntl, "flock")
def flock(fd: Any, operation: int, /) -> None:
    """Stands for ``fcntl.flock``."""
    execution = controlled()
    if execution is None:
        _real_flock(fd, operation)
        return
    descriptor = _descriptor_of(fd)
    place = place_of(_getframe(2))
    locks = _locks_of(execution)
    state = locks.state(execution, descriptor, place)
    if operation & fcntl.LOCK_UN:
        _point(execution, RELEASE, state, place)
        _real_flock(descriptor, operation)
        locks.drop(descriptor)
        return

    def attempt() -> None:
        # In vain, the kernel takes away what this open file had locked before.
        locks.drop(descriptor)
        _real_flock(descriptor, operation | fcntl.LOCK_NB)
        is_shared = bool(operation & fcntl.LOCK_SH)
        locks.take(execution, descriptor, Holding(state, execution.current, is_shared), place)
        _watch(descriptor, fd)

    def is_free() -> bool:
        try:
            _real_flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            # The call itself will say what is wrong with it.
            return True
        _real_flock(descriptor, fcntl.LOCK_UN)
        return True

    if operation & fcntl.LOCK_NB:
        _try(execution, state, place, attempt)
    else:
        _lock(execution, state, place, attempt, is_free)


@patches.function(fcntl, "lockf")
def lockf(fd: Any, cmd: int, len: int = 0, start: int = 0, whence: int = 0, /) -> None:
    """Stands for ``fcntl.lockf``."""
    execution = controlled()
    if execution is None:
        _real_lockf(fd, cmd, len, start, whence)
        return

    # Unlike ``flock``, it takes LOCK_UN for unlocking only if nothing comes with it.
    unlocks = cmd == fcntl.LOCK_UN
    without_waiting = cmd if unlocks else cmd | fcntl.LOCK_NB
    _lock_for_process(
        execution,
        place_of(_getframe(2)),
        lambda: _real_lockf(fd, without_waiting, len, start, whence),
        unlocks,
        bool(cmd & fcntl.LOCK_NB),
    )


@patches.function(fcntl, "fcntl")
def fcntl_(fd: Any, cmd: int, arg: Any = 0, /) -> Any:
    """Stands for ``fcntl.fcntl``, which blocks for ``F_SETLKW`` only."""
    execution = controlled()
    if execution is None or cmd != fcntl.F_SETLKW:
        result = _real_fcntl(fd, cmd, arg)
        if execution is not None and cmd in _DUPLICATING:
            share_position(_descriptor_of(fd), result)
        return result
    results: list[Any] = []
    _lock_for_process(
        execution,
        place_of(_getframe(2)),
        lambda: results.append(_real_fcntl(fd, fcntl.F_SETLK, arg)),
    )
    return results[-1]


if hasattr(os, "lockf"):
    _real_os_lockf = os.lockf

    @patches.function(os, "lockf")
    def os_lockf(fd: int, command: int, length: int, /) -> None:
        """Stands for ``os.lockf``."""
        execution = controlled()
        if execution is None or command == os.F_TEST:
            _real_os_lockf(fd, command, length)
            return
        without_waiting = os.F_TLOCK if command == os.F_LOCK else command
        _lock_for_process(
            execution,
            place_of(_getframe(2)),
            lambda: _real_os_lockf(fd, without_waiting, length),
            command == os.F_ULOCK,
            command == os.F_TLOCK,
        )


def _lock_for_process(
    execution: Execution,
    place: Any,
    attempt: Callable[[], None],
    unlocks: bool = False,
    tries: bool = False,
) -> None:
    """Lock a part of a file against other processes, or unlock it."""
    # Each task has its own resource: the locks of one process order none of its tasks.
    name = f"{execution.current.id}:record locks"
    state = execution.resources.state_named(name, "a lock against other processes", "file lock")
    if unlocks:
        _point(execution, RELEASE, state, place)
        attempt()
        return

    def can_take() -> bool:
        try:
            attempt()
        except OSError:
            return False
        return True

    if tries:
        _try(execution, state, place, attempt)
    else:
        _lock(execution, state, place, attempt, can_take)


def _point(execution: Execution, kind: Any, state: ResourceState, place: Any) -> None:
    if not execution.current.inside:
        execution.perform(kind, state, place)


def _try(
    execution: Execution, state: ResourceState, place: Any, attempt: Callable[[], None]
) -> None:
    """Lock a file or fail at once."""
    _point(execution, TRY_ACQUIRE, state, place)
    try:
        attempt()
    except OSError:
        execution.observe(state, place)
        raise


def _lock(
    execution: Execution,
    state: ResourceState,
    place: Any,
    attempt: Callable[[], None],
    is_free: Callable[[], bool],
) -> None:
    """Lock a file, after waiting for it.

    Parameters:
        attempt: locks it or raises; what the open file had locked before is unlocked then.
        is_free: whether it would succeed; only called after it did not.
    """
    _point(execution, ACQUIRE, state, place)
    while True:
        try:
            attempt()
        except (BlockingIOError, PermissionError):
            # POSIX allows either for a lock that cannot be had.
            is_elsewhere = execution.outside.has_children or not _locks_of(execution).are_held(
                state
            )
            execution.perform(
                ACQUIRE,
                state,
                place,
                is_free,
                external=is_elsewhere,
                firing=TimeoutPolicy.IN_REAL_TIME if is_elsewhere else TimeoutPolicy.EARLY,
            )
            if execution.aborting:
                raise TaskKilled from None
            continue
        return
