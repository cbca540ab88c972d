"""What the operating system calls a thread: from Python 3.14 on, what ``Thread`` is named.

All tasks share one thread of the operating system, whose name is none of theirs: a task keeps
its own.
"""

from __future__ import annotations

import _thread
import threading
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.task import Task

patches = Patches()

_real_set_name: Any = getattr(_thread, "set_name", None)
_real_get_name: Any = getattr(_thread, "_get_name", None)

_NAME = object()
"""By what a task keeps its name among what belongs to a thread."""


def _running() -> Task | None:
    """The task that calls, unless it is the root, which is a real thread."""
    execution = controlled()
    if execution is None or not execution.current.index:
        return None
    return execution.current


def set_name(name: str) -> None:
    """Stands for ``_thread.set_name``."""
    task = _running()
    if task is None:
        _real_set_name(name)
        return
    if not isinstance(name, str):
        raise TypeError(f"set_name() argument 'name' must be str, not {type(name).__name__}")
    if "\0" in name:
        raise ValueError("embedded null character")
    task.local_values[_NAME] = {"name": name}


def get_name() -> str:
    """Stands for ``_thread._get_name``: the name as the operating system would give it back."""
    task = _running()
    if task is None:
        return str(_real_get_name())
    kept = task.local_values.get(_NAME)
    name = kept["name"] if kept is not None else getattr(task.thread, "_name", None)
    before = _real_get_name()
    if not name:
        return str(before)
    # How much of a name it takes, and in which encoding, only it knows.
    _real_set_name(name)
    try:
        return str(_real_get_name())
    finally:
        _real_set_name(before)


if _real_set_name is not None:
    patches.add(_thread, "set_name", set_name)
    patches.add(threading, "_set_name", set_name)
if _real_get_name is not None:
    patches.add(_thread, "_get_name", get_name)
