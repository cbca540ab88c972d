"""The one table of what is replaced in the standard library, by control and by message logs.

Plain data, by names: to read it loads nothing of the library.  The rows say what there is, on which
versions, and which of the two sides replaces it; how, is up to the sides.  Below them are the
modules of each side, in the order in which they are put in place.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple

CONTROL, MESSAGES, BOTH = 1, 2, 3
"""Who replaces it: ``runtime.threads``, ``runtime.channels``."""

_ALWAYS, _NEVER = (3, 0), (4, 0)


class Row(NamedTuple):
    """Some attributes of a module or class of the standard library.

    Parameters:
        owner: the module, and behind a colon the class.
        names: of the attributes, separated by spaces.
        sides: who replaces them.
        alike: where a side wraps them by one piece of code: the kind of the operation, a name of
            ``KINDS``, or a word of that side's own.
        since: the first version of Python that this is true for.
        until: the first one that it isn't true for any more.
        system: ``posix`` or ``linux``, where it isn't true everywhere.
        is_held: other modules hold these functions by name too, and who replaces them exchanges
            them there.  Control does so with all functions of modules.
    """

    owner: str
    names: str
    sides: int
    alike: str = ""
    since: tuple[int, int] = _ALWAYS
    until: tuple[int, int] = _NEVER
    system: str = ""
    is_held: bool = False


_FUTURE = "concurrent.futures._base:Future"
_EXECUTOR, _PROCESSES = "concurrent.futures.thread:ThreadPoolExecutor", "concurrent.futures.process"
_LOOP = "asyncio.base_events:BaseEventLoop"
_SELECTOR_LOOP = "asyncio.selector_events:BaseSelectorEventLoop"
_CONNECTION, _SEMLOCK = "multiprocessing.connection", "multiprocessing.synchronize:SemLock"
_FILES = "BufferedRandom BufferedRWPair BufferedReader BufferedWriter"

ROWS = (
    # -- threads -------------------------------------------------------------------------
    Row("_thread", "allocate_lock allocate LockType", CONTROL, "lock"),
    Row("_thread", "lock", CONTROL, "lock", since=(3, 13)),
    Row("_thread", "RLock", CONTROL, "rlock"),
    Row("_thread", "_local _count get_ident get_native_id interrupt_main", CONTROL),
    Row("_thread", "start_joinable_thread _ThreadHandle", CONTROL, since=(3, 13)),
    Row("_thread", "set_name _get_name", CONTROL, since=(3, 14)),
    Row("_thread", "_set_sentinel", CONTROL, until=(3, 13)),
    Row("_thread", "start_new_thread start_new", BOTH),
    Row("threading", "Lock _allocate_lock", CONTROL, "lock"),
    Row("threading", "_LockType", CONTROL, "lock", since=(3, 13)),
    Row("threading", "RLock _CRLock", CONTROL, "rlock"),
    Row("threading", "local enumerate active_count", CONTROL),
    Row("threading", "get_ident get_native_id _make_invoke_excepthook", CONTROL),
    Row("threading", "_start_joinable_thread _ThreadHandle", CONTROL, since=(3, 13)),
    Row("threading", "_set_name", CONTROL, since=(3, 14)),
    Row("threading", "_set_sentinel _start_new_thread", CONTROL, until=(3, 13)),
    Row("threading:Thread", "__init__ __repr__ join is_alive", CONTROL),
    Row("threading:Thread", "name daemon ident native_id", CONTROL),
    Row("threading:Thread", "start", BOTH),
    Row("threading:Thread", "_bootstrap", MESSAGES),
    # Without the accelerator.
    Row("threading:Thread", "__hash__", CONTROL),
    Row("threading:Timer", "__init__", CONTROL),
    Row("threading:Condition", "__init__ __enter__ __exit__ wait notify", CONTROL),
    Row("threading:Event", "__init__ _cond set clear is_set wait", CONTROL),
    Row("threading:Semaphore", "__init__ __enter__ acquire release", CONTROL),
    Row("threading:BoundedSemaphore", "__init__ release", CONTROL),
    Row("threading:Barrier", "__init__", CONTROL),
    Row("threading:Barrier", "wait", CONTROL, "wait"),
    Row("threading:Barrier", "reset", CONTROL, "clear"),
    Row("threading:Barrier", "abort", CONTROL, "set"),
    # -- queues --------------------------------------------------------------------------
    Row("_queue", "SimpleQueue", CONTROL),
    Row("queue", "SimpleQueue", BOTH, is_held=True),
    Row("queue:Queue", "__init__ put get", BOTH),
    Row("queue:Queue", "qsize empty full", BOTH, "inspect"),
    Row("queue:Queue", "task_done", CONTROL, "task_done"),
    Row("queue:Queue", "join", CONTROL, "wait"),
    Row("queue:Queue", "shutdown", CONTROL, "shutdown", since=(3, 13)),
    Row("multiprocessing.queues:Queue", "__init__ _start_thread put get", MESSAGES),
    Row("multiprocessing.queues:Queue", "qsize empty full", MESSAGES, "inspect"),
    Row("multiprocessing.queues:JoinableQueue", "put", MESSAGES),
    Row("multiprocessing.queues:SimpleQueue", "__init__ put get", MESSAGES),
    Row("multiprocessing.queues:SimpleQueue", "empty", MESSAGES, "inspect"),
    Row("asyncio.queues:Queue", "__init__ put put_nowait get get_nowait", MESSAGES),
    Row("asyncio.queues:Queue", "qsize empty full", MESSAGES, "inspect"),
    # -- futures and pools ---------------------------------------------------------------
    Row("concurrent.futures", "wait", CONTROL),
    Row("concurrent.futures._base", "wait", BOTH, is_held=True),
    Row("concurrent.futures._base", "as_completed", MESSAGES, is_held=True),
    Row("concurrent.futures._base", "_yield_finished_futures", CONTROL),
    Row(_FUTURE, "__init__", BOTH),
    Row(_FUTURE, "__hash__", CONTROL),
    Row(_FUTURE, "done running", BOTH, "inspect"),
    Row(_FUTURE, "cancelled", CONTROL, "inspect"),
    Row(_FUTURE, "result exception", BOTH, "result"),
    Row(_FUTURE, "cancel set_result set_exception", CONTROL, "resolve"),
    Row(_FUTURE, "set_running_or_notify_cancel", CONTROL, "resolve"),
    Row(_FUTURE, "add_done_callback _invoke_callbacks", CONTROL),
    Row(_EXECUTOR, "__init__ submit shutdown", CONTROL),
    Row(_EXECUTOR, "_adjust_thread_count", MESSAGES),
    Row(f"{_PROCESSES}:ProcessPoolExecutor", "__init__ submit shutdown", CONTROL),
    Row(f"{_PROCESSES}:ProcessPoolExecutor", "_adjust_process_count", MESSAGES),
    Row(f"{_PROCESSES}:_ExecutorManagerThread", "run", CONTROL),
    Row(f"{_PROCESSES}:_ExecutorManagerThread", "is_shutting_down", MESSAGES),
    Row(f"{_PROCESSES}:_ExecutorManagerThread", "get_n_children_alive", MESSAGES),
    Row("multiprocessing.pool:Pool", "__init__", CONTROL),
    Row("multiprocessing.pool:Pool", "apply_async _map_async imap imap_unordered", CONTROL, "put"),
    # -- processes and interpreters ------------------------------------------------------
    Row("multiprocessing.process:BaseProcess", "start _bootstrap", MESSAGES),
    Row("multiprocessing.spawn", "get_command_line", MESSAGES),
    Row("multiprocessing.popen_fork:Popen", "__init__", CONTROL, system="posix"),
    Row(_SEMLOCK, "_make_methods __enter__ __exit__", CONTROL, system="posix"),
    Row(_SEMLOCK, "locked", CONTROL, since=(3, 14), system="posix"),
    Row("multiprocessing.synchronize:Semaphore", "get_value", CONTROL, system="posix"),
    Row("subprocess:Popen", "__init__", BOTH),
    Row("subprocess:Popen", "_wait poll", CONTROL, system="posix"),
    Row("os", "_exit execv execve", MESSAGES),
    Row("os", "fork kill system wait wait3 wait4 waitpid", CONTROL, system="posix"),
    Row("signal", "raise_signal", CONTROL),
    Row("signal", "signal getsignal pthread_kill pause", CONTROL, system="posix"),
    Row("signal", "setitimer alarm", CONTROL, "alarm", system="posix"),
    Row("signal", "sigwait", CONTROL, "external", system="posix"),
    Row("signal", "sigwaitinfo", CONTROL, "external", system="linux"),
    Row("signal", "sigtimedwait", CONTROL, system="linux"),
    Row("_interpreters", "call exec run_func run_string", CONTROL, "call", since=(3, 13)),
    Row("_xxsubinterpreters", "run_string", CONTROL, "call", until=(3, 13)),
    # -- event loops ---------------------------------------------------------------------
    Row(_LOOP, "_run_once", BOTH),
    Row(_LOOP, "call_at call_soon_threadsafe", BOTH, "put"),
    Row(_LOOP, "call_soon stop", CONTROL, "put"),
    Row(_LOOP, "shutdown_default_executor", CONTROL, since=(3, 12)),
    Row(_LOOP, "create_task", MESSAGES),
    Row(_SELECTOR_LOOP, "__init__", BOTH),
    Row(_SELECTOR_LOOP, "_write_to_self", CONTROL),
    Row(_SELECTOR_LOOP, "close _add_reader _add_writer", MESSAGES),
    Row("asyncio.events:Handle", "__init__ cancel", CONTROL),
    Row("asyncio.events", "TimerHandle", MESSAGES),
    Row("asyncio.futures", "wrap_future", MESSAGES, is_held=True),
    Row("asyncio.tasks", "wait as_completed all_tasks", MESSAGES, is_held=True),
    # From Python 3.12 on it is made of a timeout.
    Row("asyncio.tasks", "wait_for", MESSAGES, until=(3, 12), is_held=True),
    Row("asyncio.timeouts:Timeout", "__aenter__ __aexit__ _on_timeout reschedule", MESSAGES),
    Row("asyncio.taskgroups:TaskGroup", "__init__", MESSAGES),
    # -- files, pipes, sockets -----------------------------------------------------------
    Row("os", "read write", BOTH),
    Row("os", "pipe close dup dup2 fdopen lockf", CONTROL, system="posix"),
    Row("fcntl", "fcntl flock lockf", CONTROL, system="posix"),
    Row("io", _FILES, CONTROL),
    Row("_io", _FILES, CONTROL),
    Row("select", "select", BOTH, is_held=True),
    Row("select", "poll", BOTH, system="posix", is_held=True),
    Row("select", "epoll", BOTH, system="linux", is_held=True),
    Row("selectors:SelectSelector", "select", BOTH),
    Row("selectors:SelectSelector", "_select", MESSAGES),
    Row("selectors:_PollLikeSelector", "select", BOTH, system="posix"),
    Row("selectors:PollSelector", "_selector_cls", MESSAGES, system="posix"),
    Row("selectors:EpollSelector", "select", BOTH, system="linux"),
    Row("selectors:EpollSelector", "_selector_cls", MESSAGES, system="linux"),
    Row("selectors:KqueueSelector", "select", BOTH, system="darwin"),
    Row("socket", "socketpair", CONTROL),
    Row("socket:socket", "accept connect connect_ex listen send", BOTH),
    Row("socket:socket", "bind close sendall shutdown", CONTROL),
    Row("socket:socket", "recv recv_into", BOTH, "receive"),
    Row("socket:socket", "recvfrom recvfrom_into", CONTROL, "receive"),
    Row("socket:socket", "recvmsg recvmsg_into", CONTROL, "receive", system="posix"),
    Row("socket:socket", "sendto", CONTROL, "send"),
    Row("socket:socket", "sendmsg", BOTH, "send", system="posix"),
    Row("ssl:SSLSocket", "do_handshake read write unwrap", CONTROL, "external"),
    Row(_CONNECTION, "Pipe wait", MESSAGES, is_held=True),
    Row(f"{_CONNECTION}:_ConnectionBase", "poll send recv", MESSAGES),
    Row(f"{_CONNECTION}:_ConnectionBase", "send_bytes recv_bytes", MESSAGES),
    Row(f"{_CONNECTION}:_ConnectionBase", "recv_bytes_into", MESSAGES),
    Row(f"{_CONNECTION}:Connection", "_recv _send", CONTROL, system="posix"),
    Row("sqlite3", "connect", CONTROL),
    Row("sqlite3.dbapi2", "connect", CONTROL),
    # -- time and chance -----------------------------------------------------------------
    Row("time", "sleep time monotonic perf_counter process_time thread_time", CONTROL),
    Row("time", "time_ns monotonic_ns perf_counter_ns process_time_ns thread_time_ns", CONTROL),
    Row("time", "localtime gmtime ctime asctime strftime", CONTROL),
    Row("time", "clock_gettime clock_gettime_ns", CONTROL, system="posix"),
    Row("os", "sched_yield", CONTROL, system="posix"),
    Row("os", "urandom", CONTROL),
    Row("os", "getrandom", CONTROL, system="linux"),
    Row("random", "seed", CONTROL),
    Row("random:Random", "seed", CONTROL),
    Row("tempfile", "TMP_MAX", CONTROL),
    # -- the interpreter -----------------------------------------------------------------
    Row("builtins", "exec eval", CONTROL),
    Row("functools", "_find_impl", CONTROL),
    Row("importlib._bootstrap", "_find_and_load", CONTROL),
    Row("logging:Handler", "createLock handle", CONTROL),
    Row("sys", "_current_frames unraisablehook", CONTROL),
)

PRIMITIVES = (
    # Restored last, when what completes flags makes real locks again.
    *("started_flags", "locks", "synchronizers", "queues", "thread_functions", "thread_state"),
    *("timing", "entropy", "futures", "sets_of_futures", "hashing", "identities", "quiet_sets"),
    *("imports", "made_code", "log_records", "looking", "keyboard", "os_names", "interpreters"),
    "library_callbacks",
)
"""Modules of ``runtime.threads`` that replace something, in the order of their installation."""

PRIMITIVES_ON_POSIX = ("io", "processes", "process_pools", "signal_waits", "semaphores")
"""Those that follow where there are signals and ``fork``."""

FAMILIES: Mapping[str, str] = {
    "os": "processes",
    "threading": "threads",
    "subprocess": "subprocesses",
    "queue": "queues",
    "multiprocessing.process": "children",
    "multiprocessing.spawn": "spawning",
    "multiprocessing.connection": "pipes",
    "multiprocessing.queues": "process_queues",
    "concurrent.futures._base": "futures",
    "concurrent.futures.thread": "executors",
    "concurrent.futures.process": "process_executors",
    "asyncio.base_events": "aio_tasks",
    "asyncio.selector_events": "aio_loops",
    "asyncio.queues": "aio_queues",
    "asyncio.tasks": "aio_waits",
    "asyncio.timeouts": "aio_timeouts",
    "asyncio.taskgroups": "aio_sets",
    "socket": "sockets",
    "selectors": "readiness",
    "select": "polling",
}
"""Modules of the standard library, and which of ``runtime.channels`` is loaded right after each."""


def wrapped_alike(owner: str, side: int) -> Iterator[tuple[str, str]]:
    """What of an owner a side wraps by one piece of code.

    Parameters:
        owner: as in a row; of a module that is loaded.
        side: which one.

    Yields:
        The name of each attribute that this interpreter has, and the word for it in the table.
    """
    module, _, cls = owner.partition(":")
    there: Any = getattr(sys.modules[module], cls) if cls else sys.modules[module]
    for row in ROWS:
        if row.owner == owner and row.sides & side and row.alike:
            yield from ((name, row.alike) for name in row.names.split() if hasattr(there, name))


def classes_with(module: ModuleType, name: str) -> Iterator[Any]:
    """The classes of a module that have a method which is replaced, on this system."""
    for row in ROWS:
        owner, _, cls = row.owner.partition(":")
        if owner == module.__name__ and hasattr(module, cls) and name in row.names.split():
            yield getattr(module, cls)


def is_held(owner: str, name: str) -> bool:
    """Whether modules beside its own hold a function that message logs replace."""
    return any(row.is_held and row.owner == owner and name in row.names.split() for row in ROWS)
