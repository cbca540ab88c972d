"""Replaying a reproduction of a Python test, also where the program was edited since."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Protocol

from bohrbug.exploration.alignment_diff import AlignmentDiff, alignment_diff_of
from bohrbug.exploration.findings import CONFIRMATIONS, LONG
from bohrbug.exploration.minimisation.budget import MOST_WITH_THE_GIL, Budget
from bohrbug.exploration.minimisation.preemptions import minimise
from bohrbug.exploration.program_text import PointText, current_text
from bohrbug.exploration.realignment import (
    Alignment,
    align,
    align_points,
    is_same_failure,
    marks_of,
    variants,
)
from bohrbug.exploration.replaying import Edit, Replay, executed, repeated
from bohrbug.exploration.reproduction import Reproduction
from bohrbug.exploration.result import Failure, Interpreter
from bohrbug.model.conditions import PlaceKey, place_key
from bohrbug.model.operation import TaskId
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.plan import Aligned, Plan
from bohrbug.model.trace import Trace
from bohrbug.platforms.threads.explaining import ThreadExplainer
from bohrbug.platforms.threads.platform import ThreadsPlatform, live_runtime_of, runtime_of
from bohrbug.platforms.threads.recorded_points import find_functions
from bohrbug.runtime.interrupts import Interrupts
from bohrbug.runtime.protocol import Guard, Runtime
from bohrbug.runtime.threads.control import current
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.growing import Regrowing
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.runtime import ThreadsRuntime
from bohrbug.runtime.threads.task import Task

Guarding = Callable[[Runtime], Guard]
"""Makes what ends the executions of a runtime that hang."""


class Debugger(Protocol):
    """Looks into a replay while it runs; what it does is no part of the execution."""

    is_interactive: bool
    """Somebody sits at it, so that Ctrl-C is for it."""

    def begin(self) -> None:
        """What is executed from now on is the replay."""
        ...

    def before_step(self, execution: Execution, step: int) -> None:
        """Called before every step once there are several tasks."""
        ...

    def failed(self, execution: Execution, task: Task, error: BaseException) -> None:
        """An exception left a task."""
        ...

    def stuck(self, execution: Execution, outcome: Outcome) -> None:
        """No task can go on, and the execution ends so."""
        ...

    def follow(self, failure: Failure) -> None:
        """From now on it is this failure that is replayed."""
        ...


class _Stopping:
    """Ends a replay after Ctrl-C.

    Without it the exception would be raised in whatever task runs, and taken for one of its own:
    that replay would differ, and the next one begin.

    Attributes:
        came: the user wants it to end.
        runtime: what executes; ``None`` for nothing yet.
    """

    def __init__(self) -> None:
        self.came = False
        self.runtime: Runtime | None = None

    def stop(self) -> None:
        """End the execution that runs."""
        self.came = True
        execution = None if self.runtime is None else self.runtime.execution
        if execution is not None:
            execution.interrupt()

    def has_come(self) -> bool:
        """Whether the user wants it to end."""
        return self.came

    def check(self) -> None:
        """Go on only if the user has not interrupted.

        Raises:
            KeyboardInterrupt: somebody has.
        """
        if self.came:
            raise KeyboardInterrupt


def replay(
    reproduction: Reproduction,
    function: Callable[[], object],
    times: int = 1,
    debugger: Debugger | None = None,
    guarding: Guarding | None = None,
) -> Replay:
    """Replay a reproduction, as far as that is possible if the program was edited.

    Executions without preemptions go first, as in the exploration: they find
    the functions whose data accesses have to be seen.  The plan of the file is
    followed strictly; if that does not give the failure and the program was edited, its steps
    are looked for in the program of today, and followed leniently.

    Parameters:
        reproduction: from the file.
        function: the test.
        times: how often to replay.
        debugger: looks into the replays.
        guarding: ends executions that hang; ``None`` where somebody looks on.

    Raises:
        KeyboardInterrupt: interrupted before the first replay had ended.
    """
    stopping = _Stopping()
    is_interactive = debugger is not None and debugger.is_interactive
    with nullcontext() if is_interactive else Interrupts(stopping.stop):
        return _replay(reproduction, function, times, debugger, guarding, stopping)


def _replay(
    reproduction: Reproduction,
    function: Callable[[], object],
    times: int,
    debugger: Debugger | None,
    guarding: Guarding | None,
    stopping: _Stopping,
) -> Replay:
    state = random.getstate()
    try:
        if reproduction.failure.growth is not None:
            return _replay_of_one_run(reproduction, function, times, debugger, stopping)
        alignment = align(reproduction.texts, current_text)
        edited = bool(alignment.changed)
        replays = _Replays(reproduction, function, guarding, stopping)
        # What is looked into is only what fails as in the file.
        replayed = replays.strict(times, None if edited else debugger)
        if not edited or replayed.left:
            return replayed
        if replayed.reproduced < times:
            return replays.aligned(alignment, times, debugger)
        if debugger is not None:
            replayed = replays.strict(times, debugger)
        return replays.as_it_is_now(replayed, alignment)
    finally:
        random.setstate(state)


def _replay_of_one_run(
    reproduction: Reproduction,
    function: Callable[[], object],
    times: int,
    debugger: Debugger | None,
    stopping: _Stopping,
) -> Replay:
    """Follow the plan of a program that has run only once, and let it grow as it did then."""
    options, recorded = reproduction.options, reproduction.failure
    assert recorded.growth is not None
    expected = replace(recorded, plan=recorded.plan.under(reproduction.conditions))
    replayed: list[Replay] = []
    for _ in range(times):
        watched = _Watched(debugger)
        watched.begin()
        regrowing = Regrowing(recorded.growth)
        runtime = live_runtime_of(
            function,
            options,
            regrowing,
            options.invariant if debugger is None else watched.before_step,
            watched,
        )
        regrowing.growing.runtime = stopping.runtime = runtime
        with runtime:
            runtime.rewrite_first(getattr(function, "codes", ()))
            try:
                replayed.append(repeated(runtime, expected, 1, stopping.has_come))
            except KeyboardInterrupt:
                if not replayed:
                    raise
                break
    differing = [each.difference for each in replayed if each.difference is not None]
    return Replay(
        replayed[-1].trace,
        sum(each.reproduced for each in replayed),
        len(replayed),
        differing[0] if differing else None,
        left=times - len(replayed),
    )


class _Replays:
    """Replays one reproduction in one way and another.

    Parameters:
        reproduction: from the file.
        function, guarding: see :func:`replay`.
        stopping: told what executes, and asked whether to go on.
    """

    def __init__(
        self,
        reproduction: Reproduction,
        function: Callable[[], object],
        guarding: Guarding | None,
        stopping: _Stopping,
    ) -> None:
        self._stopping = stopping
        self._reproduction = reproduction
        self._function = function
        self._guarding = guarding
        # All data accesses that the program has now, once it was executed.
        self._places: list[Place] = []

    @contextmanager
    def _entered(
        self, points: Sequence[PlaceKey], debugger: Debugger | None
    ) -> Generator[tuple[ThreadsPlatform, Failure, _Watched]]:
        """The test, and the failure of the file where these accesses are scheduling points."""
        options = self._reproduction.options
        watched = _Watched(debugger)
        invariant = options.invariant if debugger is None else watched.before_step
        runtime = runtime_of(self._function, options, invariant, watched)
        recorded = self._reproduction.failure
        conditions = replace(self._reproduction.conditions, points=frozenset(points))
        expected = replace(recorded, plan=recorded.plan.under(conditions))
        self._stopping.runtime = runtime
        with self._guarded(runtime), runtime:
            find_functions(runtime, expected.plan)
            self._stopping.check()
            self._places = list(runtime.known_places())
            yield ThreadsPlatform(runtime), expected, watched

    @contextmanager
    def _guarded(self, runtime: ThreadsRuntime) -> Generator[None]:
        if self._guarding is None:
            yield
            return
        guard = self._guarding(runtime)
        guard.start()
        try:
            yield
        finally:
            guard.stop()

    def strict(self, times: int, debugger: Debugger | None) -> Replay:
        """Follow the plan of the file."""
        is_unaware = self._reproduction.failure.is_unaware
        with self._entered(self._reproduction.points, debugger) as (platform, expected, watched):
            watched.begin()
            with platform.runtime.afresh() if is_unaware else nullcontext():
                return repeated(platform.runtime, expected, times, self._stopping.has_come)

    # -- edited programs ---------------------------------------------------------

    def as_it_is_now(self, replayed: Replay, alignment: Alignment) -> Replay:
        """The plan of the file still holds; but what it does reads differently now."""
        reproduction = self._reproduction
        recorded = reproduction.failure
        now = {place_key(place): PointText.of(place) for place in self._places_recorded()}
        texts = tuple(
            now.get(key, text)
            for key, text in zip(reproduction.points, reproduction.failure.accesses, strict=False)
        )
        failure = replace(
            recorded,
            outcome=replayed.trace.outcome,
            trace=replayed.trace,
            points=tuple(reproduction.points),
            accesses=texts,
            # It names places of the program as it was.
            cause=None,
        )
        marks = marks_of(recorded.trace, alignment)
        misfits = alignment_diff_of(
            recorded.trace, marks, marks.policy, replayed.trace, alignment, reproduction.texts, []
        )
        return replace(replayed, edit=Edit(alignment.changed, misfits, failure, aligned=False))

    def aligned(self, alignment: Alignment, times: int, debugger: Debugger | None) -> Replay:
        """Follow the steps of the file as far as they are still there.

        Parameters:
            alignment: where the recorded lines are now.
            times: how often to replay what was found.
            debugger: looks into these replays.
        """
        reproduction = self._reproduction
        recorded = reproduction.failure
        points, gone = self._points(alignment)
        marks = marks_of(recorded.trace, alignment)

        def misfits(policy: Aligned, trace: Trace) -> AlignmentDiff:
            return alignment_diff_of(
                recorded.trace, marks, policy, trace, alignment, reproduction.texts, gone
            )

        tried: list[tuple[Trace, AlignmentDiff]] = []
        with self._entered(points, debugger) as (platform, expected, watched):
            for policy in variants(marks):
                plan = Plan((), policy, conditions=expected.plan.conditions)
                trace = executed(platform.runtime, recorded, plan)
                self._stopping.check()
                if is_same_failure(recorded.outcome, trace.outcome, alignment):
                    failure = _confirmed(platform, recorded, trace)
                    self._stopping.check()
                    if failure is not None:
                        edit = Edit(alignment.changed, misfits(policy, trace), failure)
                        if debugger is not None:
                            debugger.follow(failure)
                        watched.begin()
                        found = repeated(platform.runtime, failure, times, self._stopping.has_come)
                        return replace(found, edit=edit)
                tried.append((trace, misfits(policy, trace)))
        # A failure of another kind tells more than that it passes.
        trace, best = max(tried, key=lambda each: (each[0].outcome.is_failure, each[1].followed))
        return Replay(trace, 0, times, None, Edit(alignment.changed, best))

    def _points(
        self, alignment: Alignment
    ) -> tuple[list[PlaceKey], list[tuple[PlaceKey, PointText]]]:
        reproduction = self._reproduction
        if not reproduction.failure.accesses:
            return reproduction.points, []
        candidates = {place_key(place): PointText.of(place) for place in self._places_recorded()}
        return align_points(
            reproduction.points, reproduction.failure.accesses, candidates, alignment
        )

    def _places_recorded(self) -> list[Place]:
        """The data accesses in the files in which some were scheduling points."""
        files = {key[0] for key in self._reproduction.points}
        return [place for place in self._places if place[0].co_filename in files]


def _confirmed(platform: ThreadsPlatform, recorded: Failure, found: Trace) -> Failure | None:
    """The failure of an execution if its plan gives it again and again; minimised.

    Parameters:
        platform: the test.
        recorded: the failure in the file.
        found: the execution that failed in the same way.
    """
    signature = found.outcome.signature()
    conditions = found.plan.conditions

    def execute(plan: Plan) -> Trace:
        return executed(platform.runtime, recorded, plan.under(conditions))

    def reproduces(plan: Plan) -> bool:
        trace = execute(plan)
        return trace.outcome.signature() == signature and trace.divergence is None

    if not all(reproduces(found.as_plan()) for _ in range(CONFIRMATIONS)):
        return None
    smallest = found
    if recorded.outcome.race is None and len(found) <= LONG:
        smallest = minimise(found, execute, policies=platform.runtime.policies)
        if not reproduces(smallest.as_plan()):
            smallest = found
    plan = smallest.as_plan()
    # From here on the strict plan counts, not the lenient one that led to it.
    smallest.plan = plan
    texts = platform.texts_of_points(conditions.points)
    points = tuple(sorted(texts))
    failure = Failure(
        smallest.outcome,
        smallest,
        plan,
        recorded.strategy,
        recorded.execution,
        recorded.found_preemptions,
        essential=tuple(smallest.preemptions()),
        confirmed=CONFIRMATIONS,
        early_timeouts=smallest.fired_early(),
        points=points,
        accesses=tuple(texts[key] for key in points),
    )
    if recorded.interpreter is not Interpreter.UNKNOWN:
        budget = Budget(MOST_WITH_THE_GIL)
        failure.interpreter = platform.interpreter_of(failure, conditions.points, budget)
    return failure


class _Watched(ThreadExplainer):
    """Lets a debugger take part in the replays, but not in the executions before them."""

    def __init__(self, debugger: Debugger | None) -> None:
        super().__init__()
        self._debugger = debugger
        self.active = False

    def begin(self) -> None:
        """What is executed from now on is the replay."""
        self.active = True
        if self._debugger is not None:
            self._debugger.begin()

    def before_step(self) -> None:
        """Takes the place of the invariant, which is called before every step."""
        execution = current.execution
        if self.active and self._debugger is not None and execution is not None:
            self._debugger.before_step(execution, len(execution.rows))

    def exception(self, execution: Execution, task: Task, error: BaseException) -> Outcome:
        """An exception left a task."""
        if self.active and self._debugger is not None:
            self._debugger.failed(execution, task, error)
        return super().exception(execution, task, error)

    def stuck(self, execution: Execution) -> Outcome:
        """No task can go on."""
        outcome = super().stuck(execution)
        self._stop_at(execution, outcome)
        return outcome

    def idle(
        self, execution: Execution, pollers: Collection[TaskId], is_certain: bool
    ) -> Outcome | None:
        """Only those who poll go on."""
        outcome = super().idle(execution, pollers, is_certain)
        # Somebody outside may still come, if that is who is waited for.
        if outcome is not None and outcome.kind is not OutcomeKind.HANG:
            self._stop_at(execution, outcome)
        return outcome

    def _stop_at(self, execution: Execution, outcome: Outcome) -> None:
        if self.active and self._debugger is not None:
            execution.suspended += 1
            try:
                self._debugger.stuck(execution, outcome)
            finally:
                execution.suspended -= 1
