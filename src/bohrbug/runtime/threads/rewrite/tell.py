"""What is told of accesses, and to whom: the sink that is set.

While no sink is set nothing is told.  ``active``, ``attribute``, ``item`` and ``whole`` change with
the sink: look them up here each time.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, Protocol

from bohrbug.accelerator import native
from bohrbug.runtime.threads.rewrite import halfway
from bohrbug.runtime.threads.rewrite.classes import forget_local_classes
from bohrbug.runtime.threads.rewrite.instance_dicts import let_owners_go
from bohrbug.runtime.threads.rewrite.place import Place


class AccessSink(Protocol):
    """What the runtime gives to be told of accesses; another task may run inside each call."""

    def attribute(self, owner: object, name: str, is_write: bool, place: Place) -> None:
        """``owner.name`` is about to be read or written."""

    def item(self, owner: object, key: object, is_write: bool, place: Place) -> None:
        """``owner[key]`` is about to be read or written; for globals the owner is their dict."""

    def whole(self, owner: object, is_write: bool, place: Place) -> None:
        """Something that depends on all of ``owner`` is about to be read or written."""

    def join(self, place: Place) -> bool:
        """What is told from here on is one step; false if it is none, or part of one already."""

    def announced(self) -> None:
        """All that belongs to the step was told, and is told again, to be done."""

    def part(self) -> None:
        """Each access that is told is a step of its own again."""

    def breaker(self) -> None:
        """A GIL build could switch threads here."""


AttributeTeller = Callable[[object, str, bool, Place], None]
ItemTeller = Callable[[object, object, bool, Place], None]
WholeTeller = Callable[[object, bool, Place], None]


def _ignore(*_: object) -> None:
    """Told while no sink is set, if at all."""


def _do_not_join(place: Place) -> bool:
    return False


active = False
attribute: AttributeTeller = _ignore
item: ItemTeller = _ignore
whole: WholeTeller = _ignore
_sink: AccessSink | None = None
_join: Callable[[Place], bool] = _do_not_join
_announced: Callable[[], None] = _ignore
_part: Callable[[], None] = _ignore
_breaker: Callable[[], None] = _ignore


def set_sink(sink: AccessSink | None) -> None:
    """Tell accesses to ``sink`` from now on; ``None`` for nobody."""
    halfway.intervals.clear()
    replace_sink(sink)


def replace_sink(sink: AccessSink | None) -> None:
    """The same in the middle of an execution: intervals that have begun go on."""
    global active, attribute, item, whole, _sink, _join, _announced, _part, _breaker
    _sink = sink
    if native is not None:
        native.set_sink(sink)
    if sink is None:
        active = False
        attribute = item = whole = _announced = _part = _breaker = _ignore
        _join = _do_not_join
        forget_local_classes()
        let_owners_go()
        return
    attribute = sink.attribute
    item = sink.item
    whole = sink.whole
    _join = getattr(sink, "join", _do_not_join)
    _announced = getattr(sink, "announced", _ignore)
    _part = getattr(sink, "part", _ignore)
    _breaker = getattr(sink, "breaker", _ignore)
    active = True


def passes_on() -> bool:
    """Whether what is told comes to anybody: not before there is a second task."""
    return _sink is not None and getattr(_sink, "passes_on", True)


def in_one_step(place: Place, access: Callable[..., Any], *arguments: Any) -> Any:
    """Tell accesses that happen at once.

    Code in C that looks at several objects is not interrupted in between: were each access a step,
    a schedule in which another task changes what was told already, and is not yet read, would be
    taken for one in which the old value was read.

    Parameters:
        place: of the accesses.
        access: tells of them; called twice if they are a step: as what is accessed is called by
            the task that comes to it first, it has to be known before others may run.
        arguments: what ``access`` is called with.

    Returns:
        What ``access`` returned in the end.
    """
    if not _join(place):
        return access(*arguments)
    try:
        before = halfway.intervals.copy()
        access(*arguments)
        halfway.taken_back(before)
        _announced()
        return access(*arguments)
    finally:
        _part()


def _tell_at_once(tells: list[halfway.Tell], place: Place) -> None:
    in_one_step(place, halfway.in_turn(tells), place)


halfway.Called.tell_at_once = staticmethod(_tell_at_once)


def breaker() -> None:
    """A GIL build could switch threads here."""
    _breaker()


def tells_breakers(code: CodeType) -> bool:
    """Whether code tells where a GIL build could switch threads: it was rewritten to do so."""
    return any(constant is breaker for constant in code.co_consts)
