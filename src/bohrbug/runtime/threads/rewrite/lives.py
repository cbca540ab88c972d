"""Weak references: whether an object still lives is a variable, which its death writes.

To call a weak reference, or to use a proxy, is to read it.  The death is no operation of its own:
it is what some other operation leads to, that which drops the last reference, and an effect of the
step in which it happens.  For that step to begin just before, the place of that operation becomes
a scheduling point, as do the reads, once an execution has shown that one task reads what another
ends.

Nothing here prolongs a life: objects are referred to weakly, and not at all while other tasks run.
"""

from __future__ import annotations

import ctypes
import dis
import gc
import sys
import weakref
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from bohrbug.accelerator import with_fast_path
from bohrbug.runtime.threads.rewrite.named import Named
from bohrbug.runtime.threads.rewrite.place import Place

Reference = weakref.ReferenceType
PROXIES = (weakref.ProxyType, weakref.CallableProxyType)
_PACKAGE = __name__.rpartition(".")[0]
_target_of: Callable[[Any], Any] = vars(Reference)["__call__"]


class Ending:
    """Who is told of deaths, and knows which task runs; this one while nobody is in control."""

    def current(self) -> int:
        """The index of the task that runs; negative while there are not two."""
        return -1

    def holds_a_lock(self) -> bool:
        """Whether the task that runs holds a lock."""
        return False

    def begin(self) -> None:
        """The first life is known, or that a finalizer may run."""

    def drop(self) -> None:
        """Local variables are about to be let go of."""

    def made(self, life: Life) -> None:
        """A reference to the object of a life is about to be made."""

    def tell(self, life: Life) -> None:
        """The object of a life has died."""

    def tell_unknown(self) -> None:
        """A reference is read that was dead when we first saw it."""


_NOBODY = Ending()
_ending = _NOBODY
_finalizes = False


def tell_to(ending: Ending | None, finalizes: bool = False) -> None:
    """Tell of deaths from now on; to nobody if ``None``.

    Parameters:
        ending: who is told.
        finalizes: finalizers are known, which may run whenever something is let go of.
    """
    global _ending, _finalizes
    _ending = ending or _NOBODY
    _finalizes = finalizes
    if finalizes:
        _ending.begin()


class Life:
    """Whether one object still lives.

    Parameters:
        target: the object.
    """

    __slots__ = (
        "at_once",
        "calls_back",
        "ended_at",
        "ended_by",
        "holders",
        "made_at",
        "readers",
        "reference",
        "users",
        "variable",
    )

    def __init__(self, target: Any) -> None:
        self.variable = Named(f"weak references to {type(target).__name__}")
        # The places where each task has read it, by the index of the task.
        self.readers: dict[int, list[Place]] = {}
        self.made_at: list[Place] = []
        # The places where each task has used the object itself: until then it keeps it alive.
        self.users: dict[int, list[Place]] = {}
        # Which task has had the object in which function, as far as is known: in a local variable
        # it may have it still.
        self.holders: set[tuple[int, int]] = set()
        # Something is called when it ends.
        self.calls_back = hasattr(type(target), "__del__")
        # Tasks that have got it weakly and let go of it in one expression, and no lock kept others
        # out.
        self.at_once: set[int] = set()
        self.ended_by = -1
        self.ended_at: list[Place] = []
        self.watch(target)

    def references_at(self) -> list[Place]:
        """Where references to it were made and read."""
        return [*self.made_at, *(place for read in self.readers.values() for place in read)]

    def places(self) -> list[Place]:
        """Where references to it were made and read, and where the object was used."""
        used = (place for places in self.users.values() for place in places)
        return [*self.references_at(), *used]

    @property
    def matters(self) -> bool:
        """Whether one task could see, in another order, what others had to do with its end.

        Those are who ended it, and who kept it alive for a while.
        """
        if self.ended_by < 0:
            return False
        others = {self.ended_by, *self.users}
        if self.calls_back and len(others) > 1:
            return True
        return any(reader != other for reader in self.readers for other in others)

    @property
    def could_end_later(self) -> bool:
        """Whether a task could see that such an expression has prolonged it.

        The task whose expression it is sees the end after it, whoever came in between.
        """
        seen_by_others = any(reader != task for task in self.at_once for reader in self.readers)
        return self.matters and bool(self.at_once) and (self.calls_back or seen_by_others)

    def watch(self, target: Any) -> None:
        """Be told of the death: before all whose references are older."""
        self.reference: Any = Reference(target, self._end)

    def _end(self, reference: object) -> None:
        is_ours = reference is self.reference and _lives.get(id(self)) is self
        if not is_ours or self.ended_by >= 0:
            return
        self._tell(sys._getframe().f_back)

    def _tell(self, *frames: FrameType | None) -> None:
        self.ended_by = _ending.current()
        if self.ended_by >= 0:
            found = [_place_of(each) for each in frames]
            found.append(_dropping_at.get(self.ended_by))
            self.ended_at = [each for each in found if each is not None]
            _ending.tell(self)

    def catch_up(self, target: Any) -> None:
        """Be the first again to be told of the death, or tell of it if others were told before.

        Parameters:
            target: the object, or ``None`` if it is dead: then a callback of the program runs.
        """
        if target is not None:
            self.watch(target)
            return
        # Whoever made which callback: one of the callers has dropped the last reference.
        frames = []
        frame = sys._getframe().f_back
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        self._tell(*frames)


UNKNOWN = Named("weak references")
"""Stands for the lives of objects that were dead before we saw a reference to them."""

lives_by_target: dict[int, Life] = {}
"""By the ids of the objects."""

outrun_lives: list[tuple[Life, int]] = []
"""Those of whose end others may be told first, and how many references their objects had before."""

# By their own ids: a life whose object is dead is still read by the references to it.
_lives: dict[int, Life] = {}
# References without a callback, which nobody minds that we keep, by their ids.
_by_reference: dict[int, tuple[Any, Life]] = {}

# Where each task has read references that were dead when we first saw them.
_readers_of_unknown: dict[int, list[Place]] = {}

# Where each task has last let go of local variables, by its index; and its variable for that.
_dropping_at: dict[int, Place] = {}
_dropping: dict[int, Named] = {}


def _life_of(target: Any) -> Life:
    life = lives_by_target.get(id(target))
    if life is None or _target_of(life.reference) is not target:
        life = lives_by_target[id(target)] = Life(target)
        if not (_lives or _finalizes):
            _ending.begin()
        _lives[id(life)] = life
    return life


def are_watched() -> bool:
    """Whether the execution has made or read weak references."""
    return bool(_lives)


def were_let_go_at_once() -> bool:
    """Whether in the middle of an expression another task could have come in between."""
    return any(life.could_end_later for life in _lives.values())


_keeping: dict[int, tuple[Place, bool]] = {}


def _is_kept(place: Place) -> bool:
    """Whether the instruction behind a call keeps what that gives, until somebody lets go of it."""
    known = _keeping.get(id(place))
    if known is None:
        code, offset = place
        rest = (i.opname for i in dis.get_instructions(code) if i.offset > offset)
        # Before Python 3.12 the place of a call is what prepares it.
        name = next((each for each in rest if each != "CALL"), "")
        # An attribute that is read behind it is told, and until then the object is kept.
        kept = name.startswith(("STORE", "RETURN", "LOAD_ATTR", "LOAD_METHOD", "COPY", "YIELD"))
        known = _keeping[id(place)] = place, kept
    return known[1]


def forget() -> list[Place]:
    """At the end of an execution.

    Returns:
        The places that matter: where one task has read what another has ended.
    """
    found: list[Place] = []
    if _dropping_at or _dropping:
        _dropping_at.clear()
        _dropping.clear()
    if not _lives:
        _readers_of_unknown.clear()
        return found
    for life in _lives.values():
        unknown = [
            place
            for reader, places in _readers_of_unknown.items()
            if reader >= 0 and life.ended_by >= 0 and reader != life.ended_by
            for place in places
        ]
        if life.matters or unknown:
            found += life.places()
            found += life.ended_at
            found += unknown
    _readers_of_unknown.clear()
    _lives.clear()
    outrun_lives.clear()
    lives_by_target.clear()
    _by_reference.clear()
    return found


def drop(place: Place) -> Named | None:
    """Local variables are about to be let go of, by which objects may die.

    Parameters:
        place: where.

    Returns:
        A variable of the running task alone; ``None``: nobody refers to anything weakly and there
        are no finalizers, or no task of an execution runs.
    """
    if not (_lives or _finalizes) or (task := _ending.current()) < 0:
        return None
    # What dies with those before has died there.
    _ending.drop()
    _dropping_at[task] = place
    variable = _dropping.get(task)
    if variable is None:
        variable = _dropping[task] = Named("local variables")
    return variable


def made(target: Any, make: Callable[[Any], Any] | None, place: Place) -> None:
    """A weak reference to an object is about to be made.

    Parameters:
        target: the object.
        make: makes the reference, if it is the same for all who ask, as those without a callback.
        place: where.
    """
    try:
        life = _life_of(target)
    except TypeError:
        # It will be said where it is made.
        return
    life.holders.add((_ending.current(), id(place[0])))
    # An instruction has one place: by identity, and seldom many.
    if not any(each is place for each in life.made_at):
        life.made_at.append(place)
    _ending.made(life)
    if make is not None:
        known = make(target)
        _by_reference[id(known)] = known, life
    else:
        life.calls_back = True
        # Callbacks are called from the newest to the oldest.
        outrun_lives.append((life, weakref.getweakrefcount(target)))


def catch_up() -> None:
    """Before a task does something: nobody is to have been told of a death before us."""
    if not outrun_lives:
        return
    outrun = outrun_lives[:]
    outrun_lives.clear()
    for life, count in outrun:
        if life.ended_by >= 0:
            continue
        target = _target_of(life.reference)
        if target is not None and weakref.getweakrefcount(target) <= count:
            # It is not made yet.
            outrun_lives.append((life, count))
        else:
            life.catch_up(target)


def read(reference: Any, place: Place) -> Named:
    """It is about to be looked at whether the object of a weak reference still lives.

    Parameters:
        reference: a reference or a proxy.
        place: where.

    Returns:
        The variable that is read; who tells of it must not keep the object alive.
    """
    target = target_of(reference)
    if target is not None:
        life = _note_read(target, reference, place)
        task = _ending.current()
        if (
            task >= 0
            and task not in life.at_once
            and not _is_kept(place)
            and not _ending.holds_a_lock()
        ):
            life.at_once.add(task)
        return life.variable
    known = _by_reference.get(id(reference))
    if known is None:
        _ending.tell_unknown()
        places = _readers_of_unknown.setdefault(_ending.current(), [])
        if not any(each is place for each in places):
            places.append(place)
        return UNKNOWN
    _note_place(known[1], place)
    return known[1].variable


def use(target: Any, place: Place) -> Life | None:
    """An object is about to be used, which its task keeps alive until then.

    So a task that has got it, weakly or not, and has not used it yet, decides who ends its life.

    Parameters:
        target: any object.
        place: where.

    Returns:
        Its life, if there are weak references to it.
    """
    life = lives_by_target.get(id(target))
    if life is None or _target_of(life.reference) is not target:
        return None
    task = _ending.current()
    if task < 0:
        return None
    life.holders.add((task, id(place[0])))
    places = life.users.setdefault(task, [])
    if not any(each is place for each in places):
        places.append(place)
    return life


def let_go_by(holder: Any) -> list[Life]:
    """The lives of objects that a change to an object may let go of.

    Parameters:
        holder: the object; its ``__dict__`` is part of it.  If it stands for the local variables of
            the running task, all count that this task has had in that function: a frame that
            runs doesn't tell what it holds.
    """
    task = _ending.current()
    if holder is not None and _dropping.get(task) is holder:
        holding = task, id(_dropping_at[task][0])
        return [life for life in _lives.values() if holding in life.holders and life.ended_by < 0]
    return [
        life
        for each in known_referents(holder, lives_by_target)
        if _target_of((life := lives_by_target[id(each)]).reference) is each
    ]


@with_fast_path
def known_referents(holder: Any, known: dict[int, Any], /) -> list[Any]:
    """Of the objects whose ids are known those that one refers to, itself or by its dicts."""
    found = gc.get_referents(holder)
    # One of them may be its ``__dict__``.
    found += gc.get_referents(*(each for each in found if type(each) is dict))
    return [each for each in found if id(each) in known]


def look(target: Any, place: Place) -> Named | None:
    """It is about to be counted who refers to an object weakly; see :func:`read`."""
    try:
        return _note_read(target, None, place).variable
    except TypeError:
        return None


def _note_place(life: Life, place: Place) -> bool:
    places = life.readers.setdefault(_ending.current(), [])
    is_new = place not in places
    if is_new:
        places.append(place)
    return is_new


def _note_read(target: Any, reference: Any, place: Place) -> Life:
    life = _life_of(target)
    life.holders.add((_ending.current(), id(place[0])))
    if _note_place(life, place):
        life.watch(target)
    if id(reference) not in _by_reference and reference_has_no_callback(reference):
        _by_reference[id(reference)] = reference, life
    return life


def reference_has_no_callback(reference: Any) -> bool:
    """Whether nothing happens if a weak reference lives longer than in the program."""
    return type(reference) is Reference and reference.__callback__ is None


def target_of(reference: Any) -> Any:
    """The object of a weak reference or a proxy, or ``None``; runs no code of the program."""
    return _target_of_proxy(reference) if type(reference) in PROXIES else _target_of(reference)


_api = ctypes.pythonapi
_let_go = _api.Py_DecRef
_let_go.argtypes = (ctypes.py_object,)
_let_go.restype = None
if sys.version_info >= (3, 13):
    _get = _api.PyWeakref_GetRef
    # By its address: an object that is passed on is asked for attributes.
    _get.argtypes = (ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))
    _get.restype = ctypes.c_int

    def _target_of_proxy(proxy: Any) -> Any:
        found = ctypes.py_object()
        if _get(id(proxy), ctypes.byref(found)) <= 0:
            return None
        target = found.value
        # What the function gave was a reference of our own.
        _let_go(found)
        return target

else:
    _get = _api.PyWeakref_GetObject
    # Neither is passed on as an object: the reference that it gives is not ours.
    _get.argtypes = (ctypes.c_void_p,)
    _get.restype = ctypes.c_void_p

    def _target_of_proxy(proxy: Any) -> Any:
        return ctypes.cast(_get(id(proxy)), ctypes.py_object).value


# --- Where an object has died --------------------------------------------------------------------

# By id of rewritten code and offset; the code is kept, so that no other gets its id.
_places: dict[tuple[int, int], tuple[CodeType, Place | None]] = {}


def _place_of(frame: FrameType | None) -> Place | None:
    """The access that a frame makes now, if that was told."""
    while frame is not None and frame.f_globals.get("__package__") == _PACKAGE:
        frame = frame.f_back
    if frame is None:
        return None
    code, offset = frame.f_code, frame.f_lasti
    known = _places.get((id(code), offset))
    if known is None:
        known = _places[id(code), offset] = code, _place_at(code, offset)
    return known[1]


def _place_at(code: CodeType, offset: int) -> Place | None:
    """The place that the hook before an instruction of rewritten code tells."""
    found: Place | None = None
    positions = last = None
    for instruction in dis.get_instructions(code):
        if instruction.offset > offset:
            break
        if type(instruction.argval) is Place:
            found, positions = instruction.argval, instruction.positions
        last = instruction.positions
    return found if positions is not None and positions == last else None
