"""Which execution controls this process now, if any.

Every modelled primitive is dual-mode: it asks :func:`controlled` who is in
charge, and behaves as the real thing when nobody is or when it is called from
an operating system thread outside our control.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bohrbug.accelerator import native, with_fast_path

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

real_get_ident = _thread.get_ident
real_allocate_lock = _thread.allocate_lock

_INTERNAL = (
    "threading _threading_local queue logging logging.handlers concurrent.futures._base"
    " concurrent.futures.thread asyncio.events asyncio.mixins importlib._bootstrap"
    " _frozen_importlib importlib._bootstrap_external _frozen_importlib_external weakref"
    " _weakrefset functools tempfile linecache warnings _py_warnings tokenize subprocess random"
    " multiprocessing.util multiprocessing.process"
)
INTERNAL_MODULES = frozenset(_INTERNAL.split())
"""Modules whose own locks guard only their own state, for a few instructions.

An operation of such a module on a lock that it made itself is no scheduling
point unless it would block: what the module offers is modelled as a whole.
"""


LENDING = frozenset({"serialize_iterator", "_concurrent_tee"})
"""Classes of such modules whose locks are held while an iterator of the program goes on."""

LENT_IN = frozenset(f"{name}.__init__" for name in LENDING)
"""Where these locks are made."""


def keeps_lock_to_itself(module: str | None, user: str | None) -> bool:
    """Whether a module uses a lock that it makes for nothing but its own state.

    Parameters:
        module: that makes it.
        user: for whom it does so.  ``functools`` holds the lock of a ``cached_property``, before
            Python 3.12, while the function of whoever defined it computes.
    """
    if module == "functools":
        return user is None or user.partition(".")[0] in _RUNNING_TESTS
    return module in INTERNAL_MODULES


_RUNNING_TESTS = frozenset(
    {
        *("pytest", "_pytest", "pluggy", "xdist", "execnet", "unittest", "hypothesis", "coverage"),
        *("pytest_asyncio", "pytest_trio", "pytest_timeout", "pytest_cov", "anyio"),
        *("importlib", "asyncio", "bohrbug"),
    }
)
"""Packages whose objects live longer than executions: what they compute, they compute once."""


def outside_internal_modules(frame: Any) -> Any:
    """The innermost frame, from ``frame`` outwards, of code that is no internal module's."""
    innermost = frame
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name not in INTERNAL_MODULES and not name.startswith("bohrbug.runtime."):
            return frame
        frame = frame.f_back
    return innermost


_TURNS = "bohrbug.runtime.threads.loops.turns"
_LAYERS = ("bohrbug.runtime.", "asyncio.", "concurrent.futures.", "multiprocessing.")


def outside_library(frame: Any) -> Any:
    """The innermost frame, from ``frame`` outwards, of who waits for others or lets them work.

    That is the program's, and not one of the layers of the library through which it does so. What
    an event loop calls has none: then it is ``frame``.
    """
    innermost = frame
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name not in INTERNAL_MODULES and not name.startswith(_LAYERS):
            return innermost if name.startswith("bohrbug.") else frame
        if name == _TURNS:
            break
        frame = frame.f_back
    return innermost


class _Holder:
    """One mutable cell, so that modules can import it once and see every change."""

    __slots__ = ("execution", "thread")

    def __init__(self) -> None:
        self.execution: Execution | None = None
        self.thread = 0


current = _Holder()


def _can_not_tell() -> bool:
    """Stands for the function in C where there is none."""
    return False


in_tracer: Any = _can_not_tell if native is None else native.in_tracer
"""Whether the calling code is a trace or profile function, or what ``sys.monitoring`` calls.

That is no code of the program: of a coverage tool, a debugger, a profiler. Python itself traces
nothing in it, and no task may lose control there.
"""


@with_fast_path
def in_another_thread() -> bool:
    """Whether the calling thread is another one than that in which an execution runs."""
    return current.thread not in (0, real_get_ident())


@with_fast_path
def is_unseen() -> bool:
    """Whether what the calling code accesses is no business of an execution."""
    return in_another_thread() or bool(in_tracer())


@with_fast_path
def controlled() -> Execution | None:
    """The execution that controls the calling code, or ``None``."""
    execution = current.execution
    if (
        execution is not None
        and real_get_ident() == current.thread
        and not execution.suspended
        and not in_tracer()
    ):
        return execution
    return None


@contextmanager
def nobody() -> Generator[None]:
    """Within it no execution controls this process: what runs is no code of the program."""
    execution, current.execution = current.execution, None
    try:
        yield
    finally:
        current.execution = execution


def unseen(execution: Execution, ask: Callable[[], bool]) -> bool:
    """What a question tells whose answer may take code of the program.

    The scheduler asks on behalf of tasks that wait: what is read for the answer is no access
    of the task that happens to run.
    """
    sink = execution.sink
    is_told = sink is not None and sink.enabled
    if is_told:
        sink.enabled = False
    execution.suspended += 1
    try:
        return ask()
    finally:
        execution.suspended -= 1
        if is_told:
            sink.enabled = True
