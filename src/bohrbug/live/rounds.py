"""Live rounds: copies of a running program try what could come next, and the worst is retired.

Jinx (Corensic, 2011) stopped a program now and then, ran several simulations of its next
millisecond from a snapshot, and let the real program go on as the most harmful one did.  Here a
snapshot is a copy of the process, in which all tasks go on as they are greenlets of one thread.
"""

from __future__ import annotations

import faulthandler
import importlib
import math
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from bohrbug.live import copies
from bohrbug.live.budget import Budget, gap_until
from bohrbug.live.figures import Figures
from bohrbug.live.following import Crash, Following, Try
from bohrbug.live.fragments import Fragment, Report, failing_of, report_of
from bohrbug.live.harm import HARMFUL, NO_SCORE, End, Pair, conflict, score, worst
from bohrbug.live.inside import Approach, Where
from bohrbug.live.options import LiveOptions
from bohrbug.live.policies import policies
from bohrbug.model.conditions import FunctionKey, Growth, PlaceKey
from bohrbug.model.operation import TaskId
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.plan import NonPreemptive, UniformRandom
from bohrbug.runtime.threads.control import nobody
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.forgetting import forget_steps
from bohrbug.runtime.threads.growing import Growing
from bohrbug.runtime.threads.monitoring import RaceDetector
from bohrbug.runtime.threads.task import Task

_monotonic = time.monotonic
_signal = signal.signal
_setitimer = signal.setitimer

_GRACE = 1.0
"""Seconds beyond its time after which a fragment is ended that does not end by itself."""

_MOST_LOOKS = 4
"""Looks at which nothing conflicts, after which a round begins all the same."""

_PAUSE_BETWEEN_GROWTH = 5
"""So many times as long as it took to let the program grow, it does not grow again by itself."""

_MOST_AT_ONE_STEP = 4
"""Rounds in a row at one step, as each shows more of what could be scheduling points."""

_ROUNDS_THAT_LOOK = 12
"""First rounds, in each of which a fragment looks for accesses that matter."""

_LATER_LOOKS = 6
"""After these, one of so many rounds has such a fragment."""

_CALM_LOOKS = 2
"""Fragments in a row that look in vain, after which functions without points are left alone."""

_LOOKING_STEPS = 4
"""So many times as many steps as others may such a fragment do, as it makes more of them."""

_KNOWN_PAIRS = 100_000
"""Pairs of places that are kept as known; beyond these all are forgotten."""


class Rounds:
    """Makes rounds while an execution runs; a visitor.

    Parameters:
        options: how.
        is_service: the program is one of which nearly all is seen outside, see :mod:`.inside`.

    Attributes:
        before_crash: called before the last step of a fragment that crashed, which the program
            follows: nothing can be told afterwards.
        figures: what they have come to.
        growing: what the execution has grown by.
        forgotten: steps that are kept no more.
        strays: real time has chosen a moment, so that no replay can follow.
        error: of ours, which has ended the run.
        on_error: called after that; by default it ends the run.
        is_copy: this process is a copy, which executes a fragment.
        followed: where the last fragment began that the program has followed; -1: none.
    """

    def __init__(self, options: LiveOptions, is_service: bool = False) -> None:
        self._options = options
        self._is_service = is_service
        self.growing = Growing()
        self.figures = Figures()
        self.forgotten = 0
        self.strays = False
        self.followed = -1
        self.met_outside = False
        self.error: Exception | None = None
        self.is_copy = False
        self.before_crash: Callable[[Crash], object] = _nothing
        self.on_error: Callable[[Execution], object] = _give_up
        now = _monotonic()
        self._began = now
        self._budget = Budget(options.budget, now)
        self._process = os.getpid()
        self._draw = random.Random(options.seed)
        self._approach = Approach(self._draw)
        self._known: set[Pair] = set()
        # What fragments have seen, and the program is to grow by; and what was asked for in vain.
        self._points: frozenset[PlaceKey] = frozenset()
        self._functions: frozenset[FunctionKey] = frozenset()
        self._asked: set[FunctionKey] = set()
        self._grow_at = 0.0
        self._calm = 0
        self._looks = 0
        self._fragment: Fragment | None = None
        self._following: Following | None = None
        # Steps and moment of the last look: how fast the program is.
        self._last_look = (0, now)
        self._pace = 0.0

    # -- visits ------------------------------------------------------------------------

    def visit(self, execution: Execution, step: int, enabled: Sequence[Task]) -> int:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""
        try:
            return self._visit(execution, step, enabled)
        except Exception as error:  # noqa: BLE001
            # It must not look like one of the program, in whose task we are.
            if self.is_copy:
                copies.give_up()
            self.error = error
            self.on_error(execution)
            return step

    def _visit(self, execution: Execution, step: int, enabled: Sequence[Task]) -> int:
        kept = self.growing.keep_house(execution, step)
        fragment = self._fragment
        if fragment is not None:
            if step >= fragment.last:
                fragment.over(End.WINDOW)
            return min(kept, fragment.last)
        self._look_for_strays(execution)
        following = self._following
        if following is not None:
            if step < following.until and execution.trace.divergence is None:
                return min(kept, following.until)
            if following.crash is not None and execution.trace.divergence is None:
                # What comes next is its last step, unless it is not to be repeated.
                self.before_crash(following.crash)
                following.crash = None
                following.until = step + 2
                return min(kept, following.until)
            self._end_following(execution)
        now = _monotonic()
        self._measure_pace(step, now)
        if now >= self._grow_at and self._has_news():
            self._grow(step)
        if step >= 2 * self._options.history:
            step = self._forget(execution, step - self._options.history)
            kept = self.growing.keep_house(execution, step)
        is_due = now >= self._next_at(now)
        if is_due and self._is_service:
            where = self._approach.look(execution, step, enabled)
            if where is Where.UNDER_WAY:
                return step + 1
            is_cue = where is Where.THERE
        else:
            is_cue = is_due and self._is_cue(execution, enabled)
        if is_cue:
            if self._has_news():
                # What a fragment makes of it must be what the program makes of it.
                self._grow(step)
            for _ in range(_MOST_AT_ONE_STEP):
                until = self._round(execution, step, enabled)
                if until:
                    return min(kept, until)
                if not self._has_news():
                    break
                # They have shown more of what is to come: try again, and see it.
                self._grow(step)
            now = _monotonic()
        too_many = max(2 * self._options.history, step + 1)
        return min(kept, too_many, step + gap_until(self._next_at(now), now, self._pace))

    def let_go(self, execution: Execution) -> None:
        """Between two steps: make no more rounds, and follow no fragment any further."""
        self._following = None
        execution.trace.divergence = None
        execution.follow(())

    def _has_news(self) -> bool:
        runtime = self.growing.runtime
        assert runtime is not None
        return bool(self._points or self._functions or runtime.has_news)

    def _grow(self, step: int) -> None:
        """Let more be seen of the program, from this step on."""
        began = _monotonic()
        self._asked |= self._functions
        self.growing.grow(Growth(step, self._points, self._functions))
        self._points, self._functions = frozenset(), frozenset()
        ended = _monotonic()
        # Where all objects have to be looked at for it, it must not be done all the time.
        self._grow_at = ended + (ended - began) * _PAUSE_BETWEEN_GROWTH

    def _calm_down(self, step: int, tries: Sequence[Try]) -> None:
        """Let functions that have no scheduling point be as fast as they are, if no more is found.

        Fragments that look let them tell all the same.
        """
        if self._has_news():
            self._calm = 0
        elif any(what.looks for what in tries):
            self._calm += 1
            if self._calm == _CALM_LOOKS:
                self.growing.grow(Growth(step, quiet=True))

    def _look_for_strays(self, execution: Execution) -> None:
        """A task that span was made to yield, at a moment that real time has chosen."""
        if execution.nudged:
            execution.nudged = False
            execution.trace.divergence = None
            self.strays = True

    def _measure_pace(self, step: int, now: float) -> None:
        before, then = self._last_look
        if now - then > 0.001:
            self._pace = max(step - before, 0) / (now - then)
            self._last_look = (step, now)

    def _next_at(self, now: float) -> float:
        """When the next round may begin."""
        options = self._options
        rounds, seconds = options.rounds, options.seconds
        if rounds is not None and self.figures.rounds >= rounds:
            return math.inf
        if seconds is not None and now - self._began >= seconds:
            return math.inf
        return self._budget.next_at

    def _is_cue(self, execution: Execution, enabled: Sequence[Task]) -> bool:
        """Whether what comes next is likely to depend on the order."""
        if len(enabled) < 2:
            return False
        self._looks += 1
        # Who waits for a lock is about to acquire it, too.
        if self._looks >= _MOST_LOOKS or conflict(task.pending for task in execution.alive):
            self._looks = 0
            return True
        return False

    def _forget(self, execution: Execution, steps: int) -> int:
        """Let go of the oldest steps; the number of the next one."""
        forget_steps(execution, steps)
        self.growing.forget(steps)
        self._approach.forget(steps)
        self.forgotten += steps
        if self.followed >= 0:
            self.followed = max(self.followed - steps, 0)
        before, then = self._last_look
        self._last_look = (before - steps, then)
        return execution.steps

    def note_share(self) -> None:
        """Note which part of the time up to now rounds took."""
        self.figures.share = self._budget.share(_monotonic())

    # -- a round -----------------------------------------------------------------------

    def _round(self, execution: Execution, step: int, enabled: Sequence[Task]) -> int:
        """Make a round.

        Returns:
            The step of the next visit; 0: that is not decided by it.
        """
        began = _monotonic()
        options = self._options
        names = [task.id for task in enabled]
        tries = self._tries(names)
        reports: list[Report] = []
        copies.know_process()
        for first in range(0, len(tries), options.at_once):
            batch = tries[first : first + options.at_once]
            running: list[copies.Copy] = []
            for each in batch:
                try:
                    copy, descriptor = copies.start()
                except OSError:
                    self.figures.failed_copies += 1
                    break
                if copy is None:
                    self._leave_alone(running)
                    return self._become(execution, descriptor, each)
                running.append(copy)
            late = copies.wait_for(running, options.patience + _GRACE)
            reports += [report_of(copy, copy.process in late) for copy in running]
            if len(running) < len(batch):
                break
        self._take(reports)
        # With more scheduling points the same choices would mean something else.
        is_news = bool(self._points or self._functions)
        is_worth_it = not is_news or any(each.end in HARMFUL for each in reports)
        self._calm_down(step, tries)
        until = self._retire(execution, step, reports, tries) if reports and is_worth_it else 0
        ended = _monotonic()
        self._budget.spend(began, ended)
        self.figures.longest = max(self.figures.longest, ended - began)
        self.figures.share = self._budget.share(ended)
        return until

    def _tries(self, tasks: Sequence[TaskId]) -> list[Try]:
        """What the fragments of a round do; the first goes on as the program would."""
        options, rounds = self._options, self.figures.rounds
        window = options.window
        others = options.fragments - 1
        looking = []
        if others and (rounds < _ROUNDS_THAT_LOOK or rounds % _LATER_LOOKS == 0):
            others -= 1
            seed = self._draw.getrandbits(32)
            steps = window * _LOOKING_STEPS
            looking = [Try(UniformRandom(seed), steps, looks=True, stays_inside=self._is_service)]
        drawn = [
            Try(each, window, stays_inside=self._is_service)
            for each in policies(self._draw, others, tasks, window)
        ]
        # Of two that fail the first is followed: rather one that makes fewer steps.
        return [Try(NonPreemptive(), window), *drawn, *looking]

    def _leave_alone(self, others: Sequence[copies.Copy]) -> None:
        """In a copy: it has nothing to do with those that were made before it."""
        for copy in others:
            copies.close(copy.pipe)

    def _become(
        self,
        execution: Execution,
        descriptor: int,
        what: Try,
    ) -> int:
        """In a copy: execute a fragment from here on; the step of the next visit."""
        self.is_copy = True
        _signal(signal.SIGINT, signal.SIG_IGN)
        _signal(signal.SIGSYS, self._stopped)
        if not execution.outside.alarm_set:
            _signal(signal.SIGALRM, self._late)
            _setitimer(signal.ITIMER_REAL, self._options.patience)
        # What tells of a crash looks at files for that, and would be stopped before it is one.
        faulthandler.disable()
        copies.hold_back(descriptor)
        copies.pretend(self._process)
        runtime = self.growing.runtime
        assert runtime is not None
        detector: RaceDetector | None = None
        if runtime.discovers and what.looks:
            detector = runtime.watch_from_here()
        execution.interrupted = False
        execution.clock.can_jump = True
        window = what.window
        self._fragment = fragment = Fragment(execution, runtime, descriptor, window, detector)
        execution.trace.divergence = None
        what.decides(execution)
        return fragment.last

    def _stopped(self, *_: object) -> None:
        """In a copy: it was about to do what would be seen outside."""
        assert self._fragment is not None
        self._fragment.over(End.OUTSIDE)

    def _late(self, *_: object) -> None:
        """In a copy: it has had its time."""
        if self._fragment is not None:
            self._fragment.over(End.LONG)

    def _take(self, reports: Sequence[Report]) -> None:
        """Count the fragments of a round, and learn what they have seen."""
        figures = self.figures
        figures.rounds += 1
        for report in reports:
            figures.ends[report.end] += 1
            self._points |= report.found - self.growing.points
            self._functions |= report.called - self._asked

    def _retire(
        self,
        execution: Execution,
        step: int,
        reports: Sequence[Report],
        tries: Sequence[Try],
    ) -> int:
        """Let the program go on as the worst of the fragments did; until which step."""
        if len(self._known) > _KNOWN_PAIRS:
            self._known.clear()
        known = self._known
        chosen = worst(
            [
                # One that looks has made other steps, so that it is only followed for a failure.
                NO_SCORE
                if what.looks and each.end not in HARMFUL
                else score(each.end, each.pressure, known)
                for each, what in zip(reports, tries, strict=False)
            ]
        )
        report = reports[chosen]
        known |= report.pressure.pairs
        if chosen == 0 and report.end not in HARMFUL:
            return 0
        self.figures.retired += 1
        self.followed = step
        if report.end is End.CRASHED:
            policy = tries[chosen].policy
            before = self._before_crash(execution, tries[chosen])
            if self._fragment is not None:
                return self._fragment.last
            steps = len(before.choices)
            self._see_as_it_did(step, before)
            # It could not tell what it chose; but the same policy chooses the same again.
            tries[chosen].decides(execution)
            self._following = Following(step + steps, report.failing, Crash(step, policy, report))
            return max(step + steps, step + 1)
        self._see_as_it_did(step, report)
        execution.follow(report.choices)
        until = step + len(report.choices)
        self._following = Following(until, report.failing if report.end in HARMFUL else None)
        return until

    def _see_as_it_did(self, step: int, report: Report) -> None:
        """Let be scheduling points what was some in a fragment that looked."""
        fresh = report.stepped - self.growing.points
        if fresh:
            self.growing.grow(Growth(step, fresh))

    def _before_crash(self, execution: Execution, what: Try) -> Report:
        """What a fragment did before it crashed, as far as it does not crash.

        It is found by bisection, with further copies; in one of them a fragment begins.
        """
        least, most = 0, what.window
        longest = Report(End.WINDOW)
        while least < most:
            window = (least + most + 1) // 2
            copy, descriptor = copies.start()
            if copy is None:
                self._become(execution, descriptor, replace(what, window=window))
                return longest
            late = copies.wait_for([copy], self._options.patience + _GRACE)
            report = report_of(copy, copy.process in late)
            if report.end is End.WINDOW:
                least, longest = window, report
            else:
                most = window - 1
        return longest

    def _end_following(self, execution: Execution) -> None:
        following = self._following
        assert following is not None
        self._following = None
        if execution.trace.divergence is not None:
            execution.trace.divergence = None
            self.figures.parted += 1
        if following.failing is not None:
            self.figures.unproved.append(following.failing)
        execution.decide_by(NonPreemptive())

    # -- what happens to the execution ---------------------------------------------------

    def decided(self, outcome: Outcome) -> None:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""
        if self._fragment is not None:
            self._fragment.over(End.FAILED, failing_of(outcome))

    def raised(self, task: Task, error: BaseException) -> None:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""
        if self._fragment is not None:
            # To tell more of it would read files.
            self._fragment.over(End.FAILED, (type(error).__name__, task.id))
        if self._options.debug:
            with nobody():
                print(f"bohrbug: {type(error).__name__} leaves task {task.id}", file=sys.stderr)
                importlib.import_module("pdb").post_mortem(error.__traceback__)

    def waits(self, _: Execution) -> None:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""
        if self._fragment is not None:
            self._fragment.over(End.WAITS)
        self.met_outside = True

    def ends(self, execution: Execution) -> None:
        """See :class:`~bohrbug.runtime.threads.monitoring.Visitor`."""
        if self._fragment is not None:
            self._fragment.over(End.DONE)
        # A child that had ended before anybody waited for it may take longer the next time.
        self.met_outside = self.met_outside or execution.outside.has_children
        self._look_for_strays(execution)
        following = self._following
        outcome = execution.trace.outcome
        if following is not None and execution.trace.divergence is not None:
            self.figures.parted += 1
            execution.trace.divergence = None
        if following is not None and not outcome.is_failure and following.failing is not None:
            self.figures.unproved.append(following.failing)
        self.note_share()


def _nothing(crash: Crash) -> None:
    """Nobody is to be told."""


def _give_up(execution: Execution) -> None:
    """End the run."""
    execution.ending.abort(Outcome(OutcomeKind.INTERRUPTED, "an error of live rounds"))
