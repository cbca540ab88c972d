"""One controlled execution: the choice of who runs, and nothing else.

The primitives call :meth:`Execution.perform` just before each operation; it
is the only place where control passes from one task to another.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from greenlet import getcurrent, greenlet

from bohrbug.accelerator import native
from bohrbug.model.operation import (
    ACQUIRE,
    CHOOSE,
    RELEASE,
    WRITE,
    Kind,
    Operation,
)
from bohrbug.model.outcome import Divergence, Uncontrolled
from bohrbug.model.plan import Choice, NonPreemptive, Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.policies import decider_for, earliest, next_in_turn
from bohrbug.runtime.threads import control
from bohrbug.runtime.threads.checks import Checks
from bohrbug.runtime.threads.clock import VirtualClock
from bohrbug.runtime.threads.data.naming import Names, names_of
from bohrbug.runtime.threads.deferred_signals import after_signals
from bohrbug.runtime.threads.ending import Ending
from bohrbug.runtime.threads.fairness import Fairness
from bohrbug.runtime.threads.lifecycle import carry
from bohrbug.runtime.threads.monitoring import Detector, Explainer
from bohrbug.runtime.threads.outside import Handler, Outside
from bohrbug.runtime.threads.pace import (
    IDLE_YIELDS,
    LONELY_STEPS,
    PROGRESS,
    SPIN_READS,
    TIME_SLICE,
)
from bohrbug.runtime.threads.recorded import RecordedTrace
from bohrbug.runtime.threads.resources import OlderObjects, ResourceState, ResourceTable
from bohrbug.runtime.threads.settings import Settings
from bohrbug.runtime.threads.task import CarrierPool, Firing, Task, TaskKilled

_new_operation = tuple.__new__

IN_C = frozenset({"Lock", "RLock", "SimpleQueue", "choice"})
"""Types of resources whose operations the interpreter does in one go, without a look at the GIL."""


class Execution:
    """Executes one plan.

    Parameters:
        plan: what to execute.
        settings: how.
        pool: where carriers come from.
        explainer: builds outcomes.
        detector: told of every synchronisation, or ``None``.
        invariant: called before every step from the second task on; what it
            raises, or a false result, decides the outcome.
        names: ids of objects that live on from one execution to the next.
        end_hooks: called when the test has ended and threads are still alive.
        swap: exchanges what the interpreter keeps per OS thread and tasks must not share.
        namespaces: see :func:`~bohrbug.runtime.threads.data.naming.names_of`; lives on as
            ``names`` does.

    Attributes:
        rows: one for each step: choice, task, operation, enabled, timed, yielded.
        next_check: the next step at which something rare is looked at, see :class:`Checks`.
        aborting: all that is left is unwound.
        suspended: not 0 while the scheduler itself runs code of the program, such as predicates.
        atomic: depth of sections in which control is never taken away, such as an import.
        signals: those that wait for the root task, which stands for the main thread.
    """

    __slots__ = (
        "__weakref__",
        "_decider",
        "_idle_yields",
        "_last_enabled",
        "_last_ids",
        "_late_firing",
        "_late_timeouts",
        "_minds_gil",
        "_namespaces",
        "_non_preemptive",
        "_prefix",
        "_prefix_length",
        "_slice_began",
        "_spinning",
        "_swap",
        "_variables",
        "_watch_breakers",
        "_yielding",
        "aborting",
        "alive",
        "all_tasks",
        "atomic",
        "beyond_gil",
        "checks",
        "clock",
        "current",
        "detector",
        "ending",
        "excepthook_before",
        "fairness",
        "gil",
        "interrupted",
        "next_check",
        "nudge",
        "nudged",
        "outside",
        "patience",
        "pool",
        "resources",
        "root",
        "rows",
        "settings",
        "signals",
        "sink",
        "suspended",
        "time_is_up",
        "trace",
        "unraisablehook_before",
    )

    def __init__(
        self,
        plan: Plan,
        settings: Settings,
        pool: CarrierPool,
        explainer: Explainer,
        detector: Detector | None = None,
        invariant: Callable[[], object] | None = None,
        names: OlderObjects | None = None,
        end_hooks: tuple[Callable[[Execution], object], ...] = (),
        swap: Callable[[Task, Task], None] | None = None,
        namespaces: set[object] | None = None,
    ) -> None:
        self.settings = settings
        self.pool = pool
        self._swap = swap
        self.detector = detector
        self.clock = VirtualClock(settings.epoch)
        self.resources = ResourceTable(names)
        self.fairness = Fairness()
        self.rows: list[tuple[Any, ...]] = []
        # The tasks.
        self.root = self.current = Task("0", 0, control.real_get_ident())
        self.root.name = "MainThread"
        self.root.target = "test"
        self.root.greenlet = getcurrent()
        self.all_tasks: list[Task] = [self.root]
        self.alive: list[Task] = [self.root]
        self.trace = RecordedTrace(plan, self.all_tasks, self.resources, self.rows, Uncontrolled())
        self.ending = Ending(self, explainer, end_hooks)
        # The plan.
        self._prefix: Sequence[Choice] = plan.prefix
        self._prefix_length = len(plan.prefix)
        self._non_preemptive = isinstance(plan.policy, NonPreemptive)
        self._decider = decider_for(plan.policy, self.trace.effects, self.ending.ask)
        self._late_timeouts = settings.late_timeouts
        # Some task has waited, or waits, with a timeout that may not fire early.
        self._late_firing = False
        # The options of the last step, which are most often those of the next one.
        self._last_enabled: list[Task] = []
        self._last_ids: tuple[str, ...] = ()
        # Yields: the next step comes after one; in a row without progress; and whether the
        # next step is for a sleeping task.
        self._yielding = False
        self._spinning = False
        self._idle_yields = 0
        self.time_is_up = False
        self._slice_began = 0
        # When it ends.
        self.interrupted = False
        self.aborting = False
        self.checks = Checks(self, settings.max_steps, invariant)
        # Where control may not pass.
        self.suspended = 0
        self.atomic = 0
        # Only where a build with the GIL could switch threads is a scheduling point.
        self.gil = settings.gil
        # Steps that begin with a preemption which such a build could not make.
        self.beyond_gil: list[int] = []
        self._watch_breakers = settings.watch_breakers
        self._minds_gil = settings.gil or settings.watch_breakers
        # Data: who is told of accesses, and what the variables are called.
        self.sink: Any = None
        self._namespaces = set() if namespaces is None else namespaces
        self._variables: dict[int, Names] = {}
        # Real seconds without a step that are not taken for a hang yet.
        self.patience = float("inf")
        # Makes a task that spins on a variable not known to be shared yield at its next access;
        # called in another thread.
        self.nudge: Callable[[], object] | None = None
        self.nudged = False
        # The world around it.
        self.outside = Outside(self)
        self.signals: list[tuple[Handler, int, Any]] = []
        self.excepthook_before: Any = threading.excepthook
        self.unraisablehook_before: Any = sys.unraisablehook

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        return len(self.rows)

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
            self.ending.unwind_tasks()
        finally:
            control.current.execution = None
        trace = self.trace
        trace.virtual_time = self.clock.now
        if aftermath is not None:
            trace.virtual_time = aftermath.cut_off()
        trace.forget()
        trace.seconds = _real_perf_counter() - started
        return trace

    def let_go(self) -> None:
        """Drop what refers back here, so that the execution dies without a garbage collection."""
        self.detector = self.sink = self.nudge = None
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
        firing: Firing = Firing.EARLY,
    ) -> bool:
        """A scheduling point: the running task is about to do an operation.

        Returns when the task is chosen to go on.

        Parameters:
            kind: of the operation.
            state: the resource.
            place: ``(code object, instruction offset)`` of the caller.
            ready: whether the operation would not block; ``None``: it never blocks.
            timeout: virtual seconds after which the wait may end, or ``None``.
            external: something outside our control may make it ready.
            firing: when the timeout may fire.

        Returns:
            False if the timeout fired, else true.

        Raises:
            TaskKilled: the execution is over.
        """
        task = self.current
        if self.aborting:
            if ready is None or ready():
                return True
            raise TaskKilled
        if self._minds_gil and state.type not in IN_C:
            # A method written in Python: its entry is where such a build can switch threads.
            task.breakable = True
        if ready is None:
            if self.atomic or (self.gil and not task.breakable and not kind.is_yield):
                if self.detector is not None:
                    self.detector.synchronise(task.index, state, kind.is_write)
                return True
            task.pending = _new_operation(Operation, (kind, state.id, place))
        else:
            task.pending = _new_operation(Operation, (kind, state.id, place))
            task.ready = ready
            task.waits_for = state
            task.external = external
            if firing is not Firing.EARLY:
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
        if self.signals and task is self.root:
            return after_signals(self, kind, state, place, ready, external, firing)
        if ready is not None:
            if (
                task.deadline is not None
                and task.firing is Firing.EARLY
                and not self._late_timeouts
            ):
                self.trace.early_timeouts.append(len(self.rows) - 1)
            task.ready = None
            task.deadline = None
            task.external = False
            task.firing = Firing.EARLY
            if task.timed_out:
                task.timed_out = False
                return False
        task.breakable = False
        if self.detector is not None:
            self.detector.synchronise(task.index, state, kind.is_write)
        return True

    def access(self, place: Any, kind: Kind, shadow: Any) -> None:
        """The running task is about to access a variable at a place that is a scheduling point.

        Parameters:
            place: of the access.
            kind: ``READ`` or ``WRITE``.
            shadow: the variable, see :class:`~bohrbug.runtime.threads.data.shadows.Shadow`.
        """
        task = self.current
        if task.inside or self.atomic or self.suspended or len(self.alive) == 1:
            return
        if self.aborting:
            raise TaskKilled
        if self.gil and not task.breakable:
            return
        entry = self._variables.get(id(shadow))
        if entry is None:
            entry = self._name_variable(shadow)
        resource, container, _ = entry
        task.pending = _new_operation(Operation, (kind, resource, place))
        task.waiting = True
        chosen = self._decide(task)
        if chosen is not task:
            self.switch(task, chosen)
        if self.aborting:
            raise TaskKilled
        task.waiting = False
        task.breakable = False
        if container is not None:
            self.trace.effects.append((len(self.rows) - 1, task.id, container, kind.is_write))
        if kind.is_write:
            if task.looks:
                task.looks.clear()
            self._idle_yields = 0
        else:
            counts = task.looks
            key = id(place)
            count = counts[key] = counts.get(key, 0) + 1
            if count >= SPIN_READS:
                counts.clear()
                self._spinning = True

    def _name_variable(self, shadow: Any) -> Names:
        """A variable is accessed at a scheduling point for the first time."""
        entry = self._variables[id(shadow)] = names_of(shadow, self._namespaces)
        self.resources.add_variable(entry[0], shadow)
        return entry

    def observe(self, state: ResourceState, place: Any) -> None:
        """The running task only looks; if it does so again and again, it spins."""
        counts = self.current.looks
        key = (state.id, place)
        count = counts[key] = counts.get(key, 0) + 1
        if count >= SPIN_READS:
            counts.clear()
            self._spinning = True

    def spins(self) -> None:
        """The running task spins: it yields at its next scheduling point."""
        self._spinning = True

    def choose(self, arity: int, place: Any) -> int:
        """A data choice among ``range(arity)``; part of the choice sequence."""
        task = self.current
        if self.aborting:
            raise TaskKilled
        step = len(self.rows)
        if step < self._prefix_length:
            value = self._prefix[step]
            if not isinstance(value, int) or value >= arity:
                self._diverge(step, value, f"a data choice among {arity} values")
                value = self._decider.value(arity)
        else:
            value = self._decider.value(arity)
        state = self.resources.state_named(f"{task.id}:choice", "choice")
        self.trace.arities[step] = arity
        operation = _new_operation(Operation, (CHOOSE, state.id, place))
        self.rows.append((value, task.id, operation, (task.id,), (), False))
        return value

    def _decide(self, running: Task) -> Task:
        """Choose who runs the next step, and record it."""
        timed: list[Task]
        while True:
            enabled = []
            timed = []
            # Predicates may run code of the program, such as a queue's own _qsize.
            self.suspended += 1
            try:
                for task in self.alive:
                    ready = task.ready
                    if ready is None or ready():
                        enabled.append(task)
                    elif task.deadline is not None:
                        timed.append(task)
            finally:
                self.suspended -= 1
            sleeping = timed
            if enabled:
                if timed and self._late_timeouts:
                    timed = []
                elif timed and (self._late_firing or self.outside.alarm_set):
                    timed = self.outside.firing_early(timed)
                break
            if timed:
                first: Task = earliest(timed)  # type: ignore[assignment]
                can_fire = self.outside.pass_time(timed, first)
                if self.aborting:
                    return self.root
                if can_fire is None:
                    continue
                timed = [first] if self._late_timeouts else list(can_fire)
                break
            if not self._stuck():
                return self.root

        step = len(self.rows)
        yielded = self._yielding
        self._yielding = False
        if step >= self.next_check and not self.checks.make(step, sleeping, enabled):
            return self.root
        if self._spinning:
            self._spinning = False
            yielded = True
        elif step - self._slice_began >= TIME_SLICE:
            if len(enabled) > 1:
                self._slice_began = step
                yielded = True
            elif step - self._slice_began >= LONELY_STEPS:
                self._slice_began = step
                self.time_is_up = True
                self.checks.note_lonely(step)
        if (yielded or self.time_is_up) and sleeping and enabled:
            self._idle_yields += 1
            if self.time_is_up or self._idle_yields > IDLE_YIELDS * len(enabled):
                self._idle_yields = 0
                self.time_is_up = False
                first = earliest(sleeping)  # type: ignore[assignment]
                if self.outside.pass_time(sleeping, first):
                    # As if nothing were enabled: all that is does nothing but wait.
                    enabled = []
                    timed = [first]
                if self.aborting:
                    return self.root
        fairness = self.fairness
        if yielded or fairness.active:
            if yielded:
                fairness.yielded(running, enabled, self.rows)
            enabled, timed = fairness.filter(enabled, timed)

        if step < self._prefix_length:
            chosen = self._follow(step, running, enabled, timed, yielded)
        elif self._non_preemptive:
            if not enabled:
                chosen = earliest(timed)  # type: ignore[assignment]
            elif running in enabled and not yielded:
                chosen = running
            else:
                chosen = next_in_turn(running, enabled, yielded, step)  # type: ignore[assignment]
        else:
            chosen = self._decider.choose(running, enabled, timed, yielded, step)  # type: ignore[assignment]

        if enabled == self._last_enabled:
            ids = self._last_ids
        else:
            self._last_enabled = enabled
            self._last_ids = ids = tuple([task.id for task in enabled])
        identity = chosen.id
        self.rows.append(
            (
                identity,
                identity,
                chosen.pending,
                ids,
                tuple([task.id for task in timed]) if timed else (),
                yielded,
            )
        )
        if chosen is not running:
            self._slice_began = step
            if (
                self._watch_breakers
                and not running.breakable
                and not yielded
                and running in enabled
                and running.begun
            ):
                self.beyond_gil.append(step)
        if timed and chosen not in enabled:
            chosen.timed_out = True
            self.clock.advance_to(chosen.deadline)
        if fairness.active:
            fairness.scheduled(chosen)
        return chosen

    def _stuck(self) -> bool:
        """No task can go on. True if something outside our control changed that."""
        if not self.outside.wait_when_stuck():
            self.ending.give_up()
        return not self.aborting

    def _follow(
        self,
        step: int,
        running: Task,
        enabled: list[Task],
        timed: list[Task],
        yielded: bool,
    ) -> Task:
        """The choice of the plan's prefix, or give up the replay (CHESS, section 4.2)."""
        wanted = self._prefix[step]
        for task in enabled:
            if task.id == wanted:
                return task
        for task in timed:
            if task.id == wanted:
                return task
        options = ", ".join(
            f"{task.id} ({task.pending.kind.name})" for task in enabled + timed if task.pending
        )
        self._diverge(step, wanted, options or "no task")
        return self._decider.choose(running, enabled, timed, yielded, step)  # type: ignore[return-value]

    def _diverge(self, step: int, wanted: Choice, found: str) -> None:
        self.trace.divergence = Divergence(step, str(wanted), found)
        self._prefix_length = 0

    # -- passing control ---------------------------------------------------------

    def switch(self, running: Task, chosen: Task) -> None:
        """Pass control; returns when ``running`` is chosen again."""
        if self._swap is not None:
            self._swap(running, chosen)
        self.current = chosen
        assert chosen.greenlet is not None
        chosen.greenlet.switch()

    def throw(self, task: Task, error: type[BaseException]) -> None:
        """Pass control from the root to a task, which finds an exception where it waits."""
        root = self.root
        assert task.carrier is not None
        if self._swap is not None:
            self._swap(root, task)
        self.current = task
        task.carrier.throw(error)
        if self._swap is not None:
            self._swap(task, root)
        self.current = root

    def carry(self, task: Task) -> greenlet:
        """Carry a task to its end; where control goes then."""
        carry(self, task)
        chosen = self.root if self.aborting else self._decide(task)
        if self._swap is not None:
            self._swap(task, chosen)
        self.current = chosen
        assert chosen.greenlet is not None
        return chosen.greenlet

    def leave_plan(self) -> None:
        """Go on without preemptions from here on, and let timeouts fire late."""
        self._prefix_length = 0
        self._non_preemptive = True
        self._late_timeouts = True

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
        SPIN_READS,
        after_signals,
    )
