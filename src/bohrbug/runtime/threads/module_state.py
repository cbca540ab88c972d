"""What the first execution leaves behind in modules of the program, where the others find it.

All executions of an exploration run in one process.  What a program makes once and for all, such as
a connection that it keeps in a global, is made by the first one, whose functions are not even
rewritten yet: no other shows what happens if two tasks make it at the same time.

So what globals, attributes of classes and of objects in globals, and containers in them were is
remembered, as far as it is plain: ``None``, a number, an empty dict.  Nothing else is kept, as
objects are to die when they do without Bohrbug.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

from bohrbug.paths import is_library_file, is_own_file
from bohrbug.runtime.threads.loops.references import OwnReference
from bohrbug.runtime.threads.namespaces import proxy_of
from bohrbug.runtime.threads.rewrite.classes import instance_dict, order_of

_MISSING = object()
_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})
_MAPPINGS = frozenset({dict, OrderedDict, defaultdict})
_CONTAINERS = _MAPPINGS | {list, set, deque}
_CODE = (ModuleType, FunctionType, BuiltinFunctionType, type)
_LARGEST = 100
"""Items of a container whose content is remembered."""


class _Content(NamedTuple):
    """What was in a container, which itself is not kept."""

    identity: int
    items: tuple[Any, ...]


class _Change(NamedTuple):
    """A name that stood for something else, or a container with other items, and what it is now."""

    owner: Any
    name: str
    before: Any
    after: Any


class ModuleState:
    """What modules, classes and objects of the program have, at the time when this is made."""

    def __init__(self) -> None:
        self._owners = [
            (scanned, {name: _remembered(attributes.get(name, _MISSING)) for name in scanned.plain})
            for attributes, scanned in _scanned_owners()
        ]

    def changes(self) -> list[_Change]:
        """What has become of what was plain, and what is new."""
        return [
            change
            for scanned, before in self._owners
            if (owner := scanned.owner()) is not None
            for change in _changes_of(owner, scanned, before)
        ]


@contextmanager
def as_before(changes: list[_Change]) -> Iterator[None]:
    """Let everything be again as it was remembered, for an execution."""
    try:
        for owner, name, before, _ in changes:
            _put(owner, name, before)
        yield
    finally:
        for owner, name, _, after in changes:
            _put(owner, name, after)


class _Scanned(NamedTuple):
    """What a module, a class or an object has: tests of a suite find most of them as they were.

    Attributes:
        owner: the module, class or object.
        names: all its names.
        plain: those under which something plain, or a container, was ever seen.
        members: the classes that a module defines, and objects of such classes in its globals.
    """

    owner: OwnReference
    names: frozenset[str]
    plain: tuple[str, ...]
    members: tuple[OwnReference, ...]


_scanned: dict[int, _Scanned] = {}
"""By ids of owners, as long as they live."""


def _scanned_owners() -> Iterator[tuple[Mapping[str, Any], _Scanned]]:
    for module in list(sys.modules.values()):
        # By its type: a module that is loaded late says that it is one when it is loaded.
        if issubclass(type(module), ModuleType) and _is_of_program(module):
            scanned = _scan(module)
            yield _attributes_of(module), scanned
            for reference in scanned.members:
                member = reference()
                if member is not None:
                    yield _attributes_of(member), _scan(member)


_of_module: Callable[[ModuleType], dict[str, Any]] = vars(ModuleType)["__dict__"].__get__


def _attributes_of(owner: Any) -> Mapping[str, Any]:
    """What an owner has, without a call of anything that it says of itself."""
    attributes: Mapping[str, Any]
    attributes = proxy_of(owner) if issubclass(type(owner), type) else _dict_of(owner)
    return attributes


def _dict_of(owner: Any) -> dict[str, Any]:
    if issubclass(type(owner), ModuleType):
        return _of_module(owner)
    return instance_dict(owner) or {}


def _scan(owner: Any) -> _Scanned:
    namespace = _attributes_of(owner)
    known = _scanned.get(id(owner))
    if known is not None and len(known.names) == len(namespace):
        return known
    seen = () if known is None else known.plain
    attributes = [each for each in list(namespace.items()) if _is_given_by_program(each[0])]
    plain = [n for n, v in attributes if type(v) in _PLAIN or type(v) in _CONTAINERS]
    members: list[OwnReference] = []
    if issubclass(type(owner), ModuleType):
        members = [
            OwnReference(value)
            for _, value in attributes
            if _is_member(value, namespace.get("__name__"))
        ]
    key = id(owner)
    found = _Scanned(
        OwnReference(owner, lambda _: _scanned.pop(key, None)),
        frozenset(namespace),
        tuple(dict.fromkeys([*seen, *plain])),
        tuple(members),
    )
    _scanned[key] = found
    return found


def _is_given_by_program(name: object) -> bool:
    """Whether a name is none of those that Python gives."""
    return type(name) is str and name[:2] != "__"


def _is_member(value: Any, module: object) -> bool:
    """Whether something in a module of that name is a class of it, or an object of the program."""
    class_ = type(value)
    if issubclass(class_, type):
        return bool(proxy_of(value).get("__module__") == module)
    defined_in = proxy_of(class_).get("__module__")
    home = sys.modules.get(defined_in) if type(defined_in) is str else None
    return (
        home is not None
        and issubclass(type(home), ModuleType)
        and _is_of_program(home)
        and "__weakref__" in {name for base in order_of(class_) for name in proxy_of(base)}
    )


def _is_of_program(module: ModuleType) -> bool:
    file = _of_module(module).get("__file__")
    return type(file) is str and not (is_library_file(file) or is_own_file(file))


def _remembered(value: Any) -> Any:
    """A plain value, or what is in a container; :data:`_MISSING`: neither."""
    if type(value) in _PLAIN:
        return value
    if type(value) in _CONTAINERS and len(value) <= _LARGEST:
        items = _items_of(value)
        if all(type(item) in _PLAIN for item in items):
            return _Content(id(value), items)
    return _MISSING


def _items_of(container: Any) -> tuple[Any, ...]:
    """The items of a container; of a mapping its keys and values by turns."""
    if type(container) in _MAPPINGS:
        return tuple(part for item in container.items() for part in item)
    return tuple(container)


def _changes_of(owner: Any, scanned: _Scanned, before: dict[str, Any]) -> Iterator[_Change]:
    namespace = _attributes_of(owner)
    for name, was in before.items():
        value = namespace.get(name, _MISSING)
        if was is _MISSING or value is _MISSING:
            continue
        if type(was) is not _Content:
            if value is not was and not issubclass(type(value), _CODE):
                yield _Change(owner, name, was, value)
        elif id(value) == was.identity and type(value) in _CONTAINERS:
            items = _items_of(value)
            if list(map(id, items)) != list(map(id, was.items)):
                yield _Change(owner, name, was, _Content(was.identity, items))
    if len(namespace) != len(scanned.names):
        for name in namespace.keys() - scanned.names:
            if _is_given_by_program(name) and not issubclass(type(namespace[name]), _CODE):
                yield _Change(owner, name, _MISSING, namespace[name])


def _put(owner: Any, name: str, value: Any) -> None:
    """Give a name a value, or its container what was in it."""
    if type(value) is _Content:
        container = _attributes_of(owner).get(name)
        if id(container) == value.identity:
            _fill(container, value.items)
    elif issubclass(type(owner), type):
        if value is not _MISSING:
            type.__setattr__(owner, name, value)
        elif name in proxy_of(owner):
            type.__delattr__(owner, name)
    elif value is not _MISSING:
        _dict_of(owner)[name] = value
    else:
        _dict_of(owner).pop(name, None)


def _fill(container: Any, items: tuple[Any, ...]) -> None:
    container.clear()
    if type(container) in _MAPPINGS:
        container.update(zip(items[::2], items[1::2], strict=True))
    elif type(container) is set:
        container.update(items)
    else:
        container.extend(items)
