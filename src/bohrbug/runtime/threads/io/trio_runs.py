"""``trio.run``: what trio leaves to chance is chosen, and its threads end with an execution.

In each turn of its loop trio runs the tasks that are ready, in order or in reverse, as a random
number says (:mod:`trio._core._run`).  So all orders of tasks that trio can come to are explored;
see :mod:`bohrbug.runtime.threads.loops.trio_turns`.
"""

from __future__ import annotations

import itertools
import random
import weakref
from contextlib import AbstractContextManager, nullcontext
from sys import _getframe
from typing import Any

from bohrbug.model.operation import TRIO_RUN
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.io.handing_on import wrap_event
from bohrbug.runtime.threads.io.patches import patches
from bohrbug.runtime.threads.leftovers import forgotten_afterwards
from bohrbug.runtime.threads.local_variables import local_variables
from bohrbug.runtime.threads.loops.coroutines import place_in_program
from bohrbug.runtime.threads.loops.tasks import loop_tasks_of
from bohrbug.runtime.threads.loops.trio_tasks import place_of_caller
from bohrbug.runtime.threads.loops.trio_turns import LONGEST_WAIT, TrioTurns, Turn
from bohrbug.runtime.threads.quiet_sets import QuietDictionary

TIMERS = "timers of trio as firing only when none of its tasks can go on"

_DAY = 24 * 60 * 60
"""The longest time, in seconds, that trio waits in one go."""

_runners: weakref.WeakKeyDictionary[Any, weakref.ref[Any]] = QuietDictionary()
"""The runner, which knows all deadlines, of each manager of descriptors; it holds its manager."""

_turns: dict[Any, TrioTurns] = {}
"""What each runner does in the execution that it belongs to, until it is closed."""
forgotten_afterwards(_turns)


def _turns_of(execution: Execution, runner: Any) -> TrioTurns:
    """The turns of a run of trio in an execution."""
    known = _turns.get(runner)
    if known is None or known.execution is not execution:
        frame = _getframe(1)
        state = execution.resources.new(execution.current, TRIO_RUN, place_of_caller(frame))
        known = _turns[runner] = TrioTurns(execution, state, frame, is_guest=runner.is_guest)
    return known


def _running(runner: Any) -> TrioTurns | None:
    """The turns of a run, if the running thread makes them in an execution; else ``None``."""
    execution = controlled()
    if execution is None or execution.atomic or execution.current.inside:
        return None
    turns = _turns_of(execution, runner)
    return turns if turns.runs_in(execution.current) else None


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
        batch = _variable_of(frame, "batch")
        if isinstance(batch, Turn) or len(batch) < 2:
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
        if isinstance(x, Turn):
            x.in_any_order = True
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


class _Warnings:
    """``warnings`` for trio, to which a run that is unwound with its execution is an abandoned one.

    Parameters:
        usual: the module.
    """

    def __init__(self, usual: Any) -> None:
        self._usual = usual

    def warn(self, *args: Any, **kwargs: Any) -> None:
        """As ``warnings.warn``."""
        frame = _getframe(1)
        runner = (
            local_variables(frame).get("runner") if frame.f_code.co_name == "unrolled_run" else None
        )
        turns = None if runner is None else _turns.get(runner)
        is_over = turns is not None and (
            turns.execution.aborting or turns.execution.trace.outcome.is_failure
        )
        if not is_over:
            kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
            self._usual.warn(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._usual, name)


def _variable_of(frame: Any, name: str) -> Any:
    return local_variables(frame).get(name, ())


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
    patches.add(module, "warnings", _Warnings(module.warnings))
    _wrap_steps(module)
    _together(module.CancelStatus, "recalculate", module.GLOBAL_RUN_CONTEXT)
    set_up = module.setup_runner

    @patches.method(module, "setup_runner")
    def setup_runner(*args: Any, **kwargs: Any) -> Any:
        runner = set_up(*args, **kwargs)
        _runners[runner.io_manager] = weakref.ref(runner)
        return runner

    expire = module.Deadlines.expire

    @patches.method(module.Deadlines, "expire")
    def wrapper(self: Any, now: float) -> bool:
        has_expired: bool = expire(self, now)
        execution = controlled()
        if has_expired and execution is not None:
            execution.trace.uncontrolled.assume(TIMERS)
        return has_expired


def _wrap_steps(module: Any) -> None:
    """The tasks of a run are tasks of the model, and so are their steps."""
    runner_class = module.Runner
    close, reschedule, spawn = (
        runner_class.close,
        runner_class.reschedule,
        runner_class.spawn_impl,
    )

    def list_of(*args: Any) -> list[Any]:
        """What a turn takes from the tasks that are ready is ours."""
        if _getframe(1).f_code.co_name == "unrolled_run":
            runner = module.GLOBAL_RUN_CONTEXT.runner
            running = _running(runner)
            if running is not None and args == (runner.runq,):
                return running.begin_turn(runner.runq)
        return list(*args)

    patches.add(module, "list", list_of)
    unrolled_run = module.unrolled_run

    def begun(runner: Any, *args: Any, **kwargs: Any) -> Any:
        turns = unrolled_run(runner, *args, **kwargs)
        execution = controlled()
        if execution is not None:
            runs = loop_tasks_of(execution).of_trio.runs
            runs.append((weakref.ref(turns), weakref.ref(runner)))
        return turns

    patches.add(module, "unrolled_run", begun)

    of_system = module.SystemClock
    current_time = of_system.current_time

    @patches.method(of_system, "current_time")
    def looked_at(self: Any) -> Any:
        """Trio looks once a turn, which is not to spin."""
        execution = controlled()
        if execution is None or _getframe(1).f_code is not unrolled_run.__code__:
            return current_time(self)
        with execution.clock.glance():
            return current_time(self)

    @patches.method(runner_class, "close")
    def closed(self: Any) -> None:
        close(self)
        known = _turns.pop(self, None)
        if known is not None and controlled() is known.execution:
            known.leave()

    @patches.method(runner_class, "reschedule")
    def rescheduled(self: Any, task: Any, *args: Any, **kwargs: Any) -> None:
        execution = controlled()
        if execution is not None:
            turns = _turns_of(execution, self)
            turns.became_ready(task)
            if execution.access_log is not None:
                running = getattr(module.GLOBAL_RUN_CONTEXT, "task", None)
                turns.asked_for(task, running, _getframe(1))
        reschedule(self, task, *args, **kwargs)

    @patches.method(runner_class, "spawn_impl")
    def spawned(self: Any, *args: Any, **kwargs: Any) -> Any:
        task = spawn(self, *args, **kwargs)
        execution = controlled()
        # The first one starts all others, and is a part of the thread.
        if execution is not None and task._parent_nursery is not None:
            _turns_of(execution, self).spawned(task, _getframe(1))
        return task


def _together(owner: Any, name: str, context: Any) -> None:
    """Whoever a method makes ready becomes so in the order of a set.

    Parameters:
        owner: the class.
        name: of the method.
        context: in which trio says which run a thread is in.
    """
    original = getattr(owner, name)

    @patches.method(owner, name)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _becoming_ready_together(context):
            return original(self, *args, **kwargs)


def _becoming_ready_together(context: Any) -> AbstractContextManager[object]:
    execution = controlled()
    runner = None if execution is None else getattr(context, "runner", None)
    if execution is None or runner is None:
        return nullcontext()
    return _turns_of(execution, runner).becoming_ready_together()


@patches.when_imported("trio._sync")
def _wrap_events(module: Any) -> None:
    context = module._core._run.GLOBAL_RUN_CONTEXT
    wrap_event(module.Event, lambda: _becoming_ready_together(context))


@patches.when_imported("trio._sync")
def _wrap_locks(module: Any) -> None:
    """Of a lock that others wait for, reports say where it was taken."""
    base = module._LockImpl
    acquire, release = base.acquire_nowait, base.release

    @patches.method(base, "acquire_nowait")
    def acquired(self: Any) -> None:
        acquire(self)
        execution = controlled()
        if execution is not None:
            loop_tasks_of(execution).of_trio.took(self, place_of_caller(_getframe(1)))

    @patches.method(base, "release")
    def released(self: Any) -> None:
        release(self)
        execution = controlled()
        if execution is not None and self._owner is not None:
            # It was handed to who has waited longest, for it or to be notified.
            place = place_in_program(self._owner.coro)
            loop_tasks_of(execution).of_trio.took(self, place)


@patches.when_imported("trio._core._io_epoll")
def _wrap_waiting(module: Any) -> None:
    """Who waits for ever looks up once a day, and a virtual day is over at once."""
    get_events = module.EpollIOManager.get_events

    @patches.method(module.EpollIOManager, "get_events")
    def wrapper(self: Any, timeout: float) -> Any:
        known = _runners.get(self)
        runner = None if known is None else known()
        execution = controlled()
        if runner is None or execution is None:
            return get_events(self, timeout)

        if timeout >= _DAY:
            timeout = runner.clock.deadline_to_sleep_time(runner.deadlines.next_deadline())
            if timeout >= LONGEST_WAIT:
                timeout = -1
        running = _running(runner)
        if running is None:
            # Another thread than that of the run does this for guests of other event loops.
            waiting, task = loop_tasks_of(execution).of_trio.waiting, execution.current
            waiting.add(task)
            try:
                return get_events(self, timeout)
            finally:
                waiting.discard(task)
        turns = running
        if timeout == 0:
            turns.let_time_pass(
                lambda: runner.clock.deadline_to_sleep_time(runner.deadlines.next_deadline())
            )
        turns.wait(self._epoll, timeout)
        task = execution.current
        task.inside += 1
        try:
            events = get_events(self, 0)
        finally:
            task.inside -= 1
        ready = [number for number, _ in events]
        turns.looked(self._epoll, ready, is_idle=timeout == 0 and not runner.runq)
        return events


@patches.when_imported("trio._core._thread_cache")
def _wrap_threads(module: Any) -> None:
    """Idle threads wait for more work, for all of a process: not beyond an execution."""
    caches: dict[Execution, Any] = {}
    forgotten_afterwards(caches)
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
