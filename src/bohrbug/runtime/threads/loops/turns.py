"""The turns of an event loop of asyncio, each callback a step that the plan chooses.

This stands for ``BaseEventLoop._run_once``, which says in one go what is ready and in which order
it runs.  Here the order is chosen callback by callback, within the rule of :mod:`.ready_queue`;
and at each of them another thread may come first, as at every scheduling point.

A loop runs in the greenlet of the thread that called ``run_forever``, see :mod:`.loop_thread`.
"""

from __future__ import annotations

from math import inf
from types import FrameType
from typing import TYPE_CHECKING, Any

from bohrbug.accelerator import native
from bohrbug.model.operation import BEGIN, PUT, RESUME, WAKE, Operation
from bohrbug.runtime.loop_timers import forget_cancelled, take_over
from bohrbug.runtime.pollers import ready_in
from bohrbug.runtime.threads.children import settle_children
from bohrbug.runtime.threads.control import unseen
from bohrbug.runtime.threads.deferred_signals import handle_signals
from bohrbug.runtime.threads.io.channels import Reach, channel_of, furthest
from bohrbug.runtime.threads.io.waiting import wait_until, watched_by
from bohrbug.runtime.threads.loops.access_log import UNCAUSED
from bohrbug.runtime.threads.loops.apart import Apart
from bohrbug.runtime.threads.loops.as_asyncio import (
    descriptor_that_wakes,
    handles_signals,
    is_selected_as_asyncios,
    run_debugged,
    time_of,
    watches,
)
from bohrbug.runtime.threads.loops.cancelling import Cancelling
from bohrbug.runtime.threads.loops.coroutines import is_of_loop
from bohrbug.runtime.threads.loops.counting import counters, only_counts
from bohrbug.runtime.threads.loops.loop_thread import LoopThread
from bohrbug.runtime.threads.loops.overtaking import FreshTimers, computes_when_timer_is_over
from bohrbug.runtime.threads.loops.ready_queue import LATE_TURNS, Order, ReadyQueue, State
from bohrbug.runtime.threads.loops.spinning import BUSY_TURNS, Spinning
from bohrbug.runtime.threads.loops.tasks import (
    LoopEntry,
    bind,
    coroutine_of,
    describe,
    is_cancelled,
    loop_tasks_of,
    operation_of,
    place_from,
)
from bohrbug.runtime.threads.recording import effect, saw
from bohrbug.runtime.threads.task import Task, TaskKilled

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution
    from bohrbug.runtime.threads.resources import ResourceState

IMPATIENT = f"something was late in an event loop for no more than {LATE_TURNS} turns"
"""What is assumed where a loop would else go on for ever without what has arrived."""

FORGOTTEN = "an event loop with many tasks as ending its turns in few of the ways that it may"
"""What is assumed where more states of a loop were possible than are kept in mind."""

HANDED_OVER = "an event loop that several threads run as used by one of them at a time"
"""What is assumed where that is so."""

_new_operation = tuple.__new__


def _not_yet() -> bool:
    """Of a timer that may be over early: it is not over."""
    return False


class LoopTurns:
    """One event loop in one execution.

    Parameters:
        execution: the execution.
        loop: a selector event loop of asyncio.
        state: the loop as a resource.

    Attributes:
        ident: of the thread that runs it, or has run it last.
    """

    __slots__ = (
        "__weakref__",
        "_apart",
        "_bound",
        "_cancelling",
        "_fresh",
        "_has_run",
        "_is_awake",
        "_is_beginning",
        "_offered",
        "_place",
        "_queue",
        "_spinning",
        "_tasks",
        "_tasks_offered",
        "_thread",
        "execution",
        "ident",
        "loop",
        "state",
    )

    def __init__(self, execution: Execution, loop: Any, state: ResourceState) -> None:
        self.execution = execution
        self.loop = loop
        self.state = state
        self.ident = execution.current.ident
        self._has_run = False
        self._place: Any = None
        self._is_awake = True
        # Nothing of the turn has run.
        self._is_beginning = True
        self._queue: ReadyQueue[LoopEntry] = ReadyQueue()
        self._thread = LoopThread(execution, state)
        self._tasks = loop_tasks_of(execution)
        self._tasks.note_turns(self)
        # The tasks that the thread of the loop has run.
        self._bound: list[Task] = []
        # Between two steps: what may come next; another thread may add to it.
        self._offered: list[LoopEntry] | None = None
        self._tasks_offered: list[Task] = []
        self._spinning = Spinning()
        self._fresh = FreshTimers()
        self._apart = Apart(execution, loop)
        patterns = execution.settings.cancel
        self._cancelling = Cancelling(execution, loop, patterns) if patterns else None

    # -- a turn ----------------------------------------------------------------------

    def run(self, place: Any) -> None:
        """Turn after turn, until the loop is stopped, or waits in a way of its own.

        Parameters:
            place: in the program, of the call that runs the loop.
        """
        self._place = place
        execution, loop = self.execution, self.loop
        if execution.current.ident != self.ident:
            # What one of the threads does to it while it does not run may be seen as its own.
            if self._has_run:
                execution.trace.uncontrolled.assume(HANDED_OVER)
            self.ident = execution.current.ident
        self._has_run = True
        self._thread.begin()
        if execution.access_log is not None:
            execution.access_log.begin()
        if execution.rows:
            # What the thread did before, it did before all that the loop runs.
            effect(execution, self.state, True)
        is_killed = False
        try:
            while True:
                self._begin_turn()
                while (entry := self._next()) is not None:
                    if self._queue.take(entry, may_end=not loop._stopping):
                        # It is of the next turn: this one has ended before what is late.
                        self._queue.arrive(self._look_for_arrivals(entry))
                        self._queue.run()
                    if self._fresh.has_any:
                        self._apart.about_to_run(entry.handle, self._queue)
                    self._run(entry)
                    if self._cancelling is not None:
                        self._cancelling.after_step(self._thread.host)
                if loop._stopping or not is_selected_as_asyncios(loop):
                    break
        except TaskKilled:
            is_killed = True
            raise
        finally:
            if is_killed and execution.aborting:
                self._tasks.close_coroutines(loop)
            self._leave()
            # Also after an exception that ends the loop, such as ``SystemExit``.
            if not is_killed and execution.rows and execution.rows[-1][1] != self._thread.host.id:
                # What it does from here on, it does after all that.
                execution.perform(RESUME, self.state, place)

    def _begin_turn(self) -> None:
        if self.execution.aborting:
            raise TaskKilled
        loop = self.loop
        if self._fresh.has_any:
            self._fresh.clear()
        if loop._scheduled:
            forget_cancelled(loop)
        if loop._ready:
            self._take_called()
        seconds = self._seconds_to_wait()
        if seconds == 0:
            if self._spinning.turns() and loop._scheduled:
                self._let_time_pass()
            arrived = self._look_for_arrivals()
        else:
            self._spinning.pauses()
            arrived = [*self._ready(self._wait(seconds)), *self._timers()]
        self._queue.begin_turn(arrived)
        self._is_beginning = True

    def _look_for_arrivals(self, taken: LoopEntry | None = None) -> list[LoopEntry]:
        """What has arrived by now, where a turn may begin.

        Parameters:
            taken: with this, which has arrived before.
        """
        watched = watches(self.loop)
        if not (watched or self.loop._scheduled):
            return []
        return [*self._ready(self._seen(watched), taken), *self._timers()]

    def _take_called(self, *, counts: bool = False) -> None:
        """Take over what the loop was asked to call soon.

        Parameters:
            counts: what only counts is run at once: nobody sees when, and it is part of the step
                that has called for it.
        """
        ready, tasks, queue = self.loop._ready, self._tasks, self._queue
        while ready:
            handle = ready.popleft()
            origin = tasks.origins.get(id(handle))
            is_step = origin is not None and origin.goes_on
            if counts and not is_step and not handle._cancelled and only_counts(handle):
                handle._run()
                continue
            if origin is None:
                origin = tasks.origin_of(handle)
            queue.call(LoopEntry(handle, origin.task, origin.goes_on, origin.order))

    def _seconds_to_wait(self) -> float | None:
        loop = self.loop
        if len(self._queue) or loop._stopping:
            return 0
        if not loop._scheduled:
            return None
        seconds: float = loop._scheduled[0]._when - self._time()
        if seconds == inf:
            # So are all the others: as ``sleep(math.inf)`` has it, they are never over.
            return None
        # A timer that is over does not let the loop wait.
        return max(0, seconds)

    def _wait(self, seconds: float | None) -> list[Any]:
        """Wait until something has arrived; which descriptors are ready then.

        Parameters:
            seconds: until the next timer is over; ``None``: there is none.
        """
        execution = self.execution
        self._thread.stand(self._thread.host)
        watched = watches(self.loop)
        self._is_awake = False
        wait_until(
            execution,
            self.state,
            self._place,
            self._has_arrived if watched else self._was_called,
            seconds,
            lambda: self._reach(watched),
            may_end_early=True,
            watched=lambda: watched_by(self.loop._selector),
            waits_on=lambda: watches(self.loop),
        )
        self._is_awake = True
        self._take_called()
        return self._seen(watched)

    def _was_called(self) -> bool:
        """Whether another thread has woken the loop; one out of control leaves only its call."""
        return self._is_awake or bool(self.loop._ready)

    def _has_arrived(self) -> bool:
        """The same, or that a descriptor is ready; any task may run that asks."""
        return self._was_called() or unseen(self.execution, lambda: bool(self._look()))

    def wake(self) -> None:
        """Another thread wakes the loop up."""
        self._is_awake = True

    def _reach(self, watched: list[int]) -> Reach:
        """How far away what the loop waits for is."""
        if not watched:
            return Reach.LOCAL
        if self.execution.outside.has_children and handles_signals(self.loop):
            # A child that ends sends one.
            return Reach.FAR
        return furthest(self.execution, watched)

    def _look(self) -> list[Any]:
        """What is ready at this moment."""
        task = self.execution.current
        settle_children()
        task.inside += 1
        try:
            return ready_in(self.loop._selector)
        finally:
            task.inside -= 1

    def _seen(self, watched: list[int]) -> list[Any]:
        """Which of the descriptors that the loop watches are ready; the running step sees it."""
        if not watched:
            return []
        execution = self.execution
        events = self._look()
        found = {key.fd for key, _ in events}
        if execution.rows:
            for descriptor in watched:
                state = channel_of(execution, descriptor, None)
                if descriptor in found:
                    # What the other side did before it made this ready, it did before us.
                    effect(execution, state, False)
                else:
                    saw(execution, state)
        return events

    def _ready(self, events: list[Any], taken: LoopEntry | None = None) -> list[LoopEntry]:
        """What is to be called as descriptors are ready, and is not about to be."""
        if not events:
            return []
        loop, execution = self.loop, self.execution
        number = descriptor_that_wakes(loop)
        others = [event for event in events if event[0].fd != number]
        if len(others) != len(events):
            task = execution.current
            task.inside += 1
            try:
                loop._read_from_self()
            finally:
                task.inside -= 1
        if not others:
            return []
        loop._process_events(others)
        waiting = {id(entry.handle) for entry in self._queue}
        if taken is not None:
            waiting.add(id(taken.handle))
        origin_of = self._tasks.origin_of
        found = []
        while loop._ready:
            handle = loop._ready.popleft()
            if id(handle) not in waiting:
                origin = origin_of(handle)
                found.append(LoopEntry(handle, origin.task, origin.goes_on, Order.ARRIVAL))
        return found

    def _timers(self) -> list[LoopEntry]:
        """The timers that are over, in the order of their times."""
        if not self.loop._scheduled:
            return []
        origin_of = self._tasks.origin_of
        found = []
        for timer in take_over(self.loop, self._time()):
            origin = origin_of(timer)
            entry = LoopEntry(timer, origin.task, origin.goes_on, Order.TIMER)
            found.append((timer._when, origin.number, entry))
        found.sort(key=lambda each: each[:2])
        return [entry for _, _, entry in found]

    def _time(self) -> float:
        """What the loop's clock says; nobody spins who looks at it once a turn."""
        with self.execution.clock.glance():
            return time_of(self.loop)

    def _let_time_pass(self) -> None:
        """The loop spins until a timer is over: in reality that would take time."""
        loop, clock = self.loop, self.execution.clock
        seconds = loop._scheduled[0]._when - self._time()
        if 0 < seconds < inf:
            clock.advance_to(clock.now + seconds)

    # -- what comes next -------------------------------------------------------------

    def _next(self) -> LoopEntry | None:
        """What is chosen to run next; ``None``: nothing, the turn has ended."""
        if self._apart.names:
            self._apart.check()
        loop = self.loop
        if loop._ready:
            self._take_called(counts=True)
        stops = loop._stopping
        queue = self._queue
        first = queue.first
        if first is not None:
            found = [first]
        elif queue.is_over:
            # What was called for has its turn after whatever arrives until then.
            return None
        else:
            if not stops and queue.may_end:
                queue.arrive(self._look_for_arrivals())
                # What is over early may be late: it need not be offered wherever a turn may begin.
                self._is_beginning = queue.has_only_arrivals
            found = queue.next_ones(may_end=not stops)
            if not found:
                return None
        execution = self.execution
        if queue.was_impatient:
            execution.trace.uncontrolled.assume(IMPATIENT)
        if queue.has_forgotten:
            execution.trace.uncontrolled.assume(FORGOTTEN)
        if execution.aborting:
            raise TaskKilled
        if execution.signals and self._thread.host is execution.root:
            handle_signals(execution)
        timer = self._next_timer() if self._is_beginning and loop._scheduled else None
        if not stops and (len(found) > 1 or timer is not None):
            found, with_timer = self._apart.needed(found, queue, timer)
            if not with_timer:
                timer = None
        tasks = [self._offer(entry) for entry in found]
        if stops and all(entry.order is not Order.FIFO for entry in found):
            # The loop may end before what is late.
            tasks.append(self._thread.host)
            self._thread.host.pending = _new_operation(
                Operation, (RESUME, self.state.id, self._place)
            )
        early = None
        if timer is not None:
            early = self._early(timer)
            tasks.append(early)
        self._offered, self._tasks_offered = found, tasks
        chosen = self._thread.choose(tasks)
        self._offered = None
        if chosen is early:
            chosen.ready = chosen.deadline = None
            chosen.timed_out = False
            self._queue.arrive(self._timers())
            return self._next()
        for entry in found:
            if entry.task is chosen:
                return entry
        return None

    def _next_timer(self) -> Any:
        """The next timer, if time may pass before this turn takes what has arrived."""
        execution, loop = self.execution, self.loop
        if not execution.may_fire_early():
            return None
        timers = [timer for timer in loop._scheduled if not timer._cancelled and timer._when < inf]
        if not timers:
            return None
        self._fresh.clear()
        # There may be a thousand, and this is asked at each step.
        first = min(timer._when for timer in timers)
        origin_of = self._tasks.origin_of
        return min(
            (timer for timer in timers if timer._when == first),
            key=lambda timer: origin_of(timer).number,
        )

    def about_to_set(self, delay: float, place: Any) -> None:
        """The running step is about to set a timer: first, time may pass, see :mod:`.overtaking`.

        Parameters:
            delay: of the timer, in seconds.
            place: in the program.
        """
        execution, thread, timers = self.execution, self._thread, self.loop._scheduled
        running = execution.current
        if not timers or running is not thread.standing or running.inside:
            return
        if not execution.may_fire_early():
            return
        origin_of = self._tasks.origin_of
        fresh = self._fresh
        overtaking = fresh.overtaking(
            timers, self._time() + delay, lambda timer: origin_of(timer).number
        )
        if not overtaking:
            return
        operation = _new_operation(Operation, (PUT, self.state.id, place))
        overtaking = self._apart.in_the_way(overtaking, self._queue)
        tasks = [self._early(timer, delay - fresh.gap) for timer in overtaking]
        running.pending = operation
        running.waiting = True
        chosen = thread.choose([running, *tasks])
        for task in tasks:
            task.ready = task.deadline = None
            task.timed_out = False
        if chosen is not running:
            fresh.has_overtaken()
            thread.stand(running)
            running.pending = operation
            running.waiting = True
            thread.choose([running])

    def about_to_look_at_clock(self, caller: FrameType) -> None:
        """The program may compute when a timer that it sets is to be over: first, time may pass.

        Nobody knows yet how long that timer takes: it is overtaken by those that are over by now.

        Parameters:
            caller: who looks at the clock of the loop.
        """
        if self._fresh.are_new and computes_when_timer_is_over(caller):
            self.about_to_set(0.0, place_from(caller))
            self._fresh.are_new = False

    def was_set(self, timer: Any) -> None:
        """The running step has set a timer."""
        self._fresh.add(timer)

    def _early(self, timer: Any, delay: float = 0.0) -> Task:
        """The task of a timer that may be over early.

        Parameters:
            timer: this timer.
            delay: so much earlier time may pass, in seconds.
        """
        execution = self.execution
        self._is_beginning = False
        origin = self._tasks.origin_of(timer)
        when, task = timer._when - delay, origin.task
        if task.host is not self._thread.host:
            self._bind(task)
        _, place = operation_of(LoopEntry(timer, task, origin.goes_on, Order.TIMER))
        task.pending = _new_operation(Operation, (WAKE, self.state.id, place))
        self._tasks.offered[task.id] = task.pending
        task.waiting = True
        task.ready = _not_yet
        task.deadline = execution.clock.now + max(when - self._time(), 0.0)
        return task

    def _offer(self, entry: LoopEntry) -> Task:
        """The task of an entry, about to take its step."""
        task, operation = entry.task, entry.pending
        if operation is None or (operation.kind is RESUME and is_cancelled(entry)):
            kind, place = operation_of(entry)
            if task.host is not self._thread.host:
                self._bind(task)
                if kind is BEGIN:
                    describe(task, entry.handle._callback.__self__)
            operation = entry.pending = _new_operation(Operation, (kind, self.state.id, place))
            self._tasks.offered[task.id] = operation
        task.pending = operation
        task.waiting = True
        # It may have been offered as a timer that is over early.
        task.ready = task.deadline = None
        return task

    def _bind(self, task: Task) -> None:
        bind(task, self._thread.host, self.loop, self.state)
        self._bound.append(task)

    def called_from_outside(self) -> None:
        """Another thread has asked for a call, which by itself does not wake the loop."""
        if not self._is_awake:
            self._take_called()
            return
        # It may come next, if the loop is between two steps.
        offered = self._offered
        if offered is None or self.loop._stopping:
            return
        self._take_called()
        alive = self.execution.alive
        for entry in self._queue.next_ones():
            if entry not in offered:
                alive.insert(alive.index(offered[-1].task) + 1, self._offer(entry))
                offered.append(entry)
                self._tasks_offered.append(entry.task)

    def _run(self, entry: LoopEntry) -> None:
        self._is_beginning = False
        handle, loop = entry.handle, self.loop
        if handle._cancelled:
            # By another thread, since it was chosen from what may come next.
            return
        execution = self.execution
        offered = self._tasks.offered
        if offered:
            offered.pop(entry.task.id, None)
        if self._spinning.matters:
            self._spinning.steps(entry.task.id, coroutine_of(entry))
        log = execution.access_log
        if log is not None:
            self._note_step(entry)
        try:
            if loop._debug:
                run_debugged(loop, handle)
            else:
                handle._run()
        finally:
            if log is not None:
                log.end_step(self._thread.host.index)
            # The traceback of what a task has raised keeps this frame, and would keep the task.
            del entry, handle

    def _note_step(self, entry: LoopEntry) -> None:
        """For who takes down what is accessed in which step."""
        execution, task = self.execution, entry.task
        cause = self._tasks.origin_of(entry.handle).cause
        awaited = None if entry.pending is None else entry.pending.place
        name = task.name or task.target.rpartition("<locals>.")[2]
        # What a loop does by itself, such as to end a sleep.
        is_own = is_of_loop(getattr(entry.handle._callback, "__globals__", {}))
        execution.access_log.begin_step(task.id, name, cause or UNCAUSED, awaited, is_silent=is_own)

    def _leave(self) -> None:
        """The loop was stopped, or its thread is unwound."""
        self._thread.stand(self._thread.host)
        self._apart.end()
        # Loops that nobody else has any more die, and what they hold with them.
        for task in self._bound:
            task.host = task.running_loop = task.looks_at = None
        self._bound.clear()
        # Whoever looks at the loop from outside finds what it has not run.
        self._take_called()
        self.loop._ready.extend(entry.handle for entry in self._queue)
        self._queue = ReadyQueue()

    def let_go(self) -> None:
        """The execution is over: a loop, which refers to its turns, dies once nobody has it."""
        del self.loop, self._apart, self._cancelling


if native is not None:
    native.use_turns(
        LoopTurns,
        ReadyQueue,
        State,
        LoopEntry,
        Apart,
        FreshTimers,
        Spinning,
        globals(),
        counters,
        BUSY_TURNS,
        Order.TIMER,
    )
