"""The sinks of rewritten code: told of each access just before it happens.

Which one an execution has depends on what it is for. :class:`WatchingSink` passes accesses on to a
race detector; with :class:`PointSink` only scheduling points matter; :class:`SpinSink` takes the
place of either of them for one access.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bohrbug.accelerator import native
from bohrbug.accelerator.plain import plain
from bohrbug.model.operation import READ, WRITE, YIELD, Kind
from bohrbug.model.outcome import Divergence
from bohrbug.runtime.threads.control import is_unseen
from bohrbug.runtime.threads.data.places import Place, PlaceSet
from bohrbug.runtime.threads.data.shadows import Shadow
from bohrbug.runtime.threads.data.variables import Running, Variables
from bohrbug.runtime.threads.monitoring import AccessDetector
from bohrbug.runtime.threads.rewrite import tell
from bohrbug.runtime.threads.task import ANNOUNCING, JOINING, SEPARATE

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution


class _Joining:
    """The part of both sinks that makes one step of several accesses, see :func:`.in_one_step`."""

    __slots__ = ()

    enabled: bool
    _execution: Any
    _points: dict[int, Any]
    # Nobody else than tasks that could be reordered makes what is told of matter.
    may_fall_silent = True

    @property
    def passes_on(self) -> bool:
        """Whether what is told comes to anybody."""
        return self.enabled

    def join(self, place: Place) -> bool:
        """What is told from here on is one step; see :func:`.tell.in_one_step`."""
        if not self.enabled or id(place) not in self._points or is_unseen():
            return False
        task = self._execution.current
        if task.joined != SEPARATE:
            return False
        task.joined = ANNOUNCING
        return True

    def announced(self) -> None:
        """All that belongs to the step was told, and is told again, to be done."""
        self._execution.current.joined = JOINING

    def part(self) -> None:
        """Each access that is told is a step of its own again."""
        self._execution.current.joined = SEPARATE


class AroundSink:
    """Stands before another sink, and is enabled, joined and parted as that one is.

    Parameters:
        usual: the other one.
    """

    __slots__ = ("_usual", "announced", "breaker", "join", "part")

    # Whether, with a single task left, what is told makes no difference.
    may_fall_silent = False

    def __init__(self, usual: Any) -> None:
        self._usual = usual
        self.join = usual.join
        self.announced = usual.announced
        self.part = usual.part
        self.breaker = usual.breaker

    @property
    def enabled(self) -> bool:
        """See :class:`WatchingSink`."""
        return bool(self._usual.enabled)

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self._usual.enabled = value

    @property
    def passes_on(self) -> bool:
        """See :class:`_Joining`."""
        return bool(self._usual.passes_on)


class WatchingSink(_Joining):
    """The sink that passes on to a race detector what is new to it, for one execution.

    While ``enabled`` is false it does nothing.  Leave it so until the first
    task is spawned: what the root task did before that happens before
    everything that other tasks do, so no access of that time can be in a race.

    Parameters:
        detector: told of the accesses that are new to it.
        variables: finds the variables.
        execution: has the task that is running as ``current``.
        on_point: called first if the place is among ``points``, with the place,
            ``READ`` or ``WRITE``, and the variable; may pass control to other tasks. True if the
            access is only announced, so that nothing is passed on.
        points: the places that are scheduling points; may grow at any time.
    """

    __slots__ = (
        "_detector",
        "_epochs",
        "_execution",
        "_on_point",
        "_owners",
        "_points",
        "_tags",
        "_variables",
        "enabled",
    )

    def __init__(
        self,
        detector: AccessDetector,
        variables: Variables,
        execution: Running,
        on_point: Callable[[Place, Kind, Shadow], object],
        points: PlaceSet,
    ) -> None:
        self.enabled = False
        self._detector = detector
        self._epochs = detector.epochs
        self._tags = detector.tags
        self._variables = variables
        self._owners = variables.owners
        self._execution = execution
        self._on_point = on_point
        self._points = points.by_identity

    # The three methods repeat one another, because a call would cost as much as
    # the rest of what they do.  All accesses that a task makes at one place
    # between two of its synchronisations are the same to the detector, so that
    # a look at the last one is enough for most.

    def attribute(self, owner: Any, name: str, is_write: bool, place: Place) -> None:
        """A task is about to access ``owner.name``."""
        if not self.enabled or is_unseen():
            return
        known = self._owners.get(id(owner))
        shadow = None if known is None else known.attributes.get(name)
        if shadow is None:
            shadow = self._variables.shadow_of_attribute(owner, name, is_write, place)
            if shadow is None:
                return
        if id(place) in self._points:
            announced = self._on_point(place, WRITE if is_write else READ, shadow)
            if announced:
                return
        index = self._execution.current.index
        if is_write:
            if shadow.writes.get(id(place) + self._tags[index]) != self._epochs[index]:
                self._detector.write(shadow, index, place)
        elif shadow.reads.get(id(place) + self._tags[index]) != self._epochs[index]:
            self._detector.read(shadow, index, place)

    def item(self, owner: Any, key: Any, is_write: bool, place: Place) -> None:
        """A task is about to access ``owner[key]``, or a global."""
        if not self.enabled or is_unseen():
            return
        known = self._owners.get(id(owner))
        shadow = None
        if known is not None and (type(key) is str or type(key) is int):
            shadow = known.items.get(key)
        if shadow is None:
            shadow = self._variables.shadow_of_item(owner, key, is_write, place)
            if shadow is None:
                return
        if id(place) in self._points:
            announced = self._on_point(place, WRITE if is_write else READ, shadow)
            if announced:
                return
        index = self._execution.current.index
        if is_write:
            if shadow.writes.get(id(place) + self._tags[index]) != self._epochs[index]:
                self._detector.write(shadow, index, place)
        elif shadow.reads.get(id(place) + self._tags[index]) != self._epochs[index]:
            self._detector.read(shadow, index, place)

    def whole(self, owner: Any, is_write: bool, place: Place) -> None:
        """A task is about to access a container as a whole, an iterator or a cell."""
        if not self.enabled or is_unseen():
            return
        known = self._owners.get(id(owner))
        shadow = None if known is None else known.whole
        if shadow is None:
            shadow = self._variables.shadow_of_whole(owner, is_write, place)
            if shadow is None:
                return
        if id(place) in self._points:
            announced = self._on_point(place, WRITE if is_write else READ, shadow)
            if announced:
                return
        index = self._execution.current.index
        if is_write:
            if shadow.writes.get(id(place) + self._tags[index]) != self._epochs[index]:
                self._detector.write(shadow, index, place)
        elif shadow.reads.get(id(place) + self._tags[index]) != self._epochs[index]:
            self._detector.read(shadow, index, place)

    def breaker(self) -> None:
        """A build with the GIL could switch threads here."""
        self._execution.current.breakable = True


class PointSink(_Joining):
    """The sink while nobody looks for races: only scheduling points matter."""

    __slots__ = ("_execution", "_owners", "_points", "_variables", "enabled")

    def __init__(self, execution: Execution, variables: Variables, points: PlaceSet) -> None:
        self._execution = execution
        self._variables = variables
        self._owners = variables.owners
        self._points = points.by_identity
        self.enabled = False

    def attribute(self, owner: Any, name: str, is_write: bool, place: Any) -> None:
        """See :class:`WatchingSink`."""
        if self.enabled and id(place) in self._points and not is_unseen():
            shadow = self._variables.shadow_of_attribute(owner, name, is_write, place)
            if shadow is not None:
                self._execution.access(place, WRITE if is_write else READ, shadow)

    def item(self, owner: Any, key: object, is_write: bool, place: Any) -> None:
        """See :class:`WatchingSink`."""
        if self.enabled and id(place) in self._points and not is_unseen():
            shadow = self._variables.shadow_of_item(owner, key, is_write, place)
            if shadow is not None:
                self._execution.access(place, WRITE if is_write else READ, shadow)

    def whole(self, owner: Any, is_write: bool, place: Any) -> None:
        """See :class:`WatchingSink`."""
        if self.enabled and id(place) in self._points and not is_unseen():
            shadow = self._variables.shadow_of_whole(owner, is_write, place)
            if shadow is not None:
                self._execution.access(place, WRITE if is_write else READ, shadow)

    def breaker(self) -> None:
        """A build with the GIL could switch threads here."""
        self._execution.current.breakable = True


MOST_NUDGES = 10
"""Yields forced upon tasks that spin, in one execution; after these it hangs."""

MOST_NUDGES_BEFORE_POINTS = 5
"""As many of them, in functions in which the next execution has scheduling points: after these an
execution is given up at once, as there is no use in waiting until it hangs."""


@plain
class SpinSink:
    """The sink for one access, after a long time without a scheduling point: a yield.

    This depends on real time, so that the execution can't be repeated; it serves to see what
    the others do to the variable on which the task spins.

    Parameters:
        execution: the execution.
        usual: its sink, which is told of the access as well.
        points: the places that are scheduling points.
        found: those that are in the next execution, as far as this one has shown.
    """

    __slots__ = ("_before_points", "_execution", "_found", "_nudges", "_points", "_usual")

    def __init__(self, execution: Execution, usual: Any, points: PlaceSet, found: PlaceSet) -> None:
        self._execution = execution
        self._points = points
        self._found = found
        self._before_points = 0
        self._usual = usual
        self._nudges = 0

    def nudge(self) -> None:
        """Called in another thread; too often, and nobody changes what the task spins on."""
        self._nudges += 1
        if self._nudges <= MOST_NUDGES:
            tell.replace_sink(self)

    def _yield(self, place: Any) -> None:
        if is_unseen():
            return
        tell.replace_sink(self._usual)
        execution = self._execution
        if execution.current.inside or execution.atomic or execution.suspended:
            return
        if not execution.nudged:
            execution.nudged = True
            execution.trace.divergence = Divergence(
                execution.steps, "no yield", "a task that spins"
            )
        points, code = self._points, place[0]
        if any(point[0] is code and point not in points for point in self._found):
            self._before_points += 1
            if self._before_points == MOST_NUDGES_BEFORE_POINTS:
                execution.patience = 0.0
        # It has spun for long in real time already.
        execution.time_is_up = True
        clock = execution.resources.state_named("clock", "the clock", "clock")
        execution.perform(YIELD, clock, place)

    def attribute(self, owner: Any, name: str, is_write: bool, place: Any) -> None:
        """See :class:`WatchingSink`."""
        self._usual.attribute(owner, name, is_write, place)
        self._yield(place)

    def item(self, owner: Any, key: object, is_write: bool, place: Any) -> None:
        """See :class:`WatchingSink`."""
        self._usual.item(owner, key, is_write, place)
        self._yield(place)

    def whole(self, owner: Any, is_write: bool, place: Any) -> None:
        """See :class:`WatchingSink`."""
        self._usual.whole(owner, is_write, place)
        self._yield(place)

    def join(self, place: Any) -> bool:
        """See :class:`WatchingSink`."""
        return bool(self._usual.join(place))

    def announced(self) -> None:
        """See :class:`WatchingSink`."""
        self._usual.announced()

    def part(self) -> None:
        """See :class:`WatchingSink`."""
        self._usual.part()

    def breaker(self) -> None:
        """See :class:`WatchingSink`."""
        self._usual.breaker()


if native is not None:
    native.use_sinks(WatchingSink, PointSink, Shadow, READ, WRITE)
