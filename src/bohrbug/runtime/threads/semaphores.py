"""The locks and semaphores of :mod:`multiprocessing` under control, once that is imported.

Tasks share one thread of the operating system: the real semaphore would stop them all, and
the real recursive lock would take them for one owner.  So a blocking acquire is a scheduling
point of a task that is enabled when the real semaphore can be taken, and who holds a lock is kept
here.  A semaphore may be shared with child processes, which run natively: once there are
some, it is worth waiting for them in real time.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import partial
from sys import _getframe
from typing import Any
from weakref import WeakKeyDictionary

from bohrbug.model.operation import ACQUIRE, LOCKED, RELEASE, TRY_ACQUIRE
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.late_patches import LatePatches
from bohrbug.runtime.threads.quiet_sets import QuietDictionary
from bohrbug.runtime.threads.recording import effect, note_gate, saw
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.synchronizers import place_of
from bohrbug.runtime.threads.task import Task, TaskKilled, TimeoutPolicy

patches = LatePatches()

_RECURSIVE = 0
"""``RECURSIVE_MUTEX`` of ``multiprocessing.synchronize``."""


class Semaphore:
    """One semaphore of the operating system, and which task holds it if only one can.

    Parameters:
        shown: the object of ``multiprocessing.synchronize`` that it is a part of.
    """

    __slots__ = ("__weakref__", "_owner", "_real", "type")

    def __init__(self, shown: Any) -> None:
        self._real = shown._semlock
        self.type = type(shown).__name__
        self._owner: Task | None = None

    def acquire(self, frame: Any, block: Any, timeout: Any) -> bool:
        """Acquire on behalf of the code that runs in ``frame``.

        Parameters:
            block: whether to wait.
            timeout: virtual seconds after which to give up, or ``None``.
        """
        execution = controlled()
        if execution is None:
            return bool(self._real.acquire(block, timeout))
        task = execution.current
        place = place_of(frame)
        if self._is_held_again(task):
            # Only the owner can see a nested acquire: no scheduling point.
            return bool(self._real.acquire(False))
        state = execution.resources.of(self, self.type)
        if task.inside:
            if self._take(task, place):
                effect(execution, state, True)
                return True
            saw(execution, state)
        if not block or (timeout is not None and timeout <= 0):
            execution.perform(TRY_ACQUIRE, state, place)
            self._note_gate(execution, False)
            if self._take(task, place):
                return True
            execution.observe(state, place)
            return False
        return self._wait(execution, state, place, timeout)

    def _wait(self, execution: Execution, state: ResourceState, place: Any, timeout: Any) -> bool:
        end = None if timeout is None else execution.clock.now + timeout
        has_children = execution.outside.has_children
        while True:
            in_time = execution.perform(
                ACQUIRE,
                state,
                place,
                self._is_free,
                None if end is None else max(end - execution.clock.now, 0.0),
                has_children or self._is_held_elsewhere(),
                TimeoutPolicy.IN_REAL_TIME if has_children else TimeoutPolicy.EARLY,
            )
            self._note_gate(execution, True)
            if not in_time:
                return False
            if self._take(execution.current, place):
                return True
            if execution.aborting:
                raise TaskKilled
            # Another process was faster.

    def release(self, frame: Any) -> None:
        """Release on behalf of the code that runs in ``frame``.

        Raises:
            AssertionError: another task holds the recursive lock.
            ValueError: nobody has acquired it.
        """
        execution = controlled()
        if execution is None:
            self._real.release()
            return
        task = execution.current
        if self._real.kind == _RECURSIVE:
            if self._owner is not None and self._owner is not task:
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._real._count() > 1:
                self._real.release()
                return
        state = execution.resources.of(self, self.type)
        if task.inside:
            effect(execution, state, True)
        else:
            execution.perform(RELEASE, state, place_of(frame))
            self._note_gate(execution, False)
        self._real.release()
        self._disown()

    def look(self, frame: Any) -> None:
        """The code that runs in ``frame`` is about to ask how often it could be acquired."""
        execution = controlled()
        if execution is None or execution.current.inside:
            return
        state = execution.resources.of(self, self.type)
        place = place_of(frame)
        execution.perform(LOCKED, state, place)
        execution.observe(state, place)

    @property
    def _is_exclusive(self) -> bool:
        return bool(self._real.maxvalue == 1)

    def _is_held_elsewhere(self) -> bool:
        return self._is_exclusive and self._owner is None and not self._is_free()

    def _note_gate(self, execution: Execution, waits: bool) -> None:
        if not self._is_exclusive:
            note_gate(execution, self._is_free(), True, waits)

    def _is_free(self) -> bool:
        return not self._real._is_zero()

    def _is_held_again(self, task: Task) -> bool:
        return self._owner is task and self._real.kind == _RECURSIVE

    def _take(self, task: Task, place: Any) -> bool:
        # The recursive one would count another task's acquire as a nested one.
        if self._real._is_zero() or not self._real.acquire(False):
            return False
        if self._is_exclusive:
            self._owner = task
            task.holding[self] = place
        return True

    def _disown(self) -> None:
        owner, self._owner = self._owner, None
        if owner is not None:
            owner.holding.pop(self, None)

    def _reset(self) -> None:
        """Free the lock at the end of an execution: its holder is gone."""
        self._disown()
        while self._real._is_zero():
            self._real.release()


_semaphores: WeakKeyDictionary[Any, Semaphore] = QuietDictionary()


def _semaphore_of(shown: Any) -> Semaphore:
    found = _semaphores.get(shown)
    if found is None or found._real is not shown._semlock:
        found = _semaphores[shown] = Semaphore(shown)
    return found


def _acquire(semaphore: Semaphore, block: Any = True, timeout: Any = None) -> bool:
    return semaphore.acquire(_getframe(1), block, timeout)


def _release(semaphore: Semaphore) -> None:
    semaphore.release(_getframe(1))


def _control(shown: Any) -> Semaphore:
    """Let the methods that each object has of its own be ours."""
    semaphore = _semaphore_of(shown)
    shown.acquire = partial(_acquire, semaphore)
    shown.release = partial(_release, semaphore)
    return semaphore


def _outside_multiprocessing(frame: Any) -> Any:
    """The innermost frame, from ``frame`` outwards, of code of another package."""
    innermost = frame
    while frame is not None:
        if not str(frame.f_globals.get("__name__")).startswith("multiprocessing."):
            return frame
        frame = frame.f_back
    return innermost


@patches.when_imported("multiprocessing.synchronize")
def _wrap_semaphores(module: Any) -> None:
    cls = module.SemLock

    @patches.method(cls, "_make_methods")
    def make_methods(self: Any) -> None:
        semaphore = _control(self)
        execution = controlled()
        if execution is not None:
            place = place_of(_outside_multiprocessing(_getframe(1)))
            execution.resources.register(semaphore, execution.current, semaphore.type, place)

    @patches.method(cls, "__enter__")
    def enter(self: Any) -> bool:
        return _semaphore_of(self).acquire(_getframe(1), True, None)

    @patches.method(cls, "__exit__")
    def exit_(self: Any, *exc_info: object) -> None:
        _semaphore_of(self).release(_getframe(1))

    # ``locked`` is new in Python 3.14.
    for owner, name in ((cls, "locked"), (module.Semaphore, "get_value")):
        if hasattr(owner, name):
            patches.method(owner, name)(_looking(getattr(owner, name)))


def _looking(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def look(self: Any) -> Any:
        _semaphore_of(self).look(_getframe(1))
        return original(self)

    return look


def types_of_semaphores(modules: dict[str, types.ModuleType]) -> set[type]:
    """The classes whose objects may have been made before we came.

    Parameters:
        modules: those that are imported, by name.
    """
    module: Any = modules.get("multiprocessing.synchronize")
    if module is None:
        return set()
    return {module.SemLock, *type.__subclasses__(module.SemLock)}


def adopt(older: Any) -> None:
    """Control a semaphore that was made before."""
    if hasattr(older, "_semlock"):
        _control(older)
