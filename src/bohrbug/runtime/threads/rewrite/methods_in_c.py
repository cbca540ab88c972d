"""Functions in C that classes written in Python get as methods: these tell for themselves.

``__int__ = store.pop``, ``write = lines.append``: which code in C will call one, and where, nobody
can say. So the class gets a function in Python in its place, which tells what it
does and then does it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodWrapperType, ModuleType
from typing import Any
from weakref import ref

from bohrbug.runtime.threads.rewrite import builtins_table as table
from bohrbug.runtime.threads.rewrite import constructors, halfway
from bohrbug.runtime.threads.rewrite.callables import instrumented_callable
from bohrbug.runtime.threads.rewrite.classes import is_open, names, namespace_of
from bohrbug.runtime.threads.rewrite.delegates import GOING_THROUGH, TOLD_ALIKE
from bohrbug.runtime.threads.rewrite.inspected import Inspecting
from bohrbug.runtime.threads.rewrite.unknown import name_of_class

_TOLD_BY_CALLERS = TOLD_ALIKE - names(
    "__index__ __int__ __float__ __complex__ __bytes__ __hash__ __length_hint__"
)
"""Of these it is told where code in C is about to call them, wherever a class has them from."""

_WRAPPING = frozenset({staticmethod, classmethod})
_IS_PARTIAL_BOUND = hasattr(functools.partial, "__get__")
"""Whether a partial becomes a method of objects whose class has it, as from Python 3.14 on."""


def is_special(name: object) -> bool:
    """Whether a name is one under which the interpreter may look for a method."""
    return type(name) is str and name[:2] == "__" == name[-2:]


def telling(name: str, value: Any) -> Any:
    """What a class gets in the place of a function in C that it is given as a method.

    Parameters:
        name: of the method. Those that give iterators stay as they are: code in C goes through
            these by itself afterwards. So do partials that only code in Python asks for.
        value: what it is given; it comes back as it is if it is no such function.
    """
    class_ = type(value)
    if name in GOING_THROUGH or (class_ is functools.partial and not is_special(name)):
        return value
    if class_ in _WRAPPING:
        function = value.__func__
        if type(function) is table.LruCacheWrapper and is_special(name):
            return class_(_telling_cache(function))
        return class_(instrumented_callable(function)) if _is_bound(function) else value
    if class_ is table.LruCacheWrapper and is_special(name):
        return _telling_cache(value)
    if not _is_bound(value):
        return value
    function = instrumented_callable(value)
    return function if class_ is functools.partial and _IS_PARTIAL_BOUND else staticmethod(function)


def _telling_cache(cache: Any) -> Any:
    """The same for an ``lru_cache``, whose own functions stay within reach."""
    function = instrumented_callable(cache)
    vars(function).update(vars(cache))
    for name in ("cache_clear", "cache_info"):
        setattr(function, name, getattr(cache, name))
    return function


def _is_bound(function: Any) -> bool:
    """Whether a function in C is bound to what it works on, or may be."""
    class_ = type(function)
    if class_ is functools.partial:
        return type(function.func) is not FunctionType
    if class_ is BuiltinFunctionType:
        owner = type(function.__self__)
        return owner not in table.OWNERS_OF_FUNCTIONS and not issubclass(owner, type)
    return class_ is MethodWrapperType


def telling_for_class(value: Any, name: str) -> Any:
    """The same where the body of a class binds a name.

    Parameters:
        value: what it binds.
        name: the name. In a namespace of a special kind, such as that of an ``Enum``, it may stand
            for something else than a method.
    """
    if not is_special(name) and type(sys._getframe(1).f_locals) is not dict:
        return value
    return _kept(value, name)


def _kept(value: Any, name: str) -> Any:
    made = telling(name, value)
    if made is not value:
        halfway.keep_rewritten()
    return made


def telling_for_owner(value: Any, owner: Any, name: str) -> Any:
    """The same where a special name is stored on something that may be a class, or a module."""
    if issubclass(type(owner), type):
        return _kept(value, name)
    if issubclass(type(owner), ModuleType) and name in _OF_MODULES and _is_bound(value):
        halfway.keep_rewritten()
        return instrumented_callable(value)
    return value


_OF_MODULES = frozenset({"__getattr__", "__dir__"}) | names(
    "unraisablehook excepthook displayhook breakpointhook"
)
"""Functions of modules that the interpreter calls."""


def may_be_called(name: str) -> bool:
    """Whether the interpreter may call what is stored under a name, on a class or in a module."""
    return is_special(name) or name in _OF_MODULES


def in_namespace(namespace: Any) -> None:
    """A class is about to be made of a namespace, which gets these in the place of functions."""
    if type(namespace) is dict:
        for name, value in list(namespace.items()):
            if type(name) is str:
                namespace[name] = _kept(value, name)


def by_name(owner: Any, name: str, value: tuple[Any, ...]) -> None:
    """``setattr(class_, name, value)`` is about to be called: the value is stored as it is."""
    is_method = value and is_special(name) and issubclass(type(owner), type)
    if is_method and name not in _TOLD_BY_CALLERS and telling(name, *value) is not value[0]:
        Inspecting.assume(f"{name} of {name_of_class(owner)}, which is a function in C, as unseen")


_KNOWN_PACKAGES = sys.stdlib_module_names | {"bohrbug", "bohrbug_entry", "greenlet"}

# A test may put something else in the place of the builtin.
_length = len

_having_none: dict[int, tuple[ref[type], int | None]] = {}
"""Classes that had no such functions, by their ids, and how many attributes they had.

``None`` is for those that are left alone whatever they have.
"""


def _note(class_: type, size: int | None) -> None:
    key = id(class_)
    _having_none[key] = ref(class_, lambda _: _having_none.pop(key, None)), size


class MadeBefore:
    """Classes that were there before, which get functions in Python until they are restored."""

    def __init__(self) -> None:
        self._originals: list[tuple[type, str, Any]] = []
        self._is_exchanged = False

    def exchange(self, classes: Callable[[], Iterable[type]]) -> None:
        """Put functions in Python in the place of those in C, if that was not done yet.

        Not in classes of the standard library and of our own, whose code is known: others may just
        have taken such a function out of one, to put it back later.

        Parameters:
            classes: finds them.
        """
        if self._is_exchanged:
            return
        self._is_exchanged = True
        # Most classes are known after the first time, and there are thousands: it is done often.
        known_of = _having_none.get
        for class_ in classes():
            known = known_of(id(class_))
            if (
                known is not None
                and known[0]() is class_
                and (known[1] is None or known[1] == _length(namespace_of(class_)))
            ):
                continue
            namespace = namespace_of(class_)
            if str(namespace.get("__module__")).partition(".")[0] in _KNOWN_PACKAGES:
                _note(class_, None)
                continue
            if not is_open(class_) or not self._exchange(class_, namespace):
                _note(class_, _length(namespace))

    def _exchange(self, class_: type, namespace: Mapping[str, Any]) -> bool:
        """Whether it has such functions."""
        found = False
        for name, value in list(namespace.items()):
            made = telling(name, value)
            if made is not value:
                found = True
                self._originals.append((class_, name, value))
                type.__setattr__(class_, name, made)
        return found

    def restore(self) -> None:
        """Give the classes what they had, unless they have got something else since."""
        self._is_exchanged = False
        while self._originals:
            class_, name, value = self._originals.pop()
            type.__setattr__(class_, name, value)


constructors.Making.class_of = staticmethod(in_namespace)
constructors.Making.method = staticmethod(by_name)
