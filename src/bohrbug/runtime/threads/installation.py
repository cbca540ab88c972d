"""Taking control of a process: patches, and whatever was there before them.

Functions that other modules imported by name, and locks, queues and
thread-locals that exist already, are exchanged (:mod:`adoption`).
"""

from __future__ import annotations

import concurrent.futures.thread
import ctypes
import os
import queue
import sys
import types
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from bohrbug.runtime.interposed import PRIMITIVES, PRIMITIVES_ON_POSIX
from bohrbug.runtime.threads import (
    futures,
    imports,
    queue_items,
    queues,
    stand_ins,
    thread_functions,
    thread_state,
    timers,
    unraisable,
)
from bohrbug.runtime.threads.adoption import (
    PASSED_OVER,
    Adoption,
    unchangeable_types,
)
from bohrbug.runtime.threads.fake_files import leave_our_modules_alone
from bohrbug.runtime.threads.frozen_dates import tell_what_modules_hold
from bohrbug.runtime.threads.heap import survey
from bohrbug.runtime.threads.late_patches import LatePatches
from bohrbug.runtime.threads.locks import RealLock, RealRLock, RLock, lock
from bohrbug.runtime.threads.namespaces import with_subclasses
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.queues import RealSimpleQueue, know_parts, wrap_simple_queue
from bohrbug.runtime.threads.rewrite import made_before

_names: tuple[str, ...] = PRIMITIVES
if os.name == "posix":
    from bohrbug.runtime.threads import process_pools, semaphores

    _names += PRIMITIVES_ON_POSIX
_modules = [import_module(f"{__package__}.{name}") for name in _names]
_ALL: tuple[Patches, ...] = tuple(dict.fromkeys(module.patches for module in _modules))
imports.after_import += [each.catch_up for each in _ALL if isinstance(each, LatePatches)]


_WRAPPERS = (
    lock,
    RLock,
    queues.SimpleQueue,
    thread_functions.ThreadHandle,
    thread_state.Values,
    types.FrameType,
)
"""Types whose objects hold real primitives because they wrap them."""


_WRAP: dict[type, Callable[[Any], Any]] = {
    RealLock: stand_ins.for_lock,
    RealRLock: stand_ins.for_lock,
    RealSimpleQueue: wrap_simple_queue,
    thread_state.RealLocal: thread_state.wrap_local,
}
"""Makes what stands for a primitive that existed before."""

_Executor = concurrent.futures.thread.ThreadPoolExecutor


class Installation:
    """The patches of one process; installed any number of times, restored with the last."""

    def __init__(self, extra: Iterable[Patches] = ()) -> None:
        # What stands for this hook calls it, so that references to it are not to be exchanged.
        self._patches = (
            *(*_ALL, unraisable.patches, queue_items.patches, timers.patches),
            *extra,
        )
        self._depth = 0
        self._locals = thread_state.LocalSubclasses()
        self._adoption: Adoption | None = None

    def install(self) -> list[types.FunctionType] | None:
        """Take control; cheap when control was taken already.

        Returns:
            The functions of the program, if they were found on the way.
        """
        leave_our_modules_alone()
        self._depth += 1
        if self._depth > 1:
            unraisable.patches.catch_up()
            return None
        for patches in self._patches:
            patches.prepare()
        before = _functions_to_exchange()
        for patches in self._patches:
            patches.install()
        self._locals.install()
        functions = self._adopt(before)
        tell_what_modules_hold(in_control=True)
        return functions or None

    def restore(self) -> None:
        """Give control back, when called as often as :meth:`install`."""
        self._depth -= 1
        if self._depth:
            return
        stand_ins.restore()
        self._locals.restore()
        for patches in reversed(self._patches):
            patches.restore()
        if self._adoption is not None:
            self._adoption.restore()
            self._adoption = None
        tell_what_modules_hold(in_control=False)

    def _adopt(self, functions: list[tuple[Any, Any]]) -> list[types.FunctionType]:
        """Exchange references to real primitives that were made before the patches."""
        executors = set(with_subclasses(_Executor))
        queue_types = set(with_subclasses(queue.Queue))
        shared: set[type] = set()
        pools: set[type] = set()
        if os.name == "posix":
            shared = semaphores.types_of_semaphores(sys.modules)
            pool_class = process_pools.pool_class()
            pools = set(with_subclasses(pool_class)) if pool_class is not None else pools
        made_before.forget()
        objects, holders, found = survey(
            [original for original, _ in functions],
            set(_WRAP),
            {
                *(*executors, *queue_types, *pools, *shared, *made_before.TYPES),
                *(thread_state.Values, lock, RLock),
            },
            PASSED_OVER.union(_WRAPPERS),
            unchangeable_types(),
        )
        # What our locals of an earlier exploration keep their values in is no local of the program.
        ours = {id(obj.by_thread) for obj in objects if type(obj) is thread_state.Values}
        stand_ins.know(obj for obj in objects if type(obj) in (lock, RLock))
        pairs: list[tuple[Any, Any]] = list(functions)
        for obj in objects:
            wrap = _WRAP.get(type(obj))
            if wrap is not None:
                if id(obj) not in ours:
                    pairs.append((obj, wrap(obj)))
            elif type(obj) in (thread_state.Values, lock, RLock) or type(obj) in queue_types:
                continue
            elif type(obj) in made_before.TYPES:
                made_before.note(obj)
            elif type(obj) in executors:
                futures.lasting_executors.add(obj)
            elif type(obj) in pools:
                process_pools.lasting_pools.add(obj)
            else:
                semaphores.adopt(obj)
        own = {
            id(vars(module))
            for name, module in list(sys.modules.items())
            if name.partition(".")[0] in ("bohrbug", "greenlet", "_pydevd_bundle", "pydevd")
            and isinstance(module, types.ModuleType)
        }
        for patches in self._patches:
            own.update(id(part) for part in patches.parts())
            for _, _, replacement in patches.pairs():
                own.update(id(cell) for cell in getattr(replacement, "__closure__", None) or ())
        own.add(id(functions))
        own.update(id(pair) for pair in functions)
        self._adoption = Adoption(own)
        self._adoption.exchange(pairs, {id(original) for original, _ in functions}, holders)
        for obj in objects:
            if type(obj) in queue_types:
                # Now that it has its mutex.
                know_parts(obj)
        stand_ins.install()
        return found


def _functions_to_exchange() -> list[tuple[Any, Any]]:
    """Functions and types that modules may have imported by name, with what stands for them."""
    pairs: list[tuple[Any, Any]] = []
    seen: set[int] = set()
    for patches in _ALL:
        for owner, name, replacement in patches.pairs():
            if isinstance(owner, types.ModuleType) or owner is ctypes.pythonapi:
                original = vars(owner).get(name)
                # Of a number, another reference to it may mean something else.
                if callable(original) and original is not replacement and id(original) not in seen:
                    seen.add(id(original))
                    pairs.append((original, replacement))
    return pairs


installation = Installation()
"""The one installation of this process."""
