"""The turns of trio: the order of the tasks that are ready is chosen, each a step of the plan.

In each turn trio runs the tasks that are ready in order or in reverse, as a random number says;
beside hypothesis in any order.  Among tasks that become ready together, as they waited for one
event or are cancelled by one scope, the order is that of addresses: trio has them in sets.  The
choice is made where trio takes a task, and there another thread may come first, as at every
scheduling point.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from bohrbug.model.operation import EXTERNAL, RESUME, Operation
from bohrbug.runtime.threads.deferred_signals import handle_signals
from bohrbug.runtime.threads.io.channels import Reach, channel_of, furthest
from bohrbug.runtime.threads.io.waiting import READABLE, is_ready, wait_until
from bohrbug.runtime.threads.loops.access_log import UNCAUSED, Cause
from bohrbug.runtime.threads.loops.loop_thread import LoopThread
from bohrbug.runtime.threads.loops.spinning import Spinning
from bohrbug.runtime.threads.loops.tasks import bind, loop_tasks_of
from bohrbug.runtime.threads.loops.trio_tasks import TrioTasks, operation_of, place_of_caller
from bohrbug.runtime.threads.recording import effect, saw
from bohrbug.runtime.threads.task import Task, TaskKilled

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution
    from bohrbug.runtime.threads.resources import ResourceState

LONGEST_WAIT = 999_999_999
"""Seconds until deadlines by a clock that stands still, in which nobody need believe."""


class Turn(list[Any]):
    """The tasks of trio that are ready when a turn begins; stands for the list that trio takes.

    Parameters:
        ready: the tasks, in the order in which they became ready.
        turns: of their loop.

    Attributes:
        in_any_order: trio shuffles them, as it does beside hypothesis.
    """

    def __init__(self, ready: Iterable[Any], turns: TrioTurns) -> None:
        super().__init__(ready)
        self._turns = turns
        self._is_reversed: bool | None = None
        self.in_any_order = False

    def __bool__(self) -> bool:
        """Whether a task is left; trio asks before each step."""
        if len(self):
            return True
        self._turns.end_turn()
        return False

    def pop(self, _: Any = -1) -> Any:
        """The task that runs next."""
        first, last = self._together(self), self._together(reversed(self))
        if self.in_any_order:
            possible = list(self)
        elif self._is_reversed is None:
            possible = first + [task for task in last if task not in first]
        else:
            possible = last if self._is_reversed else first
        chosen = self._turns.next(possible)
        if self._is_reversed is None and not (chosen in first and chosen in last):
            self._is_reversed = chosen in last
        self.remove(chosen)
        return chosen

    def _together(self, tasks: Iterable[Any]) -> list[Any]:
        """The first of some tasks, and those behind it that became ready together with it."""
        order_of = self._turns.order_of
        found: list[Any] = []
        for task in tasks:
            if found and (order_of(task) is None or order_of(task) != order_of(found[0])):
                break
            found.append(task)
        return found


class TrioTurns:
    """One run of trio in one execution.

    Parameters:
        execution: the execution; its running thread is that of the run.
        state: the run as a resource.
        frame: in which it begins.
        is_guest: another loop calls it for every turn.
    """

    def __init__(
        self, execution: Execution, state: ResourceState, frame: FrameType, *, is_guest: bool
    ) -> None:
        self.execution = execution
        self._state = state
        self._is_guest = is_guest
        self._place = place_of_caller(frame)
        self._thread = LoopThread(execution, state)
        # What runs it is itself in a loop of asyncio, of which trio is the guest.
        self._around: ResourceState | None = None
        self._is_inside = False
        self._spinning = Spinning()
        self._causes: dict[int, Cause] = {}
        # Tasks become ready in the order of a set while this is not 0.
        self._depth = 0
        self._sets = 0
        self._orders: dict[int, int] = {}

    @property
    def _tasks(self) -> TrioTasks:
        return loop_tasks_of(self.execution).of_trio

    def runs_in(self, task: Task) -> bool:
        """Whether a task runs in the thread of the run."""
        return task.index == self._thread.host.index

    # -- what comes next -------------------------------------------------------------

    def begin_turn(self, ready: Iterable[Any]) -> Turn:
        """A turn begins.

        Parameters:
            ready: trio's tasks that are.
        """
        execution = self.execution
        if not self._is_inside:
            self._is_inside = True
            self._thread.begin()
            host = self._thread.host
            self._around = host.looks_at if host.host is not None else None
            if execution.access_log is not None:
                execution.access_log.begin()
        return Turn(ready, self)

    def next(self, possible: list[Any]) -> Any:
        """Choose the task that trio runs next, and begin its step.

        Parameters:
            possible: trio's tasks that may, the one that it would run by itself first.
        """
        execution = self.execution
        if execution.aborting:
            raise TaskKilled
        host = self._thread.host
        if execution.signals and (host.host or host) is execution.root:
            handle_signals(execution)
        rows = execution.rows
        if rows and self._thread.standing is host and rows[-1][2].resource != self._state.id:
            # What the thread did up to now, it did before all that trio runs from here on.
            effect(execution, self._state, True)
        tasks = [self._offer(each) for each in possible]
        chosen = self._thread.choose(list(tasks))
        if self._around is not None:
            effect(execution, self._around, True)
        trio_task = possible[tasks.index(chosen)]
        if self._spinning.matters:
            self._spinning.steps(chosen.id, trio_task.coro)
        if execution.access_log is not None:
            self._note_step(trio_task, chosen)
        return trio_task

    def _note_step(self, trio_task: Any, task: Task) -> None:
        """For who takes down what is accessed in which step."""
        log, cause = self.execution.access_log, self._causes.pop(id(trio_task), UNCAUSED)
        if task is self._thread.host:
            log.end_step(task.index)
            return
        name = (task.name or task.target).rpartition("<locals>.")[2].rpartition(".")[2]
        awaited = None if task.pending is None else task.pending.place
        log.begin_step(task.id, name, cause, awaited)

    def end_turn(self) -> None:
        """All tasks of a turn have made their steps."""
        log = self.execution.access_log
        if log is not None:
            log.end_step(self._thread.host.index)
        if self._is_guest:
            # The thread does other things before the next turn.
            self.leave()

    def leave(self) -> None:
        """The thread goes on without trio, or is unwound."""
        execution = self.execution
        if not self._is_inside or not (execution.aborting or self.runs_in(execution.current)):
            return
        self._is_inside = False
        host = self._thread.host
        self._thread.stand(host)
        if not execution.aborting and execution.rows and execution.rows[-1][1] != host.id:
            # What it does from here on, it does after all that.
            execution.perform(RESUME, self._state, self._place)

    def _offer(self, trio_task: Any) -> Task:
        """The task of the model, about to take its step."""
        task = self._task_of(trio_task)
        kind, place = operation_of(trio_task)
        if task is self._thread.host:
            kind, place = RESUME, self._place
        elif task.host is None:
            host = self._thread.host
            bind(task, host.host or host, host.running_loop, self._state)
        task.running_loop = _asyncio_loop()
        task.pending = Operation(kind, self._state.id, place)
        task.waiting = True
        task.ready = task.deadline = None
        return task

    def _task_of(self, trio_task: Any) -> Task:
        if trio_task is trio_task._runner.init_task:
            return self._thread.host
        known = self._tasks.known(trio_task)
        return known or self._tasks.spawned(trio_task, self._thread.host, None)

    # -- sets of tasks ----------------------------------------------------------------

    @contextmanager
    def becoming_ready_together(self) -> Iterator[None]:
        """Whoever becomes ready meanwhile does so in the order of a set."""
        self._sets += not self._depth
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def became_ready(self, trio_task: Any) -> None:
        """The next step of a task was asked for."""
        if self._depth:
            self._orders[id(trio_task)] = self._sets
        else:
            self._orders.pop(id(trio_task), None)

    def order_of(self, trio_task: Any) -> int | None:
        """What tells those with which a task became ready together; ``None``: it did alone."""
        return self._orders.get(id(trio_task))

    # -- who asks for what ------------------------------------------------------------

    def spawned(self, trio_task: Any, frame: FrameType) -> None:
        """A task of trio was made by the running one."""
        loops = loop_tasks_of(self.execution)
        loops.of_trio.spawned(trio_task, self.execution.current, frame)
        nursery = trio_task._parent_nursery
        if nursery is not None and nursery._parent_task is not trio_task._runner.init_task:
            loops.have_company = True

    def asked_for(self, trio_task: Any, running: Any, frame: FrameType) -> None:
        """The next step of a task was asked for.

        Parameters:
            trio_task: the task.
            running: the one that runs; it only gives way if that is the same.
            frame: in which it was asked for.
        """
        log = self.execution.access_log
        if log is None:
            return
        if running is trio_task or (running is None and self.runs_in(self.execution.current)):
            cause = UNCAUSED
        else:
            cause = log.cause_of_call(frame)
        self._causes[id(trio_task)] = cause

    # -- waiting ----------------------------------------------------------------------

    def let_time_pass(self, until_next: Callable[[], float]) -> None:
        """Before a turn that does not wait: the loop may spin until a time has come.

        Parameters:
            until_next: in how many seconds the next timer is over.
        """
        if self._spinning.turns():
            clock = self.execution.clock
            with clock.glance():
                seconds = until_next()
            if 0 < seconds < LONGEST_WAIT:
                clock.advance_to(clock.now + seconds)

    def wait(self, poller: Any, timeout: float) -> None:
        """Before trio looks which descriptors are ready: wait until one is.

        Parameters:
            poller: trio's own, which watches them.
            timeout: for how many seconds; negative: for ever.
        """
        execution = self.execution
        if timeout:
            self._spinning.pauses()
        if timeout == 0:
            if len(execution.alive) > 1:
                # What others do until then is seen.
                execution.perform(EXTERNAL, self._state, self._place)
            return
        if self._is_inside:
            self._thread.stand(self._thread.host)
        watched = sorted(poller._registered)
        number = poller._real.fileno()
        wait_until(
            execution,
            self._state,
            self._place,
            lambda: is_ready(number, READABLE),
            None if timeout < 0 else timeout,
            lambda: furthest(execution, watched) if watched else Reach.LOCAL,
            may_end_early=True,
            watched=lambda: ((number, READABLE),),
            waits_on=lambda: watched,
        )

    def looked(self, poller: Any, ready: Sequence[int], *, is_idle: bool) -> None:
        """Trio has looked which descriptors are ready; the running step sees it.

        Parameters:
            poller: trio's own.
            ready: those that are.
            is_idle: it did not wait, although no task of it can go on.
        """
        execution = self.execution
        if is_idle and not ready:
            execution.observe(self._state, self._place)
        if not execution.rows:
            return
        found = set(ready)
        for descriptor in sorted({*poller._registered, *found}):
            state = channel_of(execution, descriptor, None)
            if descriptor in found:
                # What the other side did before it made this ready, it did before us.
                effect(execution, state, False)
            else:
                saw(execution, state)


def _asyncio_loop() -> Any:
    """The running event loop of asyncio, of which trio may be the guest."""
    events = sys.modules.get("asyncio.events")
    return None if events is None else events._get_running_loop()
