"""Where a task stands when it yields: as much of its own state as can be told cheaply.

Who waits in a loop comes back to its yield with nothing changed; who counts its tries does not.
"""

from __future__ import annotations

import dis
import gc
from collections import deque
from functools import lru_cache
from itertools import count
from sys import _getframe
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

from bohrbug.runtime.threads.local_variables import is_of_module, local_variables
from bohrbug.runtime.threads.rewrite.classes import module_of

Standing = tuple[object, ...]
"""Equal for two yields if nothing that is looked at has changed in between."""


class _Loop(NamedTuple):
    """A loop of a function, by its bytecode: the place of a yield is more precise than its line.

    Parameters:
        first: the offset of its first instruction.
        last: that of its last one.
        ends_by_condition: and not with an iterator.
    """

    first: int
    last: int
    ends_by_condition: bool


PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None)})
_SEQUENCES = frozenset({list, tuple, deque})
_SETS = frozenset({set, frozenset, bytearray})
_OF_ITERATORS = frozenset({"builtins", "itertools"})
_OF_PROGRAMS = (type, FunctionType, ModuleType)
_MOST_ELEMENTS = 16
_MOST_FRAMES = 32
OUTERMOST = frozenset({"bohrbug.runtime.threads.execution", "bohrbug.runtime.threads.lifecycle"})
_OWN = "bohrbug.runtime."
_LOOPS = frozenset({"bohrbug.runtime.threads.loops.turns", "trio._core._run"})
_LEFT_OUT = (_OWN, "asyncio.")
# A metaclass may have a look at who asks for the attributes of its classes.
_DEFINED = type.__dict__["__dict__"].__get__


def standing(
    frame: FrameType, *, anywhere_in_loop: bool = False, in_step: bool = False
) -> Standing:
    """The places and variables of a task's frames.

    Of variables: the values of plain ones, such as counters; of others which object it is, with
    the plain values of its elements and attributes, and how many elements are left to an iterator.
    In the body of a ``for`` loop a task never stands where it stood: something that no variable
    shows says how often the loop still goes round.  Nothing of the program's own code is called.

    Parameters:
        frame: the innermost one of the program.
        anywhere_in_loop: in which place of the innermost loop makes no difference.
        in_step: if an event loop runs them, its own frames and those around it are left out.
    """
    found: list[object] = []
    is_by_condition: bool | None = None
    outer: FrameType | None = frame
    while outer is not None and len(found) < 2 * _MOST_FRAMES:
        module = outer.f_globals.get("__name__")
        if module in OUTERMOST or (in_step and module in _LOOPS):
            break
        if not str(module).startswith(_LEFT_OUT if in_step else _OWN):
            if is_by_condition is None:
                is_by_condition = goes_round(outer.f_code, outer.f_lasti)
                if is_by_condition is False:
                    found.append(object())
            place = outer.f_lasti
            if anywhere_in_loop and is_by_condition is not None:
                loop = _innermost_loop(outer.f_code, place)
                if loop is not None:
                    # The loop is told by its end: its condition stands before it, too.
                    place = loop.last
                    anywhere_in_loop = False
            found += (outer.f_code, place)
            if not is_of_module(outer):
                found.append(tuple([_value(each) for each in local_variables(outer).values()]))
            found.append(_plain_globals(outer))
        outer = outer.f_back
    return tuple(found)


def standing_here(*, in_step: bool = False) -> Standing:
    """The same, wherever in a loop, for who calls this from code that the program has come to."""
    frame: FrameType | None = _getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith(_OWN):
        frame = frame.f_back
    return () if frame is None else standing(frame, anywhere_in_loop=True, in_step=in_step)


def timeless(stands: Standing) -> Standing:
    """The same but for what clocks have told: of fractions only that there is one."""
    return tuple([_timeless(each) for each in stands])


def _timeless(part: object) -> object:
    if not isinstance(part, tuple):
        return part
    return float if len(part) == 2 and part[0] is float else timeless(part)


def goes_round(code: CodeType, place: int) -> bool | None:
    """Whether the innermost loop around a place ends by a condition, and not with an iterator.

    Returns:
        ``None``: no loop is around it.
    """
    loop = _innermost_loop(code, place)
    return None if loop is None else loop.ends_by_condition


def _innermost_loop(code: CodeType, place: int) -> _Loop | None:
    around = [loop for loop in _loops_of(code) if loop.first <= place <= loop.last]
    return min(around, key=lambda loop: loop.last - loop.first, default=None)


@lru_cache(maxsize=1024)
def _loops_of(code: CodeType) -> list[_Loop]:
    """The loops of a function."""
    instructions = list(dis.get_instructions(code))
    heads = {each.offset for each in instructions if each.opname == "FOR_ITER"}
    return [
        _Loop(each.argval, each.offset, each.argval not in heads)
        for each in instructions
        # One without an interrupt belongs to an ``await``.
        if each.opcode in dis.hasjrel
        and each.argval < each.offset
        and "NO_INTERRUPT" not in each.opname
    ]


def _plain_globals(frame: FrameType) -> Standing:
    variables = frame.f_globals
    return tuple(
        [
            _plain(variables[name])
            for name in frame.f_code.co_names
            if name in variables and type(variables[name]) in PLAIN
        ]
    )


def _plain(value: Any) -> object:
    """The value if it is a plain one, which object it is otherwise."""
    kind = type(value)
    return (kind, value) if kind in PLAIN else id(value)


def _value(value: Any) -> object:
    kind = type(value)
    if kind in PLAIN:
        return kind, value
    if kind in _SEQUENCES or kind is dict:
        elements = value.values() if kind is dict else value
        first = [_plain(each) for each, _ in zip(elements, range(_MOST_ELEMENTS), strict=False)]
        return id(value), len(value), tuple(first)
    if kind in _SETS:
        return id(value), len(value)
    if kind is count:
        return id(value), repr(value)
    if is_counted(kind):
        left = left_in(value)
        return id(value) if left is None else (id(value), left)
    if _is_empty(value, kind):
        return kind  # A new one may be anywhere, and says no more than the one before.
    return id(value), _attributes(value)


def _is_empty(value: Any, kind: type) -> bool:
    """Whether it is of a class in Python and has no state at all, as many an awaitable."""
    defined = _DEFINED(kind)
    return (
        kind.__base__ is object
        and ("__dict__" in defined or "__slots__" in defined)
        and all(
            each is kind or (type(each) is dict and not each) for each in gc.get_referents(value)
        )
    )


def is_counted(kind: type) -> bool:
    """Whether an iterator of this type tells how many elements are left."""
    return module_of(kind) in _OF_ITERATORS and hasattr(kind, "__length_hint__")


def left_in(iterator: Any) -> int | None:
    """How many elements are left in such an iterator; ``None`` if there is no end to them."""
    try:
        return iterator.__length_hint__()  # type: ignore[no-any-return]
    except TypeError:
        return None  # such as itertools.repeat()


def _attributes(value: Any) -> Standing:
    """What an object refers to, be it by attributes or slots, with the plain values of dicts.

    As the garbage collector sees it: to ask for its ``__dict__`` would make one.
    """
    # By its type: a proxy may run code when it is asked for its class.
    if issubclass(type(value), _OF_PROGRAMS):
        return ()
    found: list[object] = []
    for each in gc.get_referents(value):
        if type(each) is dict:
            first = zip(each.values(), range(_MOST_ELEMENTS), strict=False)
            found += (len(each), *[_plain(element) for element, _ in first])
        else:
            found.append(_plain(each))
    return tuple(found)
