"""One controlled execution: the choice of who runs, and nothing else.

The primitives call :meth:`Execution.perform` just before each operation; it
is the only place where control passes from one task to another.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from greenlet import getcurrent, greenlet

from bohrbug.accelerator import native
from bohrbug.model.operation import (
    ACQUIRE,
    BEGIN,
    CHOOSE,
    CLEAR,
    END,
    EXIT,
    JOIN,
    NOTIFY,
    PUT,
    RELEASE,
    RESOLVE,
    ROOT,
    SET,
    SHUTDOWN,
    SPAWN,
    TASK_DONE,
    WRITE,
    YIELD,
    Kind,
    Operation,
)
from bohrbug.model.outcome import (
    Divergence,
    Outcome,
    OutcomeKind,
)
from bohrbug.model.plan import Choice, NonPreemptive, Plan
from bohrbug.model.trace import Gate, Trace
from bohrbug.runtime.policies import decider_for, earliest, next_in_turn
from bohrbug.runtime.threads import aftermath, control
from bohrbug.runtime.threads.clock import VirtualClock
from bohrbug.runtime.threads.fairness import Fairness
from bohrbug.runtime.threads.monitoring import Detector, Explainer
from bohrbug.runtime.threads.outside import Handler, Outside
from bohrbug.runtime.threads.recorded import RecordedTrace, recorded_trace
from bohrbug.runtime.threads.resources import OlderObjects, ResourceState, ResourceTable
from bohrbug.runtime.threads.settings import Settings
from bohrbug.runtime.threads.task import CarrierPool, Firing, Task, TaskKilled

_new_operation = tuple.__new__

SPIN_READS = 50
"""Equal looks, without a change made in between, after which a task is taken to yield."""

TIME_SLICE = 2_000
"""Steps that a task does in a row before it is taken to yield, as any real scheduler would."""

IDLE_YIELDS = 20
"""Yields per enabled task, without progress by anyone, after which virtual time passes.

A loop that waits for something which a sleeping task will do can't be left to
itself: in real life time passes while it spins.
"""

LONELY_STEPS = 10 * TIME_SLICE
"""Steps that a task does in a row, while all others sleep, after which virtual time passes."""

EXTENSIONS = 3
"""How often time passes, rather than that a livelock is declared, while tasks sleep."""

IN_C = frozenset({"Lock", "RLock", "SimpleQueue", "choice"})
"""Types of resources whose operations the interpreter does in one go, without a look at the GIL."""

_PROGRESS = frozenset(
    {RELEASE, SET, CLEAR, NOTIFY, PUT, TASK_DONE, RESOLVE, SHUTDOWN, WRITE, END, SPAWN}
)
"""Kinds of operations by which a task shows that it does not only wait."""


class Execution:
    """Executes one plan.

    Parameters:
        plan: what to execute.
        settings: how.
        pool: where carriers come from.
        explainer: builds outcomes.
        detector: told of every synchronisation, or ``None``.
        invariant: called before every step from the second task on; what it
            raises, or a false result, ends the execution.
        names: ids of objects that live on from one execution to the next.
        end_hooks: called when the test has ended and threads are still alive.
        swap: exchanges state that the interpreter keeps per OS thread.
    """

    # What every scheduling point looks at.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_attention",
        "_decider",
        "_idle_yields",
        "_last_enabled",
        "_last_ids",
        "_minds_gil",
        "_non_preemptive",
        "_prefix",
        "_prefix_length",
        "_rows",
        "_slice_began",
        "_spinning",
        "_swap",
        "_variables",
        "_yielding",
        "aborting",
        "alive",
        "atomic",
        "current",
        "detector",
        "fairness",
        "gil",
        "resources",
        "root",
        "signals",
        "suspended",
        "trace",
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
    ) -> None:
        self.settings = settings
        self._end_hooks = end_hooks
        self._swap = swap
        self.detector = detector
        self.clock = VirtualClock(settings.epoch)
        self.resources = ResourceTable(names)
        self.fairness = Fairness()
        # One row per step: choice, task, operation, enabled, timed, yielded.
        self._rows: list[tuple[Any, ...]] = []
        self._prefix: Sequence[Choice] = plan.prefix
        self._prefix_length = len(plan.prefix)
        self._non_preemptive = isinstance(plan.policy, NonPreemptive)
        self._pool = pool
        self._explainer = explainer
        self._invariant = invariant
        self._late_timeouts = settings.late_timeouts
        # The next step at which something rare has to be looked at.
        self._attention = settings.max_steps if invariant is None else 0
        self._step_limit = settings.max_steps
        self._last_enabled: list[Task] = []
        self._last_ids: tuple[str, ...] = ()
        self._yielding = False
        self._spinning = False
        # Yields in a row without progress; and whether the next step is for a sleeping task.
        self._idle_yields = 0
        self._time_is_up = False
        self._extensions = 0
        self._slice_began = 0
        self.interrupted = False
        self.aborting = False
        # Set once the outcome is decided, until all that is left has ended or is unwound.
        self.aftermath: aftermath.Aftermath | None = None
        # Set while the scheduler itself runs code of the program (predicates, invariants).
        self.suspended = 0
        # Depth of sections in which control is never taken away, such as an import.
        self.atomic = 0
        self.root = self.current = Task("0", 0, control.real_get_ident())
        self.root.name = "MainThread"
        self.root.target = "test"
        self.root.greenlet = getcurrent()
        self.all_tasks: list[Task] = [self.root]
        self.trace: RecordedTrace = recorded_trace(plan, self.all_tasks, self.resources, self._rows)
        self._decider = decider_for(plan.policy, self.trace.effects)
        self.alive: list[Task] = [self.root]
        self.root_is_exiting = False
        self._variables: dict[int, tuple[str, str | None, Any]] = {}
        # Only where a build with the GIL could switch threads is a scheduling point.
        self.gil = settings.gil
        # Steps that begin with a preemption which such a build could not make.
        self.beyond_gil: list[int] = []
        self._watch_breakers = settings.watch_breakers
        self._minds_gil = settings.gil or settings.watch_breakers
        self.sink: Any = None
        # Types of objects, and ids of the dicts of modules, whose names were used as a whole.
        self.namespaces: set[object] = set()
        # Real seconds without a step that are not taken for a hang yet.
        self.patience = float("inf")
        # Makes a task that spins on a variable not known to be shared yield at its next access;
        # called in another thread.
        self.nudge: Callable[[], object] | None = None
        self.nudged = False
        # Lets objects go that only the watching of accesses keeps alive.
        self.end_of_task: Callable[[], object] | None = None
        self.excepthook_before: Any = threading.excepthook
        self.unraisablehook_before: Any = sys.unraisablehook
        self.outside = Outside(self)
        # Some task has waited, or waits, with a timeout that may not fire early.
        self._late_firing = False
        # Signals that wait for the root task, which stands for the main thread.
        self.signals: list[tuple[Handler, int, Any]] = []

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        return len(self._rows)

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
                self._finish()
            except TaskKilled:
                pass
            except BaseException as error:  # noqa: BLE001  (an outcome, whatever it is)
                self.outside.end_child(error)
                self.fail_with_exception(self.root, error)
            if self.aftermath is not None:
                self._let_the_rest_end()
            self._kill_tasks()
        finally:
            control.current.execution = None
        trace = self.trace
        trace.virtual_time = self.clock.now
        if self.aftermath is not None:
            trace.virtual_time = self.aftermath.cut_off()
        trace.forget()
        trace.seconds = _real_perf_counter() - started
        return trace

    def let_go(self) -> None:
        """Drop what refers back here, so that the execution dies without a garbage collection."""
        self.detector = self.sink = self.nudge = self.end_of_task = self.aftermath = None
        self.outside.let_go()

    def _finish(self) -> None:
        """The test has returned: let the other tasks end, as the interpreter would at its exit."""
        if any(not task.daemon for task in self.alive if task is not self.root):
            self.root_is_exiting = True
            self._step_limit = min(self._step_limit, len(self._rows) + self.settings.leak_steps)
            self._attention = min(self._attention, self._step_limit)
            for hook in self._end_hooks:
                hook(self)
            self.wait_for_the_rest(self._only_daemons_left)
        elif any(task.daemon for task in self.all_tasks):
            # Daemon threads may get further before the test ends, or not.
            self.perform(END, self.resources.state_named(ROOT, "thread 0", "Thread"), None)
        self.root.ended = True

    def wait_for_the_rest(self, ready: Callable[[], bool]) -> None:
        """After the end of the test: run the other tasks until ``ready`` holds."""
        state = self.resources.state_named(EXIT, "the end of the other threads", "exit")
        frame = sys._getframe(0)
        self.perform(JOIN, state, (frame.f_code, frame.f_lasti), ready)

    def _let_the_rest_end(self) -> None:
        """After a failure: the other tasks go on to their end, as far as they come."""
        self.root_is_exiting = True
        if not self.aborting and not self._only_daemons_left():
            with suppress(TaskKilled):
                self.wait_for_the_rest(self._only_daemons_left)

    def cut_rows(self, steps: int) -> None:
        """Forget all steps but the first so many."""
        del self._rows[steps:]
        self.beyond_gil = [step for step in self.beyond_gil if step < steps]

    def _only_daemons_left(self) -> bool:
        return all(task.daemon or task is self.root for task in self.alive)

    def _kill_tasks(self) -> None:
        """Unwind every task that is still suspended."""
        self.aborting = True
        root = self.root
        self.current = root
        if self.aftermath is None and (len(self.alive) > 1 or not root.ended):
            self._note_pending()
        for task in list(self.alive):
            if task is root:
                continue
            carrier = task.carrier
            if carrier is None:
                continue
            for _ in range(100):
                if task.ended:
                    break
                if not task.entered:
                    # It never began: nothing to unwind, and its carrier is as good as new.
                    for hook in task.on_end:
                        hook()
                    task.ended = True
                    task.function = None
                    carrier.task = None
                    self._pool.put(carrier)
                    break
                self._swap_thread_state(self.current, task)
                self.current = task
                carrier.throw(TaskKilled)
                self._swap_thread_state(task, root)
                self.current = root
            if not task.ended:
                self.trace.uncontrolled.note(
                    f"task {task.id} ({task.name}) could not be stopped at the end of an execution"
                )
                task.ended = True
        self.current = root
        self.alive = [root]
        for task in self.all_tasks:
            for lock in list(task.holding):
                lock._reset()

    def _note_pending(self) -> None:
        self.trace.final_pending = {
            task.id: task.pending
            for task in self.alive
            if not task.ended and task.pending is not None and task.waiting
        }

    # -- tasks -----------------------------------------------------------------

    def spawn(
        self,
        function: Callable[[], object],
        place: Any,
        name: str,
        target: str,
        daemon: bool,
        ident: int,
    ) -> Task:
        """Create a task; it runs only when it is chosen (or by :meth:`run_prelude`)."""
        parent = self.current
        parent.children += 1
        task = Task(f"{parent.id}.{parent.children}", len(self.all_tasks), ident)
        task.name = name
        task.target = target
        task.daemon = daemon
        task.spawned = place
        task.state = state = self.resources.thread(task.id)
        task.pending = _new_operation(Operation, (BEGIN, state.id, place))
        carrier = self._pool.get()
        carrier.task = task
        carrier.next_greenlet = self._greenlet_after
        carrier.gr_context = None
        task.carrier = carrier
        task.greenlet = carrier

        def body() -> None:
            task.entered = True
            try:
                if task.prelude_of is None:
                    self._begun(task)
                if not self.aborting:
                    function()
            except TaskKilled:
                pass
            except SystemExit:
                pass
            except BaseException as error:  # noqa: BLE001  (an outcome, whatever it is)
                self.outside.end_child(error)
                self.fail_with_exception(task, error)
            if self.outside.in_child:
                self.outside.end_child(None)
            self._end(task)

        task.function = body
        self.all_tasks.append(task)
        if self._rows and self._rows[-1][2][1] != state.id:
            # Within another operation, such as handing a job to an executor.
            self.trace.effects.append((len(self._rows) - 1, parent.id, state.id, True))
        detector = self.detector
        if detector is not None:
            detector.spawn(parent.index, task.index)
            detector.synchronise(parent.index, state, True)
        if not self.aborting:
            self.alive.append(task)
        sink = self.sink
        if sink is not None:
            # What the root did before happens before everything that other tasks do.
            sink.enabled = True
        return task

    def run_prelude(self, task: Task) -> None:
        """Run a fresh task at once up to :meth:`end_prelude`, without a scheduling point.

        ``Thread.start`` returns only after the new thread has told that it runs;
        nothing in between is visible to the program.
        """
        parent = self.current
        if self.aborting:
            return
        task.prelude_of = parent
        self._switch(parent, task)

    def end_prelude(self, task: Task) -> None:
        """Back to the task that started this one; go on here when chosen."""
        parent = task.prelude_of
        assert parent is not None
        self._switch(task, parent)
        task.prelude_of = None
        if self.aborting:
            raise TaskKilled
        self._begun(task)

    def _begun(self, task: Task) -> None:
        task.begun = True
        task.breakable = True
        detector = self.detector
        if detector is not None:
            detector.synchronise(task.index, task.state, True)
        if self.aborting:
            raise TaskKilled

    def _end(self, task: Task) -> None:
        """The last operation of a task."""
        if not self.aborting:
            # Not contextlib.suppress, which takes longer than all the rest here.
            try:  # noqa: SIM105
                self.perform(END, task.state, task.spawned)
            except TaskKilled:
                pass
        for hook in task.on_end:
            hook()
        task.on_end.clear()
        # Values of threading.local die with their thread, and it may die itself.
        task.local_values.clear()
        if task.thread is not None:
            task.thread = weakref.ref(task.thread)
        task.ended = True
        alive = self.alive
        if task in alive:
            alive.remove(task)

    def _greenlet_after(self, task: Task) -> greenlet:
        """Where control goes when a task has ended."""
        chosen = self.root if self.aborting else self._decide(task)
        self._swap_thread_state(task, chosen)
        self.current = chosen
        assert chosen.greenlet is not None
        return chosen.greenlet

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
            task.blocked_since = len(self._rows)
            if timeout is not None:
                task.deadline = self.clock.now + timeout
        if kind.is_yield:
            self._yielding = True
        elif (task.looks or self._idle_yields) and kind in _PROGRESS:
            task.looks.clear()
            self._idle_yields = 0
        task.waiting = True
        chosen = self._decide(task)
        if chosen is not task:
            self._switch(task, chosen)
        over: bool = self.aborting  # may have changed while other tasks ran
        if over:
            task.ready = None
            task.deadline = None
            raise TaskKilled
        task.waiting = False
        if self.signals and task is self.root:
            return self._after_signals(kind, state, place, ready, external, firing)
        if ready is not None:
            if (
                task.deadline is not None
                and task.firing is Firing.EARLY
                and not self._late_timeouts
            ):
                self.trace.early_timeouts.append(len(self._rows) - 1)
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
            entry = self._variables[id(shadow)] = self._name_variable(shadow)
        resource, container, _ = entry
        task.pending = _new_operation(Operation, (kind, resource, place))
        task.waiting = True
        chosen = self._decide(task)
        if chosen is not task:
            self._switch(task, chosen)
        if self.aborting:
            raise TaskKilled
        task.waiting = False
        task.breakable = False
        if container is not None:
            self.trace.effects.append((len(self._rows) - 1, task.id, container, kind.is_write))
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

    def yield_in_spin(self, place: Any) -> None:
        """The running task has not come to a scheduling point for long: let others run.

        This depends on real time, so that the execution can't be repeated; it serves to
        see what the others do to the variable on which the task spins.
        """
        task = self.current
        if task.inside or self.atomic or self.suspended:
            return
        if not self.nudged:
            self.nudged = True
            self.trace.divergence = Divergence(len(self._rows), "no yield", "a task that spins")
        # It has spun for long in real time already.
        self._time_is_up = True
        self.perform(YIELD, self.resources.state_named("clock", "the clock", "clock"), place)

    def _name_variable(self, shadow: Any) -> tuple[str, str | None, Any]:
        """Resource id of a variable and, for an item, of its container as a whole."""
        resource = shadow.resource_id
        self.resources.add_variable(resource, shadow)
        container = None
        if shadow.is_item and shadow.container is not None and not self.is_namespace(shadow):
            container = shadow.container.resource_id
        whole = self._namespace_of(shadow)
        if whole is not None and whole != resource:
            container = whole
        # The shadow is kept, so that its identity stays its own.
        return resource, container, shadow

    def _namespace_of(self, shadow: Any) -> str | None:
        """The whole that an attribute or a global belongs to, if that is ever used as one.

        ``vars(object)`` and ``globals()`` are seldom accessed as a whole; only then do the
        accesses to single names conflict with that.  It is remembered by the type of the
        object, which does not depend on the schedule as its id does.
        """
        owner = shadow.owner
        target = owner.target()
        if self.is_namespace(shadow):
            key: object = id(target)
        elif shadow.is_item or owner.kind.is_container:
            return None
        else:
            key = type(target)
        if shadow.key is None:
            self.namespaces.add(key)
        return f"{owner.resource_id}[*]" if key in self.namespaces else None

    @staticmethod
    def is_namespace(shadow: Any) -> bool:
        """Whether a variable is a global: its container, the module, is never used as a whole."""
        target = shadow.owner.target()
        return type(target) is dict and "__builtins__" in target

    def effect(self, state: ResourceState, is_write: bool) -> None:
        """The running step also touches another resource (the lock that a ``wait`` releases)."""
        task = self.current
        if self.aborting:
            return
        self.trace.effects.append((len(self._rows) - 1, task.id, state.id, is_write))
        if self.detector is not None:
            self.detector.synchronise(task.index, state, is_write)

    def touch(self, state: ResourceState | None) -> None:
        """The running step changes a primitive, too, on behalf of a library that uses it.

        Such as the queue of an executor, to which ``submit`` adds: no scheduling point of
        its own, but what waits for the primitive depends on the step.
        """
        if state is not None and self._rows:
            self.effect(state, True)

    def saw(self, state: ResourceState) -> None:
        """The running step looked at another resource, which tells it nothing of what was before.

        It is an effect, but orders no data accesses: a lock that could not be acquired does not
        synchronise with who holds it.
        """
        if not self.aborting:
            self.trace.effects.append((len(self._rows) - 1, self.current.id, state.id, False))

    def note_gate(self, can_take: bool, can_put: bool, waits: bool) -> None:
        """Before the running step changes a semaphore or a queue: what would block; see Gate."""
        if not self.aborting:
            self.trace.gates[len(self._rows) - 1] = Gate(can_take, can_put, waits)

    def observe(self, state: ResourceState, place: Any) -> None:
        """The running task only looks; if it does so again and again, it spins."""
        counts = self.current.looks
        key = (state.id, place)
        count = counts[key] = counts.get(key, 0) + 1
        if count >= SPIN_READS:
            counts.clear()
            self._spinning = True

    def choose(self, arity: int, place: Any) -> int:
        """A data choice among ``range(arity)``; part of the choice sequence."""
        task = self.current
        if self.aborting:
            raise TaskKilled
        step = len(self._rows)
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
        self._rows.append((value, task.id, operation, (task.id,), (), False))
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

        step = len(self._rows)
        yielded = self._yielding
        self._yielding = False
        if step >= self._attention and not self._attend(step, sleeping):
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
                self._time_is_up = True
        if (yielded or self._time_is_up) and sleeping and enabled:
            self._idle_yields += 1
            if self._time_is_up or self._idle_yields > IDLE_YIELDS * len(enabled):
                self._idle_yields = 0
                self._time_is_up = False
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
                fairness.yielded(running, enabled, self._rows)
            enabled, timed = fairness.filter(enabled, timed)

        if step < self._prefix_length:
            chosen = self._follow(step, running, enabled, timed, yielded)
        elif self._non_preemptive:
            if not enabled:
                chosen = earliest(timed)  # type: ignore[assignment]
            elif running in enabled and not yielded:
                chosen = running
            else:
                chosen = next_in_turn(running, enabled)  # type: ignore[assignment]
        else:
            chosen = self._decider.choose(running, enabled, timed, yielded, step)  # type: ignore[assignment]

        if enabled == self._last_enabled:
            ids = self._last_ids
        else:
            self._last_enabled = enabled
            self._last_ids = ids = tuple([task.id for task in enabled])
        identity = chosen.id
        self._rows.append(
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

    def _switch(self, running: Task, chosen: Task) -> None:
        self._swap_thread_state(running, chosen)
        self.current = chosen
        assert chosen.greenlet is not None
        chosen.greenlet.switch()

    def _swap_thread_state(self, leaving: Task, entering: Task) -> None:
        """Exchange what the interpreter keeps per OS thread and tasks must not share."""
        if self._swap is not None:
            self._swap(leaving, entering)

    # -- rare things -------------------------------------------------------------

    def _attend(self, step: int, sleeping: list[Task]) -> bool:
        """Look at what is due: interrupt, step limit, invariant. False ends the execution."""
        if self.interrupted:
            self.abort(Outcome(OutcomeKind.INTERRUPTED, "interrupted by the user"))
            return False
        if step >= self._step_limit:
            if self.aftermath or not sleeping or self._extensions == EXTENSIONS:
                if self.aftermath is not None:
                    self.abort(None)
                    return False
                self.decide(self._explainer.step_limit(self), evict_root=True)
                return not self.aborting
            # What never ends may be waiting for a task that only time can wake.
            self._extensions += 1
            self._time_is_up = True
            self._step_limit = step + LONELY_STEPS
        if self._invariant is not None:
            self._attention = step + 1
            if len(self.all_tasks) > 1:
                return self._check_invariant()
        else:
            self._attention = self._step_limit
        return True

    def _check_invariant(self) -> bool:
        assert self._invariant is not None
        self.suspended += 1
        try:
            holds = self._invariant()
        except Exception as error:  # noqa: BLE001  (an outcome, whatever it is)
            self.suspended -= 1
            self.decide(
                Outcome(
                    OutcomeKind.INVARIANT,
                    f"invariant raised {type(error).__name__}: {error}",
                    task=self.current.id,
                    exception=type(error).__name__,
                ),
                evict_root=True,
            )
            return not self.aborting
        self.suspended -= 1
        if holds is not None and not holds:
            name = getattr(self._invariant, "__qualname__", repr(self._invariant))
            self.decide(
                Outcome(OutcomeKind.INVARIANT, f"invariant {name} is false", task=self.current.id),
                evict_root=True,
            )
            return not self.aborting
        return True

    def interrupt(self) -> None:
        """End the execution at its next scheduling point (the user pressed Ctrl-C)."""
        self.interrupted = True
        self._attention = 0

    def _stuck(self) -> bool:
        """No task can go on. True if something outside our control changed that."""
        if self.outside.wait_when_stuck():
            return not self.aborting
        self.give_up()
        return not self.aborting

    def give_up(self) -> None:
        """No task can go on, and nothing outside is worth waiting for."""
        after = self.aftermath
        if after is None:
            self.decide(self._explainer.stuck(self), evict_root=True)
        elif after.root_is_evicted or self.root_is_exiting:
            self.abort(None)
        else:
            after.evict_root()

    def decide(self, outcome: Outcome, evict_root: bool = False) -> None:
        """The execution has this outcome; what is left goes on to its end, outside of the trace.

        Parameters:
            outcome: the failure.
            evict_root: the test itself would not come to its teardown.
        """
        if self.aborting or self.aftermath is not None:
            return
        if self.root_is_exiting:
            # The test has had its teardown.
            self.abort(outcome)
            return
        self.trace.outcome = outcome
        self._note_pending()
        self.aftermath = after = aftermath.Aftermath(self)
        self._prefix_length = 0
        self._non_preemptive = True
        self._late_timeouts = True
        self._invariant = None
        self._step_limit = self._attention = self.steps + aftermath.STEPS
        if evict_root:
            after.evict_root()

    def defer_signal(self, handler: Handler, number: int, frame: Any) -> None:
        """Let the root task, which stands for the main thread, handle a signal when it runs next.

        A waiting root becomes ready for it, as a waiting main thread wakes up.
        """
        root = self.root
        self.signals.append((handler, number, frame))
        waits = root.ready
        if waits is not None:
            root.ready = lambda: bool(self.signals) or waits()

    def _after_signals(
        self,
        kind: Kind,
        state: ResourceState,
        place: Any,
        ready: Callable[[], bool] | None,
        external: bool = False,
        firing: Firing = Firing.EARLY,
    ) -> bool:
        """The root was chosen and signals wait for it: handle them, then go on as before."""
        task = self.root
        left = None if task.deadline is None else max(task.deadline - self.clock.now, 0.0)
        timed_out = task.timed_out
        task.ready = None
        task.deadline = None
        task.external = False
        task.firing = Firing.EARLY
        task.timed_out = False
        while self.signals:
            handler, number, frame = self.signals.pop(0)
            handler(number, frame)
        if timed_out:
            return False
        return self.perform(kind, state, place, ready, left, external, firing)

    def abort(self, outcome: Outcome | None) -> None:
        """Unwind all tasks now; the running one must return to the root.

        Parameters:
            outcome: of the execution, unless one was decided before.
        """
        if not self.aborting:
            if self.aftermath is None:
                assert outcome is not None
                self.trace.outcome = outcome
            self.aborting = True

    def fail_with_exception(self, task: Task, error: BaseException) -> None:
        """An exception left a task."""
        if not self.aborting and self.aftermath is None:
            self.decide(self._explainer.exception(self, task, error))


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
        _PROGRESS,
        ACQUIRE,
        RELEASE,
        WRITE,
        TIME_SLICE,
        LONELY_STEPS,
        SPIN_READS,
    )
