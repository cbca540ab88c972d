"""Choosing which task runs the next step of an execution, and recording it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from greenlet import getcurrent

from bohrbug.model.operation import CHOOSE, Operation
from bohrbug.model.outcome import Divergence, Uncontrolled
from bohrbug.model.plan import Choice, NonPreemptive, Plan, Policy
from bohrbug.model.site import site_of
from bohrbug.model.standstill import UNNOTICED_STALL, is_long
from bohrbug.paths import line_in_notes
from bohrbug.runtime.policies import Asked, Decider, decider_for, earliest
from bohrbug.runtime.threads import control
from bohrbug.runtime.threads.checks import Checks
from bohrbug.runtime.threads.clock import RealClock, VirtualClock
from bohrbug.runtime.threads.ending import Ending
from bohrbug.runtime.threads.fairness import Fairness
from bohrbug.runtime.threads.outside import Outside
from bohrbug.runtime.threads.pace import IDLE_YIELDS, LONELY_STEPS, MOST_PASSED_OVER, TIME_SLICE
from bohrbug.runtime.threads.recorded import RecordedTrace
from bohrbug.runtime.threads.resources import OlderObjects, ResourceState, ResourceTable
from bohrbug.runtime.threads.settings import Settings
from bohrbug.runtime.threads.standing import standing_here
from bohrbug.runtime.threads.task import Task, TaskKilled

_new_operation = tuple.__new__


class Deciding:
    """The part of an :class:`~bohrbug.runtime.threads.execution.Execution` that makes the choices.

    A base class: at every step it reads the same attributes as the rest, and
    an object of its own would cost a look-up for each.

    Parameters:
        plan: what to execute.
        settings: how to execute it.
        names: ids of objects that are older than the execution.
        ask: called where the plan leaves a decision to its caller.

    Attributes:
        alive: the tasks that have not ended, oldest first.
        loop_tasks: those of event loops, which are not threads, in the order of their creation.
        rows: one for each step: choice, task, operation, enabled, timed, yielded.
        next_check: the next step with a check that is rarely due, see :class:`Checks`.
        aborting: everything left is being unwound.
        suspended: not 0 while the scheduler itself runs code of the program, such as predicates.
        free_threaded_only_steps: those that begin with a preemption which a build with the GIL
            could not make.
        time_is_up: a task has run alone for long, and a sleeping task may run next.
    """

    __slots__ = (
        "_decider",
        "_idle_yields",
        "_in_vain",
        "_last_enabled",
        "_last_ids",
        "_late_firing",
        "_late_timeouts",
        "_most_stall",
        "_non_preemptive",
        "_passed_over",
        "_prefix",
        "_prefix_length",
        "_reads_clock",
        "_slice_began",
        "_spinning",
        "_stood",
        "_stood_until",
        "_watch_breakers",
        "_yielding",
        "aborting",
        "alive",
        "all_tasks",
        "checks",
        "clock",
        "current",
        "ending",
        "fairness",
        "free_threaded_only_steps",
        "loop_tasks",
        "next_check",
        "outside",
        "resources",
        "root",
        "rows",
        "suspended",
        "time_is_up",
        "trace",
    )

    # Made by the subclass, because they know the whole execution.
    checks: Checks
    ending: Ending
    outside: Outside
    next_check: int

    def __init__(
        self,
        plan: Plan,
        settings: Settings,
        names: OlderObjects,
        ask: Callable[[Asked], object],
    ) -> None:
        self.clock: VirtualClock | RealClock = (
            RealClock() if settings.is_service else VirtualClock(settings.epoch, settings.uptime)
        )
        self.resources = ResourceTable(names)
        self.rows: list[tuple[Any, ...]] = []
        # The tasks.
        self.root = self.current = Task("0", 0, control.real_get_ident())
        self.root.name = "MainThread"
        self.root.target = "test"
        self.root.greenlet = getcurrent()
        self.all_tasks: list[Task] = [self.root]
        self.alive: list[Task] = [self.root]
        self.loop_tasks: list[Task] = []
        self.trace = RecordedTrace(
            plan, self.all_tasks, self.resources, self.rows, Uncontrolled(), self.loop_tasks
        )
        self.fairness = Fairness(self.trace.uncontrolled)
        # The plan.
        self._prefix: Sequence[Choice] = plan.prefix
        self._prefix_length = len(plan.prefix)
        self._non_preemptive = isinstance(plan.policy, NonPreemptive)
        self._decider = decider_for(plan.policy, self.trace.effects, ask)
        self._late_timeouts = plan.conditions.late_timeouts
        self._most_stall = plan.conditions.most_stall
        # Whether a task has waited, or waits, with a timeout that may not fire early.
        self._late_firing = False
        # The options of the last step, which are usually those of the next one.
        self._last_enabled: list[Task] = []
        self._last_ids: tuple[str, ...] = ()
        # Yields: the next step comes after one; the running task spins, for certain; in a row
        # without progress.
        self._yielding = False
        self._spinning = False
        self._in_vain = False
        self._reads_clock = False
        self._idle_yields = 0
        # By task: its deadline, and how often the timeouts of others have fired since then.
        self._passed_over: dict[Task, tuple[float, int]] = {}
        # Tasks that have stood still while timeouts fired: for how long, and up to which step.
        self._stood: dict[Task, float] = {}
        self._stood_until = 0
        self.time_is_up = False
        self._slice_began = 0
        self.aborting = False
        self.suspended = 0
        # Note where a build with the GIL could not have switched.
        self._watch_breakers = False
        self.free_threaded_only_steps: list[int] = []

    # -- tasks -------------------------------------------------------------------

    def _decide(self, running: Task) -> Task:
        """Choose the task that runs the next step, and record it; the root task if all ends."""
        options = self._options()
        if options is None:
            return self.root
        enabled, timed, sleeping = options
        step = len(self.rows)
        yielded = self._yielding
        self._yielding = False
        if step >= self.next_check:
            if not self.checks.make(step, sleeping, enabled):
                return self.root
            # Steps may have been forgotten.
            step = len(self.rows)
        yielded = self._is_turn_over(step, running, enabled) or yielded
        if (yielded or self.time_is_up) and sleeping and enabled:
            self._idle_yields += 1
            if self.time_is_up or self._idle_yields > IDLE_YIELDS * len(enabled):
                enabled, timed = self._let_time_pass(enabled, timed, sleeping)
                if self.aborting:
                    return self.root
        fairness = self.fairness
        if yielded or fairness.active:
            if yielded:
                fairness.yielded(running, enabled, self.rows)
            enabled, timed = fairness.filter(enabled, timed)
        chosen = self._pick(step, running, enabled, timed, yielded)
        self._record(step, running, chosen, enabled, timed, yielded)
        return chosen

    def decide_by_default(self, default: Task) -> Task:
        """Choose the next task where, by default, another task than the running one goes on.

        Parameters:
            default: the task that can go on without a preemption.
        """
        rows = self.rows
        step = len(rows)
        chosen = self._decide(default)
        if step and len(rows) > step and rows[step - 1][1] != default.id:
            self.trace.defaults[step] = default.id
        return chosen

    @property
    def wanted(self) -> Choice | None:
        """What the plan has next; ``None``: it leaves that open."""
        step = len(self.rows)
        return self._prefix[step] if step < self._prefix_length else None

    def may_fire_early(self) -> bool:
        """Whether timeouts may fire while a task can go on."""
        return not self._late_timeouts and not self.outside.alarm_set

    def _options(self) -> tuple[list[Task], list[Task], list[Task]] | None:
        """What could run: enabled tasks, those that a timeout could wake, and all sleeping ones.

        ``None``: nothing, or the execution ends while time passes.
        """
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
                if timed and (self._late_firing or self.outside.alarm_set):
                    timed = self.outside.firing_early(timed)
                if timed and self._late_timeouts:
                    timed = _due(timed, self.clock.now)
                return enabled, self._without_long_stalls(timed, self.clock.now), sleeping
            if timed:
                self._stood.clear()
                first = earliest(timed)
                can_fire = self.outside.pass_time(timed, first)
                if self.aborting:
                    return None
                if can_fire is not None:
                    # Nobody can go on, so time passes anyway up to the first of them.
                    assert first.deadline is not None
                    idle_until = max(self.clock.now, first.deadline)
                    if self._times_passed_over(first) >= MOST_PASSED_OVER:
                        can_fire = [first]
                    elif self._late_timeouts:
                        can_fire = _due(can_fire, idle_until)
                    can_fire = self._without_long_stalls(list(can_fire), idle_until)
                    return enabled, can_fire, sleeping
            elif not self._stuck():
                return None

    def _without_long_stalls(self, timed: list[Task], now: float) -> list[Task]:
        """The tasks whose timeouts fire at a moment, or soon enough after it."""
        most = self._most_stall
        if most == math.inf:
            return timed
        if timed and self._stood:
            self._forget_who_went_on()
            now -= max(self._stood.values(), default=0.0)
        return [task for task in timed if not is_long(task.deadline - now, most)]  # type: ignore[operator]

    def _forget_who_went_on(self) -> None:
        """What has made a step no longer stands still."""
        if self._stood:
            went_on = {row[0] for row in self.rows[self._stood_until :]}
            self._stood = {
                task: stood for task, stood in self._stood.items() if task.id not in went_on
            }
        self._stood_until = len(self.rows)

    def _is_turn_over(self, step: int, running: Task, enabled: list[Task]) -> bool:
        """Whether the running task has to yield, because it spins or has used its time slice."""
        if self._spinning:
            self._spinning = False
            is_certain = self._reads_clock or self._in_vain
            self._reads_clock = self._in_vain = False
            if not (is_certain or self.fairness.looked(running, standing_here())):
                return False
            if len(enabled) > 1:
                self._note_spin()
            return True
        if step - self._slice_began >= TIME_SLICE:
            if len(enabled) > 1:
                self._slice_began = step
                self.fairness.has_run_long(running)
                return True
            if step - self._slice_began >= LONELY_STEPS:
                self._slice_began = step
                self.time_is_up = True
                self.checks.note_lonely(step)
        return False

    def _note_spin(self) -> None:
        task = self.current
        since = self.rows[max(task.last_yield, 0) :]
        if any(row[1] == task.id and task.id in row[4] for row in since):
            # It waits for time to pass now and then, as a server does that looks whether to stop.
            return
        pending = task.pending
        site = None if pending is None else site_of(pending.place)
        if site is not None:
            self.trace.uncontrolled.spin(f"at {line_in_notes(site.filename, site.line)}")

    def _let_time_pass(
        self, enabled: list[Task], timed: list[Task], sleeping: list[Task]
    ) -> tuple[list[Task], list[Task]]:
        """All enabled tasks only wait: let the next timeout fire, if time can pass.

        Returns:
            The enabled tasks and those that a timeout could wake, from now on.
        """
        self._idle_yields = 0
        self.time_is_up = False
        first = earliest(sleeping)
        if not self.outside.can_pass_time(first):
            return enabled, timed
        if self.outside.pass_time(sleeping, first):
            # As if nothing were enabled: the enabled tasks only wait.
            return [], [first]
        return enabled, timed

    def _pick(
        self, step: int, running: Task, enabled: list[Task], timed: list[Task], yielded: bool
    ) -> Task:
        """The task that runs the next step, according to the plan."""
        if step < self._prefix_length:
            return self._follow(step, running, enabled, timed, yielded)
        return self._decider.choose(running, enabled, timed, yielded, step)  # type: ignore[return-value]

    def _record(
        self,
        step: int,
        running: Task,
        chosen: Task,
        enabled: list[Task],
        timed: list[Task],
        yielded: bool,
    ) -> None:
        """Add the row of a step, and what it changes."""
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
                and not (running.ready is not None and self.is_inside(chosen, running.waits_for))
            ):
                self.free_threaded_only_steps.append(step)
        if timed and chosen not in enabled:
            chosen.timed_out = True
            if enabled or len(timed) > 1:
                self._note_stall(chosen, enabled, timed)
            self.clock.advance_to(chosen.deadline)
            self._pass_over(chosen, timed)
        if self.fairness.active:
            self.fairness.scheduled(chosen)

    def is_inside(self, task: Task, state: ResourceState | None) -> bool:
        """Whether a task stands still in an operation on a resource, and gets it without the GIL.

        It does if it found the resource taken; before an operation that it could do at once it
        stands because it has no GIL.
        """
        at, rows = task.blocked_since, self.rows
        return (
            task.waiting
            and task.ready is not None
            and task.waits_for is state
            and 0 <= at < len(rows)
            and task.id not in rows[at][3]
        )

    def _note_stall(self, chosen: Task, enabled: list[Task], timed: list[Task]) -> None:
        """A timed wait ends although others could go on, or were to end before it."""
        # Where nobody could go on, time passes anyway up to the first of them.
        idle_until = 0.0 if enabled else earliest(timed).deadline
        stall = chosen.deadline - max(self.clock.now, idle_until)  # type: ignore[operator, type-var]
        # What polls with a short timeout lets as much time pass as what waits with a long one.
        self._forget_who_went_on()
        self._stood = {task: self._stood.get(task, 0.0) + stall for task in enabled}
        self.trace.longest_stall = max(self.trace.longest_stall, stall, *self._stood.values())

    def _pass_over(self, chosen: Task, timed: list[Task]) -> None:
        """A timeout has fired: which others should have by now."""
        if len(timed) == 1:
            return
        now = self.clock.now
        for task in timed:
            if task is not chosen and task.deadline is not None and task.deadline < now:
                self._passed_over[task] = task.deadline, self._times_passed_over(task) + 1

    def _times_passed_over(self, task: Task) -> int:
        """In this wait: it may have been woken from an earlier one by something else."""
        deadline, times = self._passed_over.get(task, (None, 0))
        return times if deadline == task.deadline else 0

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

    def follow(self, choices: Sequence[Choice]) -> None:
        """Make these choices next, then continue without preemptions."""
        done: tuple[Choice, ...] = ("",) * len(self.rows)
        self._prefix = (*done, *choices)
        self._prefix_length = len(self._prefix)
        self.decide_by(NonPreemptive())

    def decide_by(self, policy: Policy, within: Callable[[Decider], Decider] | None = None) -> None:
        """Let another policy decide from here on, where no choices are left to follow.

        Parameters:
            policy: the policy.
            within: narrows what it may choose from.
        """
        self._non_preemptive = within is None and isinstance(policy, NonPreemptive)
        decider = decider_for(policy, self.trace.effects)
        self._decider = decider if within is None else within(decider)

    def forget(self, steps: int) -> None:
        """Forget the first so many steps, see :mod:`.forgetting`."""
        del self.rows[:steps]
        self._prefix, self._prefix_length = (), 0
        self._slice_began -= steps
        for task in (*self.alive, *self.loop_tasks):
            task.blocked_since -= steps
            task.last_yield -= steps

    def leave_plan(self) -> None:
        """Continue without preemptions from here on, and let timeouts fire late."""
        self._prefix_length = 0
        self._non_preemptive = True
        self._decider = decider_for(NonPreemptive())
        self._late_timeouts = True

    # -- data --------------------------------------------------------------------

    def choose(self, arity: int, place: Any) -> int:
        """A data choice among ``range(arity)``; part of the choice sequence."""
        state = self.resources.state_named(f"{self.current.id}:choice", "choice")
        return self.choose_about(state, arity, lambda _: place)

    def choose_about(self, state: ResourceState, arity: int, place_of: Callable[[int], Any]) -> int:
        """A data choice that is not the program's own.

        Parameters:
            state: the resource that it concerns.
            arity: how many values there are.
            place_of: the place in the program that a value concerns.
        """
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
        self.trace.arities[step] = arity
        operation = _new_operation(Operation, (CHOOSE, state.id, place_of(value)))
        self.rows.append((value, task.id, operation, (task.id,), (), False))
        if task.looks_at is not None:
            # In the middle of what it runs, a loop runs nothing else.
            is_loop = task.host is not None
            self.trace.effects.append((step, task.id, task.looks_at.id, is_loop))
        return value


def _due(timed: Sequence[Task], now: float) -> list[Task]:
    """Those whose timeouts fire at a moment, on any machine: there is no order among these."""
    return [task for task in timed if not is_long(task.deadline - now, UNNOTICED_STALL)]  # type: ignore[operator]
