"""A service under control, from the middle of its main thread on, that can be attached to.

The execution that controls it is begun in a greenlet of its own, which hands control back to who
has called: what comes after that call is the root task.  At the end control goes to that greenlet
again, where the execution comes to its end as any other.
"""

from __future__ import annotations

import _thread
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any

from greenlet import getcurrent, greenlet

from bohrbug.live.addresses import AttachError
from bohrbug.live.attached import AttachedRun
from bohrbug.live.copies import CannotHoldBack, check
from bohrbug.live.listener import Listener
from bohrbug.model.outcome import Outcome
from bohrbug.platforms.threads.platform import service_plan, service_runtime_of
from bohrbug.runtime.threads import control
from bohrbug.runtime.threads.collecting import MOST_YOUNG_OBJECTS
from bohrbug.runtime.threads.control import nobody, real_get_ident
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.forgetting import ForgettingEnded, forget_steps
from bohrbug.runtime.threads.live_runtime import LiveRuntime
from bohrbug.runtime.threads.local_variables import is_of_module, local_variables
from bohrbug.runtime.threads.locks import RealLock, RealRLock
from bohrbug.runtime.threads.processes import Deferring
from bohrbug.runtime.threads.queues import RealSimpleQueue
from bohrbug.runtime.threads.task import Task
from bohrbug.runtime.threads.thread_state import RealLocal
from bohrbug.runtime.threads.watchdog import Watchdog

_GAP = 256
"""Steps from one look at the service to the next while nobody is attached."""

_KEPT = 500
"""Steps that are kept then, at least; ..."""

_MOST_KEPT = 4_000
"""... and at most."""

_FULL_EVERY = 10
"""One of so many garbage collections is of all garbage."""

_REAL = (RealLock, RealRLock, RealSimpleQueue, RealLocal)
"""Types of objects that are exchanged when control is taken, where something refers to them."""

_real_signal, _real_getsignal = signal.signal, signal.getsignal


class ServiceError(RuntimeError):
    """A process can't be made ready to be attached to, or can't leave control; and why."""


class Service:
    """The one of this process; a visitor of its execution.

    Parameters:
        caller: the frame of who has asked for it.

    Raises:
        ServiceError: it is not possible here, or now.
    """

    def __init__(self, caller: FrameType) -> None:
        _check(caller)
        self._process = os.getpid()
        self._program = getcurrent()
        self._attached: AttachedRun | None = None
        self._collections = 0
        self._forgetting: ForgettingEnded | None = None
        self._listener: Listener | None = None
        self._excepthook = sys.excepthook
        self._runtime: LiveRuntime
        self._run = greenlet(self._execute)

    # -- from its start to its end ---------------------------------------------------

    def begin(self) -> None:
        """Take control: who calls is the root task from here on.

        Raises:
            AttachError: there is no place for the socket.
        """
        self._run.switch()
        try:
            with nobody():
                self._listener = Listener(self._look_soon)
        except BaseException:
            self._run.switch()
            raise
        if _real_getsignal(signal.SIGINT) is signal.default_int_handler:
            # Ctrl-C is for the main thread, whichever task runs.
            _real_signal(signal.SIGINT, Deferring(signal.default_int_handler))
        sys.excepthook = self._tell_of_error
        # Before the interpreter waits for threads that it does not have.
        threading._register_atexit(self.end)  # type: ignore[attr-defined]

    def end(self) -> None:
        """Let the threads end for which the interpreter would wait, and give control back.

        Raises:
            ServiceError: a task other than the root asks for it.
        """
        if self._run.dead or os.getpid() != self._process:
            return
        execution = self._runtime.execution
        assert execution is not None
        if control.current.execution is None or execution.current is not execution.root:
            raise ServiceError("only the main thread can end control")
        self._run.switch()
        handler = _real_getsignal(signal.SIGINT)
        if isinstance(handler, Deferring):
            _real_signal(signal.SIGINT, handler.handler)
        if sys.excepthook == self._tell_of_error:
            sys.excepthook = self._excepthook
        if self._listener is not None:
            self._listener.close()

    @property
    def is_over(self) -> bool:
        """Whether control was given back."""
        return self._run.dead

    def threads(self) -> list[str]:
        """The names of the threads that were started under control and are alive."""
        execution = self._runtime.execution
        if execution is None:
            return []
        return [task.name for task in execution.alive if task is not execution.root]

    def failed(self, error: BaseException) -> None:
        """See :func:`bohrbug.live.failed`."""
        execution = control.controlled()
        if execution is not None:
            execution.ending.fail_with_exception(execution.current, error)

    def _execute(self) -> None:
        """What the greenlet of the execution does."""
        # Made here, as this is where control goes when greenlets of tasks die.
        self._runtime = service_runtime_of(self._go_on, self)
        with self._runtime:
            # It ends nothing, but makes tasks yield that spin, while somebody is attached.  Its
            # thread stays: in the middle of a task is no good moment to start and to end one.
            guard = self._runtime.guard(_FOR_EVER, None, 0)
            assert isinstance(guard, Watchdog)
            guard.start()
            guard.pause()
            try:
                self._runtime.execute(service_plan(), learn=False)
            finally:
                guard.stop()

    def _go_on(self) -> None:
        """What the execution executes: the rest of the program."""
        execution = self._runtime.execution
        assert execution is not None
        root = execution.root
        root.greenlet = self._program
        self._program.switch()
        root.greenlet = self._run

    def _tell_of_error(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """Stands for ``sys.excepthook``: an exception has left the main thread."""
        self.failed(error)
        self._excepthook(kind, error, trace)

    # -- visits ------------------------------------------------------------------------

    def visit(self, execution: Execution, step: int, enabled: Sequence[Task]) -> int:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""
        attached = self._attached
        if attached is not None and attached.is_copy:
            return attached.rounds.visit(execution, step, enabled)
        self._settle(execution)
        attached = self._attached
        if attached is not None:
            wanted = attached.rounds.visit(execution, step, enabled)
            if attached.is_copy:
                return wanted
            return min(wanted, execution.steps + _GAP)
        if gc.get_count()[0] > MOST_YOUNG_OBJECTS:
            self._collections += 1
            gc.collect(2 if self._collections % _FULL_EVERY == 0 else 1)
        if step >= _MOST_KEPT:
            forget_steps(execution, step - _KEPT)
            if self._forgetting is None:
                self._forgetting = ForgettingEnded(execution)
            self._forgetting.forget()
        return execution.steps + _GAP

    def _settle(self, execution: Execution) -> None:
        """Between two steps: let in who wants to attach, and let go who wants to leave."""
        attached, listener = self._attached, self._listener
        if attached is not None and attached.is_over():
            attached.end(execution)
            self._attached = None
            if listener is not None:
                listener.client = None
        elif attached is None and listener is not None and listener.client is not None:
            self._attached = AttachedRun(listener.client, self._runtime, execution)

    def _look_soon(self) -> None:
        """In the thread of the listener: there is something to settle."""
        execution = self._runtime.execution
        if execution is not None:
            execution.checks.visit_soon()

    def decided(self, outcome: Outcome) -> None:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""
        if self._attached is not None:
            self._attached.decided(outcome)

    def raised(self, task: Task, error: BaseException) -> None:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""
        if self._attached is not None:
            self._attached.rounds.raised(task, error)

    def waits(self, execution: Execution) -> None:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""
        attached, listener = self._attached, self._listener
        if attached is not None:
            attached.rounds.waits(execution)
        elif listener is None or listener.client is None:
            return
        execution.suspended += 1
        try:
            self._settle(execution)
        finally:
            execution.suspended -= 1

    def ends(self, execution: Execution) -> None:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""
        attached = self._attached
        if attached is not None:
            attached.rounds.ends(execution)
            attached.end(execution)
            self._attached = None


_FOR_EVER = float("inf")


def _check(caller: FrameType) -> None:
    """Make sure that control can be taken here and now.

    Raises:
        ServiceError: it can't, and why.
    """
    if control.current.execution is not None:
        raise ServiceError(
            "this process is under Bohrbug's control already (an exploration, bohrbug live, ...)"
        )
    if threading.current_thread() is not threading.main_thread():
        raise ServiceError("bohrbug.live.start() is for the main thread")
    try:
        check()
    except CannotHoldBack as error:
        raise ServiceError(str(error)) from None
    names = [each.name for each in threading.enumerate() if each is not threading.main_thread()]
    # Those that the module threading does not know, too: started by _thread, or by code in C.
    count = max(len(sys._current_frames()) - 1, _thread._count())
    unknown = count - len(names)
    if unknown > 0:
        names.append(f"{unknown} that the module threading does not know")
    if names:
        raise ServiceError(
            "threads that run already can't come under control: call bohrbug.live.start() before "
            f"they are started ({', '.join(names)})"
        )
    _check_variables(caller)


def _check_variables(caller: FrameType) -> None:
    """Make sure that no function that runs holds a lock that can't be exchanged.

    Raises:
        ServiceError: one does.
    """
    frame: FrameType | None = caller
    while frame is not None:
        if not is_of_module(frame):
            for name, value in local_variables(frame).items():
                if type(value) in _REAL:
                    raise ServiceError(
                        f"the variable {name} of {frame.f_code.co_qualname} "
                        f"({frame.f_code.co_filename}:{frame.f_lineno}) has a "
                        f"{type(value).__name__} that was made before: "
                        "call bohrbug.live.start() before it is made"
                    )
        frame = frame.f_back


class _Holder:
    """What this process has.

    Attributes:
        service: the service, if it was started.
    """

    service: Service | None = None


def running() -> Service | None:
    """The service of this process; ``None``: it was not started, or has ended."""
    service = _Holder.service
    return None if service is None or service.is_over else service


def start_service(caller: FrameType) -> None:
    """See :func:`bohrbug.live.start`."""
    if running() is not None:
        raise ServiceError("bohrbug.live.start() was called already")
    service = Service(caller)
    try:
        service.begin()
    except AttachError as error:
        raise ServiceError(str(error)) from None
    _Holder.service = service


def stop_service() -> None:
    """See :func:`bohrbug.live.stop`."""
    service = running()
    if service is None:
        raise ServiceError("bohrbug.live.start() was not called")
    if control.current.thread != real_get_ident():
        raise ServiceError("bohrbug.live.stop() is for the main thread")
    names: Any = service.threads()
    if names:
        raise ServiceError(
            "threads that run under control can't leave it: call bohrbug.live.stop() when they "
            f"have ended ({', '.join(names)})"
        )
    service.end()
