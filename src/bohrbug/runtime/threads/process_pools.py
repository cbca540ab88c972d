"""Pools of processes that live from one execution to the next, and the end of each.

The helper thread of a pool, and with it the workers, are of one execution. What a pool
consists of is made anew in each execution that uses it; at the end of the execution the helper is
told to go home, as the interpreter tells it at its exit.  So it is with a ``ProcessPoolExecutor``.

The threads of a ``multiprocessing.Pool`` that is never closed are daemons, which end with their
execution.  At its exit the interpreter would tell its workers to go home through them.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.late_patches import LatePatches
from bohrbug.runtime.threads.task import Task, TaskKilled
from bohrbug.runtime.threads.thread_functions import _task_of

patches = LatePatches()

_MODULE = "concurrent.futures.process"


def pool_class() -> type | None:
    """``ProcessPoolExecutor``, if it is imported."""
    found: type | None = getattr(sys.modules.get(_MODULE), "ProcessPoolExecutor", None)
    return found


class LastingPools:
    """Pools that may be older than the execution; each execution begins without their helpers."""

    def __init__(self) -> None:
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()
        # Those that this execution has made, or made anew.
        self._own: weakref.WeakSet[Any] = weakref.WeakSet()
        # Most tests have no pools; asking the set takes longer.
        self._has_own = False
        self._saved: list[tuple[Any, dict[str, Any]]] = []

    def add(self, pool: Any) -> None:
        """Take care of a pool, which may be there in later executions."""
        if not pool._shutdown_thread:
            self._known.add(pool)

    def made(self, pool: Any) -> None:
        """A task has made a pool: this execution can use it as it is."""
        self._own.add(pool)
        self._has_own = True

    def forget(self, pool: Any) -> None:
        """The program has shut it down."""
        self._known.discard(pool)

    def renew(self, execution: Execution, pool: Any) -> None:
        """Before a task uses a pool: make what it consists of, if it is older than the execution.

        The task makes it, so that locks and queues of the pool get the ids that they get where a
        test makes the pool.
        """
        if pool in self._own or pool not in self._known:
            return
        self.made(pool)
        before = vars(pool).copy()
        self._saved.append((pool, before))
        module: Any = sys.modules[_MODULE]
        task = execution.current
        task.inside += 1
        try:
            module.ProcessPoolExecutor.__init__(
                pool,
                before["_max_workers"],
                before["_mp_context"],
                before["_initializer"],
                before["_initargs"],
                max_tasks_per_child=before["_max_tasks_per_child"],
            )
        finally:
            task.inside -= 1

    def end(self) -> None:
        """After an execution: put back what was there."""
        while self._saved:
            pool, before = self._saved.pop()
            vars(pool).clear()
            vars(pool).update(before)
            self._known.add(pool)
        if self._has_own:
            self._own.clear()
            self._has_own = False


lasting_pools = LastingPools()
"""Those of this process."""


@patches.when_imported(_MODULE)
def _wrap(module: Any) -> None:
    _wrap_using(module.ProcessPoolExecutor)
    _wrap_managing(module._ExecutorManagerThread)


def _wrap_using(cls: Any) -> None:
    initialise, submit, shutdown = cls.__init__, cls.submit, cls.shutdown

    @patches.method(cls, "__init__")
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        lasting_pools.add(self)
        if controlled() is not None:
            lasting_pools.made(self)

    @patches.method(cls, "submit")
    def submitting(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        execution = controlled()
        if execution is not None:
            lasting_pools.renew(execution, self)
        return submit(self, *args, **kwargs)

    @patches.method(cls, "shutdown")
    def shutting_down(self: Any, *args: Any, **kwargs: Any) -> None:
        execution = controlled()
        if execution is not None:
            lasting_pools.renew(execution, self)
        lasting_pools.forget(self)
        shutdown(self, *args, **kwargs)


def _wrap_managing(cls: Any) -> None:
    manage = cls.run

    @patches.method(cls, "run")
    def run(self: Any) -> None:
        try:
            manage(self)
        except TaskKilled:
            # Nobody is left to send the workers home, and the interpreter waits for them at its
            # exit.
            for worker in list(self.processes.values()):
                worker.terminate()
            raise


def _helpers(execution: Execution) -> dict[Task, Any]:
    """The live helpers of pools, with what wakes each of them."""
    module = sys.modules.get(_MODULE)
    if module is None:
        return {}
    found = {}
    # The dictionary under the WeakKeyDictionary: what that does itself tasks would be seen to do.
    for reference, wakeup in list(module._threads_wakeups.data.items()):
        thread = reference()
        task = None if thread is None else _task_of(execution, thread)
        if task is not None and not task.ended:
            found[task] = wakeup
    return found


def let_helpers_end(execution: Execution) -> None:
    """What the interpreter does for pools at its exit, once the other threads have ended."""
    if not _helpers(execution):
        return
    ending = execution.ending
    ending.wait_for_the_rest(
        lambda: all(
            task.daemon or task is execution.root or task in _helpers(execution)
            for task in execution.alive
        )
    )
    module: Any = sys.modules[_MODULE]
    module._global_shutdown = True
    try:
        for wakeup in _helpers(execution).values():
            wakeup.wakeup()
        ending.wait_for_the_rest(lambda: not _helpers(execution))
    finally:
        module._global_shutdown = False


_POOL_MODULE = "multiprocessing.pool"
_pools: list[weakref.ref[Any]] = []


@patches.when_imported(_POOL_MODULE)
def _wrap_pool(module: Any) -> None:
    cls = module.Pool
    initialise = cls.__init__

    @patches.method(cls, "__init__")
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        initialise(self, *args, **kwargs)
        if controlled() is not None:
            _pools.append(weakref.ref(self))


def end_pools() -> None:
    """After an execution: end the workers of the pools that it has left, whose threads are no more.

    A pool that nobody has terminated would wait for these threads at the interpreter's exit.
    """
    while _pools:
        pool = _pools.pop()()
        if pool is None or not pool._terminate.still_active():
            continue
        pool._terminate.cancel()
        # As ``terminate`` does: else the pool complains when it dies.
        pool._state = sys.modules[_POOL_MODULE].TERMINATE
        processes = [worker for worker in pool._pool if hasattr(worker, "terminate")]
        for worker in processes:
            if worker.exitcode is None:
                worker.terminate()
        for worker in processes:
            worker.join(_LONGEST_END)


_LONGEST_END = 1.0
"""Real seconds that a worker may take to end."""
