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

    def number_of(scope: object) -> int:
        """Of deadlines at the same time, an address decides which comes first."""
        return id(scope) if controlled() is None else next(numbers)

    patches.add(module, "id", number_of)
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
