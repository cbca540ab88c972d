"""Pools and event loops: functions in C that they are handed tell what they do."""

from __future__ import annotations

import contextvars
from sys import _getframe
from types import BuiltinFunctionType
from typing import Any

from bohrbug.accelerator import native
from bohrbug.runtime.interposed import CONTROL, wrapped_alike
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.handed_over import HandedOver
from bohrbug.runtime.threads.late_patches import LatePatches
from bohrbug.runtime.threads.loops.as_asyncio import is_code_of
from bohrbug.runtime.threads.loops.tasks import loop_tasks_of
from bohrbug.runtime.threads.rewrite.classes import module_of, order_of
from bohrbug.runtime.threads.stacks import is_own

patches = LatePatches()


def _telling(function: Any) -> Any:
    return function if controlled() is None else HandedOver.telling(function)


@patches.when_imported("multiprocessing.pool")
def _wrap_pools(module: Any) -> None:
    cls, base = module.ThreadPool, module.Pool
    for name, _ in wrapped_alike("multiprocessing.pool:Pool", CONTROL):
        _wrap_pool_method(cls, base, name)


def _wrap_pool_method(cls: Any, base: Any, name: str) -> None:
    original = getattr(base, name)

    @patches.method(base, name)
    def wrapper(self: Any, func: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, cls):
            func = _telling(func)
        return original(self, func, *args, **kwargs)


@patches.when_imported("asyncio.events")
def _wrap_handles(module: Any) -> None:
    cls = module.Handle
    initialise = cls.__init__

    @patches.method(cls, "__init__")
    def init(self: Any, callback: Any, *args: Any, **kwargs: Any) -> None:
        called = callback
        if type(callback) is BuiltinFunctionType and not _is_of_asyncio(callback.__self__):
            called = _telling(callback)
        initialise(self, called, *args, **kwargs)
        execution = controlled()
        if execution is not None:
            tasks = execution.loops or loop_tasks_of(execution)
            tasks.handle_made(self, callback, _getframe(1))

    if native is not None and is_code_of(initialise, module):
        native.use_handle(cls, init, module, contextvars)


@patches.when_imported("asyncio.format_helpers")
def _hide_our_frames(module: Any) -> None:
    extract = module.extract_stack

    @patches.method(module, "extract_stack")
    def extract_stack(f: Any = None, limit: int | None = None) -> Any:
        stack = extract(_getframe(1) if f is None else f, limit)
        # asyncio takes off the last, which is its own, to tell in debug mode who has called it.
        stack[:] = [frame for frame in stack if not is_own(frame.filename)]
        return stack


def _is_of_asyncio(owner: object) -> bool:
    """Whether it is a future or a task, which are controlled as a whole."""
    return any(module_of(cls) == "_asyncio" for cls in order_of(type(owner)))
