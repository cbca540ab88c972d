"""Taking control of a process: patches, and whatever was there before them.

Functions that other modules imported by name, and locks, queues and
thread-locals that exist already, are found through the garbage collector and
exchanged in the containers that hold them.
"""

from __future__ import annotations

import _thread
import concurrent.futures.thread
import gc
import sys
import threading
import types
from collections.abc import Iterable
from typing import Any


from bohrbug.runtime.threads import (
    futures,
    imports,
    queues,
    synchronizers,
    thread_functions,
    thread_state,
    timing,
)
from bohrbug.runtime.threads.control import INTERNAL_MODULES
from bohrbug.runtime.threads.locks import RealLock, RealRLock, RLock, lock, wrap_lock, wrap_rlock
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.queues import RealSimpleQueue, wrap_simple_queue

_lock_patches = Patches()


def _allocate_lock() -> lock:
    """Stands for ``_thread.allocate_lock`` where that is a function."""
    return lock()


for _owner, _name in (
    (_thread, "allocate_lock"),
    (_thread, "allocate"),
    (_thread, "lock"),
    (_thread, "LockType"),
    (threading, "Lock"),
    (threading, "_allocate_lock"),
    (threading, "_LockType"),
):
    if hasattr(_owner, _name):
        _lock_patches.add(_owner, _name, lock)
for _owner, _name in ((_thread, "RLock"), (threading, "_CRLock"), (threading, "RLock")):
    _lock_patches.add(_owner, _name, RLock)

_ALL: tuple[Patches, ...] = (
    _lock_patches,
    synchronizers.patches,
    queues.patches,
    thread_functions.patches,
    thread_state.patches,
    timing.patches,
    futures.patches,
    imports.patches,
)


class Installation:
    """The patches of one process; installed any number of times, restored with the last."""

    def __init__(self, extra: Iterable[Patches] = ()) -> None:
        self._patches = (*_ALL, *extra)
        self._depth = 0
        self._locals = thread_state.LocalSubclasses()
        self._exchanged: list[tuple[Any, Any, Any]] = []
        self.executors = futures.ExecutorsOutside()

    def install(self) -> None:
        """Take control; cheap when control was taken already."""
        self._depth += 1
        if self._depth > 1:
            return
        before = _functions_to_exchange()
        for patches in self._patches:
            patches.install()
        self._locals.install()
        self._adopt(before)
        for executor in gc.get_referrers(concurrent.futures.thread.ThreadPoolExecutor):
            if isinstance(executor, concurrent.futures.thread.ThreadPoolExecutor):
                self.executors.add(executor)

    def restore(self) -> None:
        """Give control back, when called as often as :meth:`install`."""
        self._depth -= 1
        if self._depth:
            return
        self._locals.restore()
        for patches in reversed(self._patches):
            patches.restore()
        while self._exchanged:
            container, key, value = self._exchanged.pop()
            if isinstance(container, dict) and key in container:
                container[key] = value

    def _adopt(self, functions: list[tuple[Any, Any]]) -> None:
        """Exchange references to real primitives that were made before the patches."""
        replacements: dict[int, Any] = {}
        originals: list[Any] = []
        for original, replacement in functions:
            replacements[id(original)] = replacement
            originals.append(original)
        for obj in gc.get_objects():
            kind = type(obj)
            if kind is RealLock:
                replacements[id(obj)] = wrap_lock(obj)
                originals.append(obj)
            elif kind is RealRLock:
                replacements[id(obj)] = wrap_rlock(obj)
                originals.append(obj)
            elif kind is RealSimpleQueue:
                replacements[id(obj)] = wrap_simple_queue(obj)
                originals.append(obj)
            elif kind is thread_state.RealLocal:
                replacements[id(obj)] = thread_state.wrap_local(obj)
                originals.append(obj)
        own = {
            id(vars(module))
            for name, module in list(sys.modules.items())
            if name.partition(".")[0] in ("bohrbug", "greenlet", "_pydevd_bundle", "pydevd")
            and isinstance(module, types.ModuleType)
        }
        for patches in self._patches:
            for _, _, replacement in patches._wanted:
                own.update(id(cell) for cell in getattr(replacement, "__closure__", None) or ())
        restorable = {id(original) for original, _ in functions}
        wrappers = {id(replacement) for replacement in replacements.values()}
        methods = self._exchange(originals, replacements, own, wrappers, restorable)
        if methods:
            # Bound methods of locks, such as those that a Condition keeps.
            bound = {id(method): getattr(replacement, name) for method, replacement, name in methods}
            self._exchange([method for method, _, _ in methods], bound, own, wrappers, set())

    def _exchange(
        self,
        originals: list[Any],
        replacements: dict[int, Any],
        own: set[int],
        wrappers: set[int],
        restorable: set[int],
    ) -> list[tuple[Any, Any, str]]:
        """Put replacements where the originals are held; return bound methods of originals."""
        methods: list[tuple[Any, Any, str]] = []
        for holder in gc.get_referrers(*originals):
            if (
                holder is originals
                or id(holder) in own
                or id(holder) in wrappers
                or isinstance(holder, types.FrameType)
            ):
                continue
            if isinstance(holder, dict):
                module = holder.get("__name__")
                internal = module in INTERNAL_MODULES
                for key, value in list(holder.items()):
                    replacement = replacements.get(id(value))
                    if replacement is not None:
                        if internal and isinstance(replacement, lock | RLock):
                            replacement._internal = True
                        holder[key] = replacement
                        if id(value) in restorable:
                            self._exchanged.append((holder, key, value))
            elif isinstance(holder, list):
                for index, value in enumerate(holder):
                    replacement = replacements.get(id(value))
                    if replacement is not None:
                        holder[index] = replacement
            elif isinstance(holder, types.CellType):
                replacement = replacements.get(id(holder.cell_contents))
                if replacement is not None:
                    holder.cell_contents = replacement
            elif isinstance(holder, types.BuiltinMethodType):
                replacement = replacements.get(id(holder.__self__))
                if replacement is not None and hasattr(replacement, holder.__name__):
                    methods.append((holder, replacement, holder.__name__))
            elif not isinstance(holder, type | types.ModuleType | tuple | types.FunctionType):
                _exchange_attributes(holder, replacements)
        return methods


def _exchange_attributes(holder: Any, replacements: dict[int, Any]) -> None:
    """Exchange what an object holds in its attributes and slots."""
    try:
        attributes = object.__getattribute__(holder, "__dict__")
    except AttributeError:
        attributes = None
    if isinstance(attributes, dict):
        for key, value in list(attributes.items()):
            replacement = replacements.get(id(value))
            if replacement is not None:
                if isinstance(replacement, lock | RLock):
                    replacement._internal = type(holder).__module__ in INTERNAL_MODULES
                attributes[key] = replacement
    for cls in type(holder).__mro__:
        for name, member in list(vars(cls).items()):
            if isinstance(member, types.MemberDescriptorType):
                try:
                    value = member.__get__(holder, type(holder))
                except AttributeError:
                    continue
                replacement = replacements.get(id(value))
                if replacement is not None:
                    try:
                        member.__set__(holder, replacement)
                    except (AttributeError, TypeError):
                        # A read-only slot of a C type: it keeps the real primitive.
                        continue


def _functions_to_exchange() -> list[tuple[Any, Any]]:
    """Real functions and types that modules may have imported by name, with what stands for them."""
    pairs: list[tuple[Any, Any]] = []
    seen: set[int] = set()
    for patches in _ALL:
        for owner, name, replacement in patches._wanted:
            if isinstance(owner, types.ModuleType):
                original = vars(owner).get(name)
                if original is not None and original is not replacement and id(original) not in seen:
                    seen.add(id(original))
                    pairs.append((original, replacement))
    return pairs


installation = Installation()
"""The one installation of this process."""

