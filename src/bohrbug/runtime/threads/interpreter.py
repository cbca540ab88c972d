"""What differs between the versions of CPython that we run on, found out from what is there.

Whatever else asks for a version asks here, so that a new version of CPython is one place to look
at.  What we count on without being told, the private parts of the standard library, is looked
for when this module is imported: else its absence would come to light in the middle of
a test, as an ``AttributeError`` that looks like a failure of the program under test.
"""

from __future__ import annotations

import _thread
import concurrent.futures.thread
import queue
import sys
import threading
from collections.abc import Iterable
from typing import Any, Final

_main_thread: Final[Any] = threading.main_thread()


def _named_in_threads(*names: str) -> str | None:
    """The first of some names that threads have something by, or ``None``."""
    return next((name for name in names if name in vars(_main_thread)), None)


HANDLE_NAME: Final = _named_in_threads("_os_thread_handle", "_handle")
"""By which name a ``Thread`` keeps the handle of its OS thread; ``None`` up to Python 3.12, where
it has a lock in its place that is released when the thread is gone."""

HAS_HANDLES: Final = HANDLE_NAME is not None
"""Whether threads have handles: from Python 3.13 on."""

START_NAME: Final = "_start_joinable_thread" if HAS_HANDLES else "_start_new_thread"
"""What ``Thread.start`` calls, by its name in ``threading``."""

HAS_NATIVE_IDS: Final = "_native_id" in vars(_main_thread)
"""Whether threads know what the kernel calls them."""

HAS_CONTEXTS: Final = "_context" in vars(_main_thread)
"""Whether a ``Thread`` runs in a context of its own that ``Thread(context=...)`` can give: from
Python 3.14 on."""

INHERITS_CONTEXT: Final = bool(getattr(sys.flags, "thread_inherit_context", False))
"""Whether a thread to which no context is given begins with a copy of its starter's: with
``-X thread_inherit_context``, which is the default of free-threaded builds."""

KEEPS_LOOP_TASKS: Final = sys.version_info >= (3, 14)
"""Whether the interpreter keeps the asyncio task that a loop runs per OS thread, as it keeps the
loop: from Python 3.14 on."""

RLOCKS_TELL: Final = hasattr(_thread.RLock, "locked")
"""Whether ``RLock.locked`` exists: from Python 3.14 on."""

QUEUES_SHUT_DOWN: Final = hasattr(queue, "ShutDown")
"""Whether ``Queue.shutdown`` exists: from Python 3.13 on."""

DESCRIBES_UNRAISABLE: Final = sys.version_info >= (3, 13)
"""Whether what ``sys.unraisablehook`` is told of a bare thread says so in one text."""


def _arguments_of_rlocks() -> str:
    if sys.version_info >= (3, 15):
        return "refused"
    return "deprecated" if sys.version_info >= (3, 13) else "ignored"


ARGUMENTS_OF_RLOCKS: Final = _arguments_of_rlocks()
"""What becomes of arguments to ``RLock``, which it has never used: ``ignored``, ``deprecated``
(with a warning) or ``refused``."""


_PARTS_OF_MODULES = {
    "_queue": "SimpleQueue",
    "_thread": "RLock _count _local allocate_lock get_ident get_native_id",
    "_asyncio": "_swap_current_task" if KEEPS_LOOP_TASKS else "",
    "asyncio.events": "_get_running_loop _set_running_loop",
    "concurrent.futures._base": "CANCELLED CANCELLED_AND_NOTIFIED FINISHED"
    " Future._invoke_callbacks",
    "concurrent.futures.process": "_ExecutorManagerThread.run _global_shutdown _threads_wakeups",
    "concurrent.futures.thread": "ThreadPoolExecutor._counter _WorkItem.run _shutdown"
    " _threads_queues",
    "importlib._bootstrap": "_find_and_load",
    "multiprocessing.connection": "Connection._recv Connection._send",
    "threading": "Thread._bootstrap Thread._bootstrap_inner Thread._delete _active _counter"
    f" _dangling _make_invoke_excepthook _newname _profile_hook _trace_hook {START_NAME} get_ident",
}
PARTS_OF_MODULES: Final = {name: parts.split() for name, parts in _PARTS_OF_MODULES.items()}
"""What we use of modules of the standard library, beside what its documentation names."""

_PARTS_OF_OBJECTS: dict[type, str] = {
    threading.Thread: "_args _daemonic _ident _initialized _invoke_excepthook _kwargs _name"
    f" _started _target {HANDLE_NAME or '_tstate_lock _is_stopped'}",
    threading.Condition: "_acquire_restore _is_owned _lock _release_save _waiters",
    threading.Event: "_cond _flag",
    threading.Semaphore: "_cond _value",
    threading.Barrier: "_cond",
    queue.Queue: "_get _put _qsize mutex not_empty not_full unfinished_tasks",
    concurrent.futures.Future: "_condition _state",
    concurrent.futures.ThreadPoolExecutor: "_broken _idle_semaphore _shutdown _threads _work_queue",
}
PARTS_OF_OBJECTS: Final = {cls: parts.split() for cls, parts in _PARTS_OF_OBJECTS.items()}
"""What we use of objects of the standard library, beside what its documentation names."""

_ARGUMENTS: Final[dict[type, dict[str, Any]]] = {
    # With a name, so that no number is used up.
    threading.Thread: {"name": "looked at"},
    threading.Barrier: {"parties": 1},
    concurrent.futures.ThreadPoolExecutor: {"thread_name_prefix": "looked at"},
}


def missing_parts(loaded: Iterable[str]) -> list[str]:
    """What of :data:`PARTS_OF_MODULES` and :data:`PARTS_OF_OBJECTS` this interpreter has not.

    Parameters:
        loaded: names of modules; of others nothing is missing.
    """
    missing = []
    for name in PARTS_OF_MODULES.keys() & set(loaded):
        module = sys.modules[name]
        missing += [
            f"{name}.{part}" for part in PARTS_OF_MODULES[name] if not _has(module, part.split("."))
        ]
    for cls, parts in PARTS_OF_OBJECTS.items():
        if cls.__module__.partition(".")[0] not in ("threading", "queue", "concurrent"):
            # Something else was put in its place.
            continue
        made = cls(**_ARGUMENTS.get(cls, {}))
        missing += [
            f"{cls.__module__}.{cls.__qualname__}().{part}"
            for part in parts
            if not hasattr(made, part)
        ]
    return sorted(missing)


def _has(owner: object, path: list[str]) -> bool:
    for name in path:
        if not hasattr(owner, name):
            return False
        owner = getattr(owner, name)
    return True


def _check() -> None:
    """Refuse an interpreter in which something is missing that we count on.

    Raises:
        ImportError: with what that is.
    """
    missing = missing_parts(sys.modules)
    if missing:
        version = ".".join(map(str, sys.version_info[:3]))
        raise ImportError(
            f"this version of Bohrbug doesn't know the threads of CPython {version}, "
            f"which has no {', '.join(missing)}; a newer version of Bohrbug may"
        )


_check()
