"""What the last walk over all objects has found, so that the next exploration need not walk again.

Between two explorations of one process little changes.  So it is remembered, by weak references,
who holds what is exchanged, and the next exploration looks only at these and at objects made
since.  That this is enough is proved each time: the references that they hold must be as many
as the reference counts of what is exchanged say.  If they are not, somebody else holds one,
and all objects are looked at.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import Any

from bohrbug.accelerator import native
from bohrbug.runtime.threads.heap import knows_functions, survey

IS_POSSIBLE = native is not None and sys.version_info[:2] == (3, 12)
"""Whether all this is done; on other versions of Python each exploration looks at all objects."""

Found = tuple[list[Any], list[Any]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for: the parameters of :func:`~bohrbug.runtime.threads.heap.survey`."""

    originals: list[Any]
    primitives: Collection[type]
    others: Collection[type]
    passed_over: Collection[type]
    unchangeable: Collection[type]


class Recollection:
    """Surveys of the heap, each of which remembers what it has found for the next one.

    Parameters:
        untold: types of originals, and originals, that code in C refers to without telling
            the garbage collector: all others must be accounted for to the last reference.
    """

    def __init__(self, untold: Collection[Any]) -> None:
        self._untold = {id(each) for each in untold}
        # Objects that hold something, each by a function that gives it if it is alive.
        self._kept: dict[int, Callable[[], Any]] = {}
        self._ours: list[Any] = []
        self._ignored: set[int] = set()
        self._unseen: dict[int, int] = {}
        # Younger objects than this one are at most as old to the garbage collector.
        self._marker: list[object] | None = None
        self._wanted: Wanted | None = None
        self.walks = 0

    def find(self, wanted: Wanted, ours: list[Any], passing: list[Any]) -> Found:
        """What a survey finds, by looking at few objects if that is enough.

        Parameters:
            wanted: what to look for.
            ours: containers that hold originals for us, and live as long as we do.
            passing: what holds originals only while an exploration is entered.
        """
        if not IS_POSSIBLE or not knows_functions():
            self.walks += 1
            return survey(*_arguments(wanted))
        earlier = self._wanted
        self._ours = ours
        self._ignored = {id(each) for each in (ours, *ours, passing, *passing, wanted.originals)}
        if earlier is not None:
            self._ignored.add(id(earlier.originals))
        found = self._look_at_few(wanted)
        if found is None:
            found = self._look_at_all(wanted, passing)
        self._wanted = wanted
        # All else may die now, and other objects get these ids.
        self._ignored = {id(each) for each in (ours, *ours, wanted.originals)}
        return found

    def _look_at_all(self, wanted: Wanted, passing: list[Any]) -> Found:
        self.walks += 1
        self._kept.clear()
        self._marker = []
        objects, holders = survey(*_arguments(wanted))
        if not (self._keep(objects, wanted) and self._keep(holders, wanted)):
            self.forget()
        else:
            looked_at = [*self._kept_objects(), *self._ours, *passing, wanted.originals]
            *_, (_, unseen) = native.survey_among(looked_at, *_arguments(wanted))
            self._unseen = {
                id(original): count
                for original, count in zip(wanted.originals, unseen[:-1], strict=True)
                if isinstance(original, type) or id(original) in self._untold
            }
        return objects, holders

    def look_at_young(self) -> None:
        """Take note of what was made since the last time, before it is frozen or grows old."""
        if self._marker is not None and self._wanted is not None:
            young = _young_objects()
            if not any(each is self._marker for each in young):
                self.forget()
                return
            self._note(young, self._wanted)

    def look_at_unfrozen(self) -> None:
        """Take note of all objects but those that are frozen; the others grow old now."""
        if self._marker is not None and self._wanted is not None:
            if knows_functions():
                self._note(gc.get_objects(), self._wanted)
                self._marker = []
            else:
                self.forget()

    def forget(self) -> None:
        """The next survey looks at all objects."""
        self._marker = None
        self._kept.clear()

    def _note(self, objects: list[Any], wanted: Wanted) -> None:
        found, holders, _ = native.survey_among(objects, *_arguments(wanted))
        if not (self._keep(found, wanted) and self._keep(holders, wanted)):
            self.forget()

    def _look_at_few(self, wanted: Wanted) -> Found | None:
        """What is found among few objects; ``None`` if others may hold something, too."""
        if self._marker is None or self._wanted is None or gc.get_freeze_count():
            return None
        objects = _young_objects()
        if not any(each is self._marker for each in objects):
            return None
        objects += self._kept_objects()
        objects += self._ours
        objects.append(self._wanted.originals)
        found, holders, (idle, unseen) = native.survey_among(objects, *_arguments(wanted))
        objects.clear()
        if unseen.pop() or any(
            count != self._unseen.get(id(original), 0)
            for original, count in zip(wanted.originals, unseen, strict=True)
        ):
            return None
        earlier = self._kept
        self._kept = {}
        if not (self._keep(found, wanted, earlier) and self._keep(holders, wanted, earlier)):
            self.forget()
        # What only wrappers hold need not be exchanged.
        passed = set(map(id, idle))
        return [each for each in found if id(each) not in passed], holders

    def _kept_objects(self) -> list[Any]:
        return [each for each in [get() for get in self._kept.values()] if each is not None]

    def _keep(
        self,
        objects: list[Any],
        wanted: Wanted,
        earlier: Mapping[int, Callable[[], Any]] = MappingProxyType({}),
    ) -> bool:
        """Remember objects without keeping them alive; whether that is possible for all.

        Parameters:
            objects: to remember.
            wanted: for which survey.
            earlier: how objects were remembered before.
        """
        others: list[Any] = []
        for each in objects:
            # A tuple is found through whatever holds it.
            if id(each) in self._ignored or type(each) is tuple:
                continue
            get = earlier.get(id(each))
            if get is None or get() is not each:
                get = _reference(each)
            if get is not None:
                self._kept[id(each)] = get
            elif type(each) not in wanted.unchangeable:
                others.append(each)
        return not others or self._keep_namespaces(others)

    def _keep_namespaces(self, others: list[Any]) -> bool:
        """Remember dictionaries of classes; whether there was nothing else."""
        wanted = {id(each): each for each in others if type(each) is dict}
        if len(wanted) < len(others):
            return False
        for cls in gc.get_referrers(*wanted.values()):
            if isinstance(cls, type):
                get = _namespace_of(cls)
                self._kept[id(get())] = get
                wanted.pop(id(get()), None)
        return not wanted


def _arguments(wanted: Wanted) -> tuple[Any, ...]:
    return (
        wanted.originals,
        wanted.primitives,
        wanted.others,
        wanted.passed_over,
        wanted.unchangeable,
    )


def _young_objects() -> list[Any]:
    objects: list[Any] = gc.get_objects(0)
    objects += gc.get_objects(1)
    return objects


def _reference(each: Any) -> Callable[[], Any] | None:
    """A function that gives an object as long as it is alive."""
    try:
        return weakref.ref(each)
    except TypeError:
        pass
    if type(each) is dict:
        name = each.get("__name__")
        module = sys.modules.get(name) if type(name) is str else None
        if isinstance(module, ModuleType) and vars(module) is each:
            return _namespace_of(module)
        cls = getattr(each.get("__dict__"), "__objclass__", None)
        if "__module__" in each and isinstance(cls, type):
            return _namespace_of(cls)
    return None


def _namespace_of(owner: Any) -> Callable[[], Any]:
    """A function that gives the dictionary of a module or class as long as that is alive."""
    reference = weakref.ref(owner)

    def get() -> Any:
        alive = reference()
        if isinstance(alive, type):
            (namespace,) = gc.get_referents(type.__dict__["__dict__"].__get__(alive))
            return namespace
        return None if alive is None else vars(alive)

    return get
