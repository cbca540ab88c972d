"""``Lock`` and ``RLock``, dual-mode.

Each wraps a real lock: outside an execution, or in a thread that nobody
controls, the real one decides; inside, a blocking acquire is a scheduling point
of a task that is enabled when the real lock is free.
"""

from __future__ import annotations

import _thread
import threading
import warnings
from sys import _getframe
from typing import Any

from bohrbug.accelerator import native
from bohrbug.model.operation import ACQUIRE, LOCKED, RELEASE, TRY_ACQUIRE, YIELD
from bohrbug.runtime.interposed import CONTROL, wrapped_alike
from bohrbug.runtime.threads.control import (
    INTERNAL_MODULES,
    LENT_IN,
    controlled,
    current,
    in_tracer,
    is_unseen,
    keeps_lock_to_itself,
    outside_internal_modules,
    real_allocate_lock,
    real_get_ident,
)
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.forks import InChild, about_to_wait
from bohrbug.runtime.threads.interpreter import ARGUMENTS_OF_RLOCKS, RLOCKS_TELL
from bohrbug.runtime.threads.outside import note_help
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.recording import effect, saw
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.standing import standing
from bohrbug.runtime.threads.task import Task, TaskKilled

QUIET_OPERATIONS = 500
"""Lock operations within modules that are modelled as a whole, after which a task yields."""

_QUIET = "quiet"

RealLock = _thread.LockType
RealRLock = _thread.RLock

# Looked up once: programs find other methods there while we are in control, see stand_ins.
acquire_real: Any = RealLock.acquire
release_real: Any = RealLock.release
real_is_locked: Any = RealLock.locked


def _check_arguments(blocking: Any, timeout: Any) -> None:
    """Raise what the real ``acquire`` raises for bad arguments."""
    probe = real_allocate_lock()
    probe.acquire(blocking, timeout)


def _yield_when_spinning(execution: Execution, task: Task, frame: Any) -> None:
    """A loop in which nothing is a scheduling point must not keep the others from running."""
    count = task.looks[_QUIET] = task.looks.get(_QUIET, 0) + 1
    if count >= QUIET_OPERATIONS:
        task.looks.clear()
        state = execution.resources.state_named("clock", "the clock", "clock")
        execution.fairness.comes(task, standing(frame))
        execution.perform(YIELD, state, (frame.f_code, frame.f_lasti))


def _place_in_program(frame: Any) -> tuple[Any, int]:
    """Where the program is that has called the module in which a lock is used."""
    found = outside_internal_modules(frame)
    return found.f_code, found.f_lasti


def _address_in_words(primitive: object) -> str:
    """What programs are told is the address of an object; this tool itself knows the real one."""
    return object.__repr__(primitive).rpartition(" at ")[2].removesuffix(">")


class _Lock:
    """What ``Lock`` and ``RLock`` share: the way to wait for the real lock."""

    __slots__ = ("__weakref__", "_created", "_internal", "_owner", "_real", "_state")

    _type = "Lock"

    def __init__(self) -> None:
        self._real: Any = real_allocate_lock()
        self._owner: Any = None
        self._state: ResourceState | None = None
        self._created: Any = None
        self._internal = False
        frame = _getframe(1)
        execution = current.execution
        is_internal = frame.f_globals.get("__name__") in INTERNAL_MODULES
        if is_internal and frame.f_code.co_qualname not in LENT_IN:
            self._internal = True
        elif execution is not None and not is_unseen():
            self._created = (frame.f_code, frame.f_lasti)
            self._state = execution.resources.new(execution.current, self._type, self._created)
        else:
            self._created = (frame.f_code, frame.f_lasti)

    def _resource(self, execution: Execution) -> ResourceState:
        state = self._state
        if state is None or state.serial != execution.resources.serial:
            state = self._state = execution.resources.outside(self, self._type)
        return state

    def _is_free(self) -> bool:
        return not real_is_locked(self._real)

    def _take(
        self,
        execution: Execution,
        task: Task,
        frame: Any,
        blocking: Any,
        timeout: Any,
    ) -> bool:
        """Acquire the real lock under control; true if that succeeded."""
        real = self._real
        if not blocking or timeout != -1:
            _check_arguments(blocking, timeout)
        # A lock that a module keeps for itself, or one used within a modelled primitive.
        quiet = task.inside or (
            self._internal and frame.f_globals.get("__name__") in INTERNAL_MODULES
        )
        if quiet:
            if not task.inside:
                _yield_when_spinning(execution, task, frame)
            if acquire_real(real, False):
                self._took(execution, task, frame)
                if not self._internal:
                    # Within a wait that ends, for example.
                    effect(execution, self._resource(execution), True)
                return True
            if not self._internal:
                # Somebody else holds it, on which it depends what this task does next.
                saw(execution, self._resource(execution))
            if not blocking or timeout == 0:
                return False
        state = self._resource(execution)
        place = _place_in_program(frame)
        if not blocking or timeout == 0:
            execution.perform(TRY_ACQUIRE, state, place)
            self._was_tried_for(execution, state)
            if not acquire_real(real, False):
                execution.observe(state, place)
                return False
            self._took(execution, task, frame)
            return True
        if not execution.perform(
            ACQUIRE,
            state,
            place,
            self._is_free,
            None if timeout == -1 else timeout,
            self._owner is None and real_is_locked(real),
        ):
            return False
        if not acquire_real(real, False):
            raise TaskKilled
        self._took(execution, task, frame)
        return True

    def acquire(self, blocking: Any = True, timeout: Any = -1) -> bool:
        """As ``Lock.acquire``."""
        return self._acquire(_getframe(1), blocking, timeout)

    def release(self) -> None:
        """As ``Lock.release``."""
        self._release(_getframe(1))

    def __enter__(self) -> bool:
        # The most frequent operation of all: the common case of _take, written out.
        execution = controlled()
        if execution is None or self._internal:
            return self._acquire(_getframe(1), True, -1)
        task = execution.current
        real = self._real
        if task.inside or (self._owner is None and real_is_locked(real)):
            return self._acquire(_getframe(1), True, -1)
        frame = _getframe(1)
        place = (frame.f_code, frame.f_lasti)
        execution.perform(ACQUIRE, self._resource(execution), place, self._is_free)
        if not acquire_real(real, False):
            raise TaskKilled
        self._owner = task
        task.holding[self] = place
        return True

    def __exit__(self, *exc_info: object) -> None:
        self._release(_getframe(1))

    def _acquire(self, frame: Any, blocking: Any = True, timeout: Any = -1) -> bool:
        """Acquire on behalf of the code that runs in ``frame``."""
        execution = controlled()
        if execution is None:
            if InChild.fork is not None:
                self._tell_parent(frame, blocking, timeout)
            return bool(acquire_real(self._real, blocking, timeout))
        return self._take(execution, execution.current, frame, blocking, timeout)

    def _release(self, frame: Any) -> None:
        """Release on behalf of the code that runs in ``frame``."""
        execution = controlled()
        if execution is None:
            note_help(self._state)
            release_real(self._real)
            return
        if not (
            execution.current.inside
            or (self._internal and frame.f_globals.get("__name__") in INTERNAL_MODULES)
        ):
            execution.perform(RELEASE, self._resource(execution), (frame.f_code, frame.f_lasti))
        elif not self._internal:
            effect(execution, self._resource(execution), True)
        self._let_go(execution)

    def _look(self, frame: Any) -> bool:
        """Whether the lock is held, on behalf of the code that runs in ``frame``."""
        execution = controlled()
        if execution is not None:
            task = execution.current
            if not (
                task.inside
                or (self._internal and frame.f_globals.get("__name__") in INTERNAL_MODULES)
            ):
                state = self._resource(execution)
                place = (frame.f_code, frame.f_lasti)
                execution.perform(LOCKED, state, place)
                self._was_tried_for(execution, state)
                execution.observe(state, place)
        return bool(real_is_locked(self._real))

    def _was_tried_for(self, execution: Execution, state: ResourceState) -> None:
        """The program asks whether the lock is held, if only while a modelled method runs."""
        if self._internal:
            execution.trace.uncontrolled.assume(f"methods of {state.type} as one step")

    def _took(self, execution: Execution, task: Task, frame: Any) -> None:
        self._owner = task
        task.holding[self] = (frame.f_code, frame.f_lasti)

    def _register(self, execution: Execution, place: tuple[Any, int]) -> None:
        """The running task makes it at a place, by a module that makes it for itself."""
        self._created = place
        self._state = execution.resources.new(execution.current, self._type, place)

    def _lend(self) -> None:
        """A module has made it for itself, and the program uses it after all."""
        self._internal = False

    def _let_go(self, execution: Execution) -> None:
        owner = self._owner
        self._owner = None
        release_real(self._real)
        if owner is not None:
            owner.holding.pop(self, None)

    def _reset(self) -> None:
        """Free the lock at the end of an execution: its holder is gone."""
        owner, self._owner = self._owner, None
        if owner is not None:
            owner.holding.pop(self, None)
            if real_is_locked(self._real):
                release_real(self._real)

    def _tell_parent(self, frame: Any, blocking: Any, timeout: Any) -> None:
        """In a child: who waits for it says that the lock may never be released."""
        if blocking and timeout == -1 and real_is_locked(self._real):
            found = outside_internal_modules(frame)
            about_to_wait(self, (found.f_code, found.f_lasti))

    def _at_fork_reinit(self) -> None:
        self._real._at_fork_reinit()
        self._owner = None

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle '_thread.{type(self).__name__}' object")


class lock(_Lock):
    """Stands for ``_thread.lock``."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        raise TypeError("type '_thread.lock' is not an acceptable base type")

    def locked(self) -> bool:
        """As ``Lock.locked``."""
        return self._look(_getframe(1))

    acquire_lock = _Lock.acquire
    release_lock = _Lock.release
    locked_lock = locked

    def __repr__(self) -> str:
        self._look(_getframe(1))
        status = "locked" if real_is_locked(self._real) else "unlocked"
        return f"<{status} _thread.lock object at {_address_in_words(self)}>"


def _refuse_arguments(cls: type, positional: bool) -> None:
    if ARGUMENTS_OF_RLOCKS == "refused":
        raise TypeError(f"RLock() takes no {'positional' if positional else 'keyword'} arguments")
    if cls is RLock and ARGUMENTS_OF_RLOCKS == "deprecated":
        warnings.warn(
            "Passing arguments to RLock is deprecated and will be removed in 3.15",
            DeprecationWarning,
            stacklevel=3,
        )


class RLock(_Lock):
    """Stands for ``_thread.RLock``: owned by a task, or outside by an OS thread."""

    __slots__ = ("_count", "_ident", "_stands_for")

    _type = "RLock"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            _refuse_arguments(type(self), bool(args))
        super().__init__()
        frame = _getframe(1)
        outer = frame.f_back
        self._internal = keeps_lock_to_itself(
            frame.f_globals.get("__name__"),
            None if outer is None else outer.f_globals.get("__name__"),
        )
        if self._internal:
            self._state = None
        elif self._created is not None:
            self._created = (frame.f_code, frame.f_lasti)
            if self._state is not None:
                self._state.created = self._created
        self._count = 0
        self._ident = 0
        self._stands_for = None

    def _me(self) -> int:
        execution = current.execution
        ident = real_get_ident()
        if execution is not None and ident == current.thread and not in_tracer():
            return execution.current.ident
        return ident

    def acquire(self, blocking: Any = True, timeout: Any = -1) -> bool:
        """As ``RLock.acquire``."""
        return self._acquire(_getframe(1), blocking, timeout)

    def _acquire(self, frame: Any, blocking: Any = True, timeout: Any = -1) -> bool:
        execution = controlled()
        if execution is None:
            thread = self._me()
            if self._ident == thread and self._count:
                self._count += 1
                return True
            if InChild.fork is not None:
                self._tell_parent(frame, blocking, timeout)
            if not acquire_real(self._real, blocking, timeout):
                return False
            self._ident = thread
            self._count = 1
            return True
        task = execution.current
        if self._count and self._ident == task.ident:
            # Only the owner can see a nested acquire: no scheduling point.
            self._count += 1
            return True
        if not self._take(execution, task, frame, blocking, timeout):
            return False
        self._ident = task.ident
        self._count = 1
        return True

    def release(self) -> None:
        """As ``RLock.release``."""
        self._release(_getframe(1))

    def _release(self, frame: Any) -> None:
        if self._count == 0 or self._ident != self._me():
            raise RuntimeError("cannot release un-acquired lock")
        if self._count > 1:
            self._count -= 1
            return
        self._release_real(frame)

    def _release_real(self, frame: Any) -> None:
        execution = controlled()
        if execution is None:
            self._count = 0
            self._ident = 0
            self._owner = None
            release_real(self._real)
            return
        task = execution.current
        if not (
            task.inside or (self._internal and frame.f_globals.get("__name__") in INTERNAL_MODULES)
        ):
            execution.perform(RELEASE, self._resource(execution), _place_in_program(frame))
        elif not self._internal:
            effect(execution, self._resource(execution), True)
        self._count = 0
        self._ident = 0
        self._let_go(execution)

    def __enter__(self) -> bool:
        return self._acquire(_getframe(1), True, -1)

    def __exit__(self, *exc_info: object) -> None:
        self._release(_getframe(1))

    if RLOCKS_TELL:

        def locked(self) -> bool:
            """As ``RLock.locked``."""
            return self._look(_getframe(1))

    def _is_owned(self) -> bool:
        return self._count > 0 and self._ident == self._me()

    def _recursion_count(self) -> int:
        return self._count if self._is_owned() else 0

    def _release_save(self) -> tuple[int, int]:
        if self._count == 0:
            raise RuntimeError("cannot release un-acquired lock")
        saved = (self._count, self._ident)
        self._release_real(_getframe(1))
        return saved

    def _acquire_restore(self, saved: tuple[int, int]) -> None:
        self._acquire(_getframe(1), True, -1)
        self._count, self._ident = saved

    def _reset(self) -> None:
        super()._reset()
        self._count = 0
        self._ident = 0

    def _at_fork_reinit(self) -> None:
        super()._at_fork_reinit()
        self._count = 0
        self._ident = 0

    def __repr__(self) -> str:
        self._look(_getframe(1))
        status = "locked" if self._count else "unlocked"
        return (
            f"<{status} _thread.RLock object owner={self._ident} count={self._count} "
            f"at {_address_in_words(self)}>"
        )


if native is not None:
    native.use_locks(_Lock, real_allocate_lock, INTERNAL_MODULES, LENT_IN)

for _class in (lock, RLock):
    _class.__module__ = "_thread"
    _class.__qualname__ = _class.__name__

patches = Patches()
for _module in (_thread, threading):
    for _name, _which in wrapped_alike(_module.__name__, CONTROL):
        patches.add(_module, _name, lock if _which == "lock" else RLock)


def wrap_lock(real: Any) -> lock:
    """A dual-mode lock around a real one that existed before."""
    wrapper = lock.__new__(lock)
    wrapper._real = real
    wrapper._owner = None
    wrapper._state = None
    wrapper._created = None
    wrapper._internal = False
    return wrapper


def wrap_rlock(real: Any) -> RLock:
    """A dual-mode lock in place of a real re-entrant one that existed before.

    If the calling thread owns the real one, it owns the wrapper as often.  The wrapper keeps
    the real one, to which somebody may refer weakly.
    """
    wrapper = RLock.__new__(RLock)
    wrapper._real = real_allocate_lock()
    wrapper._stands_for = real
    wrapper._owner = None
    wrapper._state = None
    wrapper._created = None
    wrapper._internal = False
    wrapper._count = 0
    wrapper._ident = 0
    if real._is_owned():
        count = 0
        while real._is_owned():
            real.release()
            count += 1
        for _ in range(count):
            real.acquire()
        wrapper._real.acquire()
        wrapper._count = count
        wrapper._ident = real_get_ident()
    return wrapper


def free_predicate(obj: Any) -> Any:
    """Whether acquiring ``obj`` would not block now; true for locks that are not ours."""
    if isinstance(obj, _Lock):
        return obj._is_free
    return None
