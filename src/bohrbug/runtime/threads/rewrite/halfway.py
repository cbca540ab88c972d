"""Functions that code in C calls in the middle of an access.

``sort`` with a key, ``insort`` of objects with an ``__lt__`` of their own, the factory of a
``defaultdict``, ``Context.run``, a generator while it runs: the access is no point in time but an
interval, in which code written in Python runs. Where such code begins another task may come in, so
that the access is told there once more.

Code in C has no frame. A function that it calls has the frame as its caller that the access is in,
and that frame still stands at the instruction of the access: by that it is recognised.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterable, Sequence
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import CodeType, FrameType
from typing import Any, NamedTuple, Protocol
from weakref import ref

from bohrbug.accelerator import native, with_fast_path
from bohrbug.runtime.threads.rewrite.classes import takes_weak_references
from bohrbug.runtime.threads.rewrite.codec import CACHES, EXTENDED_ARG
from bohrbug.runtime.threads.rewrite.place import Place

_PACKAGE = __name__.rpartition(".")[0]
_NOT_YET = frozenset(
    {dis.opmap[name] for name in ("PRECALL", "KW_NAMES") if name in dis.opmap} | {EXTENDED_ARG}
)
"""What may stand between a hook and the instruction that makes the access."""

_JOINING = frozenset(
    opcode
    for name, opcode in dis.opmap.items()
    if name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "FOR_ITER", "SEND", "CONTAINS_OP")
    or name in ("UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "SET_UPDATE")
    or name in ("DICT_UPDATE", "DICT_MERGE", "BINARY_SUBSCR", "STORE_SUBSCR", "BINARY_OP")
)
"""Instructions whose hooks call :func:`end` before they tell of anything."""

_PRECALL = dis.opmap.get("PRECALL")
"""On Python 3.11 it comes before ``CALL``, and makes frequent calls of code in C itself."""


Tell = Callable[[Place], None]
"""What tells of an access, for the place that it is given."""

MOST_TOLD = 100
"""Accesses of one interval that are told again: those behind them are not."""

# A test may put something else in the place of the builtin.
_length = len

NOTHING = object()
"""In place of a value: a generator has come to its end."""


class Receiver(Protocol):
    """What code in C does with the values that functions in Python give back to it."""

    def receive(self, code: CodeType, value: Any) -> Sequence[Tell]:
        """A value is given back.

        Parameters:
            code: of the function that gives it.
            value: or :data:`NOTHING`.

        Returns:
            What tells of what is done with it at once.
        """


def _ignore_call(function: Any, arguments: tuple[Any, ...], place: Place) -> None:
    """While nobody tells of calls."""


def _ignore(tells: list[Tell], place: Place) -> None:
    """While there are no hooks."""


class Called:
    """Who tells of what code in C calls in the middle of an access, if that is in C, too.

    The factory of a ``defaultdict``, the getter of a property.

    Attributes:
        tell: called where it is about to be called, with the function, its arguments and the place.
        tell_at_once: tells of several accesses that are one step, at a place.
    """

    tell: Callable[[Any, tuple[Any, ...], Place], None] = staticmethod(_ignore_call)
    tell_at_once: Callable[[list[Tell], Place], None] = staticmethod(_ignore)


class Interval(NamedTuple):
    """An access in the middle of which functions may be called.

    Attributes:
        code: of the frame that makes it.
        first: offset in bytes from where on the instruction may be said to be.
        last: offset in bytes of the instruction's last code unit.
        tells: tell of the access once more.
        receivers: what is done with what the functions give back.
    """

    code: CodeType
    first: int
    last: int
    tells: tuple[Tell, ...]
    receivers: tuple[Receiver, ...]

    def tell(self, place: Place, given_back: Sequence[Tell] = ()) -> None:
        """Tell of the access once more, and of what is done with a value, in one step."""
        tells = (*self.tells, *given_back) if given_back else self.tells
        if _length(tells) == 1:
            tells[0](place)
        elif tells:
            Called.tell_at_once([*tells], place)

    def joined_by(self, tells: Iterable[Tell], receivers: tuple[Receiver, ...]) -> Interval:
        """The same with further accesses: code in C calls code in C that calls functions."""
        further = [tell for tell in tells if tell not in self.tells]
        if not further and not receivers:
            return self
        return Interval(
            self.code,
            self.first,
            self.last,
            (*self.tells, *further)[:MOST_TOLD],
            (*self.receivers, *receivers)[:MOST_TOLD],
        )


class Telling:
    """What tells of an object once more, if it is still there.

    Parameters:
        owner: the object, referred to weakly if it can be.
        tell: tells of it, with some details, for a place.
        details: for ``tell``.

    Two of them are equal if they tell of the same.
    """

    __slots__ = ("_details", "_key", "_reference", "_tell")

    def __init__(self, owner: Any, tell: Callable[..., None], *details: Any) -> None:
        self._reference = weakly(owner)
        self._tell = tell
        self._details = details
        self._key = id(owner), tell, details

    def __eq__(self, other: object) -> bool:
        return type(other) is Telling and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __call__(self, place: Place) -> None:
        """See :data:`Tell`."""
        found = self._reference()
        if found is not None:
            self._tell(found, *self._details, place)


def weakly(owner: Any) -> Callable[[], Any]:
    """A reference to an object, weak if it can be."""
    return ref(owner) if takes_weak_references(type(owner)) else lambda: owner


def in_turn(tells: list[Tell]) -> Tell:
    """What tells of several things once more, which are one interval."""
    if len(tells) == 1:
        return tells[0]

    def tell_each(place: Place) -> None:
        for tell in tells:
            tell(place)

    return tell_each


intervals: dict[int, Interval] = {}
"""By ``id`` of the frame; what is left of one is replaced or dropped by the next call there."""

# By id of the code and offset of the hook; the code is kept, so that no other gets its id.
_offsets: dict[tuple[int, int], tuple[CodeType, int, int, bool]] = {}
_codes_with_intervals: set[int] = set()
_callers: dict[int, CodeType] = {}
"""Functions of ours that do nothing but call what the program handed over, by id of their code."""


def begin(tell: Tell, receiver: Receiver | None = None) -> None:
    """An access that was just told may call functions; called by hooks.

    Parameters:
        tell: of the access, once more. It should not keep alive what need not live.
        receiver: of what the functions give back.
    """
    _begin_above(sys._getframe(1), (tell,), () if receiver is None else (receiver,))


def begin_if_any(tells: Iterable[Tell | None], receiver: Receiver | None) -> None:
    """The same of several accesses, unless there is nothing to tell of in their middle."""
    several = tuple([tell for tell in tells if tell is not None])
    if several or receiver is not None:
        _begin_above(sys._getframe(1), several, () if receiver is None else (receiver,))


def _begin_above(
    frame: FrameType | None, several: tuple[Tell, ...], receivers: tuple[Receiver, ...]
) -> None:
    is_in_middle = False
    while frame is not None and frame.f_globals.get("__package__") == _PACKAGE:
        known = _callers.get(id(frame.f_code))
        if known is not None:
            if known not in _TELLING_IN_MIDDLE:
                begun = Interval(known, frame.f_lasti, sys.maxsize, several, receivers)
                _begin(frame, begun, joins=True)
                return
            is_in_middle = True
        frame = frame.f_back
    if frame is None:
        return
    around = _interval_around(frame) if is_in_middle else None
    if around is not None:
        # The code in C that has called the function goes on with it, and not the function.
        intervals[id(frame.f_back)] = around.joined_by(several, receivers)
    else:
        first, last, joins = _access_behind(frame.f_code, frame.f_lasti)
        _begin(frame, Interval(frame.f_code, first, last, several, receivers), joins)


def _begin(frame: FrameType, begun: Interval, joins: bool) -> None:
    before = intervals.get(id(frame)) if joins else None
    if before is not None and before.code is begun.code and before.first == begun.first:
        begun = before.joined_by(begun.tells, begun.receivers)
    intervals[id(frame)] = begun


def note_caller(code: CodeType) -> None:
    """A function of ours tells of a call, and makes it itself: the rest of it is the access."""
    _callers[id(code)] = code


def keep_rewritten() -> None:
    """Let the code that calls a hook run rewritten in all executions, as with intervals in it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__package__") == _PACKAGE:
        frame = frame.f_back
    if frame is not None:
        _codes_with_intervals.add(id(frame.f_code))


def has_intervals(code: CodeType) -> bool:
    """Whether rewritten code has made an access in the middle of which functions may be called.

    Or code of a function in it has, which it makes anew each time.
    """
    return id(code) in _codes_with_intervals or any(
        has_intervals(constant) for constant in code.co_consts if isinstance(constant, CodeType)
    )


def end(frame: FrameType) -> None:
    """What a frame has accessed before is over, as it is about to do something else."""
    intervals.pop(id(frame), None)


def end_here() -> None:
    """The same, called by hooks of the frame that they are in."""
    if intervals:
        intervals.pop(id(sys._getframe(2)), None)


def taken_back(begun_before: dict[int, Interval]) -> None:
    """What was told was only announced, and is told again: nothing has begun by it.

    Parameters:
        begun_before: a copy of :data:`intervals`.
    """
    if _length(intervals) or begun_before:
        intervals.clear()
        intervals.update(begun_before)


@with_fast_path
def enter(place: Place) -> None:
    """A function begins, or a generator goes on; told if that is in the middle of an access."""
    if intervals:
        _enter(place, sys._getframe(1))


@with_fast_path
def leave(value: Any, place: Place) -> None:
    """A function returns, or a generator yields; the access in the middle of which it ran goes on.

    Code in C works with the value then, stores it, and looks at the next item, and not when it
    calls a function for that.
    """
    if intervals:
        _leave(value, place, sys._getframe(1))


def _enter_from_c(place: Place) -> None:
    # The hook has no frame.
    _enter(place, sys._getframe(1))


def _leave_to_c(value: Any, place: Place) -> None:
    _leave(value, place, sys._getframe(1))


def _enter(place: Place, frame: FrameType) -> None:
    interval = _interval_around(frame)
    if interval is not None:
        interval.tell(place)


def _leave(value: Any, place: Place, frame: FrameType) -> None:
    interval = _interval_around(frame)
    if interval is None:
        return
    tells: list[Tell] = []
    for receiver in interval.receivers:
        tells += receiver.receive(frame.f_code, value)
    interval.tell(place, tells)


_TELLING_IN_MIDDLE = (_enter.__code__, _leave.__code__)
for _code in _TELLING_IN_MIDDLE:
    note_caller(_code)


def _interval_around(frame: FrameType) -> Interval | None:
    """The access in the middle of which code in C has called the function of a frame."""
    caller = frame.f_back
    if caller is None:
        return None
    interval = intervals.get(id(caller))
    if interval is None:
        return None
    if caller.f_code is interval.code and interval.first <= caller.f_lasti <= interval.last:
        return interval
    del intervals[id(caller)]
    return None


def tell_enclosing(place: Place) -> None:
    """What is done here belongs to each access in the middle of which the running code was called.

    Parameters:
        place: where it is done.
    """
    if not intervals:
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        interval = intervals.get(id(frame))
        if (
            interval is not None
            and frame.f_code is interval.code
            and interval.first <= frame.f_lasti <= interval.last
        ):
            interval.tell(place)
        frame = frame.f_back


def _access_behind(code: CodeType, hook: int) -> tuple[int, int, bool]:
    """Between which offsets the instruction is that makes the access told by a hook.

    And whether that ends what was begun before, so that all it begins belongs together.

    Parameters:
        code: rewritten.
        hook: offset in bytes of the instruction that calls the hook.
    """
    known = _offsets.get((id(code), hook))
    if known is None:
        raw: Any = code.co_code
        call = hook + _size(raw[hook]) if raw[hook] == _PRECALL else hook
        # What the hook returns is dropped.
        first = call + _size(raw[call]) + 2
        last = first
        while raw[last] in _NOT_YET:
            last += _size(raw[last])
        joins = raw[last] in _JOINING
        # Where a loop goes on in a generator without a call, Python 3.12 stands in the caches.
        last += _size(raw[last]) - 2
        known = _offsets[id(code), hook] = code, first, last, joins
        _codes_with_intervals.add(id(code))
    return known[1:]


def _size(opcode: int) -> int:
    """How many bytes an instruction takes, with its caches."""
    return 2 + 2 * CACHES[opcode]


def is_generator(code: CodeType) -> bool:
    """Whether calls of a function make a generator or its like, which gives back what it yields."""
    return bool(code.co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))


if native is not None:
    native.use_intervals(intervals, _enter_from_c, _leave_to_c)
