"""What goes on outside the control of an execution, and how long it is worth waiting for.

Virtual time jumps when all tasks wait.  It must not jump over something that
needs real time: a child process, the far end of a connection, an alarm.  While
one of these is waited for, virtual time passes no faster than real time.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from bohrbug.accelerator.plain import plain
from bohrbug.model.operation import SLEEP
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.runtime.threads import control
from bohrbug.runtime.threads.arrivals import Arrivals
from bohrbug.runtime.threads.idling import JUMPS_PER_LOOK, Idling
from bohrbug.runtime.threads.task import Task, TimeoutPolicy

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

_real_exit = os._exit
_real_monotonic = time.monotonic
_real_sleep = time.sleep
_real_getitimer = getattr(signal, "getitimer", None)

THREADS_PATIENCE = 1.0
"""Seconds to wait, when no task can go on, for real threads that may wake one."""

FRUITLESS_WAITS = 3
"""Waits for real threads in vain after which they are taken to be idle."""

SHORT_PATIENCE = 0.02
"""Seconds to wait for real threads that are taken to be idle."""

FIRST_LOOKS = 3
"""How often time is given to real threads before a timeout fires, while none has ever helped."""

HELPERS_PATIENCE = 0.25
"""Seconds for which a timeout waits for real threads of which one has helped a task before."""

BETWEEN_OWN_ENDS = 0.05
"""Seconds that the kernel may take to hand over what was sent within this process."""

FOR_THE_REST = 0.2
"""Seconds of real time that threads left by a test that has failed get for what is outside, in all.

A server that still listens would be waited for as long as for one that the test needs.
"""

LONGEST_PAUSE = 0.01
"""Seconds between two looks at what is waited for, at most."""

LONGEST_PAUSE_BESIDE_OTHERS = 0.0005
"""The same while another task could run, on which it may depend what is waited for."""

LONGEST_JUMP = 0.1
"""Seconds of real time that are skipped in a copy, at most: nothing is likely to come meanwhile."""

SHORTEST_PAUSE = 0.001
"""Seconds for which tasks that only wait for the time to pass let the processor go."""

_fruitless = 0

_HELPED = "real threads that wake tasks"
_IDLE = "real threads that wake nobody"


def note_help(state: Any) -> None:
    """Code that nobody controls lets go of a primitive; perhaps a real thread that helps tasks.

    Parameters:
        state: what is known of the primitive in an execution, if anything is.
    """
    execution = control.current.execution
    if (
        execution is not None
        and state is not None
        and state.serial == execution.resources.serial
        and control.current.thread != control.real_get_ident()
    ):
        execution.namespaces.add(_HELPED)


def threads_outside(execution: Execution) -> bool:
    """Whether real threads that the program started are alive beside the controlled one."""
    own = {task.ident for task in execution.all_tasks}
    own.update((control.current.thread, threading.main_thread().ident or 0))
    return any(ident not in own for ident in list(threading._active))  # type: ignore[attr-defined]


class OnItsWay:
    """What the kernel still has to hand from one part of this process to another.

    Attributes:
        patience: for how many real seconds it is worth waiting for that; 0: there is nothing.
    """

    patience: Callable[[Execution], float] = staticmethod(lambda execution: 0.0)


class ChildrenWait:
    """Whether no child goes on any more, and some wait for ever.

    Attributes:
        for_ever: of the children of this execution.
    """

    for_ever: Callable[[], bool] = staticmethod(lambda: False)


class NobodyOutside:
    """Whether what tasks wait for can only come from a task, although the kernel brings it.

    Attributes:
        holds: of an execution no task of which can go on, and for which nothing is on its way.
    """

    holds: Callable[[Execution], bool] = staticmethod(lambda execution: False)


@plain
class Outside:
    """What one execution knows of the world around it.

    Parameters:
        execution: the execution.
    """

    __slots__ = (
        "_execution",
        "_for_the_rest",
        "_idling",
        "_looks_left",
        "alarm_set",
        "arrivals",
        "has_answered",
        "has_children",
        "in_child",
        "shares_files",
        "waiting_on",
    )

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        # Once virtual time has jumped often.
        self._idling: Idling | None = None
        # Seconds of real time that are left for what a failed test has left.
        self._for_the_rest = FOR_THE_REST
        # Before how many timeouts real threads that have never helped get time.
        self._looks_left = FIRST_LOOKS
        # The test set an alarm; whether it is still to come is asked when it matters.
        self.alarm_set = False
        # Child processes were started; some of them have open files of ours.
        self.has_children = False
        self.shares_files = False
        # Something outside has answered: for whom time passes as it does in reality.
        self.has_answered = False
        # By task, which descriptors can wake it.
        self.waiting_on: dict[Task, Callable[[], Iterable[int]]] = {}
        # This process is itself a child, forked by a task.
        self.in_child = False
        # What tasks wait for, where somebody outside waits for them.
        self.arrivals: Arrivals | None = None

    def let_go(self) -> None:
        """The execution is over: do not keep it alive."""
        del self._execution

    def alarm(self) -> float:
        """Real seconds until an alarm that the test has set; 0 if there is none."""
        if not self.alarm_set or _real_getitimer is None:
            return 0.0
        seconds = _real_getitimer(signal.ITIMER_REAL)[0]
        self.alarm_set = seconds > 0
        return float(seconds)

    def firing_early(self, timed: list[Task]) -> list[Task]:
        """The tasks whose timeout may fire although other tasks are enabled."""
        if self.alarm():
            return []
        return [task for task in timed if task.firing is TimeoutPolicy.EARLY]

    def pass_time(self, timed: Sequence[Task], first: Task) -> Sequence[Task] | None:
        """Let real time pass before virtual time jumps, if something outside needs it.

        Parameters:
            timed: the tasks whose timeout could fire; no task is enabled.
            first: the one of them whose timeout fires first.

        Returns:
            The tasks whose timeout can fire now, or ``None`` if the world has
            changed or the execution is over.
        """
        execution = self._execution
        if execution.ending.is_past_the_test() and not execution.clock.is_real:
            return None if self._gets_the_rest_further() else timed
        if execution.clock.is_real:
            assert first.deadline is not None
            left = max(first.deadline - execution.clock.now, 0.0)
            if execution.clock.can_jump and left <= LONGEST_JUMP:
                return [first]
            return None if self.wait(left, external_only=True) else [first]
        paced = self._is_paced()
        alarm = self.alarm()
        assert first.deadline is not None
        ahead = max(first.deadline - execution.clock.now, 0.0)
        patience = execution.settings.external_patience
        if not paced and not alarm:
            external = any(task.external for task in execution.alive)
            # A server that was asked to wait must find, too, that we have.
            is_paced = self.has_answered or (external and execution.settings.is_live)
            lag = min(ahead, patience) if is_paced else 0.0
            if external and self._wait_for_what_is_on_its_way(ahead):
                return None
            if (external or lag) and self.wait(lag, external_only=True):
                return None
            if self._a_helper_comes(ahead):
                return None
            is_look_due = execution.clock.jumps % JUMPS_PER_LOOK == JUMPS_PER_LOOK - 1
            return None if is_look_due and self._is_idle_for_ever() else timed
        if self.wait(min(ahead, max(patience, alarm)), external_only=True):
            return None
        if first.firing is TimeoutPolicy.IN_REAL_TIME and ahead > patience:
            # TimeoutPolicy it now would call a slow world a broken one.
            execution.ending.give_up()
            return None
        return [first]

    def _a_helper_comes(self, ahead: float) -> bool:
        """Before a timeout fires: whether a real thread lets a task go on meanwhile.

        Such a thread takes real time for what it brings, as one that a fixture of the session has
        started does, and that reads what the kernel tells of changed files.

        Parameters:
            ahead: virtual seconds until the timeout.
        """
        execution = self._execution
        known = execution.namespaces
        if not ahead or (_IDLE in known and _HELPED not in known):
            return False
        if execution.ending.aftermath is not None or not threads_outside(execution):
            return False
        if _HELPED in known:
            return self.wait(min(ahead, HELPERS_PATIENCE), external_only=False)
        if self.wait(min(ahead, SHORT_PATIENCE), external_only=False):
            return True
        self._looks_left -= 1
        if not self._looks_left:
            known.add(_IDLE)
        return False

    def _is_idle_for_ever(self) -> bool:
        """Virtual time is about to jump, faster than real time passes; whether that is in vain."""
        execution = self._execution
        if self.has_children or self.in_child or execution.ending.aftermath is not None:
            return False
        if self._idling is None:
            self._idling = Idling(execution)
        outcome = self._idling.outcome()
        if outcome is None:
            return False
        is_outside = outcome.kind is OutcomeKind.HANG
        if self._somebody_comes() if is_outside else self._a_thread_outside_helps():
            self._idling.forget()
            return False
        if is_outside:
            outcome = self._idling.explain() or outcome
        execution.ending.decide(outcome, evict_root=True)
        return True

    def idle_outcome(self) -> Outcome | None:
        """The step limit is reached; the outcome, if it was while some wait for ever."""
        return None if self._idling is None else self._idling.outcome_at_limit()

    def _is_paced(self) -> bool:
        """Whether virtual time must not pass faster than real time, as somebody outside may answer.

        What a daemon listens to may be silent for ever, such as a server's news.  But where another
        task waits, and not only for time to pass, that may be for what the daemon brings: an event
        loop may run in one.  Helpers that bring the answers of children are daemons, too, as in a
        ``multiprocessing.Pool``.
        """
        alive = self._execution.alive
        listening = [task for task in alive if task.firing is TimeoutPolicy.IN_REAL_TIME]
        if not listening or self.has_children or not all(task.daemon for task in listening):
            return bool(listening)
        return any(
            task.pending is not None and task.pending.kind is not SLEEP
            for task in alive
            if task not in listening
        )

    def can_pass_time(self, first: Task) -> bool:
        """Whether time may pass while tasks are enabled that only wait.

        Real time passes by itself: it is given to those outside, and a timeout that is not over yet
        is none.

        Parameters:
            first: the task whose timeout fires first.
        """
        clock = self._execution.clock
        if not clock.is_real or first.deadline is None:
            return True
        left = first.deadline - clock.now
        if left <= 0 or clock.can_jump:
            return True
        _real_sleep(min(left, SHORTEST_PAUSE))
        return False

    def wait_when_stuck(self) -> bool:
        """No task can go on. True if something outside changed that."""
        execution = self._execution
        if execution.ending.is_past_the_test() and not execution.clock.is_real:
            return self._gets_the_rest_further()
        alarm = self.alarm()
        if alarm and self.wait(alarm + 1.0, external_only=False):
            return True
        if any(task.external for task in execution.alive):
            return self._somebody_comes()
        return self._a_thread_outside_helps()

    def _gets_the_rest_further(self) -> bool:
        """The test has failed and returned: whether something outside wakes what it has left."""
        execution = self._execution
        is_external = any(task.external for task in execution.alive)
        if not (is_external or self.alarm() or threads_outside(execution)):
            return False
        began = _real_monotonic()
        found = self.wait(self._for_the_rest, external_only=False, is_noted=False)
        self._for_the_rest = max(self._for_the_rest - (_real_monotonic() - began), 0.0)
        return found

    def _a_thread_outside_helps(self) -> bool:
        """Give real threads that the program started the time to let a task go on."""
        global _fruitless
        execution = self._execution
        if not threads_outside(execution):
            return False
        patience = execution.settings.external_patience
        idle = _fruitless >= FRUITLESS_WAITS
        if self.wait(SHORT_PATIENCE if idle else min(patience, THREADS_PATIENCE), False):
            _fruitless = 0
            return True
        _fruitless += 1
        execution.trace.uncontrolled.note(
            "threads that were started outside the test were alive when no task could go on"
        )
        return False

    def _somebody_comes(self) -> bool:
        """Wait in real time for what tasks wait for outside; true if something came.

        If it can only come from a task, they wait for nothing outside from then on.
        """
        execution = self._execution
        patience = execution.settings.external_patience
        if self._wait_for_what_is_on_its_way(patience):
            return True
        if not NobodyOutside.holds(execution) and not ChildrenWait.for_ever():
            came = self.wait(patience, external_only=False)
            if came or not ChildrenWait.for_ever():
                return came
        if self.wait(BETWEEN_OWN_ENDS, external_only=False, is_noted=False):
            return True
        for task in execution.alive:
            task.external = False
        return False

    def _wait_for_what_is_on_its_way(self, seconds: float) -> bool:
        """Give the kernel time for what comes for certain, which is no caveat; true if it came."""
        on_its_way = OnItsWay.patience(self._execution)
        return bool(on_its_way) and self.wait(
            min(seconds, on_its_way), external_only=True, is_noted=False
        )

    def others_can_run(self) -> bool:
        """Whether another task than the running one could go on at once."""
        execution = self._execution
        execution.suspended += 1
        try:
            return any(
                task.ready is None or task.ready()
                for task in execution.alive
                if task is not execution.current
            )
        finally:
            execution.suspended -= 1

    def wait(self, seconds: float, external_only: bool, is_noted: bool = True) -> bool:
        """Wait in real time until a task is ready, a signal came or the execution is over.

        Parameters:
            seconds: of real time, at most.
            external_only: look only at tasks that wait for something outside.
            is_noted: what was waited for is a caveat.
        """
        execution = self._execution
        # Whoever waits here does not spin.
        execution.patience = float("inf")
        deadline = _real_monotonic() + seconds
        pause = 0.0
        # Something is there of which no task can make use.
        is_futile = False
        while True:
            if execution.visitor is not None:
                execution.visitor.waits(execution)
            if execution.interrupted:
                execution.ending.abort(Outcome(OutcomeKind.INTERRUPTED, "interrupted by the user"))
            if execution.aborting or execution.signals:
                return True
            execution.suspended += 1
            try:
                for task in execution.alive:
                    if task.external or not external_only:
                        ready = task.ready
                        if ready is not None and ready():
                            if is_noted:
                                label = task.waits_for.label
                                execution.trace.uncontrolled.note(
                                    f"waited for something outside our control ({label})"
                                )
                            return True
            finally:
                execution.suspended -= 1
            left = deadline - _real_monotonic()
            if left <= 0:
                return False
            has_arrived = None
            if self.arrivals is not None and not is_futile:
                outside = [task for task in execution.alive if task.external]
                has_arrived = self.arrivals.wait(outside, left)
                is_futile = bool(has_arrived)
            if has_arrived is None:
                _real_sleep(min(pause, left))
                pause = min(pause + 0.0002, LONGEST_PAUSE)

    def end_child(self, error: BaseException | None) -> None:
        """End a process that a task has forked when that task's code ends in it.

        Otherwise the child would go on with the exploration beside its parent.

        Parameters:
            error: the exception that left the code of the task, if one did.
        """
        if not self.in_child:
            return
        code = 0
        if isinstance(error, SystemExit):
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        elif error is not None:
            traceback.print_exception(error)
            code = 1
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        _real_exit(code)


class Glances:
    """Looks at the outside world in vain, each followed by a longer pause in real time.

    A loop that polls a child process would else run through many thousand steps
    of virtual time while the child has had no time to begin.
    """

    def __init__(self) -> None:
        self._pause = 0.0

    def in_vain(self, outside: Outside | None = None) -> None:
        """Nothing has changed out there: give it time.

        A task that polls while the schedule holds back another may do so for a whole time slice,
        as the helper of a ``multiprocessing.Pool`` does while nobody takes a result: that is two
        thousand looks.

        Parameters:
            outside: what surrounds the execution that looks, if one does.
        """
        pause = self._pause
        if pause > LONGEST_PAUSE_BESIDE_OTHERS and outside is not None and outside.others_can_run():
            pause = LONGEST_PAUSE_BESIDE_OTHERS
        _real_sleep(pause)
        self._pause = min(self._pause * 2 + 0.0005, LONGEST_PAUSE)

    def rewarded(self) -> None:
        """Something has changed."""
        self._pause = 0.0


Handler = Callable[[int, Any], Any]
"""A signal handler as the program gives it."""
