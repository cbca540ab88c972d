"""Traps, and the races that are caught in them.

After Erickson, Musuvathi, Burckhardt and Olynyk, *Effective Data-Race Detection for the Kernel*
(DataCollider), OSDI 2010: a thread that is about to access something is made to pause. If another
thread accesses the same meanwhile, and one of them writes, nothing has kept the two apart: it is a
race, whatever locks the program has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import CellType, MemberDescriptorType

from bohrbug.model.operation import Site
from bohrbug.platforms.threads.plain_values import shown
from bohrbug.runtime.threads.rewrite.classes import instance_dict


class Part(Enum):
    """What of an object is accessed."""

    ATTRIBUTE = "attribute"
    ITEM = "item"
    WHOLE = "whole"


Stack = tuple[Site, ...]
"""From the innermost frame outwards; that one says where an access is."""


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """What a thread is about to do.

    Parameters:
        owner: the object.
        part: what of it.
        key: the attribute's name, or the item's key; ``None`` for the whole.
        is_write: whether it changes it.
    """

    owner: object
    part: Part
    key: object
    is_write: bool

    def conflicts(self, other: Access) -> bool:
        """Whether the order of the two matters."""
        if self.owner is not other.owner or not (self.is_write or other.is_write):
            return False
        if self.part is other.part:
            # Keys that are told are plain: to compare them runs no code of the program.
            return self.key == other.key
        return Part.ATTRIBUTE not in (self.part, other.part)

    @property
    def name(self) -> str:
        """What is accessed, for people."""
        owner = type(self.owner).__name__
        if self.part is Part.ATTRIBUTE:
            named = self.owner.__name__ if isinstance(self.owner, type) else owner
            return f"{named}.{self.key}"
        if type(self.owner) is CellType:
            return "a variable of an enclosing function"
        if self.part is Part.WHOLE:
            return f"the {owner}"
        module = self.owner.get("__name__") if type(self.owner) is dict else None
        if type(module) is str and type(self.key) is str:
            return f"{module}.{self.key}"
        return f"[{shown(self.key)}] of the {owner}"

    @property
    def verb(self) -> str:
        """What it does."""
        return "write" if self.is_write else "read"


class _Unknown:
    """A value that can't be had without running code of the program."""


MISSING, UNKNOWN = _Unknown(), _Unknown()
"""There is no value yet or any more; it can't be looked at."""


def value_at(access: Access) -> object:
    """What is there now, read without running any code of the program."""
    owner, key = access.owner, access.key
    if access.part is Part.ATTRIBUTE:
        return _attribute(owner, str(key))
    if access.part is Part.ITEM:
        if type(owner) is dict:
            return owner.get(key, MISSING)
        if type(owner) is list and type(key) is int:
            return owner[key] if 0 <= key < len(owner) else MISSING
    elif type(owner) is CellType:
        try:
            return owner.cell_contents
        except ValueError:
            return MISSING
    return UNKNOWN


def _attribute(owner: object, name: str) -> object:
    for base in type(owner).__mro__:
        member = vars(base).get(name)
        if type(member) is MemberDescriptorType:
            try:
                return member.__get__(owner)
            except AttributeError:
                return MISSING
    namespace = None if isinstance(owner, type) else instance_dict(owner)
    return UNKNOWN if namespace is None else namespace.get(name, MISSING)


def in_words(value: object) -> str:
    """A value for people."""
    if value is MISSING:
        return "nothing"
    return "unknown" if value is UNKNOWN else shown(value)


_COMPARED = (int, str, bytes, bool, float)


def _is_same(one: object, other: object) -> bool:
    """Whether two values are the same to a program, as far as that can be known."""
    if one is UNKNOWN or other is UNKNOWN:
        return False
    return one is other or (type(one) is type(other) and type(one) in _COMPARED and one == other)


@dataclass(slots=True, eq=False)
class Side:
    """One of the two threads of a race.

    Parameters:
        thread: its name.
        verb: what it was about to do.
        stack: where.
    """

    thread: str
    verb: str
    stack: Stack


@dataclass(slots=True, eq=False)
class Race:
    """Two accesses that nothing has kept apart.

    Parameters:
        name: of what was accessed.
        paused: the thread in the trap.
        other: the one that came meanwhile.
        values: for people: when the trap was set, when it ended, and after the access of the
            paused thread.
        is_benign: the value was the same at all three times, so that either order came to the
            same.
        count: how often it was caught.
    """

    name: str
    paused: Side
    other: Side
    values: list[str] = field(default_factory=list)
    is_benign: bool = False
    count: int = 1

    @property
    def key(self) -> frozenset[tuple[Site, str]]:
        """The same for all races between the same two places."""
        return frozenset((side.stack[0], side.verb) for side in (self.paused, self.other))


class Trap:
    """A thread that is about to do something, and pauses.

    Parameters:
        thread: its number.
        access: what it is about to do.
        side: who it is.
    """

    def __init__(self, thread: int, access: Access, side: Side) -> None:
        self.thread, self.access, self._side = thread, access, side
        self.race: Race | None = None
        self._values: list[object] = [value_at(access)]

    def catch(self, thread: int, access: Access) -> bool:
        """Whether what another thread is about to do is the first race with the one that pauses."""
        return self.race is None and thread != self.thread and self.access.conflicts(access)

    def caught(self, side: Side) -> None:
        """It was; this is the other thread."""
        self.race = Race(self.access.name, self._side, side)

    def end(self) -> None:
        """The pause is over: the other thread has made its access."""
        self._values.append(value_at(self.access))

    def made(self) -> Race | None:
        """The thread that paused has made its access, too: the race, with its values."""
        race = self.race
        if race is not None:
            self._values.append(value_at(self.access))
            race.values = [in_words(value) for value in self._values]
            first, *others = self._values
            race.is_benign = all(_is_same(first, value) for value in others)
        return race


class Sharing:
    """Which variables several threads access, one of them writing: where a trap may catch a race.

    A guess by identity: an object that is gone may have its number taken by another one, which
    costs a trap in vain. A container counts as a whole: who checks whether it has an item, and then
    adds it, does so with a new key each time.

    Parameters:
        most: variables that are known at a time; when there are more, it begins anew.
    """

    def __init__(self, most: int = 50_000) -> None:
        self._most = most
        # The thread that came last, whether there were several, and whether one has written.
        self._known: dict[tuple[int, Part, object], tuple[int, bool, bool]] = {}

    def note(self, thread: int, access: Access) -> bool:
        """A thread is about to access something; whether others have, and somebody writes."""
        part, what = access.part, access.key
        if part is Part.ITEM and not (type(access.owner) is dict and "__name__" in access.owner):
            part, what = Part.WHOLE, None
        key = (id(access.owner), part, what)
        last, is_shared, is_written = self._known.get(key, (thread, False, False))
        is_shared = is_shared or last != thread
        is_written = is_written or access.is_write
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[key] = thread, is_shared, is_written
        return is_shared and is_written


def merged(races: Sequence[Race], race: Race) -> list[Race]:
    """Races, with one more: those between the same places are one, and harmful if one was."""
    for known in races:
        if known.key == race.key:
            known.count += race.count
            if known.is_benign and not race.is_benign:
                known.values, known.is_benign = race.values, False
            return list(races)
    return [*races, race]
