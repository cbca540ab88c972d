"""Handlers of signals, which run in the middle of what the main thread does.

What a handler accesses and what the main thread accesses is in one task, so that there is no data
race between them.  But when the signal comes is up to whoever sends it: what the main thread did
before the handler might as well have come after it, or half before and half after.  If a handler
raises, each of its accesses may be the last one that it comes to.  So may each access of a
thread to which others send exceptions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bohrbug.runtime.threads.control import is_unseen
from bohrbug.runtime.threads.data.places import Place
from bohrbug.runtime.threads.data.shadows import Shadow
from bohrbug.runtime.threads.data.sinks import AroundSink
from bohrbug.runtime.threads.data.variables import Variables
from bohrbug.runtime.threads.deferred_signals import are_exceptions_sent, may_raise
from bohrbug.runtime.threads.monitoring import RaceDetector
from bohrbug.runtime.threads.rewrite import tell

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution


class Interruptions:
    """Finds out which accesses of the main thread a handler may come between.

    Parameters:
        execution: a watched one.
        variables: finds the variables.
        detector: has been told of all accesses.
    """

    def __init__(self, execution: Execution, variables: Variables, detector: RaceDetector) -> None:
        self.handling = 0
        self._execution = execution
        self._variables = variables
        self._detector = detector
        self._is_installed = False
        self._may_raise = may_raise(execution)
        if self._may_raise or are_exceptions_sent(execution.namespaces):
            self._install()

    def _install(self) -> None:
        execution = self._execution
        if not self._is_installed and execution.sink is not None:
            self._is_installed = True
            execution.sink = _InterruptingSink(execution.sink, self, self._variables)
            tell.replace_sink(execution.sink)

    def begin(self) -> None:
        """A handler is about to run in the root task."""
        self.handling += 1
        self._install()

    def end(self) -> None:
        """It has ended, in whatever way."""
        self.handling -= 1

    def matter(self, place: Place) -> bool:
        """Whether an access has to do with handlers.

        It has if a handler makes it, and not another task while a handler waits.
        """
        execution = self._execution
        running = execution.current
        thread = running.host or running
        if execution.aborting or is_unseen():
            return False
        is_root = thread is execution.root
        # Others than the root look only for exceptions that are sent to them.
        if self._may_raise if is_root else thread.looks_at is not None:
            self._detector.racy_places.add(place)
            self._detector.shared_places.add(place)
        return is_root and self.handling > 0

    def take(self, shadow: Shadow | None, is_write: bool, place: Place) -> None:
        """A handler is about to access a variable."""
        if shadow is not None:
            self._detector.interrupt(shadow, self._execution.root.index, place, is_write)


class _InterruptingSink(AroundSink):
    """Takes down what handlers access, before the usual sink does.

    Parameters:
        usual: the sink that is told of all accesses.
        interruptions: takes them down.
        variables: finds the variables.
    """

    def __init__(self, usual: Any, interruptions: Interruptions, variables: Variables) -> None:
        super().__init__(usual)
        self._interruptions = interruptions
        self._variables = variables

    def attribute(self, owner: Any, name: str, is_write: bool, place: Any) -> None:
        """See :class:`~bohrbug.runtime.threads.data.sinks.WatchingSink`."""
        if self.enabled and self._interruptions.matter(place):
            shadow = self._variables.shadow_of_attribute(owner, name, is_write, place)
            self._interruptions.take(shadow, is_write, place)
        self._usual.attribute(owner, name, is_write, place)

    def item(self, owner: Any, key: object, is_write: bool, place: Any) -> None:
        """See :class:`~bohrbug.runtime.threads.data.sinks.WatchingSink`."""
        if self.enabled and self._interruptions.matter(place):
            shadow = self._variables.shadow_of_item(owner, key, is_write, place)
            self._interruptions.take(shadow, is_write, place)
        self._usual.item(owner, key, is_write, place)

    def whole(self, owner: Any, is_write: bool, place: Any) -> None:
        """See :class:`~bohrbug.runtime.threads.data.sinks.WatchingSink`."""
        if self.enabled and self._interruptions.matter(place):
            shadow = self._variables.shadow_of_whole(owner, is_write, place)
            self._interruptions.take(shadow, is_write, place)
        self._usual.whole(owner, is_write, place)
