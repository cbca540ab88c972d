"""Deaths of objects that tasks refer to weakly, as effects of the steps in which they happen.

See :mod:`~bohrbug.runtime.threads.rewrite.lives`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bohrbug.accelerator import native
from bohrbug.model.operation import WRITE
from bohrbug.runtime.threads.control import controlled, is_unseen
from bohrbug.runtime.threads.data.places import Place, PlaceSet
from bohrbug.runtime.threads.data.sinks import AroundSink
from bohrbug.runtime.threads.data.variables import Variables
from bohrbug.runtime.threads.last_task import SinkOfLastTask
from bohrbug.runtime.threads.rewrite import lives, tell
from bohrbug.runtime.threads.rewrite.named import Named
from bohrbug.runtime.threads.task import ANNOUNCING

if TYPE_CHECKING:
    from bohrbug.runtime.threads.execution import Execution

_AT_ONCE = "expressions that get an object by a weak reference, and keep it nowhere, as one step"
"""A condition of the verdict."""

_UNKNOWN = "weak references"
"""Marks tests that read references to objects that have died before anybody saw them."""


class Deaths(lives.Ending):
    """Those of one execution.

    Parameters:
        execution: the execution.
        variables: finds the variables.
        points: the places that are scheduling points.
        finalizes: whether the test is known to run finalizers.
    """

    def __init__(
        self,
        execution: Execution,
        variables: Variables,
        points: PlaceSet,
        finalizes: bool = False,
    ) -> None:
        self._execution = execution
        self._variables = variables
        self._points = points
        self._sink: _SweepingSink | None = None
        lives.tell_to(self, finalizes)

    def end(self) -> tuple[list[Place], bool]:
        """After the execution.

        Returns:
            The places that matter, see :func:`.lives.forget`; and whether what only waits for the
            collector may be found through weak references: the next execution must not find it.
        """
        lives.tell_to(None)
        were_watched = lives.are_watched()
        if were_watched and lives.were_let_go_at_once():
            self._execution.trace.uncontrolled.assume(_AT_ONCE)
        return [*lives.forget()], were_watched

    def current(self) -> int:
        """See :class:`.lives.Ending`."""
        execution = controlled()
        if execution is not self._execution or execution.is_alone() or execution.aborting:
            return -1
        return execution.current.index

    def holds_a_lock(self) -> bool:
        """See :class:`.lives.Ending`."""
        return bool(self._execution.current.holding)

    def begin(self) -> None:
        """See :class:`.lives.Ending`."""
        execution = self._execution
        before = execution.sink
        if type(before) is SinkOfLastTask:
            before.stand_before(self._sweeping(before.usual))
        else:
            execution.sink = self._sweeping(before)
            tell.replace_sink(execution.sink)

    def _sweeping(self, usual: Any) -> _SweepingSink:
        self._sink = _SweepingSink(usual, self, self._execution, self._variables, self._points)
        return self._sink

    def drop(self) -> None:
        """See :class:`.lives.Ending`."""
        if self._sink is not None and not is_unseen():
            self._sink.let_go_of_changed()

    def tell_unknown(self) -> None:
        """See :class:`.lives.Ending`."""
        self._execution.namespaces.add(_UNKNOWN)

    def matters(self, life: lives.Life) -> bool:
        """Whether it makes a difference, as far as is known, when a life ends."""
        # Variables are numbered, and uses are steps: only if it would be the same in each execution
        # of the plan.  What has no point need not be told of, references made there included.
        return any(place in self._points for place in life.references_at())

    def made(self, life: lives.Life) -> None:
        """Number it where it is made, so that it has the same name whoever comes first then."""
        if self.matters(life):
            shadow = self._variables.shadow_of_whole(life.variable)
            if shadow is not None:
                self._execution.name_of(shadow)

    def tell(self, life: lives.Life) -> None:
        """See :class:`.lives.Ending`."""
        if not self.affect(life):
            return
        if _UNKNOWN in self._execution.namespaces:
            self._write(lives.UNKNOWN)

    def affect(self, life: lives.Life) -> bool:
        """The running step ends a life, or would if nobody else held the object; if that matters.

        Returns:
            Whether it does.
        """
        matters = self.matters(life)
        if matters:
            self._write(life.variable)
        return matters

    def _write(self, variable: Named) -> None:
        shadow = self._variables.shadow_of_whole(variable)
        if shadow is not None:
            self._execution.affect(shadow)


class _SweepingSink(AroundSink):
    """Before accesses, tells of deaths; after changes, lets go of what only we hold.

    Containers can't be referenced weakly, so that an object in one of them would live on.
    Threads outside of control run rewritten code, too, at the same time as the tasks: nothing is
    swept for them.

    Parameters:
        usual: the sink that is told next.
        deaths: of the execution.
        execution: the execution.
        variables: holds them.
        points: the places that are scheduling points.
    """

    __slots__ = ("_changed", "_deaths", "_execution", "_points", "_sweep", "_variables")

    def __init__(
        self,
        usual: Any,
        deaths: Deaths,
        execution: Execution,
        variables: Variables,
        points: PlaceSet,
    ) -> None:
        super().__init__(usual)
        self._deaths = deaths
        self._execution = execution
        self._variables = variables
        self._points = points
        self._sweep = variables.sweep
        self._changed = False

    @property
    def may_fall_silent(self) -> bool:  # type: ignore[override]
        """See :class:`~.data.sinks.AroundSink`."""
        return bool(self._usual.may_fall_silent)

    def _use(self, owner: Any, place: Any) -> None:
        """Until here the task keeps an object alive that others may refer to weakly.

        That is a scheduling point and no access: nobody races with a life.  Who lets go of it last
        ends it, so that the order of all who let go of it matters.
        """
        life = lives.use(owner, place)
        if life is None or place not in self._points or not self._usual.enabled:
            return
        if self._deaths.matters(life):
            shadow = self._variables.shadow_of_whole(life.variable)
            if shadow is not None:
                self._execution.access(place, WRITE, shadow)

    def _let_go(self, holder: Any) -> None:
        """The step that has begun may let go of what is referred to weakly, as the last one or not.

        That must not depend on who has let go of it before: else partial-order reduction would
        take the two for independent where another still holds it.
        """
        if (
            not self._points
            # Only finalizers are known.
            or not lives.lives_by_target
            or not self._usual.enabled
            or self._execution.current.joined == ANNOUNCING
            # With a sink for the last task nobody gets here.
            or self._execution.is_alone()
        ):
            return
        for life in lives.let_go_by(holder):
            self._deaths.affect(life)

    def let_go_of_changed(self) -> None:
        """What the last change has let go of has died since, before whatever comes now."""
        self._changed = False
        self._sweep()

    def attribute(self, owner: Any, name: str, is_write: bool, place: Any) -> None:
        """See :class:`~.data.sinks.WatchingSink`."""
        if is_unseen():
            return
        if is_write or self._changed:
            self.let_go_of_changed()
        lives.catch_up()
        self._use(owner, place)
        self._usual.attribute(owner, name, is_write, place)
        if is_write:
            self._let_go(owner)
            if self._changed:
                # Other tasks have run meanwhile.
                self._sweep()
            self._changed = True

    def item(self, owner: Any, key: object, is_write: bool, place: Any) -> None:
        """See :class:`~.data.sinks.WatchingSink`."""
        if is_unseen():
            return
        if is_write or self._changed:
            self.let_go_of_changed()
        lives.catch_up()
        self._use(owner, place)
        self._usual.item(owner, key, is_write, place)
        if is_write:
            self._let_go(owner)
            if self._changed:
                # Other tasks have run meanwhile.
                self._sweep()
            self._changed = True

    def whole(self, owner: Any, is_write: bool, place: Any) -> None:
        """See :class:`~.data.sinks.WatchingSink`."""
        if is_unseen():
            return
        # Local variables have been told by :meth:`Deaths.drop`.
        if self._changed or (is_write and type(owner) is not Named):
            self.let_go_of_changed()
        lives.catch_up()
        self._usual.whole(owner, is_write, place)
        if is_write:
            self._let_go(owner)
            if self._changed:
                # Other tasks have run meanwhile.
                self._sweep()
            self._changed = True


if native is not None:
    native.use_sweeping_sink(_SweepingSink, lives.outrun_lives, lives.lives_by_target, Named)
