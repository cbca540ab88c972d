"""The threads runtime: from plans to traces, with data accesses made visible."""

from __future__ import annotations

import gc
import itertools
import marshal
import zlib
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from types import CodeType
from typing import Any, Protocol, Self

from bohrbug.accelerator import native
from bohrbug.model.operation import READ, WRITE, Site
from bohrbug.model.plan import NonPreemptive, Plan
from bohrbug.model.site import site_of
from bohrbug.model.trace import Trace
from bohrbug.runtime.protocol import Executed as Executed
from bohrbug.runtime.threads import futures, thread_functions, thread_state
from bohrbug.runtime.threads.execution import Execution, Explainer, Settings
from bohrbug.runtime.threads.installation import installation
from bohrbug.runtime.threads.resources import OlderObjects
from bohrbug.runtime.threads.rewrite import hooks
from bohrbug.runtime.threads.rewrite.discovery import Discovery
from bohrbug.runtime.threads.rewrite.functions import Rewriter
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.task import CarrierPool
from bohrbug.runtime.threads.variables import AccessMonitor, PlaceSet, Shadow, Types, Variables


class Level(str, Enum):
    """Which operations are scheduling points."""

    SYNC = "sync"
    """Synchronisation only."""
    RACY = "racy"
    """And accesses at places that took part in a data race (CHESS, section 3.5)."""
    ALL = "all"
    """And accesses at places that touch variables shared by tasks, ordered or not."""


class RaceDetector(Protocol):
    """What the runtime needs of the monitor that watches for data races."""

    epochs: list[int]
    tags: list[int]
    racy_places: PlaceSet
    shared_places: PlaceSet

    def spawn(self, parent_index: int, child_index: int) -> None:
        """A task was created."""

    def synchronise(self, task_index: int, clock_holder: Any, is_write: bool) -> None:
        """A task did an operation on a synchronisation resource."""

    def read(self, shadow: Any, task_index: int, place: Any) -> object:
        """A task reads a variable."""

    def write(self, shadow: Any, task_index: int, place: Any) -> object:
        """A task writes a variable."""

    def races(self, task_id: Callable[[int], str]) -> list[Any]:
        """The races found, for people."""


class Watchdog(Protocol):
    """Ends executions that make no progress."""

    def watch(self, execution: Execution) -> None:
        """An execution begins."""

    def release(self) -> None:
        """It has ended."""


PlaceKey = tuple[str, str, int, int]
"""A place as plain data: file name, function, its first line, byte offset."""


def sample(plan: Plan) -> int:
    """A number by which plans are sampled, the same in every process.

    What a sample of the executions shows must not depend on the order in which they are
    made, nor on how they are divided among processes: so the plan itself decides.
    """
    # Version 0 of the format depends on nothing but the values.
    data = marshal.dumps(plan.prefix, 0)
    if not isinstance(plan.policy, NonPreemptive):
        data += repr(plan.policy).encode()
    return zlib.crc32(data)


def place_key(place: Any) -> PlaceKey:
    """What names a place in another process."""
    code, offset = place
    return (code.co_filename, code.co_qualname, code.co_firstlineno, offset)


class _Sink(AccessMonitor):
    """The sink of rewritten code; also told where a GIL build could switch threads."""

    __slots__ = ("_watched",)

    def __init__(self, execution: Execution, detector: Any, variables: Any, points: Any) -> None:
        super().__init__(detector, variables, execution, execution.access, points)
        self._watched = execution

    def breaker(self) -> None:
        """A build with the GIL could switch threads here."""
        self._watched.current.breakable = True


class _PointSink:
    """The sink while nobody looks for races: only scheduling points matter."""

    __slots__ = ("_execution", "_owners", "_points", "_variables", "enabled")

    def __init__(self, execution: Execution, variables: Variables, points: PlaceSet) -> None:
        self._execution = execution
        self._variables = variables
        self._owners = variables.owners
        self._points = points.by_identity
        self.enabled = False

    def attribute(self, owner: Any, name: str, is_write: bool, place: Any) -> None:
        """See :class:`AccessMonitor`."""
        if self.enabled and id(place) in self._points:
            shadow = self._variables.shadow_of_attribute(owner, name, is_write, place)
            if shadow is not None:
                self._execution.access(place, WRITE if is_write else READ, shadow)

    def item(self, owner: Any, key: object, is_write: bool, place: Any) -> None:
        """See :class:`AccessMonitor`."""
        if self.enabled and id(place) in self._points:
            shadow = self._variables.shadow_of_item(owner, key, is_write, place)
            if shadow is not None:
                self._execution.access(place, WRITE if is_write else READ, shadow)

    def whole(self, owner: Any, is_write: bool, place: Any) -> None:
        """See :class:`AccessMonitor`."""
        if self.enabled and id(place) in self._points:
            shadow = self._variables.shadow_of_whole(owner, is_write, place)
            if shadow is not None:
                self._execution.access(place, WRITE if is_write else READ, shadow)

    def breaker(self) -> None:
        """A build with the GIL could switch threads here."""
        self._execution.current.breakable = True


class _SpinSink:
    """The sink for one access, after a long time without a scheduling point: a yield."""

    __slots__ = ("_execution", "_nudges", "_usual")

    def __init__(self, execution: Execution, usual: Any) -> None:
        self._execution = execution
        self._usual = usual
        self._nudges = 0

    def nudge(self) -> None:
        """Called in another thread; too often, and nobody changes what the task spins on."""
        self._nudges += 1
        if self._nudges <= MOST_NUDGES:
            hooks.set_sink(self)

    def _yield(self, place: Any) -> None:
        hooks.set_sink(self._usual)
        self._execution.yield_in_spin(place)

    def attribute(self, owner: Any, name: str, is_write: bool, place: Any) -> None:
        """See :class:`AccessMonitor`."""
        self._usual.attribute(owner, name, is_write, place)
        self._yield(place)

    def item(self, owner: Any, key: object, is_write: bool, place: Any) -> None:
        """See :class:`AccessMonitor`."""
        self._usual.item(owner, key, is_write, place)
        self._yield(place)

    def whole(self, owner: Any, is_write: bool, place: Any) -> None:
        """See :class:`AccessMonitor`."""
        self._usual.whole(owner, is_write, place)
        self._yield(place)

    def breaker(self) -> None:
        """See :class:`AccessMonitor`."""
        self._usual.breaker()


FIRST_PATIENCE = 1.0
"""Seconds without a step after which the first execution, of code as it is, is given up."""

MOST_NUDGES = 10
"""Yields forced upon tasks that spin, in one execution; after these it hangs."""

WATCHED_AT_FIRST = 40
"""Executions, since the last new racy place, in which all accesses are watched for races."""

WATCHED_LATER = 8
"""After these, in one of so many; in which ones, the plan decides: see :func:`sample`."""

DISCOVERIES = frozenset({1, 2, 10})
"""Numbers of the executions in which functions that run are looked for."""

DISCOVERED_LATER = 512
"""After these, in one of so many; in which ones, the plan decides."""


COLLECTED_EVERY = 20
"""Explorations between two full garbage collections."""

_OWN_FOLDER = __file__.rpartition("bohrbug")[0] + "bohrbug"

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
    """

    unseen = ""
    """What the happens-before graph never has: nothing; options tell the rest."""

    def __init__(
        self,
        function: Callable[[], object],
        settings: Settings,
        level: Level,
        scope: Scope,
        explainer: Explainer,
        detector: Callable[[Execution], RaceDetector],
        invariant: Callable[[], object] | None = None,
    ) -> None:
        self.function = function
        self.settings = settings
        self.level = level
        self._explainer = explainer
        self._make_detector = detector
        self._invariant = invariant
        self._rewriter = Rewriter(scope, breakers=settings.gil)
        self._codes: list[CodeType] = []
        self._types = Types(_is_synchronisation)
        # Objects whose names were used as a whole, see Execution._namespace_of.
        self._namespaces: set[object] = set()
        self._names = OlderObjects()
        self._thread_names = thread_functions.ThreadNames()
        self._pool = CarrierPool()
        self.points = PlaceSet()
        self._wanted: set[PlaceKey] = set()
        self.executions = 0
        self._quiet_executions = 0
        self._rewrote = False
        self._new_points: list[Any] = []
        self._all_rewritten = True
        self._with_points: dict[int, bool] = {}
        self.execution: Execution | None = None
        self.watchdog: Watchdog | None = None
        self._collected = True

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
        thread_functions.instrument_callable = hooks.instrumented_callable
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.execution = None
        # Cheap, as all that is older is frozen; else it would pile up from test to test.
        gc.collect()
        # Frozen objects are not found by the collector, which the rewriter asks for functions.
        gc.unfreeze()
        self._rewriter.restore()
        thread_functions.instrument_callable = _as_it_is
        self._pool.close()
        if self._collected:
            gc.enable()
        installation.restore()

    # -- executing ---------------------------------------------------------------

    def execute(
        self,
        plan: Plan,
        learn: bool = True,
        watch: bool = False,
        discover: bool = False,
        detector: Callable[[Execution], RaceDetector] | None = None,
    ) -> Executed:
        """Execute a plan.

        Parameters:
            plan: the plan.
            learn: whether functions and racy places that are found change
                what is a scheduling point from the next execution on.
            watch: look for data races even if ``learn`` is false.
            discover: look for functions that run, if ``learn`` is true.
            detector: makes what watches the accesses of this execution, in place of the
                detector of data races; only together with ``watch``.
        """
        sampled = 1
        if learn:
            if self.level is not Level.SYNC:
                sampled = sample(plan)
            self._rewrote = False
            self._take_new_points()
            self.executions += 1
            self._quiet_executions += 1
            discover = discover or (
                self.executions in DISCOVERIES or sampled % DISCOVERED_LATER == 0
            )
            if self.level is not Level.SYNC and discover:
                with Discovery() as discovery:
                    executed = self._run(plan, self.settings, learn, True)
                if executed.tasks > 1:
                    self._rewrite(discovery.codes)
                return executed
        quiet = self._quiet_executions
        # CHESS, section 3.5: races are looked for "on the first few runs".
        watch = watch or (learn and (quiet <= WATCHED_AT_FIRST or sampled % WATCHED_LATER == 0))
        return self._run(plan, self.settings, learn, watch, detector)

    def _run(
        self,
        plan: Plan,
        settings: Settings,
        learn: bool,
        watch: bool = False,
        make_detector: Callable[[Execution], RaceDetector] | None = None,
    ) -> Executed:
        execution = Execution(
            plan,
            settings,
            self._pool,
            self._explainer,
            invariant=self._invariant,
            names=self._names,
            end_hooks=(futures.let_workers_end,),
            swap=thread_state.swap_running_loop,
        )
        execution.namespaces = self._namespaces
        namespaces = len(self._namespaces)
        self.execution = execution
        executors = installation.executors
        executors.begin()
        self._thread_names.begin()
        detector = None
        variables = None
        if self.level is not Level.SYNC:
            variables = Variables(execution, self._types)
            watched = watch or settings.gil or settings.watch_breakers
            self._rewrite_all_or_points(watched)
            sink: _Sink | _PointSink
            if watched and (learn or watch):
                detector = (make_detector or self._make_detector)(execution)
                execution.detector = detector
                sink = _Sink(execution, detector, variables, self.points)
            else:
                sink = _PointSink(execution, variables, self.points)

            execution.sink = sink
            spinning = _SpinSink(execution, sink)
            execution.nudge = spinning.nudge
            if not self._codes:
                # Nothing is rewritten yet: what spins now can't be seen, but found.
                execution.patience = FIRST_PATIENCE
            execution.end_of_task = variables.sweep
            hooks.set_sink(sink)
        watchdog = self.watchdog
        if watchdog is not None:
            watchdog.watch(execution)
        try:
            trace = execution.run(self.function)
        finally:
            if watchdog is not None:
                watchdog.release()
            hooks.set_sink(None)
            executors.end()
            self._thread_names.end()
        new_points = 0
        if detector is not None:
            trace.races = detector.races(lambda index: execution.all_tasks[index].id)
        if detector is not None and learn:
            places = detector.racy_places if self.level is Level.RACY else detector.shared_places
            # They count from the next execution on: this one can only be replayed without them.
            self._new_points = [place for place in places if place not in self.points]
            new_points = len(self._new_points)
        # Operations conflict now that did not before.
        new_points += len(self._namespaces) - namespaces
        if variables is not None:
            variables.clear()
        execution.let_go()
        if gc.get_count()[0] > 20_000:
            gc.collect(1)
        return Executed(
            trace,
            new_points,
            len(execution.all_tasks),
            tuple(execution.beyond_gil),
            execution.nudged,
        )

    def look_closer(self) -> bool:
        """After a hang: whether the next execution will see more than the last one did."""
        closer = self._rewrote or not self._all_rewritten
        self._quiet_executions = 0
        return closer

    def skipped_functions(self) -> tuple[tuple[str, str], ...]:
        """Functions whose data accesses could not be made visible, each with the reason."""
        return tuple(
            (str(site_of((code, 0)) or code.co_qualname), reason)
            for code, reason in self._rewriter.skipped.items()
        )

    def _take_new_points(self) -> None:
        if self._new_points:
            self.points.update(self._new_points)
            self._new_points = []
            self._quiet_executions = 0
            self._with_points.clear()

    @property
    def has_learned(self) -> bool:
        """Whether the last execution that learns has changed what later ones see."""
        return self._rewrote or bool(self._new_points)

    @property
    def is_settling(self) -> bool:
        """Whether every execution is still watched for races."""
        return self._quiet_executions <= WATCHED_AT_FIRST

    def counters(self) -> list[int]:
        """How many executions there were, and how many since the last new racy place."""
        return [self.executions, self._quiet_executions]

    def set_counters(self, counters: list[int]) -> None:
        """Go on counting from what :meth:`counters` gave."""
        self.executions, self._quiet_executions = counters

    def name_older_objects(self, origin: str) -> None:
        """Let ids that are given from now on to objects older than an execution differ.

        Another process, which goes another way from here, may meet them in another order.

        Parameters:
            origin: names this process; part of these ids.
        """
        self._names.origin = origin

    def _rewrite_all_or_points(self, all_functions: bool) -> None:
        """Functions without a scheduling point need not tell their accesses all the time."""
        if all_functions:
            if not self._all_rewritten:
                self._rewriter.keep(None)
                self._all_rewritten = True
        elif self._all_rewritten:
            self._rewriter.keep(self._has_points)
            self._all_rewritten = False

    def _has_points(self, code: CodeType) -> bool:
        known = self._with_points
        if not known:
            for place in self.points:
                known[id(place[0])] = True
        answer = known.get(id(code))
        if answer is None:
            answer = known[id(code)] = any(
                self._has_points(nested)
                for nested in code.co_consts
                if isinstance(nested, CodeType)
            )
        return answer

    def _rewrite(self, codes: Iterable[CodeType]) -> None:
        known = {id(code) for code in self._codes}
        originals = [self._rewriter.original(code) for code in codes]
        # Our own functions, hooks among them, are never in scope; looking for them takes time.
        fresh = [
            code
            for code in originals
            if id(code) not in known and not code.co_filename.startswith(_OWN_FOLDER)
        ]
        self._codes.extend(fresh)
        if not fresh:
            return
        gc.collect()
        gc.unfreeze()
        self._rewriter.keep(None)
        self._all_rewritten = True
        self._rewrote = self._rewriter.install(fresh) > 0
        gc.freeze()
        if self._wanted:
            self._add_wanted_points()

    # -- points as data ------------------------------------------------------------

    def point_keys(self) -> list[PlaceKey]:
        """The data accesses that are scheduling points now, for a reproduction file."""
        return sorted(place_key(place) for place in self.points)

    def want_points(self, keys: Iterable[PlaceKey]) -> None:
        """Make these places scheduling points as soon as their functions are rewritten."""
        self._wanted.update(keys)
        self._add_wanted_points()

    def _add_wanted_points(self) -> None:
        self._with_points.clear()
        for place in self.known_places():
            if place_key(place) in self._wanted:
                self.points.add(place)

    def known_places(self) -> list[Place]:
        """All data accesses of the functions that are rewritten so far."""
        return [*_places_of(self._rewriter), *hooks.CALLABLE_PLACES.values()]

    def keep_only_wanted_points(self) -> None:
        """Forget scheduling points that were found on the way and are not in the file."""
        self._add_wanted_points()
        self.points = PlaceSet(place for place in self.points if place_key(place) in self._wanted)

    @contextmanager
    def other_points(self, keys: Iterable[PlaceKey]) -> Generator[None]:
        """Within it these places and no others are scheduling points, as far as they are known.

        Executions in it must not learn.
        """
        points, wanted = self.points, self._wanted
        self.points, self._wanted = PlaceSet(), set(keys)
        self._add_wanted_points()
        try:
            yield
        finally:
            self.points, self._wanted = points, wanted
            self._with_points.clear()
            self._rewriter.keep(None)
            self._all_rewritten = True

    def take_new_points(self) -> None:
        """Let places that the last execution has found be scheduling points now, not later."""
        self._take_new_points()

    def sources(self) -> list[str]:
        """The files of the functions that are rewritten."""
        return sorted(
            {
                made.co_filename
                for view in self._rewriter._views.values()
                for _, made in view.made.values()
            }
        )

    def point_sites(self) -> list[Site]:
        """Where the data accesses that are scheduling points stand in the source."""
        return [site for site in map(site_of, self.points) if site]

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
        usual, points, wanted = self._rewriter, self.points, self._wanted
        gc.collect()
        gc.unfreeze()
        usual.restore()
        self._rewriter = Rewriter(usual.scope, breakers=True)
        self.points = PlaceSet()
        self._wanted = set(keys)
        try:
            self._rewriter.install(self._codes)
            self._add_wanted_points()
            self._all_rewritten = True
            executed = self._run(plan, replace(self.settings, watch_breakers=True), learn=False)
        finally:
            self._rewriter.restore()
            self._rewriter, self.points, self._wanted = usual, points, wanted
            usual.install(self._codes)
            self._all_rewritten = True
            self._with_points.clear()
            gc.freeze()
        return executed.trace, executed.beyond_gil


if native is not None:
    native.use_sinks(AccessMonitor, _Sink, _PointSink, Shadow, READ, WRITE)


def _as_it_is(function: Any) -> Any:
    return function


def _places_of(rewriter: Rewriter) -> list[Place]:
    found: list[Any] = []
    for view in rewriter._views.values():
        for _, made in view.made.values():
            found.extend(const for const in made.co_consts if isinstance(const, Place))
    return found


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
