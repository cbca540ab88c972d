"""A Python test with threads, as an exploration sees it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bohrbug.exploration.explorer import NOTHING_AROUND, Explorer
from bohrbug.exploration.figures import RaceKey, race_key
from bohrbug.exploration.minimisation.budget import Budget
from bohrbug.exploration.options import ExploreOptions
from bohrbug.exploration.platform import Platform
from bohrbug.exploration.program_text import PointText
from bohrbug.exploration.result import Failure, Interpreter
from bohrbug.exploration.seeding import from_a_seed
from bohrbug.exploration.surroundings import Surroundings
from bohrbug.model.conditions import Conditions, Level, PlaceKey, place_key
from bohrbug.model.operation import ACQUIRE
from bohrbug.model.outcome import Frame, Held, Race
from bohrbug.model.plan import Plan
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.monitors.await_races import races_over_awaits
from bohrbug.monitors.outcomes import resource_of
from bohrbug.monitors.race_classes import may_matter_at_first
from bohrbug.monitors.races import Pair, RaceDetector
from bohrbug.monitors.weak_order import PossibleRace, WeakDetector
from bohrbug.monitors.witness import Witness
from bohrbug.platforms.threads.explaining import ThreadExplainer
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.finalizing import finalizes
from bohrbug.runtime.threads.foreign_greenlets import check_that_threads_are_controlled
from bohrbug.runtime.threads.loops.logged import TellingOfLogged, TellsOfLogged
from bohrbug.runtime.threads.module_state import ModuleState, as_before
from bohrbug.runtime.threads.monitoring import Visitor
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.runtime import ThreadsRuntime
from bohrbug.runtime.threads.settings import EXTERNAL_PATIENCE, Settings
from bohrbug.runtime.threads.stacks import stack_of

if TYPE_CHECKING:
    from bohrbug.runtime.threads.live_runtime import LiveRuntime

_NO_LIMIT = 10**15
"""Steps that no program comes to."""


class KnownRaces:
    """Pairs of places that raced in earlier executions: their stacks are kept only once."""

    def __init__(self) -> None:
        self.pairs: set[Pair] = set()

    def detector(self, execution: Execution) -> RaceDetector:
        """A race detector for one execution."""
        return RaceDetector(*_looks(execution), self.pairs, finalizes)


def _looks(
    execution: Execution,
) -> tuple[Callable[[int], tuple[Frame, ...]], Callable[[int], tuple[Held, ...]]]:
    """How to see the stack of a running task, and the locks that it holds."""

    def stack(index: int) -> tuple[Frame, ...]:
        return stack_of(execution.all_tasks[index], execution.current)

    def locks_held(index: int) -> tuple[Held, ...]:
        return tuple(
            Held(resource_of(lock), site_of(place))
            for lock, place in execution.all_tasks[index].holding.items()
        )

    return stack, locks_held


class ThreadsPlatform(Platform):
    """A Python test with threads.

    Parameters:
        runtime: executes plans of the test.
    """

    measures_stalls = True

    def __init__(self, runtime: ThreadsRuntime) -> None:
        super().__init__(runtime)
        self._threads = runtime
        self._at_first: ModuleState | None = None

    def begins(self) -> None:
        """See :class:`Platform`."""
        if self._threads.level is not Level.SYNC:
            self._at_first = ModuleState()

    def races_of_the_first(self, conditions: Conditions, known: Collection[RaceKey]) -> list[Race]:
        """See :class:`Platform`: an execution that finds plain values as the first one did."""
        changes = [] if self._at_first is None else self._at_first.changes()
        if not changes:
            return []
        with as_before(changes):
            plan = Plan(conditions=conditions)
            races = self._threads.execute(plan, learn=False, watch=True).trace.races
        return [race for race in races if race_key(race) not in known and may_matter_at_first(race)]

    def complete_races(self, trace: Trace, races: Sequence[Race]) -> list[Race]:
        """See :class:`Platform`."""
        witnesses: list[Witness] = []

        def watch(execution: Execution) -> Witness:
            def task_id(index: int) -> str:
                return execution.all_tasks[index].id

            def steps() -> int:
                return execution.steps

            witnesses.append(Witness(others, task_id, *_looks(execution), steps))
            return witnesses[-1]

        over_awaits = [race for race in races if race.stale is not None]
        others = [race for race in races if race.stale is None]
        if over_awaits:
            # These have their stacks, but are told only if they happen again.
            again = self._threads.execute(trace.as_plan(), learn=False, watch=True).trace
            seen = set(map(race_key, again.races))
            over_awaits = [race for race in over_awaits if race_key(race) in seen]
        if others:
            self._threads.execute(trace.as_plan(), learn=False, watcher=watch)
        if witnesses:
            others = [witnesses[-1].completed(race) for race in others]
        return others + over_awaits

    def possible_races(self, plan: Plan) -> list[PossibleRace]:
        """See :class:`Platform`; there are none where no locks are taken."""
        watched: list[_Watched] = []

        def detector(execution: Execution) -> _Watched:
            watched.append(_Watched(execution))
            return watched[-1]

        trace = self._threads.execute(plan, learn=False, watcher=detector).trace
        if not watched or not any(o.kind is ACQUIRE for o in trace.operations):
            return []
        tasks = watched[0].execution.all_tasks
        return watched[0].possible_races(trace, lambda index: tasks[index].id)

    def texts_of_points(self, keys: Iterable[PlaceKey]) -> dict[PlaceKey, PointText]:
        """See :class:`Platform`."""
        return {place_key(place): PointText.of(place) for place in self._threads.known_points(keys)}

    def interpreter_of(
        self, failure: Failure, points: frozenset[PlaceKey], budget: Budget
    ) -> Interpreter:
        """See :class:`Platform`."""
        runtime, conditions = self._threads, failure.plan.conditions
        if conditions.gil:
            return Interpreter.GIL
        executed = runtime.execute(failure.plan, learn=False, breakers=True)
        trace = executed.trace
        if trace.outcome.signature() != failure.outcome.signature():
            return Interpreter.UNKNOWN
        if not executed.free_threaded_only_steps:
            return Interpreter.GIL
        # What has turned out to be racy since it was found may be where such a build can switch.
        gil = replace(conditions, gil=True, points=conditions.points | points)
        # Loaded with the first failure that needs it.
        from bohrbug.exploration.minimisation.preemptions import LONG
        from bohrbug.exploration.minimisation.systematic import at_random, fewest_preemptions

        def execute(plan: Plan) -> Trace:
            return runtime.execute(plan.under(gil), learn=False).trace

        is_wanted, most = failure.outcome.is_like, len(trace.preemptions())
        if len(trace) > LONG:
            budget.executions = min(budget.executions, _MOST_LONG)
        systematic = budget.part(_SYSTEMATIC)
        other, to_the_end = fewest_preemptions(execute, is_wanted, most, systematic)
        if not to_the_end:
            # Of long programs it has seen the beginning only.
            other = at_random(execute, is_wanted, budget)
        if other is not None:
            return Interpreter.ANOTHER_SCHEDULE
        return Interpreter.FREE_THREADED if to_the_end else Interpreter.THIS_SCHEDULE


_MOST_LONG = 40
"""Executions that may be spent on that where each of them is long."""

_SYSTEMATIC = 0.75
"""The share of what may be spent on finding out about the GIL, before schedules are drawn."""


class _Watched(WeakDetector):
    """A detector that remembers whom it watched."""

    def __init__(self, execution: Execution) -> None:
        self.execution = execution
        tasks = execution.all_tasks
        super().__init__(
            lambda index: frozenset(map(id, tasks[index].holding)),
            lambda: execution.steps,
        )


def settings_of(options: ExploreOptions) -> Settings:
    """How executions are run, from the options of an exploration.

    What is outside our control is waited for half as long as a hang may last: the watchdog is to
    find executions that nobody else gives up.
    """
    hang = options.hang_seconds
    return Settings(
        epoch=options.epoch,
        uptime=options.uptime,
        real_entropy=options.entropy == "real",
        late_pauses=options.async_order != "fifo",
        cancel=options.cancel,
        gc=options.gc,
        external_patience=max(EXTERNAL_PATIENCE, hang / 2) if hang else math.inf,
    )


def threads_runtime(
    function: Callable[[], object],
    settings: Settings,
    level: Level,
    scope: Scope,
    invariant: Callable[[], object] | None = None,
    explainer: ThreadExplainer | None = None,
    let_go: Callable[[], object] | None = None,
    begins_unseen: bool = False,
) -> ThreadsRuntime:
    """The runtime for a test, with the monitors that explain how its executions end."""
    return ThreadsRuntime(
        function,
        settings,
        level,
        scope,
        explainer if explainer is not None else ThreadExplainer(),
        KnownRaces().detector,
        races_over_awaits,
        invariant,
        let_go,
        begins_unseen=begins_unseen,
    )


def runtime_of(
    function: Callable[[], object],
    options: ExploreOptions,
    invariant: Callable[[], object] | None = None,
    explainer: ThreadExplainer | None = None,
    let_go: Callable[[], object] | None = None,
    begins_unseen: bool = False,
) -> ThreadsRuntime:
    """The runtime for a test, by the options of an exploration.

    Parameters:
        function: the test; called once for each execution, with the same random numbers.
        options: of them count which say what an execution is.
        invariant, let_go, begins_unseen: see :class:`ThreadsRuntime`.
        explainer: turns ends of executions into outcomes.

    Raises:
        NotControlledError: the threads of this program can't be controlled.
    """
    options.check_for_python()
    check_that_threads_are_controlled()
    if not isinstance(function, TellsOfLogged):
        function = TellingOfLogged(function, options.asyncio_errors == "fail")
    return threads_runtime(
        partial(from_a_seed, function),
        settings_of(options),
        Level(options.level),
        Scope(options.scope),
        invariant,
        explainer,
        let_go,
        begins_unseen,
    )


def live_runtime_of(
    function: Callable[[], object],
    options: ExploreOptions,
    visitor: Visitor,
    invariant: Callable[[], object] | None = None,
    explainer: ThreadExplainer | None = None,
) -> LiveRuntime:
    """The runtime for a program that runs only once, or for the replay of such a run.

    Parameters:
        function, options, explainer: see :func:`runtime_of`.
        visitor: looks in on it, and lets it grow.
        invariant: see :class:`ThreadsRuntime`; in place of that of the options.
    """
    from bohrbug.runtime.threads.live_runtime import LiveRuntime

    settings = replace(
        settings_of(options), is_live=True, external_patience=math.inf, leak_steps=options.max_steps
    )
    return LiveRuntime(
        partial(from_a_seed, TellingOfLogged(function, options.asyncio_errors == "fail")),
        settings,
        Level(options.level),
        Scope(options.scope),
        explainer if explainer is not None else ThreadExplainer(),
        KnownRaces().detector,
        races_over_awaits,
        invariant if invariant is not None else options.invariant,
        visitor=visitor,
    )


def service_runtime_of(function: Callable[[], object], visitor: Visitor) -> LiveRuntime:
    """The runtime for a service, which is not looked at before somebody wants it to be.

    Time and random numbers are those of the system, and nothing limits it.

    Parameters:
        function: lets the service run, and returns at its end.
        visitor: looks in on it.
    """
    from bohrbug.runtime.threads.live_runtime import LiveRuntime

    settings = Settings(
        is_live=True,
        is_service=True,
        external_patience=math.inf,
        leak_steps=_NO_LIMIT,
        real_entropy=True,
        late_pauses=False,
    )
    return LiveRuntime(
        function,
        settings,
        Level.SYNC,
        Scope(()),
        ThreadExplainer(),
        KnownRaces().detector,
        races_over_awaits,
        visitor=visitor,
    )


def service_plan() -> Plan:
    """What such a runtime executes: each task until it waits, for as long as the service lasts."""
    return Plan(conditions=Conditions(late_timeouts=True, max_steps=_NO_LIMIT))


def explorer_of(
    function: Callable[[], object],
    name: str,
    options: ExploreOptions,
    surroundings: Surroundings = NOTHING_AROUND,
    let_go: Callable[[], object] | None = None,
    begins_unseen: bool = False,
) -> Explorer:
    """An explorer of a test that is a function.

    Parameters:
        function: the test; called once for each execution.
        name, options, surroundings: see :class:`Explorer`.
        let_go, begins_unseen: see :class:`ThreadsRuntime`.
    """
    runtime = runtime_of(
        function, options, options.invariant, let_go=let_go, begins_unseen=begins_unseen
    )
    return Explorer(ThreadsPlatform(runtime), name, options, surroundings)
