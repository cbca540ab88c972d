"""Event loops of asyncio: their turns are under control, and what other threads ask them for.

``call_soon`` and ``call_at`` are for callbacks of the loop alone: a loop that waits already does
not wake up.  What wakes it is ``call_soon_threadsafe``.  All that asyncio does for a program that
forgets about threads ends in the first two: ``Future.set_result``, ``Event.set``,
``Queue.put_nowait``, ``create_task``.
"""

from __future__ import annotations

import _socket
import sys
import warnings
from collections.abc import Callable
from sys import _getframe
from types import FrameType
from typing import Any

from bohrbug.accelerator import native
from bohrbug.model.operation import CANCEL, CLOSE, EVENT_LOOP, INSPECT, PUT, YIELD, Kind
from bohrbug.runtime.interposed import CONTROL, wrapped_alike
from bohrbug.runtime.threads.control import controlled, current, unseen
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.io.self_pipes import lacks_pair, make_pair
from bohrbug.runtime.threads.loops.as_asyncio import is_code_of, runs_as_asyncios
from bohrbug.runtime.threads.loops.logged import note_logged
from bohrbug.runtime.threads.loops.tasks import place_from
from bohrbug.runtime.threads.loops.turns import LoopTurns
from bohrbug.runtime.threads.loops.unsafe_calls import note_unsafe_call
from bohrbug.runtime.threads.recording import saw
from bohrbug.runtime.threads.resources import ResourceState
from bohrbug.runtime.threads.rewrite.inspected import Inspecting
from bohrbug.runtime.threads.synchronizers import place_of
from bohrbug.runtime.threads.task import TaskKilled

_NUMBERS = (int, float)

_TURNS = "_bohrbug_turns"
_CLOSED = "_bohrbug_selector_of_closed_loop"

_close_socket = _socket.socket.close

NOT_VARIED = "asyncio ran callbacks and tasks in the order of its event loop, which was not varied"
"""Told of loops whose turns are not those of asyncio's own."""


def looked_for_work(execution: Execution, selector: Any) -> None:
    """The loop of a selector looked whether there are callbacks; it waits if there are none."""
    if execution.rows:
        saw(execution, _state_of(execution, selector))


def _state_of(execution: Execution, selector: Any) -> ResourceState:
    """The resource of a loop, by its selector, which is what waits."""
    return execution.resources.of(selector, EVENT_LOOP)


@patches.when_imported("asyncio.selector_events")
def _register_loops(module: Any) -> None:
    cls = module.BaseSelectorEventLoop
    initialise = cls.__init__

    @patches.method(cls, "__init__")
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        _unless_ended(self, initialise, *args, **kwargs)
        execution = controlled()
        if execution is not None:
            place = place_from(_getframe(1))
            execution.resources.register(self._selector, execution.current, EVENT_LOOP, place)


@patches.when_imported("asyncio.selector_events")
def _wake_loops(module: Any) -> None:
    cls = module.BaseSelectorEventLoop
    write_to_self = cls._write_to_self

    @patches.method(cls, "_write_to_self")
    def wake(self: Any) -> None:
        execution = controlled()
        turns: LoopTurns | None = self.__dict__.get(_TURNS)
        if execution is not None and turns is not None and turns.execution is execution:
            turns.wake()
        elif execution is None or not lacks_pair(self):
            # Who has none does not run: it looks for what is called before it waits.
            write_to_self(self)


@patches.when_imported("asyncio.selector_events")
def _see_closing(module: Any) -> None:
    cls = module.BaseSelectorEventLoop
    close = cls.close

    @patches.method(cls, "close")
    def wrapper(self: Any) -> None:
        _unless_ended(self, see_and_close, _getframe(1))

    def see_and_close(self: Any, caller: FrameType) -> None:
        execution = controlled()
        if execution is not None and not self._closed:
            # Whoever asks for something later comes after this, and needs to be known for that.
            self.__dict__[_CLOSED] = self._selector
            _point_outside(execution, self, CLOSE, place_from(caller))
        close(self)


def _unless_ended(self: Any, make_or_close: Callable[..., object], *args: Any, **kw: Any) -> None:
    """Make or close a loop; if the task is ended in the midst of that, the loop counts as closed.

    Else its finalizer would close it in another execution, in steps of that, and complain of what
    is missing.
    """
    try:
        make_or_close(self, *args, **kw)
    except TaskKilled:
        _close_unseen(self)
        raise


def _close_unseen(loop: Any) -> None:
    """Let a loop count as closed, without a step; what it holds is let go with it."""
    loop._closed = True
    for name in ("_ssock", "_csock"):
        each = vars(loop).get(name)
        if each is not None:
            _close_socket(each)


@patches.when_imported("asyncio.base_events")
def _see_whether_closed_or_running(module: Any) -> None:
    cls = module.BaseEventLoop
    for name in ("is_closed", "is_running"):
        _wrap_look(cls, name)


def _wrap_look(cls: Any, name: str) -> None:
    """A method by which another thread may see how far a loop has come."""
    original = getattr(cls, name)

    @patches.method(cls, name)
    def wrapper(self: Any) -> bool:
        execution = controlled()
        if execution is not None and len(execution.alive) > 1:
            frame = _getframe(1)
            # asyncio asks as well, in finalizers too.
            if not str(frame.f_globals.get("__name__")).startswith("asyncio."):
                _point_outside(execution, self, INSPECT, place_of(frame))
        return bool(original(self))


@patches.when_imported("asyncio.base_events")
def _control_loops(module: Any) -> None:
    cls = module.BaseEventLoop
    for name, _ in wrapped_alike("asyncio.base_events:BaseEventLoop", CONTROL):
        _wrap_scheduling(module, cls, name)
    methods = cls._check_closed, cls._call_soon, cls.get_debug
    if native is not None and all(is_code_of(method, module) for method in methods):
        native.use_loop(*methods)
    run_once = cls._run_once

    @patches.method(cls, "_run_once")
    def run(self: Any) -> None:
        execution = controlled()
        if execution is None:
            # If it was an execution's, it is no more.
            self.__dict__.pop(_TURNS, None)
        elif not execution.current.inside:
            if not execution.atomic and runs_as_asyncios(self):
                turns_of(execution, self).run(place_from(_getframe(1)))
                return
            _about_to_run_unvaried(execution, self, _getframe(1))
        # Who calls for something is to wake it by its socket.
        make_pair(self)
        run_once(self)


def _about_to_run_unvaried(execution: Execution, loop: Any, caller: FrameType) -> None:
    """A loop is about to make a turn in an order of its own."""
    execution.trace.uncontrolled.counts[NOT_VARIED] = 1
    loop.__dict__.pop(_TURNS, None)
    if len(execution.alive) > 1 and not execution.atomic:
        # What it has for a selector may never wait.
        state = _state_of(execution, getattr(loop, "_selector", loop))
        execution.perform(YIELD, state, place_from(caller))


def turns_of(execution: Execution, loop: Any) -> LoopTurns:
    """The turns of a loop in an execution."""
    turns: LoopTurns | None = loop.__dict__.get(_TURNS)
    if turns is None or turns.execution is not execution:
        state = _state_of(execution, loop._selector)
        turns = loop.__dict__[_TURNS] = LoopTurns(execution, loop, state)
    return turns


@patches.when_imported("asyncio.base_events")
def _note_what_is_logged(module: Any) -> None:
    cls = module.BaseEventLoop
    handle = cls.default_exception_handler

    @patches.method(cls, "default_exception_handler")
    def wrapper(self: Any, context: Any) -> Any:
        if _has_ended(self):
            # Tasks die with their execution in every one that fails: there is nobody to be told.
            return None
        note_logged(context)
        return handle(self, context)


def _has_ended(loop: Any) -> bool:
    """Whether a loop belongs to an execution whose outcome is decided."""
    turns: LoopTurns | None = loop.__dict__.get(_TURNS)
    if turns is None:
        return False
    return turns.execution is not current.execution or turns.execution.aborting


def _wrap_scheduling(module: Any, cls: Any, name: str) -> None:
    original = getattr(cls, name)
    sets_timer = name == "call_at"
    is_plain = name == "call_soon" and native is not None and is_code_of(original, module)

    @patches.method(cls, name)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_plain and (handle := native.call_soon_in_loop(self, args, kwargs)) is not None:
            return handle
        execution = controlled()
        if execution is None:
            return original(self, *args, **kwargs)
        runs_in = getattr(self, "_thread_id", None)
        if runs_in == execution.current.ident or not _is_of_another(execution, self):
            result = original(self, *args, **kwargs)
            if sets_timer and (turns := _known_turns(execution, self)) is not None:
                turns.was_set(result)
            return result
        _point_outside(execution, self, PUT, place_of(_getframe(1)))
        note_unsafe_call(execution, self, name)
        result = original(self, *args, **kwargs)
        turns = _known_turns(execution, self)
        if turns is not None:
            turns.called_from_outside()
        return result


@patches.when_imported("asyncio.base_events")
def _let_time_pass_before_timers(module: Any) -> None:
    cls = module.BaseEventLoop
    call_later = cls.call_later

    @patches.method(cls, "call_later")
    def wrapper(self: Any, delay: Any, *args: Any, **kwargs: Any) -> Any:
        _about_to_set(self, delay, _getframe(1))
        return call_later(self, delay, *args, **kwargs)


@patches.when_imported("asyncio.base_events")
def _let_time_pass_before_the_program_looks_at_the_clock(module: Any) -> None:
    cls = module.BaseEventLoop
    original = cls.time

    @patches.method(cls, "time")
    def time(self: Any) -> float:
        execution = controlled()
        if execution is not None:
            turns = _known_turns(execution, self)
            if turns is not None and not _is_of_another(execution, self):
                turns.about_to_look_at_clock(_getframe(1))
        seconds: float = original(self)
        return seconds


@patches.when_imported("asyncio.timeouts")
def _let_time_pass_before_timeouts(module: Any) -> None:
    original = module.timeout

    @patches.method(module, "timeout")
    def timeout(delay: Any) -> Any:
        loop = module.events._get_running_loop()
        if loop is not None:
            _about_to_set(loop, delay, _getframe(1))
        return original(delay)


def _about_to_set(loop: Any, delay: Any, caller: FrameType) -> None:
    """A task is about to look at the clock of a loop, for a timer."""
    execution = controlled()
    if execution is None or type(delay) not in _NUMBERS:
        return
    turns = _known_turns(execution, loop)
    if turns is not None and not _is_of_another(execution, loop):
        turns.about_to_set(delay, place_from(caller))


def _known_turns(execution: Execution, loop: Any) -> LoopTurns | None:
    """The turns of a loop, if it has run in an execution."""
    turns: LoopTurns | None = getattr(loop, "__dict__", {}).get(_TURNS)
    return turns if turns is not None and turns.execution is execution else None


@patches.when_imported("asyncio.events")
def _see_turns_of_others(module: Any) -> None:
    cls = module.Handle
    run = cls._run

    @patches.method(cls, "_run")
    def wrapper(self: Any) -> Any:
        execution = controlled()
        if execution is not None and execution.current.host is None:
            # No loop whose turns are under control runs it.
            execution.trace.uncontrolled.counts[NOT_VARIED] = 1
        try:
            return run(self)
        finally:
            # The traceback of what a task has raised keeps this frame, and would keep the task.
            del self, execution

    if native is not None:
        native.use_run(wrapper, run)


@patches.when_imported("asyncio.tasks")
def _see_who_looks_for_tasks(module: Any) -> None:
    original = module.all_tasks

    @patches.method(module, "all_tasks")
    def all_tasks(loop: Any = None) -> Any:
        execution = controlled()
        if execution is not None and loop is not None and _is_of_another(execution, loop):
            _point_outside(execution, loop, INSPECT, place_of(_getframe(1)))
        return original(loop)


@patches.when_imported("asyncio.streams")
def _let_writers_die_unseen(module: Any) -> None:
    cls = module.StreamWriter
    die = vars(cls).get("__del__")
    if die is None:
        return

    def end(self: Any, *arguments: Any) -> None:
        execution = controlled()
        # When it dies depends on who still refers to it, and a hook of ours may be among them.
        if execution is None or not unseen(execution, self._transport.is_closing):
            die(self, *arguments)

    if sys.version_info >= (3, 13):

        @patches.method(cls, "__del__")
        def wrapper(self: Any, warnings: Any = warnings) -> None:
            end(self, warnings)

    else:

        @patches.method(cls, "__del__")
        def wrapper(self: Any) -> None:
            end(self)


@patches.when_imported("asyncio.events")
def _control_cancelling(module: Any) -> None:
    cls = module.Handle
    cancel = cls.cancel

    @patches.method(cls, "cancel")
    def wrapper(self: Any) -> Any:
        execution = controlled()
        if execution is not None and _is_of_another(execution, self._loop):
            _point_outside(execution, self._loop, CANCEL, place_of(_getframe(1)))
        return cancel(self)


def _is_of_another(execution: Execution, loop: Any) -> bool:
    """Whether a loop is for another thread to run than that of the running task.

    One that does not run is for who has run it; nobody knows of one that never ran.
    """
    ident = execution.current.ident
    try:
        runs_in = loop._thread_id
    except AttributeError:
        # No loop of asyncio's own.
        return False
    if runs_in is None:
        turns: LoopTurns | None = loop.__dict__.get(_TURNS)
        if turns is not None and turns.execution is execution:
            runs_in = turns.ident
    return bool(runs_in != ident)


def _selector_of(loop: Any) -> Any:
    """What stands for a loop as a resource; ``None``: nothing was seen of it."""
    selector = getattr(loop, "_selector", None)
    return loop.__dict__.get(_CLOSED) if selector is None else selector


def _point_outside(execution: Execution, loop: Any, kind: Kind, place: Any) -> None:
    """A task is about to change what a loop is to run that its own thread does not run."""
    task = execution.current
    selector = _selector_of(loop)
    if len(execution.alive) > 1 and selector is not None and not task.inside:
        # Also of a loop that does not run yet: it may have begun to wait by now.
        execution.perform(kind, _state_of(execution, selector), place)


def _use_future(owner: Any, is_write: bool, place: Any) -> None:
    """A task uses a future or a task of asyncio, whose own steps are steps of its loop."""
    execution = controlled()
    if execution is None:
        return
    loop = owner.get_loop()
    if not _is_of_another(execution, loop):
        return
    # Also once the loop is closed: what it has done by then, it may not have done yet.
    selector = _selector_of(loop)
    if selector is not None:
        execution.inspected[id(place)] = place
        _point_outside(execution, loop, PUT if is_write else INSPECT, place)
        if not is_write:
            execution.observe(_state_of(execution, selector), place)


Inspecting.use_future = staticmethod(_use_future)
