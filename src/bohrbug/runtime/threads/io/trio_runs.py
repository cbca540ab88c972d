"""``trio.run``: what trio leaves to chance is a data choice, and its threads end with an execution.

In each round of its loop trio runs the tasks that are ready, in order or in reverse, as a random
number says (:mod:`trio._core._run`).  So all orders of tasks that trio can come to are explored.
"""

from __future__ import annotations

import itertools
import random
import sys
import weakref
from sys import _getframe
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.loops.access_log import UNCAUSED, AccessLog, Cause
from bohrbug.runtime.threads.loops.tasks import loop_tasks_of
from bohrbug.runtime.threads.task import Task

TIMERS = "timers of trio as firing only when none of its tasks can go on"

_DAY = 24 * 60 * 60
"""The longest time, in seconds, that trio waits in one go."""

_NEVER = 999_999_999
"""How long to wait for deadlines by a clock that stands still."""

_runners: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
"""The runner, which knows all deadlines, of each manager of descriptors."""


class _Chance(random.Random):
    """The random numbers of trio: what depends on them in an execution is a choice.

    Parameters:
        usual: where trio has them from outside of executions.
    """

    def __init__(self, usual: random.Random) -> None:
        super().__init__(0)
        self._usual = usual

    def random(self) -> float:
        """A number by which the tasks of a round are run in reverse if it is below a half."""
        execution = controlled()
        if execution is None:
            return self._usual.random()
        frame = _getframe(1)
        if _length_of(frame, "batch") < 2:
            return 1.0
        return 0.0 if execution.choose(2, (frame.f_code, frame.f_lasti)) else 1.0

    def uniform(self, a: float, b: float) -> float:
        """Where trio's clock begins."""
        return self._usual.uniform(a, b) if controlled() is None else a

    def shuffle(self, x: Any) -> None:
        """What trio does with a round when hypothesis is imported during the exploration."""
        execution = controlled()
        if execution is None:
            self._usual.shuffle(x)
            return
        frame = _getframe(1)
        for last in range(len(x) - 1, 0, -1):
            chosen = execution.choose(last + 1, (frame.f_code, frame.f_lasti))
            x[last], x[chosen] = x[chosen], x[last]


class _UsuallyWithHypothesis:
    """Whether trio orders its tasks as it does beside hypothesis: not in executions.

    Parameters:
        usual: whether it does so outside of them.
    """

    def __init__(self, usual: bool) -> None:
        self._usual = usual

    def __bool__(self) -> bool:
        return self._usual and controlled() is None


def _length_of(frame: Any, name: str) -> int:
    variables = frame.f_locals
    length = len(variables.get(name, ()))
    if sys.version_info < (3, 13):
        # A copy, which would keep alive what is in it.
        variables.clear()
    return length


@patches.when_imported("trio._core._run")
def _wrap_runs(module: Any) -> None:
    patches.add(module, "_r", _Chance(module._r))
    with_hypothesis = "_ALLOW_DETERMINISTIC_SCHEDULING"
    patches.add(module, with_hypothesis, _UsuallyWithHypothesis(getattr(module, with_hypothesis)))
    numbers = itertools.count()
    sorting = {
        module.Deadlines.add.__code__,
        module.Runner.wait_all_tasks_blocked.__code__,
    }

    def number_of(thing: object) -> int:
        """Of deadlines at the same time, an address decides which comes first.

        What a ``repr`` tells has to be the same each time.
        """
        if controlled() is None or _getframe(1).f_code not in sorting:
            return id(thing)
        return next(numbers)

    patches.add(module, "id", number_of)
    _wrap_steps(module)
    set_up = module.setup_runner

    @patches.method(module, "setup_runner")
    def setup_runner(*args: Any, **kwargs: Any) -> Any:
        runner = set_up(*args, **kwargs)
        _runners[runner.io_manager] = runner
        return runner

    expire = module.Deadlines.expire

    @patches.method(module.Deadlines, "expire")
    def wrapper(self: Any, now: float) -> bool:
        has_expired: bool = expire(self, now)
        execution = controlled()
        if has_expired and execution is not None:
            execution.trace.uncontrolled.assume(TIMERS)
        return has_expired


class TrioSteps:
    """Tells who takes down what is accessed of the steps of trio's tasks.

    trio has no place where a step begins that could be wrapped.  So this is asked which one is
    running: the task that trio says is, and for the how many-th time it goes on.

    Parameters:
        log: of the execution.
        context: in which trio says which task is running.
        host: the thread that runs the loop.
    """

    def __init__(self, log: AccessLog, context: Any, host: Task) -> None:
        self._log = log
        self._context = context
        self._host = host
        self._causes: dict[int, tuple[weakref.ref[Any], Cause, Any]] = {}
        self._names: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._running: tuple[str, int] | None = None
        self._count = 0

    def look(self) -> None:
        """Let the log know of the step that the running thread makes."""
        task: Any = getattr(self._context, "task", None)
        if task is None:
            self._running = None
            self._log.end_step(self._host.index)
            return
        now = self._id_of(task), task._schedule_points
        if now == self._running:
            return
        self._running = now
        known = self._causes.get(id(task))
        cause, awaited = UNCAUSED, None
        if known is not None and known[0]() is task:
            _, cause, awaited = known
        name = str(task.name).rpartition("<locals>.")[2].rpartition(".")[2]
        self._log.begin_step(now[0], name, cause, awaited)

    def asked_for(self, task: Any) -> None:
        """The next step of a task was asked for, by the task that is running if there is one."""
        self._id_of(task)
        running = getattr(self._context, "task", None)
        if running is task:
            # It only gives way.
            cause = UNCAUSED
        elif running is None:
            cause = self._log.cause() if self._log.is_another(self._host) else UNCAUSED
        else:
            self.look()
            cause = self._log.cause_of_call(_getframe(1))
        self._causes[id(task)] = weakref.ref(task), cause, _place_in(task.coro)

    def _id_of(self, task: Any) -> str:
        """What a task of trio is called: by the order of their starts, behind the thread's id."""
        known = self._names.get(id(task))
        if known is None or known[0]() is not task:
            self._count += 1
            name = f"{self._host.id}.t{self._count}"
            known = self._names[id(task)] = weakref.ref(task), name
        return known[1]


def _place_in(coroutine: Any) -> Any:
    """Where the program's own code of a task stands, the innermost of it."""
    found = None
    while (frame := getattr(coroutine, "cr_frame", None)) is not None:
        if str(frame.f_globals.get("__name__")).startswith("trio."):
            break
        found = frame.f_code, max(frame.f_lasti, 0)
        coroutine = coroutine.cr_await
    return found


def _wrap_steps(module: Any) -> None:
    """Who takes down accesses learns which step of which task they are of."""
    reschedule, spawn = module.Runner.reschedule, module.Runner.spawn_impl
    steps: weakref.WeakKeyDictionary[Any, TrioSteps] = weakref.WeakKeyDictionary()

    def of(runner: Any) -> TrioSteps | None:
        execution = controlled()
        if execution is None or execution.access_log is None:
            return None
        known = steps.get(runner)
        if known is None:
            log: AccessLog = execution.access_log
            known = steps[runner] = TrioSteps(log, module.GLOBAL_RUN_CONTEXT, execution.current)
            log.ask(execution.current.index, known.look)
            log.begin()
        return known

    @patches.method(module.Runner, "reschedule")
    def rescheduled(self: Any, task: Any, *args: Any, **kwargs: Any) -> None:
        known = of(self)
        if known is not None:
            known.asked_for(task)
        reschedule(self, task, *args, **kwargs)

    @patches.method(module.Runner, "spawn_impl")
    def spawned(
        self: Any, async_fn: Any, args: Any, nursery: Any, *more: Any, **kwargs: Any
    ) -> Any:
        execution = controlled()
        if (
            execution is not None
            and nursery is not None
            and nursery.parent_task is not self.init_task
        ):
            loop_tasks_of(execution).have_company = True
        return spawn(self, async_fn, args, nursery, *more, **kwargs)


@patches.when_imported("trio._core._io_epoll")
def _wrap_waiting(module: Any) -> None:
    """Who waits for ever looks up once a day, and a virtual day is over at once."""
    get_events = module.EpollIOManager.get_events

    @patches.method(module.EpollIOManager, "get_events")
    def wrapper(self: Any, timeout: float) -> Any:
        if timeout >= _DAY and controlled() is not None and self in _runners:
            # Another thread than that of the run does this for guests of other event loops.
            runner = _runners[self]
            timeout = runner.clock.deadline_to_sleep_time(runner.deadlines.next_deadline())
            if timeout >= _NEVER:
                timeout = -1
        return get_events(self, timeout)


@patches.when_imported("trio._core._thread_cache")
def _wrap_threads(module: Any) -> None:
    """Idle threads wait for more work, for all of a process: not beyond an execution."""
    caches: weakref.WeakKeyDictionary[Execution, Any] = weakref.WeakKeyDictionary()
    start = module.ThreadCache.start_thread_soon

    @patches.method(module.ThreadCache, "start_thread_soon")
    def start_thread_soon(self: Any, *args: Any, **kwargs: Any) -> None:
        execution = controlled()
        if execution is not None:
            if execution not in caches:
                caches[execution] = type(self)()
                module.name_counter = itertools.count()
            self = caches[execution]
        start(self, *args, **kwargs)
