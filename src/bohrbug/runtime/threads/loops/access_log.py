"""What the tasks of event loops access, step by step: what races over an await are found in.

A *step* of a task is what it does from one await that gives way to the next.  Who makes a step
possible, by a call, a result or the start of a task, comes before it; that one merely ran before
the other says nothing.  This only takes down; :mod:`bohrbug.monitors.await_races` looks for races.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any
from weakref import ref

from bohrbug.accelerator import native, with_fast_path
from bohrbug.accelerator.plain import plain
from bohrbug.model.operation import TaskId
from bohrbug.runtime.threads.control import is_unseen
from bohrbug.runtime.threads.data.kinds import Types
from bohrbug.runtime.threads.data.passing import PassingOwner, PassingVariables
from bohrbug.runtime.threads.data.places import Place
from bohrbug.runtime.threads.data.shadows import Shadow
from bohrbug.runtime.threads.data.sinks import AroundSink
from bohrbug.runtime.threads.loops.coroutines import is_name_of_loop, is_of_loop
from bohrbug.runtime.threads.loops.references import OwnReference
from bohrbug.runtime.threads.rewrite import tell
from bohrbug.runtime.threads.stacks import is_own

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

MOST_TOUCHES = 20_000
"""Accesses of one execution that are taken down; what comes after them is not looked at."""

MOST_STEPS = 20_000
"""Steps of the loops' tasks, likewise."""

MOST_KNOWN = 1_000_000
"""Entries of the clocks of these steps, likewise: a task after thousands of others knows of all."""

SHORT_CLOCK = 32
"""Entries that are not worth looking through for such as can be left out."""


@plain
@dataclass(slots=True, eq=False)
class LoopStep:
    """One step of a task of an event loop.

    Parameters:
        number: how many steps came before it, of all tasks.
        task: whose it is.
        name: what a person knows the task by.
        host: index of the thread that runs the loop.
        epoch: of that thread, when the step began.
        awaited: where the task stood before it; ``None`` if that is not known.
        parent: the task that made this one, if that was seen.
        clock: the last step of each task that comes before this one.
        floor: all steps of the same thread up to this epoch come before it.
        is_silent: it accesses nothing of the program, as what a loop does by itself.  Clocks leave
            it out: each timer is one, and they would grow with all of them.
    """

    number: int
    task: TaskId
    name: str
    host: int
    epoch: int
    awaited: Place | None
    parent: TaskId | None
    clock: dict[TaskId, int]
    floor: int
    is_silent: bool = False

    def is_after(self, other: LoopStep) -> bool:
        """Whether the other step had to come first, for this one to be made."""
        return other.number <= self.clock.get(other.task, -1) or (
            other.host == self.host and other.epoch <= self.floor
        )


Around = tuple[tuple[int, CodeType, int], ...]
"""Frames, the outermost first: a number that tells a frame from others, its code, and where."""


@plain
@dataclass(slots=True, eq=False)
class Touch:
    """An access by a task of an event loop.

    Parameters:
        step: in which of its steps.
        variable: what is accessed.
        is_write: whether it is written.
        place: where.
        around: the frames of the task, the one that makes the access last.
        at: how many steps of the execution came before it.
    """

    step: LoopStep
    variable: Shadow
    is_write: bool
    place: Place
    around: Around
    at: int


@plain
@dataclass(frozen=True, slots=True)
class Cause:
    """What makes a step possible.

    Parameters:
        step: the one that asked for it; ``None`` if that was none of a loop's task.
        clock: what the thread that asked for it knew of others, by their indices.
    """

    step: LoopStep | None
    clock: list[int]


UNCAUSED = Cause(None, [])
"""Of a step for which nobody asked, such as that of a timer."""


class AccessLog:
    """Takes down what the tasks of the event loops of one execution access.

    Parameters:
        execution: the execution.
        types: what is known of types.

    Attributes:
        touches: the accesses, in order.
    """

    __slots__ = (
        "_execution",
        "_first_touches",
        "_has_begun",
        "_known",
        "_last",
        "_running",
        "_steps",
        "_taken",
        "_told",
        "_variables",
        "touches",
    )

    def __init__(self, execution: Execution, types: Types) -> None:
        self._execution = execution
        self._variables = PassingVariables(execution, types)
        self.touches: list[Touch] = []
        self._has_begun = False
        self._steps = 0
        # By the index of the thread that makes it.
        self._running: dict[int, LoopStep] = {}
        # What was known to those who left something in an object.
        self._told: dict[int, tuple[ref[Any], dict[TaskId, int]]] = {}
        self._last: dict[TaskId, LoopStep] = {}
        self._taken: set[tuple[int, int, int, bool]] = set()
        # The first step of each task in which an access was taken down.
        self._first_touches: dict[TaskId, int] = {}
        self._known = 0

    def begin(self) -> None:
        """An event loop begins to run: from now on accesses are taken down."""
        if not self._has_begun:
            self._has_begun = True
            self._execution.sink = sink = LoggingSink(self._execution.sink, self)
            tell.replace_sink(sink)

    # -- steps -----------------------------------------------------------------------

    def begin_step(
        self,
        task: TaskId,
        name: str,
        cause: Cause,
        awaited: Place | None = None,
        *,
        is_child: bool = True,
        is_silent: bool = False,
    ) -> None:
        """The running thread begins a step of a task.

        Parameters:
            task: whose.
            name: what a person knows it by.
            cause: who asked for it.
            awaited: where the task stood.
            is_child: whether who asked for its first step has made the task.
            is_silent: it accesses nothing of the program.
        """
        host = self._execution.current.index
        if self._steps >= MOST_STEPS or self._known >= MOST_KNOWN:
            self._running.pop(host, None)
            return
        last = self._last.get(task)
        clock = {} if last is None else self._of_use(last.clock)
        floor = 0 if last is None else last.floor
        if last is not None:
            clock[task] = last.number
            parent = last.parent
        else:
            parent = cause.step.task if is_child and cause.step is not None else None
        asked = cause.step
        if asked is not None and asked is not last:
            _join(clock, asked.clock)
            if not asked.is_silent:
                clock[asked.task] = max(asked.number, clock.get(asked.task, -1))
            floor = max(floor, asked.floor)
        if host < len(cause.clock):
            floor = max(floor, cause.clock[host])
        epochs: list[int] = self._execution.detector.epochs  # type: ignore[union-attr]
        step = LoopStep(
            self._steps, task, name, host, epochs[host], awaited, parent, clock, floor, is_silent
        )
        self._steps += 1
        self._known += len(clock)
        self._running[host] = self._last[task] = step

    def _of_use(self, clock: dict[TaskId, int]) -> dict[TaskId, int]:
        """A copy of a clock without tasks of which no access up to then was taken down.

        Nobody will ask whether a step without one comes before another.
        """
        if len(clock) <= SHORT_CLOCK:
            return clock.copy()
        first = self._first_touches
        running = {step.number for step in self._running.values()}
        return {
            task: number
            for task, number in clock.items()
            if first.get(task, number + 1) <= number or number in running
        }

    def end_step(self, host: int) -> None:
        """A thread has made a step of a task, or stops in the middle of it.

        Parameters:
            host: index of the thread.
        """
        self._running.pop(host, None)

    def running(self) -> LoopStep | None:
        """The step that the running thread is making, if it is one of a loop's task."""
        return self._running.get(self._execution.current.index)

    def cause(self) -> Cause:
        """The running task asks for a step of another one."""
        step = self.running()
        if step is not None:
            return Cause(step, [])
        detector: Any = self._execution.detector
        index = self._execution.current.index
        clocks = () if detector is None else detector._clocks
        return Cause(None, clocks[index]) if index < len(clocks) else UNCAUSED

    def tell(self, thing: Any) -> None:
        """The running step leaves a message, or a sign, in an object for who comes after it."""
        step = self.running()
        if step is None:
            return
        clock = {**(self._left_in(thing) or {})}
        _join(clock, step.clock)
        clock[step.task] = step.number
        self._told[id(thing)] = OwnReference(thing), clock

    def learn(self, thing: Any) -> None:
        """The running step finds what was left in an object."""
        step = self.running()
        clock = self._left_in(thing)
        if step is not None and clock is not None:
            _join(step.clock, clock)

    def _left_in(self, thing: Any) -> dict[TaskId, int] | None:
        known = self._told.get(id(thing))
        return known[1] if known is not None and known[0]() is thing else None

    def cause_of_call(self, frame: FrameType | None) -> Cause:
        """As :meth:`cause`; whoever only gets a lock from the running task learns nothing of it.

        Parameters:
            frame: in which the step is asked for.
        """
        return UNCAUSED if hands_lock_over(frame) else self.cause()

    # -- accesses --------------------------------------------------------------------

    def take(
        self, step: LoopStep, shadow: Shadow | None, is_write: bool, place: Place, frame: FrameType
    ) -> None:
        """The running task accesses a variable.

        Parameters:
            step: that it makes.
            shadow: the variable; ``None`` if it is none.
            is_write: whether it is written.
            place: where.
            frame: of the function that does it, or one that it has called.
        """
        if shadow is None or len(self.touches) >= MOST_TOUCHES:
            return
        key = step.number, id(shadow), id(place), is_write
        if key in self._taken:
            return
        self._taken.add(key)
        around = frames_of_step(frame)
        if around:
            at = self._execution.steps
            self.touches.append(Touch(step, shadow, is_write, place, around, at))
            self._first_touches.setdefault(step.task, step.number)

    def attribute(self, owner: Any, name: str, is_write: bool, place: Place) -> Shadow | None:
        """See :meth:`.Variables.shadow_of_attribute`."""
        return self._variables.shadow_of_attribute(owner, name, is_write, place)

    def item(self, owner: Any, key: object, is_write: bool, place: Place) -> Shadow | None:
        """See :meth:`.Variables.shadow_of_item`."""
        return self._variables.shadow_of_item(owner, key, is_write, place)

    def whole(self, owner: Any, is_write: bool, place: Place) -> Shadow | None:
        """See :meth:`.Variables.shadow_of_whole`."""
        return self._variables.shadow_of_whole(owner, is_write, place)


def _join(clock: dict[TaskId, int], other: dict[TaskId, int]) -> None:
    for task, number in other.items():
        clock[task] = max(number, clock.get(task, -1))


@with_fast_path
def frames_of_step(frame: FrameType | None) -> Around:
    """The frames of the program in the running step, the outermost first; none within asyncio.

    Parameters:
        frame: the innermost one, or one of ours that it has called.
    """
    found: list[tuple[int, CodeType, int]] = []
    used = 0
    while frame is not None:
        code = frame.f_code
        if is_own(code.co_filename):
            if found:
                break
        elif code.co_name == "unrolled_run" and frame.f_globals.get("__name__") == _TRIO:
            break
        else:
            found.append((id(frame), code, frame.f_lasti))
            if not is_of_loop(frame.f_globals):
                used = len(found)
            elif not used:
                # What asyncio does inside is no business of the test.
                return ()
        frame = frame.f_back
    # What calls the outermost coroutine is another frame in each step.
    del found[used:]
    found.reverse()
    return tuple(found)


_TRIO = "trio._core._run"

if native is not None:
    native.use_frames(is_own, is_name_of_loop, _TRIO)


@lru_cache
def _has_locks(module: object) -> bool:
    return module in ("asyncio.locks", "trio._sync")


@lru_cache
def _is_around_locks(module: object) -> bool:
    return str(module).startswith(("asyncio.", "trio.", "bohrbug.runtime."))


@with_fast_path
def hands_lock_over(frame: FrameType | None) -> bool:
    """Whether a lock, or a semaphore, of a loop is being released.

    Parameters:
        frame: in which a step is asked for.
    """
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == "release" and _has_locks(module):
            return True
        if not _is_around_locks(module):
            return False
        frame = frame.f_back
    return False


if native is not None:
    native.use_locks_of_loops(_has_locks, _is_around_locks)


class LoggingSink(AroundSink):
    """Takes accesses of the tasks of event loops down, beside what the usual sink does.

    Parameters:
        usual: the sink that is told first.
        log: takes them down.
    """

    __slots__ = ("_log",)

    def __init__(self, usual: Any, log: AccessLog) -> None:
        super().__init__(usual)
        self._log = log

    @property
    def passes_on(self) -> bool:
        """See :class:`~bohrbug.runtime.threads.data.sinks.AroundSink`."""
        return super().passes_on or self._log.running() is not None

    def attribute(self, owner: Any, name: str, is_write: bool, place: Any) -> None:
        """See :class:`~bohrbug.runtime.threads.data.sinks.WatchingSink`."""
        self._usual.attribute(owner, name, is_write, place)
        log = self._log
        step = log.running()
        if step is not None and not is_unseen():
            shadow = log.attribute(owner, name, is_write, place)
            log.take(step, shadow, is_write, place, sys._getframe(1))

    def item(self, owner: Any, key: object, is_write: bool, place: Any) -> None:
        """See :class:`~bohrbug.runtime.threads.data.sinks.WatchingSink`."""
        self._usual.item(owner, key, is_write, place)
        log = self._log
        step = log.running()
        if step is not None and not is_unseen():
            shadow = log.item(owner, key, is_write, place)
            log.take(step, shadow, is_write, place, sys._getframe(1))

    def whole(self, owner: Any, is_write: bool, place: Any) -> None:
        """See :class:`~bohrbug.runtime.threads.data.sinks.WatchingSink`."""
        self._usual.whole(owner, is_write, place)
        log = self._log
        step = log.running()
        if step is not None and not is_unseen():
            shadow = log.whole(owner, is_write, place)
            log.take(step, shadow, is_write, place, sys._getframe(1))


if native is not None:
    native.use_logging_sink(
        LoggingSink, AccessLog, LoopStep, Touch, PassingVariables, PassingOwner, MOST_TOUCHES
    )
