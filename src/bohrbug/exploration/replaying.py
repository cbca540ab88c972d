"""Replaying a reproduction, and saying where it differs if it does."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from bohrbug.exploration.findings import CONFIRMATIONS, LONG, accesses_of, interpreter_of
from bohrbug.exploration.minimisation.budget import Budget
from bohrbug.exploration.minimisation.preemptions import early_timeouts, minimise
from bohrbug.exploration.minimisation.systematic import MOST_WITH_THE_GIL
from bohrbug.exploration.misfits import Misfits, misfits_of
from bohrbug.exploration.program_text import PointText, current_text
from bohrbug.exploration.realignment import (
    Alignment,
    align,
    align_points,
    is_same_failure,
    marks_of,
    variants,
)
from bohrbug.exploration.recorded_points import take_recorded_points
from bohrbug.exploration.reproduction import Reproduction
from bohrbug.exploration.result import Failure, Interpreter
from bohrbug.exploration.seeding import from_a_seed
from bohrbug.exploration.subject import ThreadExplainer, threads_subject
from bohrbug.model.operation import Site
from bohrbug.model.outcome import Outcome, OutcomeKind
from bohrbug.model.plan import Aligned, Plan
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.paths import display_path
from bohrbug.runtime.protocol import Runtime
from bohrbug.runtime.threads.control import current
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.points import PlaceKey, place_key
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.runtime import ThreadsRuntime
from bohrbug.runtime.threads.settings import Level
from bohrbug.runtime.threads.task import Task


class Debugger(Protocol):
    """Looks into a replay while it runs; what it does is no part of the execution."""

    def before_step(self, execution: Execution, step: int) -> None:
        """Called before every step once there are several tasks."""
        ...

    def failed(self, execution: Execution, task: Task, error: BaseException) -> None:
        """An exception left a task."""
        ...

    def follow(self, failure: Failure) -> None:
        """From now on it is this failure that is replayed."""
        ...


@dataclass(frozen=True, slots=True)
class Edit:
    """What a replay found in a program that was edited since its failure was recorded.

    Parameters:
        files: those that were edited where something was recorded.
        misfits: what does not fit any more.
        failure: the recorded failure in the program of today, confirmed and minimised;
            ``None`` if it did not happen again.
        aligned: the plan of the file did not hold any more.
    """

    files: tuple[str, ...]
    misfits: Misfits
    failure: Failure | None = None
    aligned: bool = True


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay gave.

    Parameters:
        trace: the last execution.
        reproduced: how many of ``times`` failed as in the file.
        times: replays made.
        difference: where the first differing replay parts from the file, for people.
        edit: what became of the failure if the program was edited; where the plan of the file
            does not hold any more, ``trace`` and ``reproduced`` are of what could be followed.
    """

    trace: Trace
    reproduced: int
    times: int
    difference: str | None
    edit: Edit | None = None

    @property
    def passes(self) -> bool:
        """Whether the test passes now under the schedule of the file."""
        if self.reproduced or self.trace.outcome.is_failure:
            return False
        if self.edit is not None:
            return self.trace.outcome.kind is OutcomeKind.PASSED
        return self.trace.divergence is None


def replay(
    reproduction: Reproduction,
    function: Callable[[], object],
    times: int = 1,
    debugger: Debugger | None = None,
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
    """
    state = random.getstate()
    try:
        alignment = align(reproduction.texts, current_text)
        edited = bool(alignment.changed)
        replays = _Replays(reproduction, function)
        # What is looked into is only what fails as in the file.
        replayed = replays.strict(times, None if edited else debugger)
        if not edited:
            return replayed
        if replayed.reproduced < times:
            return replays.aligned(alignment, times, debugger)
        if debugger is not None:
            replayed = replays.strict(times, debugger)
        return replays.as_it_is_now(replayed, alignment)
    finally:
        random.setstate(state)


class _Replays:
    """Replays one reproduction in one way and another.

    Parameters:
        reproduction: from the file.
        function: the test.
    """

    def __init__(self, reproduction: Reproduction, function: Callable[[], object]) -> None:
        self._reproduction = reproduction
        self._function = function
        # All data accesses that the program has now, once it was executed.
        self._places: list[Place] = []

    @contextmanager
    def _runtime(
        self, points: Sequence[PlaceKey], debugger: Debugger | None
    ) -> Generator[tuple[ThreadsRuntime, _Watched]]:
        """A runtime on which these data accesses are scheduling points."""
        options = self._reproduction.options
        watched = _Watched(debugger)
        runtime = threads_subject(
            partial(from_a_seed, self._function),
            options.settings(),
            Level(options.level),
            Scope(options.scope),
            options.invariant if debugger is None else watched.before_step,
            watched,
        )
        with runtime:
            take_recorded_points(runtime, points, self._reproduction.failure.plan)
            self._places = list(runtime.known_places())
            yield runtime, watched

    def strict(self, times: int, debugger: Debugger | None) -> Replay:
        """Follow the plan of the file."""
        expected = self._reproduction.failure
        with self._runtime(self._reproduction.points, debugger) as (runtime, watched):
            watched.active = True
            return repeated(runtime, expected, times)

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
        misfits = misfits_of(
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

        def misfits(policy: Aligned, trace: Trace) -> Misfits:
            return misfits_of(
                recorded.trace, marks, policy, trace, alignment, reproduction.texts, gone
            )

        tried: list[tuple[Trace, Misfits]] = []
        with self._runtime(points, debugger) as (runtime, watched):
            for policy in variants(marks):
                trace = executed(runtime, recorded, Plan((), policy))
                if is_same_failure(recorded.outcome, trace.outcome, alignment):
                    failure = _confirmed(runtime, recorded, trace)
                    if failure is not None:
                        edit = Edit(alignment.changed, misfits(policy, trace), failure)
                        if debugger is not None:
                            debugger.follow(failure)
                        watched.active = True
                        return replace(repeated(runtime, failure, times), edit=edit)
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


def repeated(runtime: Runtime, expected: Failure, times: int) -> Replay:
    """Execute the plan of a failure so often, and compare."""
    reproduced = 0
    difference = None
    for _ in range(times):
        trace = executed(runtime, expected, expected.plan)
        same = trace.outcome.signature() == expected.outcome.signature()
        if same and trace.divergence is None:
            reproduced += 1
        elif difference is None:
            difference = difference_between(expected.trace, trace)
    return Replay(trace, reproduced, times, difference)


def _confirmed(runtime: ThreadsRuntime, recorded: Failure, found: Trace) -> Failure | None:
    """The failure of an execution if its plan gives it again and again; minimised.

    Parameters:
        runtime: to execute on.
        recorded: the failure in the file.
        found: the execution that failed in the same way.
    """
    signature = found.outcome.signature()

    def reproduces(plan: Plan) -> bool:
        trace = executed(runtime, recorded, plan)
        return trace.outcome.signature() == signature and trace.divergence is None

    def execute(plan: Plan) -> Trace:
        return executed(runtime, recorded, plan)

    def strict(trace: Trace) -> Plan:
        return Plan(tuple(trace.choices))

    if not all(reproduces(strict(found)) for _ in range(CONFIRMATIONS)):
        return None
    smallest = found
    if recorded.outcome.race is None and len(found) <= LONG:
        smallest = minimise(found, execute)
        if not reproduces(strict(smallest)):
            smallest = found
    plan = strict(smallest)
    # From here on the strict plan counts, not the lenient one that led to it.
    smallest.plan = plan
    failure = Failure(
        smallest.outcome,
        smallest,
        plan,
        recorded.strategy,
        recorded.execution,
        recorded.found_preemptions,
        essential=tuple(smallest.preemptions()),
        confirmed=CONFIRMATIONS,
        early_timeouts=early_timeouts(smallest),
        points=tuple(runtime.point_keys()),
        accesses=accesses_of(runtime),
    )
    if recorded.interpreter is not Interpreter.UNKNOWN:
        failure.interpreter = interpreter_of(runtime, failure, Budget(MOST_WITH_THE_GIL))
    return failure


class _Watched(ThreadExplainer):
    """Lets a debugger take part in the replays, but not in the executions before them."""

    def __init__(self, debugger: Debugger | None) -> None:
        super().__init__()
        self._debugger = debugger
        self.active = False

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


def executed(runtime: Runtime, expected: Failure, plan: Plan) -> Trace:
    """One replay; a data race that was reported as a failure has to be looked for."""
    race = expected.outcome.race
    if race is None:
        return runtime.execute(plan, learn=False).trace
    trace = runtime.execute(plan, learn=False, watch=True).trace
    if not trace.outcome.is_failure:
        for found in trace.races:
            if found.label == race.label:
                outcome = replace(expected.outcome, race=found, stack=found.second.stack)
                return trace.with_outcome(outcome)
    return trace


def difference_between(expected: Trace, found: Trace) -> str:
    """Where two executions part, in words.

    Parameters:
        expected: the execution in the file.
        found: the replay.
    """
    for index in range(min(len(expected), len(found))):
        wanted, made = expected.operations[index], found.operations[index]
        here, there = site_of(wanted.place), site_of(made.place)
        if (
            expected.tasks[index] != found.tasks[index]
            or wanted.kind is not made.kind
            or (here and there and here[:2] != there[:2])
        ):
            return (
                f"step {index} differs: expected task {expected.tasks[index]} to "
                f"{wanted.kind.name}{_at(here)}, but task {found.tasks[index]} does "
                f"{made.kind.name}{_at(there)}"
            )
    if len(expected) != len(found):
        return (
            f"the replay has {len(found)} steps, the file {len(expected)}; up to the shorter end "
            "they agree"
        )
    return (
        f"the schedule is the same, but the outcome differs: {found.outcome.kind.value} "
        f"{found.outcome.message}".rstrip()
    )


def _at(site: Site | None) -> str:
    """A place as a person in the current folder would write it: `` at shop.py:9 in Shop.buy``."""
    if site is None:
        return ""
    return f" at {site._replace(filename=display_path(site.filename))}"
