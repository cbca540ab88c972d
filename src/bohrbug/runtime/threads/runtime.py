"""The threads runtime: from plans to traces, with data accesses made visible."""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from types import CodeType
from typing import Self

from bohrbug.accelerator import native
from bohrbug.model.outcome import Access
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.policies import POLICIES
from bohrbug.runtime.protocol import Executed
from bohrbug.runtime.threads import (
    entropy,
    futures,
    identities,
    log_records,
    made_code,
    replaced_builtins,
    thread_functions,
    thread_state,
)
from bohrbug.runtime.threads.data.kinds import Kind, Types
from bohrbug.runtime.threads.data.owners import WeakOwner
from bohrbug.runtime.threads.data.places import PlaceSet
from bohrbug.runtime.threads.data.shadows import NO_ACCESSES, Shadow
from bohrbug.runtime.threads.data.sinks import PointSink, SpinSink, WatchingSink
from bohrbug.runtime.threads.data.variables import Variables
from bohrbug.runtime.threads.deaths import Deaths
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.futures import lasting_executors
from bohrbug.runtime.threads.handed_over import HandedOver, as_it_is
from bohrbug.runtime.threads.installation import installation
from bohrbug.runtime.threads.instrumentation import Instrumentation, collect
from bohrbug.runtime.threads.lasting import Lasting
from bohrbug.runtime.threads.monitoring import Explainer, RaceDetector, Watchdog, Watcher
from bohrbug.runtime.threads.points import AccessPoints, PlaceKey
from bohrbug.runtime.threads.raised import forget_raised
from bohrbug.runtime.threads.resources import ResourceTable, VariableState
from bohrbug.runtime.threads.rewrite import (
    attributes,
    callables,
    errors,
    files,
    held,
    hooks,
    memory,
    orders,
    unknown,
)
from bohrbug.runtime.threads.rewrite.discovery import Discovery
from bohrbug.runtime.threads.rewrite.inspected import may_inspect
from bohrbug.runtime.threads.rewrite.named import Named
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.sampling import WATCHED_AT_FIRST, Sampling
from bohrbug.runtime.threads.settings import Level, Settings

FIRST_PATIENCE = 1.0
"""Seconds without a step after which the first execution, of code as it is, is given up."""

COLLECTED_EVERY = 100
"""Explorations between two full garbage collections."""

MOST_YOUNG_OBJECTS = 20_000
"""Objects made and not let go, since the last garbage collection, after which there is another."""

_END_HOOKS: tuple[Callable[[Execution], None], ...] = (futures.let_workers_end,)
_AFTERWARDS: tuple[Callable[[], None], ...] = (lasting_executors.end,)
if os.name == "posix":
    from bohrbug.runtime.threads.process_pools import end_pools, lasting_pools, let_helpers_end

    _END_HOOKS = (*_END_HOOKS, let_helpers_end)
    _AFTERWARDS = (*_AFTERWARDS, lasting_pools.end, end_pools)

MakeDetector = Callable[[Execution], RaceDetector]
MakeWatcher = Callable[[Execution], Watcher]

_entered = itertools.count(1)


class ThreadsRuntime:
    """Executes plans of one test.

    Parameters:
        function: the test.
        settings: how executions are run.
        level: what is a scheduling point.
        scope: which functions are rewritten.
        explainer: turns ends of executions into outcomes.
        detector: makes the race detector of an execution.
        invariant: see :class:`Execution`.
        let_go: lets go of what is kept of an execution that failed, such as its traceback.

    Attributes:
        made: executions so far.
        policies: the policies of plans that it can execute.
    """

    policies = POLICIES
    unseen = ""
    """What the happens-before graph never has: nothing; options tell the rest."""

    faults = ""
    """No call is made to fail."""

    accesses = ""
    """Options say whose accesses are seen."""

    def __init__(
        self,
        function: Callable[[], object],
        settings: Settings,
        level: Level,
        scope: Scope,
        explainer: Explainer,
        detector: MakeDetector,
        invariant: Callable[[], object] | None = None,
        let_go: Callable[[], object] | None = None,
    ) -> None:
        self.function = function
        self._let_go = let_go
        # The last execution failed: frames of its traceback may keep its objects alive.
        self._has_left_frames = False
        self.settings = settings
        self.level = level
        self._make_detector = detector
        self._instrumentation = Instrumentation(scope, breakers=settings.gil)
        self._discovery = Discovery(original=self._instrumentation.original)
        self._points = AccessPoints(self._instrumentation)
        self._sampling = Sampling()
        self._types = Types(_is_synchronisation)
        self._lasting = Lasting(explainer, invariant, _END_HOOKS, thread_state.swap_running_loop)
        self._thread_names = thread_functions.ThreadNames()
        self.execution: Execution | None = None
        # The sink that makes a task of this execution yield; made when one spins.
        self._spin_sink: SpinSink | None = None
        # Where this execution finds scheduling points for the next one.
        self._finds = PlaceSet()
        self.watchdog: Watchdog | None = None
        self._collected = True
        # Whether an execution with several tasks has shown which functions they call.
        self._has_seen_tasks = False
        # Those that were called first in a later execution, and not in all.
        self._rare: list[CodeType] = []
        # Executions that called some of these, and were all watched for races.
        self._rare_watched = 0
        self.made = 0

    # -- life --------------------------------------------------------------------

    def __enter__(self) -> Self:
        installation.install()
        self._collected = gc.isenabled()
        # What the last explorations left behind; looking at all objects each time costs too much.
        if next(_entered) % COLLECTED_EVERY == 0:
            gc.collect()
        # What exists now is not looked at again by the collections between executions.
        gc.freeze()
        gc.disable()
        unknown.forget_assumptions()
        orders.forget()
        log_records.enter()
        HandedOver.telling = staticmethod(callables.instrumented_callable)
        if self.level is not Level.SYNC:
            self._discovery.listen(False)
            self._discovery.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.execution = self._spin_sink = None
        self._finds = PlaceSet()
        if self.level is not Level.SYNC:
            self._discovery.__exit__()
        # Cheap, as all that is older is frozen; else it would pile up from test to test.
        gc.collect()
        # Before what was frozen, and need not be looked at, is found by the collector again.
        self._instrumentation.restore()
        attributes.forget_stored_names()
        gc.unfreeze()
        if native is not None:
            native.forget_shared()
        self._thread_names.close()
        HandedOver.telling = staticmethod(as_it_is)
        self._lasting.pool.close()
        if self._collected:
            gc.enable()
        installation.restore()

    # -- executing ---------------------------------------------------------------

    def execute(
        self,
        plan: Plan,
        learn: bool = True,
        watch: bool = False,
        watcher: MakeWatcher | None = None,
    ) -> Executed:
        """Execute a plan.

        Parameters:
            plan: the plan.
            learn: whether functions and racy places that are found change
                what is a scheduling point from the next execution on.
            watch: look for data races even if ``learn`` is false.
            watcher: makes what watches this execution, in place of the detector of data races,
                and whether or not ``watch`` is true; only if ``learn`` is false.
        """
        if not learn:
            return self._run(plan, self.settings, learn, watch, watcher)
        self._instrumentation.has_grown = False
        if self._points.found:
            self.take_new_points()
        if self.level is Level.SYNC:
            self._sampling.count()
            return self._run(plan, self.settings, learn, watch)
        watch = self._sampling.next(plan) or watch
        return self._look_for_late_code(self._run(plan, self.settings, learn, watch), watch)

    def _look_for_late_code(self, executed: Executed, was_watched: bool) -> Executed:
        """Rewrite what an execution has called for the first time, which went unseen in it.

        Parameters:
            executed: the execution.
            was_watched: all accesses of functions that were rewritten before were seen.

        Returns:
            It, with new points if a search that counts on it has to begin again.
        """
        discovery, instrumentation = self._discovery, self._instrumentation
        if executed.tasks == 1 or not (discovery.has_news or instrumentation.has_new_made_code):
            return executed
        was_rare = discovery.take_noticed()
        if was_rare:
            self._rare_watched += 1
            if self._rare_watched == WATCHED_AT_FIRST:
                discovery.notice(())
        calls = discovery.take()
        fresh = instrumentation.rewrite(code for code, _ in calls)
        unfollowed = instrumentation.unfollowed(calls)
        if unfollowed:
            discovery.forget(unfollowed)
        if unfollowed or instrumentation.has_new_made_code:
            instrumentation.has_new_made_code = False
            instrumentation.has_grown = True
        if fresh:
            self._points.add_wanted()
        if instrumentation.has_grown and not self._has_seen_tasks:
            # All that was executed up to now was the beginning of this.
            self._has_seen_tasks = True
            return executed
        late = [code for code in fresh if instrumentation.is_followed(code)]
        if late and self._has_seen_tasks:
            # If all were rewritten before, as functions in others, they were seen at once.
            was_rare = True
            self._rare += late
            self._rare_watched = 0
            discovery.notice(self._rare)
        if instrumentation.has_grown:
            self._sampling.quiet = 0
            return replace(executed, new_points=executed.new_points + 1)
        if was_rare and not was_watched and not executed.new_points:
            # What few executions call has little chance to be seen in a sample of all.
            plan = Plan(tuple(executed.trace.choices))
            again = self._run(plan, self.settings, learn=True, watch=True)
            return replace(executed, new_points=again.new_points)
        return executed

    def _run(
        self,
        plan: Plan,
        settings: Settings,
        learn: bool,
        watch: bool = False,
        make_watcher: MakeWatcher | None = None,
    ) -> Executed:
        if self._has_left_frames and not learn:
            self._start_clean()
        execution = Execution(plan, settings, self._lasting)
        namespaces = len(self._lasting.namespaces)
        self.execution = execution
        self.made += 1
        watcher: Watcher | None = None
        detector: RaceDetector | None = None
        self._finds = PlaceSet()
        variables = None
        deaths: Deaths | None = None
        if self.level is not Level.SYNC:
            variables = Variables(execution, self._types)
            if make_watcher is not None:
                watcher = make_watcher(execution)
            # The code that tells where a build with the GIL could switch tells all the rest, too.
            elif watch or (learn and (settings.gil or settings.watch_breakers)):
                watcher = detector = self._make_detector(execution)
                if learn:
                    self._finds = self._places_found(detector)
            self._make_accesses_visible(execution, variables, watcher)
            deaths = Deaths(execution, variables, self._points.places)
        trace = self._carry_out(execution)
        self._has_left_frames = trace.outcome.is_failure
        for what in orders.taken():
            trace.uncontrolled.assume(what)
        new_points = 0
        found = PlaceSet() if deaths is None else PlaceSet(deaths.end())
        if detector is not None:
            _note_assumptions(trace, detector)
            trace.races = [
                race
                for race in detector.races(lambda index: execution.all_tasks[index].id)
                if not (_is_assumed(race.first) or _is_assumed(race.second))
            ]
            found.update(self._places_found(detector))
        if learn and (found or detector is not None):
            new_points = self._points.find(found)
        # Operations conflict now that did not before.
        new_points += len(self._lasting.namespaces) - namespaces
        if variables is not None:
            variables.clear()
        execution.let_go()
        if gc.get_count()[0] > MOST_YOUNG_OBJECTS:
            gc.collect(1)
        return Executed(
            trace,
            new_points,
            len(execution.all_tasks),
            tuple(execution.beyond_gil),
            execution.nudged,
        )

    def _places_found(self, detector: RaceDetector) -> PlaceSet:
        """Where accesses are that matter, by what one execution has shown."""
        return detector.racy_places if self.level is Level.RACY else detector.shared_places

    def _start_clean(self) -> None:
        """Before a replay: a failure is confirmed in the state in which it was found.

        What is reachable from a traceback only, or from a cycle that it is in, is still found by
        weak references.
        """
        if self._let_go is not None:
            self._let_go()
        collect()

    def _make_accesses_visible(
        self, execution: Execution, variables: Variables, watcher: Watcher | None
    ) -> None:
        """See to it that what is rewritten tells its accesses to an execution."""
        points = self._points
        settings = execution.settings
        sink: WatchingSink | PointSink
        if watcher is not None:
            execution.detector = watcher
            sink = WatchingSink(watcher, variables, execution, execution.access, points.places)
        else:
            sink = PointSink(execution, variables, points.places)
        # Functions without a scheduling point need not tell their accesses all the time.
        all_tell = watcher is not None or settings.gil or settings.watch_breakers
        self._instrumentation.let_tell(
            None if all_tell else lambda code: points.are_in(code) or may_inspect(code)
        )
        execution.sink = sink
        execution.nudge = self._nudge
        self._spin_sink = None
        if not self._instrumentation.codes:
            # Nothing is rewritten yet: what spins now can't be seen, but found.
            execution.patience = FIRST_PATIENCE
        hooks.set_sink(sink)

    def _nudge(self) -> None:
        """Called in another thread: make a task of the running execution yield to another one.

        While no other is alive the task can't spin on what another does: it computes.
        """
        execution = self.execution
        if execution is None or execution.sink is None or len(execution.alive) == 1:
            return
        if self._spin_sink is None:
            points = self._points.places
            self._spin_sink = SpinSink(execution, execution.sink, points, self._finds)
        self._spin_sink.nudge()

    def _carry_out(self, execution: Execution) -> Trace:
        """Run the test under the control of an execution."""
        replaced_builtins.begin()
        lasting_executors.begin()
        self._thread_names.begin()
        entropy.begin(self.settings)
        log_records.begin()
        watchdog = self.watchdog
        if watchdog is not None:
            watchdog.watch(execution)
        self._discovery.listen(True)
        held.evaluation_has_changed()
        if self.level is not Level.SYNC:
            made_code.follow = self._instrumentation.of_executed
        try:
            return execution.run(self.function)
        finally:
            replaced_builtins.put_back()
            self._discovery.listen(False)
            held.evaluation_has_changed()
            made_code.follow = None
            if watchdog is not None:
                watchdog.release()
            hooks.set_sink(None)
            files.forget_files()
            errors.forget_errors()
            forget_raised()
            memory.forget()
            for put_back in _AFTERWARDS:
                put_back()
            self._thread_names.end()
            entropy.end()
            identities.end()

    def look_closer(self) -> bool:
        """After a hang: whether the next execution will see more than the last one did."""
        closer = self.has_learned or not self._instrumentation.all_tell
        self._sampling.quiet = 0
        return closer

    def skipped_functions(self) -> tuple[tuple[str, str], ...]:
        """Functions whose data accesses could not be made visible, each with the reason."""
        return self._instrumentation.skipped()

    @property
    def has_learned(self) -> bool:
        """Whether the last execution that learns has changed what later ones see."""
        return self._instrumentation.has_grown or bool(self._points.found)

    @property
    def is_settling(self) -> bool:
        """Whether every execution is still watched for races."""
        return self._sampling.quiet <= WATCHED_AT_FIRST

    def counters(self) -> list[int]:
        """How many executions there were, and how many since the last new racy place."""
        return [self._sampling.executions, self._sampling.quiet]

    def set_counters(self, counters: list[int]) -> None:
        """Go on counting from what :meth:`counters` gave."""
        self._sampling.executions, self._sampling.quiet = counters

    def name_older_objects(self, origin: str) -> None:
        """Let ids that are given from now on to objects older than an execution differ.

        Another process, which goes another way from here, may meet them in another order.

        Parameters:
            origin: names this process; part of these ids.
        """
        self._lasting.names.origin = origin

    # -- points as data ------------------------------------------------------------

    @property
    def points(self) -> PlaceSet:
        """The data accesses that are scheduling points now."""
        return self._points.places

    def point_keys(self) -> list[PlaceKey]:
        """They as plain data, for a reproduction file."""
        return self._points.keys()

    def want_points(self, keys: Iterable[PlaceKey]) -> None:
        """Make these places scheduling points as soon as their functions are rewritten."""
        self._points.want(keys)

    def missing_points(self) -> int:
        """How many wanted places are in no function that was found to run."""
        return self._points.missing()

    def keep_only_wanted_points(self) -> None:
        """Forget scheduling points that were found on the way and are not in the file."""
        self._points.keep_only_wanted()

    def take_new_points(self) -> None:
        """Let places that the last execution has found be scheduling points now, not later."""
        if self._points.found:
            self._points.take_found()
            self._sampling.quiet = 0

    @contextmanager
    def other_points(self, keys: Iterable[PlaceKey]) -> Generator[None]:
        """Within it these places and no others are scheduling points, as far as they are known.

        Executions in it must not learn.
        """
        try:
            with self._points.others(keys):
                yield
        finally:
            self._instrumentation.let_all_tell_again()

    def known_places(self) -> list[Place]:
        """All data accesses of the functions that are rewritten so far."""
        return self._instrumentation.places()

    def sources(self) -> list[str]:
        """The files of the functions that are rewritten."""
        return self._instrumentation.sources()

    # -- which interpreters ---------------------------------------------------------

    def preemptions_beyond_gil(
        self, plan: Plan, keys: Iterable[PlaceKey]
    ) -> tuple[Trace, tuple[int, ...]]:
        """Execute a plan and find the preemptions that a build with the GIL can't make.

        The functions are rewritten a second time so that they tell where such a
        build checks whether to switch: at function entries, backward jumps and calls.

        Parameters:
            plan: the plan.
            keys: the data accesses that are scheduling points for it.

        Returns:
            The trace, and the steps that begin with a preemption beyond the GIL.
        """
        with self._with_breakers(keys):
            executed = self._run(plan, replace(self.settings, watch_breakers=True), learn=False)
        return executed.trace, executed.beyond_gil

    @contextmanager
    def under_the_gil(self, keys: Iterable[PlaceKey]) -> Generator[None]:
        """Within it, executions follow the rules of a build with the GIL; none may learn.

        Parameters:
            keys: the data accesses that are scheduling points, where such a build can switch.
        """
        settings = self.settings
        with self._with_breakers(keys):
            self.settings = replace(settings, gil=True)
            try:
                yield
            finally:
                self.settings = settings

    @contextmanager
    def _with_breakers(self, keys: Iterable[PlaceKey]) -> Generator[None]:
        usual, points = self._instrumentation, self._points
        with usual.with_breakers() as instrumentation:
            self._instrumentation = instrumentation
            self._points = AccessPoints(instrumentation)
            self._points.want(keys)
            try:
                yield
            finally:
                self._instrumentation, self._points = usual, points


if native is not None:
    native.use_variables(
        Execution,
        ResourceTable,
        Variables,
        WeakOwner,
        Kind,
        Shadow,
        VariableState,
        Named,
        NO_ACCESSES,
    )


def _note_assumptions(trace: Trace, detector: RaceDetector) -> None:
    """Code in C that no table knows may have met another task: say what that is taken for."""
    for place in detector.racy_places:
        name = unknown.taken_as_one_step(place)
        if name is not None:
            trace.uncontrolled.assume(f"{name} as one step")


def _is_assumed(access: Access) -> bool:
    """Whether it is not known what an access does."""
    return unknown.assumed_at(access.operation.place) is not None


def _is_synchronisation(cls: type) -> bool:
    """Types whose attributes are not variables of the program: they are modelled as a whole."""
    return cls.__module__ in _MODELLED_MODULES


_MODELLED_MODULES = frozenset(
    {
        "_thread",
        "threading",
        "queue",
        "_queue",
        "concurrent.futures._base",
        "concurrent.futures.thread",
    }
)
