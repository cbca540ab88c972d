"""One controlled execution: its scheduling points, at which control passes from task to task.

The primitives call :meth:`Execution.perform` just before each operation, and rewritten code calls
:meth:`Execution.access` before each access that matters; control passes from one task to another
nowhere else.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType
from typing import Any

from greenlet import getcurrent, greenlet

from bohrbug.accelerator import native
from bohrbug.model.operation import (
    ACQUIRE,
    COLLECTION,
    RELEASE,
    WRITE,
    Kind,
    Operation,
    ResourceId,
)
from bohrbug.model.outcome import PASSED, Divergence
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.threads import control
from bohrbug.runtime.threads.alone import Ends
from bohrbug.runtime.threads.arrivals import Arrivals
from bohrbug.runtime.threads.checks import Checks
from bohrbug.runtime.threads.data.naming import Names, names_of
from bohrbug.runtime.threads.deciding import Deciding
from bohrbug.runtime.threads.deferred_signals import (
    access_after_signals,
    after_signals,
    are_exceptions_sent,
    expect_signals,
)
from bohrbug.runtime.threads.ending import Ending
from bohrbug.runtime.threads.fairness import Fairness
from bohrbug.runtime.threads.lifecycle import carry
from bohrbug.runtime.threads.monitoring import Detector
from bohrbug.runtime.threads.outside import Handler, Outside
from bohrbug.runtime.threads.own_greenlets import switch_from
from bohrbug.runtime.threads.pace import (
    LONELY_STEPS,
    PROGRESS,
    SPIN_READS,
    TIME_SLICE,
)
from bohrbug.runtime.threads.recording import effect, look_as_well
from bohrbug.runtime.threads.resources import ResourceState, ResourceTable
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.tell import tells_breakers
from bohrbug.runtime.threads.settings import Settings
from bohrbug.runtime.threads.shared_test_state import SharedTestState
from bohrbug.runtime.threads.task import ANNOUNCING, JOINED, Task, TaskKilled, TimeoutPolicy
from bohrbug.runtime.threads.vain_looks import LOOKS, is_in_vain

_new_operation = tuple.__new__

IN_C = frozenset({"Lock", "RLock", "SimpleQueue", "choice"})
"""Types of resources whose operations the interpreter executes without checking the GIL."""


class Execution(Deciding):
    """Executes one plan.

    Parameters:
        plan: what to execute.
        settings: how to execute it.
        shared: what it shares with the other executions of the test.

    Attributes:
        detector: told of every synchronisation, or ``None``.
        sink: told of accesses to data.
        interrupted: it ends at the next step, as the user wants.
        interruptions: finds out what handlers of signals come between, where somebody watches.
        loops: what is known of the tasks of event loops, once there is one.
        access_log: records what tasks of event loops access, an :class:`.access_log.AccessLog`;
            ``None``: nothing is recorded.
        logged_errors: what event loops only wrote to their logs, with the exceptions.
        atomic: depth of sections in which control is never taken away, such as an import.
        gil: only places where a build with the GIL could switch threads are scheduling points.
        patience: real seconds without a step that do not count as a hang yet.
        nudge: makes a task that spins on a variable not known to be shared yield at its next
            access; called in another thread.
        nudged: it has done so.
        signals: those that wait for the root task, which stands for the main thread.
        visitor: called between two steps.
        original: from code that was rewritten to what it was before.
        looks_apart: see :class:`.SharedTestState`.
    """

    __slots__ = (
        "__weakref__",
        "_busy_places",
        "_ends",
        "_minds_gil",
        "_namespaces",
        "_swap",
        "_variables",
        "access_log",
        "atomic",
        "collecting",
        "detector",
        "excepthook_before",
        "gil",
        "inspected",
        "interrupted",
        "interruptions",
        "logged_errors",
        "looks_apart",
        "loops",
        "nudge",
        "nudged",
        "original",
        "patience",
        "pool",
        "settings",
        "signals",
        "sink",
        "unraisablehook_before",
        "visitor",
    )

    def __init__(self, plan: Plan, settings: Settings, shared: SharedTestState) -> None:
        self.ending = Ending(self, shared.explainer, shared.end_hooks)
        super().__init__(plan, settings, shared.names, self.ending.ask)
        conditions = plan.conditions
        self.visitor = shared.visitor
        self.checks = Checks(self, conditions.max_steps, shared.invariant, shared.visitor)
        self.outside = Outside(self)
        if settings.is_service:
            self.outside.arrivals = Arrivals()
        self.settings = settings
        self.pool = shared.pool
        self._swap = shared.swap
        self.detector: Detector | None = None
        self.interrupted = False
        self.atomic = 0
        # A garbage collection may still happen.
        self.collecting = settings.gc
        self.gil = conditions.gil
        self._minds_gil = conditions.gil or are_exceptions_sent(shared.namespaces)
        self.sink: Any = None
        self._namespaces = shared.namespaces
        self.original: Callable[[CodeType], CodeType] = shared.original
        self.looks_apart = shared.looks_apart
        self._variables: dict[int, Names] = {}
        # Where a task that looks does more than that, for all that can be told.
        self._busy_places: set[Any] = set()
        self._ends = Ends(self.root.id, self.rows)
        # Where attributes of primitives are read, by identity: see Inspecting.
        self.inspected: dict[int, Place] = {}
        # A LoopTasks, which knows this class.
        self.loops: Any = None
        self.access_log: Any = None
        self.logged_errors: dict[str, BaseException | None] = {}
        self.patience = float("inf")
        self.nudge: Callable[[], object] | None = None
        self.nudged = False
        self.signals: list[tuple[Handler, int, Any]] = []
        # An Interruptions, which knows of sinks.
        self.interruptions: Any = None
        expect_signals(self)
        self.excepthook_before: Any = threading.excepthook
        self.unraisablehook_before: Any = sys.unraisablehook

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        return len(self.rows)

    def watch_breakers(self) -> None:
        """Note the preemptions that a build with the GIL could not have made."""
        self._minds_gil = self._watch_breakers = True

    def _is_its(self, task: Task, state: ResourceState, ready: Callable[[], bool]) -> bool:
        """Whether a resource is free, and nobody else who waits for it could get it first."""
        return ready() and not any(
            self.is_inside(other, state) for other in self.alive if other is not task
        )

    def is_alone(self) -> bool:
        """Whether no other task's operations could come before the running task's."""
        return len(self.alive) == 1 and (
            len(self.all_tasks) == 1 or (self.current is self.root and self._ends.all_come_before())
        )

    @property
    def namespaces(self) -> set[object]:
        """What the test is known to use as a whole, see :mod:`.data.naming`, or to change.

        It lasts from one execution to the next; when something is added, the search starts again.
        """
        return self._namespaces

    # -- running ---------------------------------------------------------------

    def run(self, function: Callable[[], object]) -> Trace:
        """Execute ``function`` as the root task and return what happened."""
        started = _real_perf_counter()
        control.current.thread = control.real_get_ident()
        control.current.execution = self
        try:
            try:
                function()
                self.outside.end_child(None)
                self.ending.finish()
            except TaskKilled:
                pass
            except BaseException as error:  # noqa: BLE001  (an outcome, whatever it is)
                self.outside.end_child(error)
                self.ending.fail_with_exception(self.root, error)
            aftermath = self.ending.aftermath
            if aftermath is not None:
                self.ending.let_the_rest_end()
            if self.visitor is not None:
                self.visitor.ends(self)
            self._to_its_end(self.ending.unwind_tasks)
        finally:
            control.current.execution = None
        self._to_its_end(lambda: self._complete(aftermath))
        self.trace.seconds = _real_perf_counter() - started
        return self.trace

    def _complete(self, aftermath: Any) -> None:
        trace = self.trace
        if trace.outcome is PASSED and len(self.rows) < self._prefix_length:
            # It ended before its plan did, which came from another execution.
            wanted = str(self._prefix[len(self.rows)])
            trace.divergence = Divergence(len(self.rows), wanted, "the end of the execution")
        trace.virtual_time = self.clock.now
        if aftermath is not None:
            trace.virtual_time = aftermath.cut_off()
        trace.forget()

    @staticmethod
    def _to_its_end(work: Callable[[], object]) -> None:
        while True:
            try:
                work()
            except TaskKilled:
                # The watchdog's, who had not seen yet that the task has ended which it is for.
                continue
            return

    def forget_ended(self) -> None:
        """Tasks that have ended are no more, see :mod:`.forgetting`."""
        self._ends.all_come_before()
        self._ends.forget_ended()

    def forget_variables(self) -> None:
        """Forget how variables are called: nobody tells of accesses to them any more."""
        self._variables.clear()
        self.inspected.clear()

    def forget(self, steps: int) -> None:
        """Forget the first so many steps, see :mod:`.forgetting`."""
        self._ends.forget(steps)
        self.checks.forget(steps)
        super().forget(steps)

    def let_go(self) -> None:
        """Drop references back to it, so that the execution dies without a garbage collection."""
        if self.loops is not None:
            self.loops.let_go()
        self.detector = self.sink = self.nudge = self.loops = self.access_log = None
        self.interruptions = None
        self.logged_errors.clear()
        del self.ending, self.checks
        self.outside.let_go()

    # -- scheduling points -----------------------------------------------------

    def perform(
        self,
        kind: Kind,
        state: ResourceState,
        place: Any,
        ready: Callable[[], bool] | None = None,
        timeout: float | None = None,
        external: bool = False,
        firing: TimeoutPolicy = TimeoutPolicy.EARLY,
    ) -> bool:
        """A scheduling point: the running task is about to do an operation.

        Returns when the task is chosen to continue.

        Parameters:
            kind: of the operation.
            state: the resource.
            place: ``(code object, instruction offset)`` of the caller.
            ready: whether the operation would not block; ``None``: it never blocks.
            timeout: virtual seconds after which the wait may end, or ``None``.
            external: something outside our control may make it ready.
            firing: when the timeout may fire.

        Returns:
            False if the timeout fired, otherwise true.

        Raises:
            TaskKilled: the execution is over.
        """
        task = self.current
        if self.aborting:
            if ready is None or ready():
                return True
            self.ending.unwind_running()
        if self.collecting:
            self._offer_collection(place)
        if self._minds_gil and state.type not in IN_C:
            # A method written in Python: its entry is where such a build can switch threads.
            task.breakable = True
        if ready is None:
            if self.atomic:
                if self.detector is not None:
                    self.detector.synchronise(task.index, state, kind.is_write)
                return True
            if self.gil and not task.breakable and not kind.is_yield and self.rows:
                # The step before continues.
                effect(self, state, kind.is_write)
                return True
            task.pending = _new_operation(Operation, (kind, state.id, place))
        else:
            if (
                self.gil
                and not task.breakable
                and self.rows
                and tells_breakers(place[0])
                and self._is_its(task, state, ready)
            ):
                # As above: what is free is taken without letting go of the GIL.  Code that does not
                # tell what it has called may have called something.
                effect(self, state, kind.is_write)
                return True
            task.pending = _new_operation(Operation, (kind, state.id, place))
            task.ready = ready
            task.waits_for = state
            task.external = external
            if firing is not TimeoutPolicy.EARLY:
                task.firing = firing
                self._late_firing = True
            task.blocked_since = len(self.rows)
            if timeout is not None:
                task.deadline = self.clock.now + timeout
        if kind.is_yield:
            self._yielding = True
        elif (task.looks or self._idle_yields) and kind in PROGRESS:
            task.looks.clear()
            self._idle_yields = 0
        task.waiting = True
        chosen = self._decide(task)
        if chosen is not task:
            self.switch(task, chosen)
        over: bool = self.aborting  # may have changed while other tasks ran
        if over:
            task.ready = None
            task.deadline = None
            raise TaskKilled
        task.waiting = False
        if self.sees_exception(task) or (self.signals and (task.host or task) is self.root):
            return after_signals(self, kind, state, place, ready, external, firing)
        if ready is not None:
            if (
                task.deadline is not None
                and task.firing is TimeoutPolicy.EARLY
                and not self._late_timeouts
            ):
                self.trace.early_timeouts.append(len(self.rows) - 1)
            task.ready = None
            task.deadline = None
            task.external = False
            task.firing = TimeoutPolicy.EARLY
            if task.timed_out:
                task.timed_out = False
                if task.looks_at is not None:
                    look_as_well(self, task)
                return False
        task.breakable = False
        if task.looks_at is not None:
            look_as_well(self, task)
        if self.detector is not None:
            self.detector.synchronise(task.index, state, kind.is_write)
        return True

    def access(self, place: Any, kind: Kind, shadow: Any) -> bool:
        """The running task is about to access a variable at a place that is a scheduling point.

        Parameters:
            place: of the access.
            kind: ``READ`` or ``WRITE``.
            shadow: the variable, see :class:`~bohrbug.runtime.threads.data.shadows.Shadow`.

        Returns:
            True if the access was only announced, and will be reported again.
        """
        task = self.current
        if task.inside or self.atomic or self.suspended or self.is_alone():
            return task.joined == ANNOUNCING
        if self.aborting:
            self.ending.unwind_running()
        if self.collecting:
            self._offer_collection(place)
        if task.joined == JOINED:
            self._access_as_well(task, kind, shadow)
            return False
        if self.gil and not task.breakable and self.rows:
            if task.joined == ANNOUNCING:
                return True
            self._access_as_well(task, kind, shadow)
            return False
        entry = self._variables.get(id(shadow))
        if entry is None:
            entry = self._name_variable(shadow)
        if task.joined == ANNOUNCING:
            # Variables are named after the task that accesses them first.
            return True
        resource, container, _ = entry
        task.pending = _new_operation(Operation, (kind, resource, place))
        task.waiting = True
        chosen = self._decide(task)
        if chosen is not task:
            self.switch(task, chosen)
        if self.aborting:
            raise TaskKilled
        task.waiting = False
        if self.sees_exception(task) or (self.signals and (task.host or task) is self.root):
            return access_after_signals(self, place, kind, shadow)
        task.breakable = False
        if task.looks_at is not None:
            look_as_well(self, task)
        if task.joined:
            task.joined = JOINED
        if container is not None:
            self.trace.effects.append((len(self.rows) - 1, task.id, container, kind.is_write))
        if kind.is_write:
            if task.looks:
                task.looks.clear()
            self._idle_yields = 0
        else:
            self._count_look(id(place))
        return False

    def _offer_collection(self, place: Any) -> None:
        """Perhaps collect garbage before the running task goes on, if it holds a lock.

        The interpreter collects wherever an object is made; finalizers and callbacks of weak
        references then run in the middle of what the task does.  Executions collect nothing by
        themselves, because it would happen at another place in each.  At most one collection
        happens in an execution, so that a failure shows that a single one breaks the program.

        Parameters:
            place: of the scheduling point that the task has reached.
        """
        task = self.current
        if not task.holding or self.suspended or self.atomic or task.inside or task.joined:
            return
        state = self.resources.state_named(COLLECTION, "the garbage collector", "collection")
        if self.choose_about(state, 2, lambda _: place):
            self.collecting = False
            gc.collect()

    def _access_as_well(self, task: Task, kind: Kind, shadow: Any) -> None:
        """The running task's last step accesses a further variable."""
        resource, container, _ = self._variables.get(id(shadow)) or self._name_variable(shadow)
        for touched in (resource, container):
            if touched is not None:
                effect = (len(self.rows) - 1, task.id, touched, kind.is_write)
                self.trace.effects.append(effect)
        if kind.is_write:
            task.looks.clear()
            self._idle_yields = 0

    def _name_variable(self, shadow: Any) -> Names:
        """A variable is accessed at a scheduling point for the first time."""
        entry = self._variables[id(shadow)] = names_of(shadow, self._namespaces)
        self.resources.add_variable(entry[0], shadow)
        return entry

    def sees_exception(self, task: Task) -> bool:
        """Whether the thread of a task raises now what another has sent to it.

        In the first execution nothing tells where it could, see :func:`are_exceptions_sent`.
        """
        is_sent = (task.host or task).sent is not None
        return is_sent and (task.breakable or not self._minds_gil)

    def affect(self, shadow: Any) -> None:
        """The running step changes a variable, in addition to what its operation does."""
        if self.rows and not self.aborting:
            name = self.name_of(shadow)
            self.trace.effects.append((len(self.rows) - 1, self.current.id, name, True))

    def name_of(self, shadow: Any) -> ResourceId:
        """The name of a variable in operations."""
        return (self._variables.get(id(shadow)) or self._name_variable(shadow))[0]

    def observe(self, state: ResourceState, place: Any) -> None:
        """The running task only reads; if it does so again and again, it spins."""
        self._count_look((state.id, place))

    def _count_look(self, key: Any) -> None:
        looks = self.current.looks
        count = looks[key] = looks.get(key, 0) + 1
        if count >= SPIN_READS:
            looks.clear()
            self._spinning = True
        elif count in LOOKS and key not in self._busy_places:
            self.looked_again(key)

    def looked_again(self, key: Any) -> None:
        """The running task has looked somewhere for one of :data:`.LOOKS`: does it only spin?

        Parameters:
            key: of the place at which it looks.
        """
        looks = self.current.looks
        if is_in_vain(looks, self._busy_places, key, self.clock):
            looks.clear()
            self._spinning = self._in_vain = True

    def spins(self) -> None:
        """The running task waits for the clock: it yields at its next scheduling point."""
        self._spinning = self._reads_clock = True

    # -- passing control ---------------------------------------------------------

    def switch(self, running: Task, chosen: Task) -> None:
        """Pass control; return when ``running`` is chosen again."""
        self._swap(running, chosen)
        self.current = chosen
        here = getcurrent()
        if here is not running.greenlet:
            switch_from(here, running, chosen)
            return
        assert chosen.greenlet is not None
        chosen.greenlet.switch()

    def throw(self, task: Task, error: type[BaseException]) -> None:
        """Pass control from the root to a task, which gets an exception where it waits."""
        root = self.root
        assert task.greenlet is not None
        self._swap(root, task)
        self.current = task
        task.greenlet.throw(error)
        self._swap(task, root)
        self.current = root

    def carry(self, task: Task) -> greenlet:
        """Carry a task to its end; return where control goes then."""
        carry(self, task)
        chosen = self.root if self.aborting else self._decide(task)
        self._swap(task, chosen)
        self.current = chosen
        assert chosen.greenlet is not None
        return chosen.greenlet

    def interrupt(self) -> None:
        """End the execution at its next scheduling point (the user pressed Ctrl-C)."""
        self.interrupted = True
        self.next_check = 0


_real_perf_counter = time.perf_counter


if native is not None:
    native.use_execution(
        Execution,
        Task,
        ResourceState,
        ResourceTable,
        Fairness,
        Kind,
        control.current,
        Operation,
        TaskKilled,
        PROGRESS,
        ACQUIRE,
        RELEASE,
        WRITE,
        TIME_SLICE,
        LONELY_STEPS,
        *LOOKS,
        SPIN_READS,
        after_signals,
        access_after_signals,
        getcurrent,
        switch_from,
    )
