"""The runtime of a program that runs only once: what it shows is used while it runs."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from types import CodeType

from bohrbug.model.conditions import FunctionKey, Growth, Level, PlaceKey
from bohrbug.runtime.threads import made_code
from bohrbug.runtime.threads.data.places import PlaceSet
from bohrbug.runtime.threads.data.sinks import WatchingSink
from bohrbug.runtime.threads.data.variables import Variables
from bohrbug.runtime.threads.deaths import Deaths
from bohrbug.runtime.threads.instrumentation import Instrumentation
from bohrbug.runtime.threads.monitoring import RaceDetector
from bohrbug.runtime.threads.points import AccessPoints
from bohrbug.runtime.threads.rewrite import attributes, held, tell
from bohrbug.runtime.threads.rewrite.discovery import Discovery
from bohrbug.runtime.threads.rewrite.scope import Scope
from bohrbug.runtime.threads.runtime import ThreadsRuntime


class LiveRuntime(ThreadsRuntime):
    """Executes a program once, and lets that execution grow between two steps; also in a replay."""

    def rewrite_first(self, codes: Iterable[CodeType]) -> None:
        """Let functions be rewritten before they are called for the first time."""
        self._instrumentation.rewrite(codes)

    def look(self, level: Level, scope: Scope) -> None:
        """Between two steps: begin to see what the program does, as of an execution from its start.

        Parameters:
            level: which operations are scheduling points from here on.
            scope: which functions are rewritten.
        """
        execution = self.execution
        assert execution is not None
        self.level, self._scope = level, scope
        self.discovers = level is not Level.SYNC
        if not self.discovers:
            return
        instrumentation = self._instrumentation = Instrumentation(scope, breakers=False)
        self._points = AccessPoints(instrumentation)
        self._discovery = Discovery(original=instrumentation.original)
        self._enter_discovery()
        self._discovery.listen(True)
        held.evaluation_has_changed()
        made_code.follow = instrumentation.of_executed
        self._seen = Variables(execution, self._types)
        self._make_accesses_visible(execution, self._seen, None)
        execution.sink.enabled = True
        self._deaths = Deaths(execution, self._seen, self._points.places)
        if self._watchdog is not None:
            self._watchdog.resume()

    def look_away(self) -> None:
        """Between two steps: see no more, and give all functions their code back."""
        execution = self.execution
        assert execution is not None
        if not self.discovers:
            return
        self.level, self.discovers = Level.SYNC, False
        if self._watchdog is not None:
            self._watchdog.pause()
        tell.set_sink(None)
        execution.sink = execution.nudge = self._spin_sink = None
        made_code.follow = None
        self._discovery.__exit__()
        _, are_left = self._deaths.end()
        if are_left:
            gc.collect()
        self._seen.clear()
        execution.forget_variables()
        self._instrumentation.restore()
        attributes.forget_stored_names()
        held.evaluation_has_changed()

    def grow(self, growth: Growth) -> None:
        """Between two steps: rewrite what was called up to now, and let more accesses be points.

        Parameters:
            growth: by what; its step does not matter.
        """
        codes = [code for code, _ in self._discovery.take()]
        if growth.functions:
            codes += self._instrumentation.find(growth.functions)
        if self._instrumentation.rewrite(codes):
            self._points.add_wanted()
        if growth.points:
            self._points.use(self._points.wanted | growth.points)
        self._instrumentation.let_tell(None)
        assert self.execution is not None
        if growth.quiet:
            self._instrumentation.let_tell(self._points.are_in)
        # Frames that run already tell for as long as anybody listens.
        is_listening = bool(self._points.wanted) or not growth.quiet
        tell.set_sink(self.execution.sink if is_listening else None)
        # It may make tasks yield again that spin.
        self._spin_sink = None

    @property
    def has_news(self) -> bool:
        """Whether functions were called that are not rewritten, since :meth:`grow` was called."""
        return self._discovery.has_news

    def called(self) -> frozenset[FunctionKey]:
        """The functions that were called for the first time since :meth:`grow` was called."""
        return frozenset(
            (module, code.co_filename, code.co_qualname, code.co_firstlineno)
            for code, module in self._discovery.news()
            if self._scope.includes_module(module)
        )

    def watch_from_here(self) -> RaceDetector:
        """Between two steps: let all accesses be scheduling points, and be watched, from here on.

        Returns:
            who watches them.
        """
        execution = self.execution
        assert execution is not None
        detector = self._make_detector(execution)
        variables = Variables(execution, self._types)
        self._instrumentation.let_tell(None)
        points = PlaceSet(self.known_places())
        sink = WatchingSink(detector, variables, execution, execution.access, points)
        sink.enabled = True
        execution.detector = detector
        execution.sink = sink
        tell.set_sink(sink)
        return detector

    def found(self, detector: RaceDetector) -> frozenset[PlaceKey]:
        """The accesses that matter by what a detector has seen, and are no points yet."""
        assert self.execution is not None
        looked_at = self.execution.inspected.values()
        return self._points.find([*self._places_found(detector), *looked_at])
