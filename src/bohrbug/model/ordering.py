"""Orderings: one operation of one task runs before one of another.

An execution is described by *when* things happen relative to each other, not by
who ran in which step: an ordering says of two events, in terms that mean the
same in every execution of a test, which of them comes first.  A set of
orderings can be imposed on an execution (:class:`bohrbug.model.plan.Ordered`)
and looked for in a trace (:func:`bohrbug.model.history.history_of`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bohrbug.model.operation import Kind, Operation, Point, ResourceId, Site, TaskId

What = tuple[TaskId, Kind, Point, bool]
"""An event without its number: task, kind, where (or on what), whether a timeout fired."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """One operation of a task, named so that it is found again in another execution.

    Two events are the same if task, kind, site and number are.  The
    resource is told for people: the id of a variable depends on who touches its
    owner first, that of the place in the source does not.  Where no site
    is known the resource takes its place.

    Parameters:
        task: who does it.
        kind: what it does.
        resource: what it acts on.
        site: where it stands in the source.
        occurrence: 1-based, among the operations of this kind that the task does there.
        fired: the operation ends because its timeout fires.
    """

    task: TaskId
    kind: Kind
    resource: ResourceId
    site: Site | None
    occurrence: int = 1
    fired: bool = False
    what: What = field(init=False, repr=False)
    """The event without its number."""
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Events are looked up much more often than made.
        what = (self.task, self.kind, self.where, self.fired)
        object.__setattr__(self, "what", what)
        object.__setattr__(self, "_hash", hash((what, self.occurrence)))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Event):
            return NotImplemented
        return self.occurrence == other.occurrence and self.what == other.what

    def __hash__(self) -> int:
        return self._hash

    @property
    def where(self) -> Point:
        """The site, or the resource if that is not known."""
        return self.resource if self.site is None else self.site

    @property
    def operation(self) -> Operation:
        """The operation."""
        return Operation(self.kind, self.resource, self.site)


@dataclass(frozen=True, slots=True)
class Ordering:
    """``first`` happens, and ``second`` has not happened before it.

    It is met, too, if ``second`` never happens: a task that waits for ever for a
    lock would have taken it later.
    """

    first: Event
    second: Event

    def reversed(self) -> Ordering:
        """The ordering the other way round."""
        return Ordering(self.second, self.first)
