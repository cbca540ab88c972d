"""Child processes and signals: children run natively, and a task waits for them as such.

A waiting task lets the others go on.  What a child needs is real time, so that
virtual time waits for it too.  A child that a task forks is nobody's to
schedule: in it the real primitives work, and it ends when the task's code ends.

The root task stands for the main thread: handlers of signals run in it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import types
from collections.abc import Callable
from sys import _getframe
from types import FrameType
from typing import Any

from bohrbug.model.operation import EXTERNAL, LAUNCH
from bohrbug.runtime.interposed import CONTROL, wrapped_alike
from bohrbug.runtime.threads import control
from bohrbug.runtime.threads.children import child_started, settle_children
from bohrbug.runtime.threads.control import controlled, real_get_ident
from bohrbug.runtime.threads.deferred_signals import announce_signal, defer_signal, handle_now
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.exiting import end_by_signal
from bohrbug.runtime.threads.forks import about_to_fork, forked
from bohrbug.runtime.threads.io.pipes import with_pipe_file
from bohrbug.runtime.threads.keyboard import interrupts
from bohrbug.runtime.threads.late_patches import LatePatches
from bohrbug.runtime.threads.outside import Glances
from bohrbug.runtime.threads.rewrite import tell
from bohrbug.runtime.threads.rewrite.callables import place_of_call
from bohrbug.runtime.threads.stacks import is_own
from bohrbug.runtime.threads.synchronizers import place_of
from bohrbug.runtime.threads.task import TimeoutPolicy


class _Patches(LatePatches):
    """Lets handlers that were set before control was taken run in the root task, too."""

    def __init__(self) -> None:
        super().__init__()
        self._exchanged: list[tuple[int, Deferring]] = []

    def install(self) -> None:
        """See :class:`Patches`."""
        super().install()
        if real_get_ident() != threading.main_thread().ident:
            return
        for number in signal.valid_signals():
            handler = _real_getsignal(number)
            deferring = _deferring(handler)
            if deferring is not handler:
                _real_signal(number, deferring)
                self._exchanged.append((number, deferring))

    def restore(self) -> None:
        """Put back what is still there."""
        super().restore()
        while self._exchanged:
            changed, ours = self._exchanged.pop()
            handler = ours.handler
            if _real_getsignal(changed) is ours:
                _real_signal(changed, handler)


patches = _Patches()


def _wait_for_child(
    execution: Execution, ready: Callable[[], bool], timeout: float | None, place: Any
) -> bool:
    state = execution.resources.state_named("processes", "a child process", "process")
    return execution.perform(
        EXTERNAL, state, place, ready, timeout, external=True, firing=TimeoutPolicy.IN_REAL_TIME
    )


# -- subprocess --------------------------------------------------------------------------

_Popen = subprocess.Popen
_popen_init = _Popen.__init__
_popen_wait = _Popen._wait  # type: ignore[attr-defined]
_popen_poll = _Popen.poll
_glances = Glances()


@patches.method(_Popen, "__init__")
def _init(self: Any, *args: Any, **kwargs: Any) -> None:
    execution = controlled()
    if execution is None:
        _popen_init(self, *args, **kwargs)
        return
    place = place_of(_getframe(1))
    state = execution.resources.state_named("processes", "a child process", "process")
    execution.perform(LAUNCH, state, place)
    execution.outside.has_children = True
    execution.suspended += 1
    try:
        # Short, and no other task is needed for it: until the child executes its program.
        _popen_init(self, *args, **kwargs)
        child_started(execution, self.pid)
        for name in ("stdin", "stdout", "stderr"):
            stream = getattr(self, name)
            if stream is not None:
                setattr(self, name, with_pipe_file(stream))
    finally:
        execution.suspended -= 1


@patches.method(_Popen, "_wait")
def _wait(self: Any, timeout: float | None) -> Any:
    execution = controlled()
    if execution is None:
        return _popen_wait(self, timeout)
    _tell_returncode(self)
    if self.returncode is not None:
        return _popen_wait(self, timeout)

    def ended() -> bool:
        if not hasattr(os, "waitid"):
            return _popen_poll(self) is not None
        # Others see that it has ended only once the task that waits goes on.
        return self.returncode is not None or _is_there(os.P_PID, self.pid, os.WEXITED)

    if not _wait_for_child(execution, ended, timeout, place_of(_getframe(1))):
        raise subprocess.TimeoutExpired(self.args, timeout)  # type: ignore[arg-type]
    _tell_returncode(self)
    return _popen_poll(self)


def _tell_returncode(process: Any) -> None:
    """It is set as soon as somebody waits or looks in vain no more, and read else."""
    if tell.active:
        place = place_of_call("Popen.returncode")
        tell.attribute(process, "returncode", process.returncode is None, place)


_FRAMES_OF_A_LOOK = 5
"""From where it is looked, how far up the frame of who wants to know is at most."""


def _puts_in_order(frame: FrameType | None) -> bool:
    """Whether ``multiprocessing`` looks which processes have ended, as it starts another one.

    Nobody waits for the answer then, and so many looks, at each of many processes, would take long.
    """
    for _ in range(_FRAMES_OF_A_LOOK):
        if frame is None:
            return False
        if frame.f_code.co_name == "_cleanup":
            above = frame.f_back
            is_library = frame.f_globals.get("__name__") == "multiprocessing.process"
            return is_library and above is not None and above.f_code.co_name == "start"
        frame = frame.f_back
    return False


def _glance(look: Callable[[], Any], is_answer: Callable[[Any], bool]) -> Any:
    """Look whether a child has ended; if not, give it real time and look once more."""
    settle_children()
    found = look()
    if is_answer(found):
        _glances.rewarded()
        return found
    if _puts_in_order(_getframe(1)):
        return found
    execution = controlled()
    _glances.in_vain(None if execution is None else execution.outside)
    return look()


@patches.method(_Popen, "poll")
def _poll(self: Any) -> Any:
    if controlled() is None:
        return _popen_poll(self)
    _tell_returncode(self)
    return _glance(lambda: _popen_poll(self), lambda code: code is not None)


# -- multiprocessing ---------------------------------------------------------------------


@patches.when_imported("multiprocessing.popen_fork")
def _wrap_starting(module: Any) -> None:
    """All start methods go through this class; some of them fork nothing in this process."""
    cls = module.Popen
    start = cls.__init__

    @patches.method(cls, "__init__")
    def init(self: Any, process_obj: Any) -> None:
        execution = controlled()
        if execution is not None:
            execution.outside.has_children = True
            # It is given pipes of which this process keeps both ends.
            execution.outside.shares_files = True
        start(self, process_obj)
        if execution is not None and self.pid is not None:
            child_started(execution, self.pid)


# -- os ----------------------------------------------------------------------------------


def _wrap_waiting(name: str, options_at: int, wait_id: Callable[[Any], Any]) -> None:
    """One of the ``wait`` functions of :mod:`os`."""
    real = getattr(os, name)

    @patches.function(os, name)
    def wrapper(*args: Any) -> Any:
        """Wait for a child as a task."""
        execution = controlled()
        options = args[options_at] if 0 <= options_at < len(args) else 0
        if execution is None:
            return real(*args)
        if options & os.WNOHANG:
            return _glance(lambda: real(*args), lambda found: found[0] != 0)
        kind, number = wait_id(args)
        place = place_of(_getframe(2))
        _wait_for_child(execution, lambda: _is_there(kind, number, os.WEXITED), None, place)
        return real(*args)


def _is_there(kind: int, number: int, what: int) -> bool:
    """Whether ``waitid`` would not block."""
    settle_children()
    try:
        return _real_waitid(kind, number, what | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _of_pid(args: Any) -> tuple[int, int]:
    pid = args[0]
    if pid > 0:
        return os.P_PID, pid
    if pid == -1:
        return os.P_ALL, 0
    return os.P_PGID, -pid if pid else _real_getpgrp()


if hasattr(os, "waitid"):
    _real_waitid = os.waitid
    _real_getpgrp = os.getpgrp

    @patches.function(os, "waitid")
    def waitid(kind: int, number: int, options: int, /) -> Any:
        """Stands for ``os.waitid``."""
        execution = controlled()
        if execution is None:
            return _real_waitid(kind, number, options)
        if options & os.WNOHANG:
            return _glance(
                lambda: _real_waitid(kind, number, options), lambda found: found is not None
            )
        what = options & ~os.WNOWAIT
        place = place_of(_getframe(2))
        _wait_for_child(execution, lambda: _is_there(kind, number, what), None, place)
        return _real_waitid(kind, number, options)

    _wrap_waiting("waitpid", 1, _of_pid)
    _wrap_waiting("wait4", 1, _of_pid)
    _wrap_waiting("wait3", 0, lambda args: (os.P_ALL, 0))
    _wrap_waiting("wait", -1, lambda args: (os.P_ALL, 0))

if hasattr(os, "posix_spawn"):
    _real_system = os.system
    _real_posix_spawn = os.posix_spawn

    @patches.function(os, "system")
    def system(command: Any) -> int:
        """Stands for ``os.system``."""
        execution = controlled()
        if execution is None:
            return _real_system(command)
        execution.outside.has_children = True
        text = _real_fsdecode(command)
        shell = _real_posix_spawn("/bin/sh", ["sh", "-c", text], os.environ)
        child_started(execution, shell)
        return int(os.waitpid(shell, 0)[1])


if hasattr(os, "fork"):
    _real_fork = os.fork

    @patches.function(os, "fork")
    def fork() -> int:
        """Stands for ``os.fork``: one operation, with all that modules do before and after."""
        execution = controlled()
        if execution is None:
            return _real_fork()
        state = execution.resources.state_named("processes", "a child process", "process")
        task = execution.current
        if not task.inside:
            execution.perform(LAUNCH, state, place_of(_getframe(2)))
        about_to_fork(execution)
        task.inside += 1
        pid = None
        try:
            pid = _real_fork()
        finally:
            task.inside -= 1
            if pid != 0:
                forked(pid)
        if pid:
            child_started(execution, pid)
        return pid


def _forked_in_parent() -> None:
    execution = controlled()
    if execution is not None:
        execution.outside.has_children = True
        execution.outside.shares_files = True


def _forked_in_child() -> None:
    """In a child that a task has forked: this thread is all there is, and nobody schedules it."""
    execution = control.current.execution
    if execution is None or real_get_ident() != control.current.thread:
        return
    ident = execution.current.ident
    execution.outside.in_child = True
    control.current.execution = None
    active = threading._active  # type: ignore[attr-defined]
    thread = active.pop(ident, None)
    if thread is not None:
        # From now on ``get_ident`` gives the real one.
        thread._ident = real_get_ident()
        active[thread._ident] = thread


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_parent=_forked_in_parent, after_in_child=_forked_in_child)


# -- signals -----------------------------------------------------------------------------


_real_fsdecode = os.fsdecode
_real_signal = signal.signal
_real_getsignal = signal.getsignal


class Deferring:
    """A handler that runs in the root task, as the original would in the main thread.

    Parameters:
        handler: the handler that the program gave.

    Attributes:
        calls: how often one of them was called, in this process.
    """

    calls = 0

    def __init__(self, handler: Any) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: Any) -> Any:
        """Handle the signal now, or when the root task runs next."""
        Deferring.calls += 1
        execution = control.current.execution
        if (
            execution is None
            or real_get_ident() != control.current.thread
            or (
                execution.current is execution.root
                and not execution.suspended
                and (frame is None or not is_own(frame.f_code.co_filename))
            )
        ):
            return self.handler(number, frame)
        defer_signal(execution, self.handler, number, frame)
        return None


def _deferring(handler: Any) -> Any:
    """What to install for a handler; handlers of ours and of the interpreter stay as they are."""
    if isinstance(handler, Deferring) or not callable(handler):
        return handler
    if type(handler) is types.BuiltinFunctionType or isinstance(handler, signal.Handlers):
        return handler
    if str(getattr(handler, "__module__", "")).partition(".")[0] == "bohrbug":
        return handler
    return Deferring(handler)


def _original(handler: Any) -> Any:
    return handler.handler if isinstance(handler, Deferring) else handler


def set_handler(signalnum: Any, handler: Any) -> Any:
    """Stands for ``signal.signal``."""
    execution = controlled()
    if (
        execution is not None
        and execution.current.index != execution.root.index
        and not execution.outside.in_child
    ):
        # All tasks run in the main thread, but for the program.
        raise ValueError("signal only works in main thread of the main interpreter")
    return _original(_real_signal(signalnum, _deferring(handler)))


def get_handler(signalnum: Any) -> Any:
    """Stands for ``signal.getsignal``."""
    return _original(_real_getsignal(signalnum))


patches.add(signal, "signal", set_handler)
patches.add(signal, "getsignal", get_handler)


if hasattr(signal, "pthread_kill"):
    _real_pthread_kill = signal.pthread_kill

    @patches.function(signal, "pthread_kill")
    def pthread_kill(thread_id: int, signalnum: int, /) -> None:
        """Stands for ``signal.pthread_kill``: all tasks share one thread of the system."""
        execution = controlled()
        announce_signal(place_of(_getframe(2)))
        if execution is not None and any(task.ident == thread_id for task in execution.alive):
            if interrupts(signalnum):
                return
            end_by_signal(signalnum)
            thread_id = execution.root.ident
        _real_pthread_kill(thread_id, signalnum)
        handle_now()


def _noting_alarm(name: str) -> None:
    real = getattr(signal, name)

    def wrapper(*args: Any) -> Any:
        """Set an alarm; virtual time waits for it."""
        result = real(*args)
        execution = controlled()
        if execution is not None:
            execution.outside.alarm_set = True
        return result

    patches.function(signal, name)(wrapper)


for _name, _how in wrapped_alike("signal", CONTROL):
    if _how == "alarm":
        _noting_alarm(_name)
