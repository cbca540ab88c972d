"""The threads runtime: from plans to traces, with data accesses made visible."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from types import CodeType
from typing import Self

from bohrbug.accelerator import native
from bohrbug.model.conditions import Level, PlaceKey, place_key
from bohrbug.model.outcome import UNMET, Race
from bohrbug.model.plan import Plan
from bohrbug.model.trace import Trace
from bohrbug.runtime.policies import POLICIES
from bohrbug.runtime.protocol import Executed, Guard, NoGuard
from bohrbug.runtime.threads import heap, log_records, made_code, replaced_builtins, thread_state
from bohrbug.runtime.threads.assumptions import (
    is_synchronisation,
    may_be_told,
    note_assumptions,
)
from bohrbug.runtime.threads.collecting import Collecting
from bohrbug.runtime.threads.data.kinds import Kind, Types
from bohrbug.runtime.threads.data.owners import WeakOwner
from bohrbug.runtime.threads.data.places import PlaceSet
from bohrbug.runtime.threads.data.shadows import NO_ACCESSES, Shadow
from bohrbug.runtime.threads.data.sinks import PointSink, SpinSink, WatchingSink
from bohrbug.runtime.threads.data.variables import Variables
from bohrbug.runtime.threads.deaths import Deaths
from bohrbug.runtime.threads.deferred_signals import are_exceptions_sent
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.foreign_greenlets import check_that_threads_are_controlled, note_hubs
from bohrbug.runtime.threads.fresh_state import END_HOOKS, FreshState
from bohrbug.runtime.threads.handed_over import HandedOver, as_it_is
from bohrbug.runtime.threads.imports import loading
from bohrbug.runtime.threads.installation import installation
from bohrbug.runtime.threads.instrumentation import Instrumentation
from bohrbug.runtime.threads.interruptions import Interruptions
from bohrbug.runtime.threads.last_task import Company
from bohrbug.runtime.threads.late_code import LateCode
from bohrbug.runtime.threads.lone import SinkOfLoneTask
from bohrbug.runtime.threads.loops.access_log import AccessLog
from bohrbug.runtime.threads.loops.cancelling import never_met
from bohrbug.runtime.threads.monitoring import Explainer, RaceDetector, Visitor, Watcher
from bohrbug.runtime.threads.namespaces import with_subclasses
from bohrbug.runtime.threads.points import AccessPoints
from bohrbug.runtime.threads.resources import ResourceTable, VariableState
from bohrbug.runtime.threads.rewrite import attributes, callables, held, orders, tell, unknown
from bohrbug.runtime.threads.rewrite.discovery import Discovery
from bohrbug.runtime.threads.rewrite.methods_in_c import MadeBefore
from bohrbug.runtime.threads.rewrite.named import Named
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.settings import Settings
from bohrbug.runtime.threads.shared_test_state import SharedTestState
from bohrbug.runtime.threads.unraisable import fall_silent, hear_again
from bohrbug.runtime.threads.watchdog import Watchdog, lasting_watchdog

FIRST_PATIENCE = 1.0
"""Seconds without a step after which the first execution, of unchanged code, is given up."""

MakeDetector = Callable[[Execution], RaceDetector]
MakeWatcher = Callable[[Execution], Watcher]
RacesOverAwaits = Callable[[AccessLog], list[Race]]

_NO_POINTS: frozenset[PlaceKey] = frozenset()


class ThreadsRuntime:
    """Executes plans of one test.

    Parameters:
        function: the test.
        settings: how executions are run.
        level: which operations are scheduling points.
        scope: which functions are rewritten.
        explainer: turns ends of executions into outcomes.
        detector: makes the race detector of an execution.
        races_over_awaits: finds the races of what tasks of event loops have accessed.
        invariant: see :class:`Execution`.
        let_go: lets go of what is kept of an execution that failed, such as its traceback.
        visitor: looks in on executions between their steps, if anybody does.
        begins_unseen: what the first execution calls is found out only from its second task on,
            and in the second execution; see :mod:`.lone`.

    Attributes:
        made: executions so far.
        discovers: accesses to data can be scheduling points.
        policies: the policies of plans that it can execute.
    """

    policies: frozenset[type] = POLICIES
    unseen = ""
    """What the happens-before graph never has: nothing; options say the rest."""

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
        races_over_awaits: RacesOverAwaits,
        invariant: Callable[[], object] | None = None,
        let_go: Callable[[], object] | None = None,
        visitor: Visitor | None = None,
        begins_unseen: bool = False,
    ) -> None:
        self.function = function
        self._was_cut_short = False
        self._settings = settings
        self.level = level
        self.discovers = level is not Level.SYNC
        self._make_detector = detector
        self._races_over_awaits = races_over_awaits
        self._scope = scope
        self._instrumentation = Instrumentation(scope, breakers=False)
        self._methods_in_c = MadeBefore()
        self._discovery = Discovery(original=lambda code: self._instrumentation.original(code))
        self._points = AccessPoints(self._instrumentation)
        # Entered while the functions are rewritten in another way than at first.
        self._otherwise = ExitStack()
        self._types = Types(is_synchronisation)
        self._shared = SharedTestState(
            explainer,
            invariant,
            END_HOOKS,
            thread_state.swap_running_loop,
            visitor=visitor,
            original=lambda code: self._instrumentation.original(code),
        )
        self._fresh_state = FreshState(settings)
        self.execution: Execution | None = None
        # The sink that makes a task of this execution yield; made when one spins.
        self._spin_sink: SpinSink | None = None
        # Where this execution finds scheduling points for the next one.
        self._finds = PlaceSet()
        self._watchdog: Watchdog | None = None
        self._is_one_thread = True
        # Tasks of an event loop may have shared something.
        self._has_company = False
        self._late_code = LateCode()
        # Up to the second task of the first execution nobody has to see what is called.
        self._is_unseen = begins_unseen
        self._collecting = Collecting(settings.gc, let_go)
        self.made = 0
        # Each execution is as the first one, as far as names go.
        self._forgets_names = False

    # -- life --------------------------------------------------------------------

    @property
    def faults(self) -> str:
        """See :class:`~bohrbug.runtime.protocol.Runtime`: a cancellation, and a collection."""
        settings = self._settings
        names = ", ".join(settings.cancel)
        parts = (
            f"at most one cancellation, of {names}" if names else "",
            "at most one garbage collection, while a lock is held" if settings.gc else "",
        )
        return "; ".join(filter(None, parts))

    def __enter__(self) -> Self:
        self._collecting.remember()
        try:
            self._enter()
        except BaseException:
            # Else nothing that comes later in the process could be explored.
            self.__exit__()
            raise
        return self

    def _enter(self) -> None:
        functions = installation.install()
        heap.know_functions()
        if not self._is_unseen:
            self._collecting.pass_over(len(self._instrumentation.codes), functions)
        # Else no other execution may follow, and what is frozen while it is in use, and garbage
        # soon, would pile up from test to test.
        del functions
        self._collecting.begin()
        unknown.forget_assumptions()
        orders.forget()
        log_records.enter()
        HandedOver.telling = staticmethod(callables.instrumented_callable)
        HandedOver.entering = staticmethod(callables.GivenContext)
        if not self._is_unseen:
            self._let_methods_tell()
            self._enter_discovery()

    def _let_methods_tell(self) -> None:
        """Functions in C that classes have as methods tell from now on.

        To look at all classes takes as long as many a test does, so nobody does as long as there is
        a single task and nothing is seen.
        """
        if self.level is not Level.SYNC:
            self._methods_in_c.exchange(lambda: with_subclasses(object))

    def _enter_discovery(self) -> None:
        if self.level is not Level.SYNC and not self._discovery.is_entered:
            self._discovery.listen(False)
            self._discovery.__enter__()

    def __exit__(self, *exc_info: object) -> None:
        self.execution = self._spin_sink = None
        self._finds = PlaceSet()
        if self._discovery.is_entered:
            self._discovery.__exit__()
        self._collecting.clear()
        hear_again()
        # Before the collector finds the frozen objects again, which need no scan.
        self._otherwise.close()
        self._instrumentation.restore()
        self._methods_in_c.restore()
        attributes.forget_stored_names()
        self._collecting.look_at_all()
        if native is not None:
            native.forget_shared()
        self._fresh_state.close()
        HandedOver.telling = staticmethod(as_it_is)
        HandedOver.entering = staticmethod(as_it_is)
        self._shared.pool.close()
        self._collecting.end(self.made)
        installation.restore()

    @contextmanager
    def afresh(self) -> Iterator[None]:
        """See :class:`~bohrbug.runtime.protocol.Runtime`."""
        known = set(self._shared.namespaces)
        self._forgets_names = True
        try:
            yield
        finally:
            self._forgets_names = False
            # What is new has still to be learned by whoever searches.
            self._shared.namespaces.clear()
            self._shared.namespaces.update(known)

    def guard(self, seconds: float, on_stuck: Callable[[str], object] | None, more: int) -> Guard:
        """See :class:`~bohrbug.runtime.protocol.Runtime`."""
        if not seconds:
            self._watchdog = None
            return NoGuard()
        self._watchdog = lasting_watchdog.watchdog(seconds, on_stuck, more)
        return self._watchdog

    # -- executing ---------------------------------------------------------------

    def execute(
        self,
        plan: Plan,
        learn: bool = True,
        watch: bool = False,
        watcher: MakeWatcher | None = None,
        breakers: bool = False,
    ) -> Executed:
        """Execute a plan.

        Parameters:
            plan: the plan.
            learn: whether functions that it calls for the first time are rewritten, so that
                later executions show what they access.
            watch: look for data races, and for accesses that may be scheduling points.
            watcher: makes the watcher of this execution, in place of the detector of data races,
                and whether or not ``watch`` is true; only if ``learn`` is false.
            breakers: find the preemptions that a build with the GIL can't make: such a
                build checks whether to switch at function entries, backward jumps and calls.
        """
        was_unseen = self._is_unseen
        if not was_unseen:
            self._let_methods_tell()
            if learn:
                self._enter_discovery()
        executed = self._run(plan, learn, watch, watcher, breakers)
        self._is_unseen = False
        if learn and self.level is not Level.SYNC:
            discovery, instrumentation = self._discovery, self._instrumentation
            instrumentation.has_grown = False
            late, points = self._late_code, self._points
            if self._is_one_thread:
                if self._has_company and discovery.has_news:
                    late.rewrite_what_runs_alone(executed, discovery, instrumentation, points)
                return executed
            if discovery.has_news or instrumentation.has_new_made_code or late.has_run_alone:
                may_leave = self._collecting.passes_over
                late.rewrite(executed, discovery, instrumentation, points, may_leave)
            late.note_end(was_unseen, instrumentation.has_grown)
        return executed

    def _run(
        self,
        plan: Plan,
        learn: bool,
        watch: bool,
        make_watcher: MakeWatcher | None,
        breakers: bool,
    ) -> Executed:
        self._collecting.before(len(self._instrumentation.codes), self.made, learn)
        conditions = plan.conditions
        if self.level is not Level.SYNC:
            sent = are_exceptions_sent(self._shared.namespaces)
            self._tell_breakers(breakers or conditions.gil or sent)
            self._points.use(conditions.points)
        self._shared.names.origin = conditions.origin
        hear_again()
        if self._forgets_names:
            self._shared.namespaces.clear()
        execution = Execution(plan, self._settings, self._shared)
        if breakers:
            execution.watch_breakers()
        namespaces = len(self._shared.namespaces) + attributes.new_on_classes()
        self.execution = execution
        self.made += 1
        watcher: Watcher | None = None
        detector: RaceDetector | None = None
        self._finds = PlaceSet()
        variables = None
        deaths: Deaths | None = None
        log: AccessLog | None = None
        if self.level is not Level.SYNC:
            variables = Variables(execution, self._types)
            if make_watcher is not None:
                watcher = make_watcher(execution)
            # The code that reports where a build with the GIL could switch also reports the rest.
            elif watch or (learn and self._instrumentation.tells_breakers):
                watcher = detector = self._make_detector(execution)
                log = execution.access_log = AccessLog(execution, self._types)
                if learn:
                    self._finds = self._places_found(detector)
            self._make_accesses_visible(execution, variables, watcher)
            if detector is not None:
                execution.interruptions = Interruptions(execution, variables, detector)
            finalizes = self._instrumentation.has_finalizers
            deaths = Deaths(execution, variables, self._points.places, finalizes)
        trace = self._carry_out(execution)
        self._was_cut_short |= trace.outcome.is_failure
        if self._was_cut_short:
            fall_silent()
        if execution.loops is not None:
            execution.loops.of_trio.end_runs()
        # The first execution may have done so.
        check_that_threads_are_controlled()
        note_hubs(trace)
        for what in orders.taken():
            trace.uncontrolled.assume(what)
        if self._settings.cancel:
            for pattern in never_met(execution):
                trace.uncontrolled.note(UNMET + pattern)
        found: list[tuple[CodeType, int]] = []
        left_weakly_known = False
        if deaths is not None:
            found, left_weakly_known = deaths.end()
        found += execution.inspected.values()
        if detector is not None:
            note_assumptions(trace, detector)
            trace.races = [
                race
                for race in detector.races(lambda index: execution.all_tasks[index].id)
                if may_be_told(race)
            ]
            found += self._places_found(detector)
        if log is not None:
            trace.races += self._races_over_awaits(log)
        points = self._points.find(found) if learn and found else _NO_POINTS
        if variables is not None:
            variables.clear()
        self._collecting.after(trace.outcome.is_failure, left_weakly_known)
        tasks = len(execution.all_tasks)
        self._is_one_thread = tasks == 1
        is_concurrent = tasks > 1
        loops = execution.loops
        if loops is not None:
            # Those of event loops are not among them.
            tasks += loops.count()
            is_concurrent = is_concurrent or loops.have_choices
        self._has_company = loops is not None and loops.have_company
        execution.let_go()
        # Operations conflict now that did not before.
        changes = len(self._shared.namespaces) + attributes.new_on_classes() - namespaces
        return Executed(
            trace,
            tasks,
            is_concurrent,
            found=points,
            changes=0 if self._forgets_names else changes,
            has_learned=bool(points),
            saw_all=self._instrumentation.all_tell,
            free_threaded_only_steps=tuple(execution.free_threaded_only_steps),
            nudged=execution.nudged,
            once=loading.seconds(),
        )

    def _places_found(self, detector: RaceDetector) -> PlaceSet:
        """Where accesses are that matter, according to one execution."""
        return detector.racy_places if self.level is Level.RACY else detector.shared_places

    def _make_accesses_visible(
        self, execution: Execution, variables: Variables, watcher: Watcher | None
    ) -> None:
        """Make rewritten code report its accesses to an execution."""
        points = self._points
        sink: WatchingSink | PointSink | SinkOfLoneTask
        if watcher is not None:
            execution.detector = watcher
            sink = WatchingSink(watcher, variables, execution, execution.access, points.places)
        else:
            sink = PointSink(execution, variables, points.places)
        # Functions without a scheduling point need not report their accesses all the time.
        all_tell = (
            watcher is not None
            or self._instrumentation.tells_breakers
            # There is no later execution that could report them from its start.
            or self._settings.is_live
        )
        if all_tell is not self._instrumentation.all_tell:
            self._instrumentation.let_tell(None if all_tell else points.are_in)
        if self._is_unseen:
            sink = SinkOfLoneTask(sink, self._begin_to_see)
        elif not self._settings.is_live:
            Company.expect(len(self._instrumentation.codes), variables)
        execution.sink = sink
        execution.nudge = self._nudge
        self._spin_sink = None
        if not (self._instrumentation.codes or self._settings.is_live or self._is_unseen):
            # Nothing is rewritten yet: what spins now can't be seen, but found.
            execution.patience = FIRST_PATIENCE
        tell.set_sink(sink)

    def _begin_to_see(self) -> None:
        """The first execution is about to have a second task, or tasks of an event loop."""
        self._let_methods_tell()
        self._enter_discovery()
        self._discovery.listen(True)
        held.evaluation_has_changed()
        self._discovery.take_callers()
        made_code.follow = self._instrumentation.of_executed
        if self.execution is not None:
            # What waits for another task by spinning can do so from now on.
            self.execution.patience = FIRST_PATIENCE

    def _nudge(self) -> None:
        """Called in another thread: make a task of the running execution yield to another one.

        While no other task is alive, the task can't spin on one: it computes.
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
        self._fresh_state.begin()
        watchdog = self._watchdog
        if watchdog is not None:
            watchdog.watch(execution)
        if self._discovery.is_entered:
            self._discovery.listen(True)
        held.evaluation_has_changed()
        if self.level is not Level.SYNC and not self._is_unseen:
            made_code.follow = self._instrumentation.of_executed
        try:
            return execution.run(self.function)
        finally:
            # Before anything else, as all that follows calls built-in functions.
            replaced_builtins.put_back()
            if self._discovery.is_entered:
                self._discovery.listen(False)
            made_code.follow = None
            if watchdog is not None:
                watchdog.release()
            tell.set_sink(None)
            Company.expect(0, None)
            self._fresh_state.end(execution)

    def skipped_functions(self) -> tuple[tuple[str, str], ...]:
        """Functions whose data accesses could not be made visible, each with the reason."""
        if self._late_code.has_run_alone:
            # If one thread runs, only the order of its steps matters.
            return ()
        return self._instrumentation.skipped()

    def counters(self) -> list[int]:
        """Nothing is counted here."""
        return []

    def set_counters(self, counters: list[int]) -> None:
        """Nothing is counted here."""

    # -- points as data ------------------------------------------------------------

    def known_points(self, keys: Iterable[PlaceKey]) -> PlaceSet:
        """The data accesses with these names, as far as executions have shown them."""
        return self._points.known(keys)

    def point_keys(self) -> tuple[()]:
        """Plans name all of them."""
        return ()

    def missing_points(self) -> int:
        """How many points of the last plan are in no function that was found to run."""
        return self._points.missing()

    def known_places(self) -> list[Place]:
        """All data accesses of the functions that are rewritten so far."""
        return self._instrumentation.places()

    def known_functions(self) -> set[tuple[str, str, int]]:
        """See :class:`~bohrbug.runtime.protocol.Discovering`; for :meth:`rewrite_named`."""
        return {place_key(place)[:3] for place in self.known_places()}

    def rewrite_named(self, names: Collection[tuple[str, str, int]]) -> None:
        """Rewrite functions before they are called, see :class:`.Instrumentation`."""
        self._instrumentation.rewrite_named(names)

    def sources(self) -> list[str]:
        """The files of the functions that are rewritten."""
        return self._instrumentation.sources()

    # -- which interpreters ---------------------------------------------------------

    def _tell_breakers(self, wanted: bool) -> None:
        """Let rewritten code report where a build with the GIL could switch, or no longer.

        Functions rewritten before are rewritten a second time for that.
        """
        if wanted == self._instrumentation.tells_breakers:
            return
        self._otherwise.close()
        usual, points = self._instrumentation, self._points
        if wanted == usual.tells_breakers:
            return
        if usual.codes:
            self._otherwise.callback(self._use, usual, points)
            other = self._otherwise.enter_context(usual.otherwise())
        else:
            other = Instrumentation(self._scope, wanted)
        self._use(other, AccessPoints(other))

    def _use(self, instrumentation: Instrumentation, points: AccessPoints) -> None:
        self._instrumentation, self._points = instrumentation, points


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
