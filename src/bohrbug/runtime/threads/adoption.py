"""Exchanging references to real primitives that were made before we came.

They are found through the garbage collector and exchanged in whatever holds
them: modules, classes, instances, lists, closures, default values of functions,
static methods, partial functions.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

from bohrbug.runtime.threads.control import LENDING, keeps_lock_to_itself
from bohrbug.runtime.threads.locks import RLock, lock
from bohrbug.runtime.threads.namespaces import classes_of, proxy_of, with_subclasses
from bohrbug.runtime.threads.rewrite.classes import module_of

_IMMUTABLE = (staticmethod, classmethod, tuple, types.BuiltinMethodType)

PASSED_OVER = frozenset(
    {
        types.FrameType,
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        types.ClassMethodDescriptorType,
        types.ModuleType,
        frozenset,
        property,
        set,
        type,
        weakref.ReferenceType,
    }
)
"""Types of objects in which nothing is exchanged; half of all that there are."""


def unchangeable_types() -> set[type]:
    """Types of objects that are exchanged as a whole for a copy with the replacement inside."""
    return {
        tuple,
        types.BuiltinMethodType,
        *with_subclasses(staticmethod),
        *with_subclasses(classmethod),
    }


class Adoption:
    """Exchanges objects wherever they are held, and can undo it.

    Parameters:
        own: ids of containers that keep the originals, because they are ours.
    """

    def __init__(self, own: set[int]) -> None:
        self._own = own
        self._replacements: dict[int, Any] = {}
        self._undone: set[int] = set()
        self._undo: list[Callable[[], object]] = []
        self._members: dict[type, list[types.MemberDescriptorType]] = {}

    def exchange(self, pairs: list[tuple[Any, Any]], undone: set[int], holders: list[Any]) -> None:
        """Put replacements where the originals are held.

        Parameters:
            pairs: originals with their replacements.
            undone: ids of the originals that :meth:`restore` puts back.
            holders: whoever holds them, see :func:`~bohrbug.runtime.threads.heap.survey`; found
                before the replacements were made.
        """
        self._undone = undone
        self._replacements = {id(original): replacement for original, replacement in pairs}
        skipped = set(self._own)
        for original, _ in pairs:
            if isinstance(original, type):
                # What a type of the interpreter holds of itself.
                skipped.update((id(original.__mro__), id(original.__bases__)))
                skipped.add(id(vars(original).get("__new__")))
        changing = [holder for holder in holders if id(holder) not in skipped]
        # What holds an original without being able to change is rebuilt, and then
        # exchanged itself where it is held: a bound method, a tuple of default values.
        rebuilt = {
            id(holder): self._rebuilt(holder)
            for holder in changing
            # By its type: what stands for a builtin function says that it is one.
            if issubclass(type(holder), _IMMUTABLE)
        }
        self._replacements.update(
            (key, replacement) for key, replacement in rebuilt.items() if replacement is not None
        )
        classes = classes_of([holder for holder in changing if type(holder) is dict])
        for holder in changing:
            if id(holder) in rebuilt:
                continue
            if id(holder) in classes:
                self._in_class(classes[id(holder)])
            # By their types: what stands for another object says it is one, and may make it first.
            elif issubclass(type(holder), dict):
                self._in_dictionary(holder)
            else:
                self._in_object(holder)

    def restore(self) -> None:
        """Put originals back, the last exchanged first."""
        while self._undo:
            self._undo.pop()()
        self._replacements.clear()
        self._members.clear()

    def _replacement(self, value: Any, module: Any) -> Any:
        """What stands for ``value``, which ``module`` holds; ``None`` if it may stay."""
        replacement = self._replacements.get(id(value))
        if isinstance(replacement, lock | RLock):
            made_by, _, user = (module or "").partition(":")
            replacement._internal = keeps_lock_to_itself(made_by, user or None)
        return replacement

    def _remember(self, original: Any, undo: Callable[[], object]) -> None:
        if id(original) in self._undone:
            self._undo.append(undo)

    def _rebuilt(self, holder: Any) -> Any:
        """A copy of an immutable holder with the replacement inside, or ``None``."""
        rebuilt: Any = None
        original: Any = None
        if type(holder) is types.BuiltinMethodType:
            original = holder.__self__
            replacement = self._replacements.get(id(original))
            if replacement is not None:
                rebuilt = getattr(replacement, holder.__name__, None)
        elif issubclass(type(holder), staticmethod | classmethod):
            original = holder.__func__
            replacement = self._replacements.get(id(original))
            if replacement is not None:
                rebuilt = type(holder)(replacement)
        elif type(holder) is tuple:
            changed = [value for value in holder if id(value) in self._replacements]
            if changed:
                original = changed[0]
                rebuilt = tuple(self._replacements.get(id(value), value) for value in holder)
        if rebuilt is not None and id(original) in self._undone:
            self._undone.add(id(holder))
        return rebuilt

    def _in_dictionary(self, holder: dict[Any, Any]) -> None:
        module = holder.get("__name__")
        # Most of what a module holds is not exchanged.
        exchanged = [item for item in holder.items() if id(item[1]) in self._replacements]
        for key, value in exchanged:
            replacement = self._replacement(value, module)
            if replacement is not None and type(value) is not tuple:
                holder[key] = replacement

                def undo(key: Any = key, value: Any = value, put: Any = replacement) -> None:
                    if holder.get(key) is put:
                        holder[key] = value

                self._remember(value, undo)

    def _in_class(self, cls: type) -> None:
        """Through the class, which keeps caches of its attributes."""
        attributes = proxy_of(cls)
        exchanged = [item for item in attributes.items() if id(item[1]) in self._replacements]
        for key, value in exchanged:
            replacement = self._replacement(value, attributes.get("__module__"))
            if replacement is None or type(value) is tuple:
                continue
            try:
                type.__setattr__(cls, key, replacement)
            except TypeError:
                # A class of the interpreter: it keeps the real primitive.
                continue

            def undo(key: Any = key, value: Any = value, put: Any = replacement) -> None:
                if attributes.get(key) is put:
                    type.__setattr__(cls, key, value)

            self._remember(value, undo)

    def _in_object(self, holder: Any) -> None:
        class_ = type(holder)
        if issubclass(class_, list):
            for index, value in enumerate(holder):
                replacement = self._replacement(value, None)
                if replacement is not None and type(value) is not tuple:
                    holder[index] = replacement
                    self._remember(value, functools.partial(_put_back, holder, index, value))
        elif class_ is types.CellType:
            value = holder.cell_contents
            replacement = self._replacement(value, None)
            if replacement is not None and type(value) is not tuple:
                holder.cell_contents = replacement
                self._remember(value, functools.partial(setattr, holder, "cell_contents", value))
        elif class_ is types.FunctionType:
            value = holder.__defaults__
            replacement = self._replacements.get(id(value))
            if isinstance(replacement, tuple):
                holder.__defaults__ = replacement
                self._remember(value, functools.partial(setattr, holder, "__defaults__", value))
        elif issubclass(class_, functools.partial):
            state = (holder.func, holder.args, holder.keywords, vars(holder))
            function = self._replacements.get(id(holder.func), holder.func)
            arguments = tuple(self._replacements.get(id(a), a) for a in holder.args)
            set_state: Callable[[Any], object] = holder.__setstate__
            set_state((function, arguments, *state[2:]))
            if any(id(value) in self._undone for value in (holder.func, *state[1], state[0])):
                self._undo.append(functools.partial(set_state, state))
        elif not issubclass(class_, type | types.ModuleType):
            self._in_attributes(holder)

    def _in_attributes(self, holder: Any) -> None:
        """What an object holds in its attributes and slots."""
        module: str | None = module_of(type(holder))
        if module == "threading" and type(holder).__name__ in LENDING:
            module = None
        if issubclass(type(holder), functools.cached_property):
            module = f"{module}:{getattr(holder.func, '__module__', None)}"
        try:
            attributes = object.__getattribute__(holder, "__dict__")
        except AttributeError:
            attributes = None
        if isinstance(attributes, dict):
            for key, value in list(attributes.items()):
                replacement = self._replacement(value, module)
                if replacement is not None and type(value) is not tuple:
                    attributes[key] = replacement
                    self._remember(value, functools.partial(_put_back, attributes, key, value))
        for member in self._members_of(type(holder)):
            try:
                value = member.__get__(holder, type(holder))
            except AttributeError:
                continue
            replacement = self._replacement(value, module)
            if replacement is None or type(value) is tuple:
                continue
            try:
                member.__set__(holder, replacement)
            except (AttributeError, TypeError):
                # A read-only slot of a C type: it keeps the real primitive.
                continue
            self._remember(value, functools.partial(member.__set__, holder, value))

    def _members_of(self, cls: type) -> list[types.MemberDescriptorType]:
        """The slots of objects of a class."""
        found = self._members.get(cls)
        if found is None:
            found = self._members[cls] = [
                member
                for base in cls.__mro__
                for member in vars(base).values()
                if isinstance(member, types.MemberDescriptorType)
            ]
        return found


def _put_back(holder: Any, key: Any, value: Any) -> None:
    holder[key] = value
