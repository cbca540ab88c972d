"""debugpy in a replay: an editor attaches, and is shown the preemptions that matter."""

from __future__ import annotations

import importlib
import os
import re
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from bohrbug.debugger.addresses import Address, DebugpyError
from bohrbug.debugger.stops import Goal, Stops, failed_in_words, program_part, stuck_at
from bohrbug.exploration.result import Failure
from bohrbug.model.outcome import Outcome
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.task import Task, TaskKilled

_real_settrace = sys.settrace

_PACKAGE = str(Path(__file__).absolute().parents[1]) + os.sep

_OLDEST = (1, 8, 22)
"""The first version that can be told not to trace the thread that stops by itself."""

_INSTALL = "pip install 'bohrbug[debugpy]'"

_Raised = tuple[type[BaseException], BaseException, TracebackType]


def load_debugpy() -> Any:
    """The module.

    Raises:
        DebugpyError: it is not installed, or too old.
    """
    # It would warn of modules of the interpreter that can't be debugged, whatever is debugged.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    try:
        debugpy = importlib.import_module("debugpy")
    except ImportError as error:
        raise DebugpyError(
            f"debugpy, which speaks with the editor, can't be imported ({error}): {_INSTALL}"
        ) from None
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", debugpy.__version__)
    if found is not None and tuple(map(int, found.groups())) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise DebugpyError(
            f"debugpy {debugpy.__version__} is too old, it has to be {oldest} or newer: {_INSTALL}"
        )
    return debugpy


class RemoteDebugger:
    """Shows a replay to an editor; give it to :func:`bohrbug.platforms.threads.replaying.replay`.

    To debugpy each task of a test is a thread. Its own threads are no tasks, and what it does in
    the thread of the test is no part of the execution.

    Parameters:
        failure: what is replayed.
        address: where to wait for the editor.
        around: entered for each line that is printed.
        say: prints a line for the user.

    Raises:
        DebugpyError: debugpy is not installed.
    """

    is_interactive = True

    def __init__(
        self,
        failure: Failure,
        address: Address,
        around: Callable[[], AbstractContextManager[object]] = nullcontext,
        say: Callable[[str], object] = lambda words: print(words, flush=True),
    ) -> None:
        self._debugpy = load_debugpy()
        self._stops = Stops(failure)
        self._address = address
        self._around = around
        self._say = say
        self._is_attached = False
        self._execution: Execution | None = None
        self._looked_at = 0
        self._muted: list[Any] = []
        self._is_muted = False

    def follow(self, failure: Failure) -> None:
        """From now on this failure is replayed."""
        self._stops.follow(failure)

    def begin(self) -> None:
        """Wait for the editor; what was executed before is nothing for it.

        Raises:
            DebugpyError: nothing can listen there, or the user has waited long enough.
        """
        if self._is_attached:
            return
        # Child processes are not followed.
        self._debugpy.configure(subProcess=False)
        try:
            host, port = self._debugpy.listen(self._address)
        except (RuntimeError, OSError) as error:
            raise DebugpyError(
                f"debugpy can't wait for an editor at {self._address}: {error}"
            ) from None
        # How the threads of a test start, and who traces them, is our business.
        _module("_pydev_bundle.pydev_monkey").undo_patch_thread_modules()
        _module("pydevd_tracing").restore_sys_set_trace_func()
        with self._around():
            self._say(f"waiting for an editor to attach at {Address(host, port)}")
        try:
            self._debugpy.wait_for_client()
        except KeyboardInterrupt:
            raise DebugpyError("interrupted before an editor has attached") from None
        api = _module("_pydevd_bundle.pydevd_api").PyDevdAPI()
        # Frames of these are neither traced nor shown.
        own = (os.path.dirname(self._debugpy.__file__) + os.sep, _PACKAGE)
        api.set_dont_trace_start_end_patterns(_tracer(), own, ("debugpy_launcher.py",))
        self._is_attached = True

    def before_step(self, execution: Execution, step: int) -> None:
        """Called before every step once there are several tasks."""
        self._look_at_new(execution)
        stop = self._stops.at(execution, step, Goal.MATTERS)
        if stop is not None:
            self._suspend(stop.frame, stop.words)

    def stuck(self, execution: Execution, outcome: Outcome) -> None:
        """Called when no task can go on."""
        stop = stuck_at(execution, outcome)
        if stop is not None:
            self._suspend(stop.frame, stop.words)
        self._mute(execution)

    def failed(self, execution: Execution, task: Task, error: BaseException) -> None:
        """Called when an exception leaves a task."""
        traceback = error.__traceback__
        if traceback is None or isinstance(error, TaskKilled):
            return
        traceback = innermost = program_part(traceback)
        while innermost.tb_next is not None:
            innermost = innermost.tb_next
        execution.suspended += 1
        try:
            raised = (type(error), error, traceback)
            self._suspend(innermost.tb_frame, failed_in_words(task, error), raised)
            self._mute(execution)
        finally:
            execution.suspended -= 1

    def _look_at_new(self, execution: Execution) -> None:
        """Let steps of the editor end where the task ends in which they were begun."""
        if self._execution is not execution:
            self._execution, self._looked_at = execution, 1
            self._unmute()
        for task in execution.all_tasks[self._looked_at :]:
            if task.function is not None and task.thread is not None:
                task.function = _without_steps_after(
                    execution, task.function, _info_of(task.thread)
                )
        self._looked_at = len(execution.all_tasks)

    def _mute(self, execution: Execution) -> None:
        """The execution has failed: what its tasks do while they are unwound is nobody's matter."""
        if _MONITORS:
            self._is_muted = True
            _monitoring().stop_monitoring(all_threads=True)
            return
        threads = [task.thread for task in execution.alive if isinstance(task.thread, _Thread)]
        for thread in {*threads, threading.main_thread()}:
            info = _info_of(thread)
            info.is_tracing += 1
            self._muted.append(info)

    def _unmute(self) -> None:
        for info in self._muted:
            info.is_tracing -= 1
        self._muted.clear()
        if self._is_muted:
            self._is_muted = False
            _monitoring().start_monitoring(all_threads=True)
            _monitoring().update_monitor_events()

    def _suspend(self, frame: FrameType, words: str, raised: _Raised | None = None) -> None:
        """Stop in a frame until the editor goes on.

        Not by a breakpoint: the line in which a task is preempted has begun.

        Parameters:
            frame: where the program stands.
            words: what happens there.
            raised: what has ended a task.
        """
        if not self._debugpy.is_client_connected():
            return
        with self._around():
            self._say(words)
        commands = _module("_pydevd_bundle.pydevd_comm_constants")
        tracer = _tracer()
        with _untraced():
            message = tracer.cmd_factory.make_console_message(f"{words}\n")
            tracer.writer.add_command(message)
            # That of the task.
            thread = threading.current_thread()
            info = _info_of(thread)
            if raised is None:
                tracer.set_suspend(thread, commands.CMD_SET_BREAK)
                tracer.do_wait_suspend(thread, frame, "line", None)
            else:
                tracer.set_suspend(thread, commands.CMD_ADD_EXCEPTION_BREAK)
                info.pydev_message = raised[0].__qualname__
                tracer.do_wait_suspend(thread, frame, "exception", raised)

    def close(self) -> None:
        """No stops any more."""
        self._execution = None
        if self._is_attached:
            self._debugpy.trace_this_thread(False)
            _real_settrace(None)
            threading.settrace(None)  # type: ignore[arg-type,unused-ignore]


_Thread = threading.Thread


def _module(name: str) -> Any:
    """A module of debugpy's, which it has on the path once it is imported."""
    return importlib.import_module(name)


def _tracer() -> Any:
    return _module("pydevd").get_global_debugger()


def _info_of(thread: Any) -> Any:
    """What debugpy knows of a thread."""
    return _module("_pydevd_bundle.pydevd_additional_thread_info").set_additional_thread_info(
        thread
    )


def _monitoring() -> Any:
    return _module("_pydevd_sys_monitoring.pydevd_sys_monitoring")


@contextmanager
def _untraced() -> Generator[None]:
    """Within it debugpy does not trace this thread; else it would stop in its own next line."""
    traced = sys.gettrace()
    _real_settrace(None)
    was_monitored = _MONITORS and _monitoring().suspend_current_thread_tracing()
    try:
        yield
    finally:
        if was_monitored:
            _monitoring().resume_current_thread_tracing()
        _real_settrace(traced)


_MONITORS = sys.version_info >= (3, 12)
"""Whether debugpy uses ``sys.monitoring``, and no trace function."""


def _without_steps_after(
    execution: Execution, function: Callable[[], object], info: Any
) -> Callable[[], None]:
    """What a task does; behind it comes the scheduler, through which nobody wants to step.

    Parameters:
        execution: of the task.
        function: what it does.
        info: what debugpy knows of its thread.
    """

    def run() -> None:
        try:
            function()
        finally:
            execution.suspended += 1
            try:
                info.pydev_step_cmd = info.pydev_original_step_cmd = -1
                info.pydev_step_stop = None
                info.update_stepping_info()
            finally:
                execution.suspended -= 1

    return run
