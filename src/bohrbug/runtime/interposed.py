"""The one table of what is replaced in the standard library, by control and by message logs.

Plain data, by names: to read it loads nothing of the library.  The rows say what there is, on which
versions, and which of the two sides replaces it; how, is up to the sides.  Below them are the
modules of each side, in the order in which they are put in place.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

CONTROL, MESSAGES = "control", "messages"
"""The two sides: ``runtime.threads`` and ``runtime.channels``."""


class Row:
    """Some attributes of a module or class of the standard library.

    Names are separated by spaces.  Those that are not everywhere have a mark: ``@3.13`` is since
    that version of Python, ``@<3.13`` before it; ``@posix`` and ``@linux`` are systems.

    Parameters:
        owner: the module, and behind a colon the class.
        both: names of what both sides replace.
        control: of what is replaced by control alone.
        messages: by message logs alone.
        alike: where a side wraps all that is in the row by one piece of code: the kind of the
            operation, a name of ``KINDS``, or another word.
        is_held: other modules hold these functions by name too, and message logs exchange them
            there.  Control does so with all functions of modules.
    """

    # Made when each process that is recorded begins: to make a data class takes longer.
    def __init__(
        self,
        owner: str,
        both: str = "",
        control: str = "",
        messages: str = "",
        alike: str = "",
        is_held: bool = False,
    ) -> None:
        self.owner, self.alike, self.is_held = owner, alike, is_held
        self.both, self.control, self.messages = both, control, messages

    def names(self, side: str) -> list[str]:
        """What a side replaces, without the marks."""
        names = f"{self.both} {self.control if side == CONTROL else self.messages}"
        return [name.partition("@")[0] for name in names.split()]


_FUTURE = "concurrent.futures._base:Future"
_POOL, _PROCESSES = "concurrent.futures.thread:ThreadPoolExecutor", "concurrent.futures.process"
_LOOP, _LOOPS = "asyncio.base_events:BaseEventLoop", "asyncio.selector_events"
_CONNECTION, _SEMAPHORES = "multiprocessing.connection", "multiprocessing.synchronize"
_FILES = "BufferedRandom BufferedRWPair BufferedReader BufferedWriter"

ROWS = (
    # -- threads -------------------------------------------------------------------------
    Row("_thread", control="allocate_lock allocate LockType lock@3.13", alike="lock"),
    Row("_thread", control="RLock", alike="rlock"),
    Row("_thread", both="start_new_thread start_new"),
    Row("_thread", control="start_joinable_thread@3.13 _ThreadHandle@3.13 _set_sentinel@<3.13"),
    Row("_thread", control="_local _count get_ident get_native_id set_name@3.14 _get_name@3.14"),
    Row("threading", control="Lock _allocate_lock _LockType@3.13", alike="lock"),
    Row("threading", control="RLock _CRLock", alike="rlock"),
    Row("threading", control="_start_joinable_thread@3.13 _ThreadHandle@3.13 _set_name@3.14"),
    Row("threading", control="_start_new_thread@<3.13 _set_sentinel@<3.13 _make_invoke_excepthook"),
    Row("threading", control="local get_ident get_native_id enumerate active_count"),
    Row("threading:Thread", both="start", control="__init__ __repr__ join is_alive"),
    # To hash them is no address's business where there is no accelerator.
    Row("threading:Thread", messages="_bootstrap", control="__hash__"),
    Row("threading:Thread", control="name daemon ident native_id"),
    Row("threading:Timer", control="__init__"),
    Row("threading:Condition", control="__init__ __enter__ __exit__ __repr__ wait notify"),
    Row("threading:Event", control="__init__ __repr__ _cond set clear is_set isSet wait"),
    Row("threading:Semaphore", control="__init__ __enter__ __repr__ acquire release"),
    Row("threading:BoundedSemaphore", control="__init__ release"),
    Row("threading:Barrier", control="__init__ __repr__"),
    Row("threading:Barrier", control="wait", alike="wait"),
    Row("threading:Barrier", control="reset", alike="clear"),
    Row("threading:Barrier", control="abort", alike="set"),
    # -- queues --------------------------------------------------------------------------
    Row("_queue", control="SimpleQueue"),
    Row("queue", both="SimpleQueue", is_held=True),
    Row("queue:Queue", both="__init__ put get"),
    Row("queue:Queue", both="qsize empty full", alike="inspect"),
    Row("queue:Queue", control="task_done", alike="task_done"),
    Row("queue:Queue", control="join", alike="wait"),
    Row("queue:Queue", control="shutdown@3.13", alike="shutdown"),
    Row("multiprocessing.queues:Queue", messages="__init__ _start_thread put get"),
    Row("multiprocessing.queues:Queue", messages="qsize empty full", alike="inspect"),
    Row("multiprocessing.queues:JoinableQueue", messages="put"),
    Row("multiprocessing.queues:SimpleQueue", messages="__init__ put get"),
    Row("multiprocessing.queues:SimpleQueue", messages="empty", alike="inspect"),
    Row("asyncio.queues:Queue", messages="__init__ put get", both="put_nowait get_nowait"),
    Row("asyncio.locks:Event", control="set is_set wait"),
    Row("asyncio.queues:Queue", messages="qsize empty full", alike="inspect"),
    # -- futures and pools ---------------------------------------------------------------
    Row("concurrent.futures", control="wait as_completed"),
    Row("concurrent.futures._base", both="wait as_completed", is_held=True),
    Row("concurrent.futures._base", control="_yield_finished_futures"),
    Row(_FUTURE, both="__init__", control="__hash__ add_done_callback _invoke_callbacks"),
    Row(_FUTURE, both="done running", control="cancelled __repr__", alike="inspect"),
    Row(_FUTURE, both="result exception", alike="result"),
    Row(_FUTURE, control="cancel set_result set_exception", alike="resolve"),
    Row(_FUTURE, control="set_running_or_notify_cancel", alike="set_running"),
    Row(_POOL, control="__init__ submit shutdown", messages="_adjust_thread_count"),
    Row(f"{_PROCESSES}:ProcessPoolExecutor", control="__init__ submit shutdown"),
    Row(f"{_PROCESSES}:ProcessPoolExecutor", messages="_adjust_process_count"),
    Row(f"{_PROCESSES}:_ExecutorManagerThread", control="run"),
    Row(f"{_PROCESSES}:_ExecutorManagerThread", messages="is_shutting_down get_n_children_alive"),
    Row("multiprocessing.pool:Pool", control="__init__"),
    Row("multiprocessing.pool:Pool", control="apply_async _map_async imap", alike="put"),
    Row("multiprocessing.pool:Pool", control="imap_unordered", alike="put"),
    # -- processes and interpreters ------------------------------------------------------
    Row("multiprocessing.process:BaseProcess", messages="start _bootstrap"),
    Row("multiprocessing.spawn", messages="get_command_line"),
    Row("multiprocessing.popen_fork:Popen", control="__init__"),
    Row(f"{_SEMAPHORES}:SemLock", control="_make_methods __enter__ __exit__ locked@3.14"),
    Row(f"{_SEMAPHORES}:Semaphore", control="get_value"),
    Row("subprocess:Popen", both="__init__", control="_wait poll"),
    Row("os", both="_exit execv execve", control="kill system abort"),
    Row("os", control="fork@posix wait@posix wait3@posix wait4@posix waitid@posix waitpid@posix"),
    Row("signal", control="raise_signal signal getsignal pthread_kill@posix pause@posix"),
    Row("signal", control="setitimer@posix alarm@posix", alike="alarm"),
    Row("signal", control="sigwait@posix sigwaitinfo@linux", alike="external"),
    Row("signal", control="sigtimedwait@linux"),
    Row("_interpreters", control="call@3.13 exec@3.13 run_func@3.13 run_string@3.13", alike="call"),
    Row("_xxsubinterpreters", control="run_string@<3.13", alike="call"),
    Row("_thread", control="interrupt_main"),
    # -- event loops ---------------------------------------------------------------------
    Row(_LOOP, both="_run_once", messages="create_task"),
    Row(_LOOP, both="call_at call_soon_threadsafe", control="call_soon stop", alike="put"),
    Row(_LOOP, control="call_later time is_running run_until_complete"),
    Row(_LOOP, control="shutdown_default_executor@3.12 default_exception_handler is_closed"),
    Row(f"{_LOOPS}:BaseSelectorEventLoop", both="__init__ close", control="_write_to_self"),
    Row(f"{_LOOPS}:BaseSelectorEventLoop", control="_make_self_pipe _close_self_pipe"),
    Row(f"{_LOOPS}:BaseSelectorEventLoop", control="_ssock _csock"),
    Row(f"{_LOOPS}:BaseSelectorEventLoop", messages="_add_reader _add_writer"),
    Row("asyncio.events:Handle", control="__init__ _run cancel"),
    Row("asyncio.format_helpers", control="extract_stack"),
    Row("asyncio.events", messages="TimerHandle"),
    Row("asyncio.futures", messages="wrap_future", is_held=True),
    # From Python 3.12 on ``wait_for`` is made of a timeout, and left alone.
    Row("asyncio.tasks", messages="wait wait_for@<3.12", is_held=True),
    Row("asyncio.tasks", both="as_completed all_tasks", is_held=True),
    Row("asyncio.streams:StreamWriter", control="__del__"),
    Row("asyncio.timeouts", control="timeout"),
    Row("asyncio.timeouts:Timeout", messages="__aenter__ __aexit__ _on_timeout reschedule"),
    Row("asyncio.taskgroups:TaskGroup", messages="__init__"),
    # -- files, pipes, sockets -----------------------------------------------------------
    Row("os", both="read write", control="pipe close dup dup2 fdopen lockf@posix"),
    Row("os", control="eventfd_read@linux eventfd_write@linux"),
    Row("fcntl", control="fcntl@posix flock@posix lockf@posix"),
    Row("os", control="mkfifo@posix open@posix"),
    Row("builtins", control="open@posix"),
    Row("io", control="open@posix"),
    Row("io", control=_FILES),
    Row("_io", control=_FILES),
    Row("select", both="select poll@posix epoll@linux", is_held=True),
    Row("selectors:SelectSelector", both="select", messages="_select"),
    Row("selectors:_PollLikeSelector", both="select@posix"),
    Row("selectors:PollSelector", messages="_selector_cls@posix"),
    Row("selectors:EpollSelector", both="select@linux", messages="_selector_cls@linux"),
    Row("selectors:KqueueSelector", both="select@darwin"),
    Row("socket", control="socketpair"),
    Row("socket:socket", both="accept connect connect_ex listen send"),
    Row("socket:socket", control="bind close sendall shutdown"),
    Row("socket:socket", both="recv recv_into", control="recvfrom recvfrom_into", alike="receive"),
    Row("socket:socket", control="recvmsg@posix recvmsg_into@posix", alike="receive"),
    Row("socket:socket", both="sendmsg@posix", control="sendto", alike="send"),
    Row("ssl:SSLSocket", control="do_handshake read write unwrap", alike="external"),
    Row(_CONNECTION, messages="Pipe wait", is_held=True),
    Row(f"{_CONNECTION}:_ConnectionBase", messages="poll send recv recv_bytes"),
    Row(f"{_CONNECTION}:_ConnectionBase", both="send_bytes recv_bytes_into"),
    Row(f"{_CONNECTION}:Connection", control="_recv@posix _send@posix"),
    Row("sqlite3", control="connect adapt register_adapter register_converter"),
    Row("sqlite3.dbapi2", control="connect adapt register_adapter register_converter"),
    # -- time and chance -----------------------------------------------------------------
    Row("time", control="sleep time monotonic perf_counter process_time thread_time"),
    Row("time", control="time_ns monotonic_ns perf_counter_ns process_time_ns thread_time_ns"),
    Row("time", control="clock_gettime@posix clock_gettime_ns@posix tzset@posix"),
    Row("time", control="localtime gmtime ctime asctime strftime"),
    Row("os", control="sched_yield@posix urandom getrandom@linux"),
    Row("random", control="seed"),
    Row("random:Random", control="seed"),
    # -- the interpreter -----------------------------------------------------------------
    Row("builtins", control="exec eval"),
    Row("functools", control="_find_impl"),
    Row("importlib._bootstrap", control="_find_and_load"),
    Row("logging:Logger", control="isEnabledFor"),
    Row("logging:Handler", control="createLock handle"),
    Row("logging:StreamHandler", control="emit"),
    Row("multiprocessing.dummy", control="weakref"),
    Row("sys", control="_current_frames unraisablehook"),
    Row("sys:monitoring", control="use_tool_id@3.12 get_tool@3.12 free_tool_id@3.12"),
    Row("sys:monitoring", control="register_callback@3.12"),
    Row("abc", control="update_abstractmethods"),
    Row("ctypes:pythonapi", control="PyThreadState_SetAsyncExc"),
)

PRIMITIVES = (
    # Restored last, when what completes flags makes real locks again.
    *("started_flags", "locks", "synchronizers", "queues", "thread_functions", "thread_state"),
    *("timing", "entropy", "futures", "sets_of_futures", "begun_together", "hashing"),
    *("identities", "quiet_sets"),
    *("imports", "made_code", "log_records", "looking", "keyboard", "os_names", "interpreters"),
    *("library_callbacks", "exiting", "sent_exceptions", "tool_ids"),
)
"""Modules of ``runtime.threads`` that replace something, in the order of their installation."""

PRIMITIVES_ON_POSIX = (
    *(
        "io.patches",
        "io.buffers",
        "io.event_loops",
        "io.file_locks",
        "io.handing_on",
        "io.loop_shutdown",
        "io.named_pipes",
    ),
    *("io.optional", "io.pipes", "io.selecting", "io.self_pipes", "io.sockets", "io.sqlite"),
    *("io.trio_jobs", "io.trio_runs"),
    *("processes", "process_pools", "signal_waits", "semaphores"),
)
"""Those that follow where there are signals and ``fork``."""

_FAMILIES = (
    "os=processes threading=threads subprocess=subprocesses queue=queues"
    " multiprocessing.process=children multiprocessing.spawn=spawning"
    " multiprocessing.connection=pipes multiprocessing.queues=process_queues"
    " concurrent.futures._base=futures concurrent.futures.thread=executors"
    " concurrent.futures.process=process_executors"
    " asyncio.base_events=aio_tasks asyncio.selector_events=aio_loops asyncio.queues=aio_queues"
    " asyncio.tasks=aio_waits asyncio.timeouts=aio_timeouts asyncio.taskgroups=aio_sets"
    " socket=sockets selectors=readiness select=polling"
)
FAMILIES: Mapping[str, str] = dict(pair.split("=") for pair in _FAMILIES.split())
"""Modules of the standard library, and which of ``runtime.channels`` is loaded right after each."""


def owner_named(owner: str) -> Any:
    """The module or class that a row is about; its module is loaded."""
    module, _, cls = owner.partition(":")
    return getattr(sys.modules[module], cls) if cls else sys.modules[module]


def wrapped_alike(owner: str, side: str) -> Iterator[tuple[str, str]]:
    """What of an owner a side wraps by one piece of code.

    Parameters:
        owner: as in a row; of a module that is loaded.
        side: which one.

    Yields:
        The name of each attribute that this interpreter has, and the word for it in the table.
    """
    there = owner_named(owner)
    for row in ROWS:
        if row.owner == owner and row.alike:
            yield from ((name, row.alike) for name in row.names(side) if hasattr(there, name))


def classes_with(module: ModuleType, name: str) -> Iterator[Any]:
    """The classes of a module that have a method which both sides replace, on this system."""
    for row in ROWS:
        owner, _, cls = row.owner.partition(":")
        if owner == module.__name__ and hasattr(module, cls) and name in row.names(CONTROL):
            yield getattr(module, cls)


def is_held(owner: str, name: str) -> bool:
    """Whether modules beside its own hold a function that message logs replace."""
    return any(row.is_held and row.owner == owner and name in row.names(MESSAGES) for row in ROWS)
