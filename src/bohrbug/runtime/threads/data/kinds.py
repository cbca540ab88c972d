"""What has to be known of the types of the tested program, so that variables can be found.

No code of the program is run for it: what a class or its metaclass defines is looked up past it.
"""

from __future__ import annotations

import types
import weakref
from _thread import _local
from collections.abc import Callable

from bohrbug.runtime.threads.rewrite.classes import is_foreign, name_of, takes_weak_references

_mro_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_namespace_of: Callable[[type], types.MappingProxyType[str, object]]
_namespace_of = type.__dict__["__dict__"].__get__
_flags_of: Callable[[type], int] = type.__dict__["__flags__"].__get__
module_namespace_of: Callable[[types.ModuleType], dict[str, object]]
module_namespace_of = vars(types.ModuleType)["__dict__"].__get__
_IMMUTABLE_TYPE_FLAG = 1 << 8


def is_immutable_type(cls: type) -> bool:
    """Whether the attributes of a class can't be changed, as those of built-in ones."""
    return bool(_flags_of(cls) & _IMMUTABLE_TYPE_FLAG)


def _identities(*classes: type) -> frozenset[int]:
    return frozenset(map(id, classes))


_IMMUTABLE = _identities(
    int,
    float,
    complex,
    str,
    bytes,
    tuple,
    frozenset,
    range,
    slice,
    type(None),
    type(Ellipsis),
    type(NotImplemented),
    types.CodeType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.MappingProxyType,
    types.GenericAlias,
    super,
)
_NEVER_HELD = _identities(types.FrameType, types.TracebackType)
"""They keep whole stacks alive, so that a strong reference to one would do so too."""

PLAIN_KEYS = _identities(str, int, bytes, bool, type(None), float)
_CONTAINER_METHODS = ("__getitem__", "__len__", "__iter__", "__next__")


class Kind:
    """What has to be known of a type to find the variables of its instances.

    It does not keep the type alive.
    """

    __slots__ = (
        "held",
        "identity_keys",
        "is_container",
        "is_error",
        "is_mapping",
        "is_modelled",
        "is_module",
        "is_type",
        "name",
        "tracked",
    )

    def __init__(self, cls: type, excluded: bool) -> None:
        mro = _mro_of(cls)
        # By identity: a metaclass may define ``__eq__`` and ``__hash__``.
        bases = {id(base) for base in mro}
        self.name = name_of(cls)
        self.is_type = id(type) in bases
        self.is_error = id(BaseException) in bases
        self.is_module = id(types.ModuleType) in bases
        self.is_mapping = id(dict) in bases
        # Of a lock or a thread only the attributes that the program gives it are variables.
        self.is_modelled = excluded
        self.held = not takes_weak_references(cls)
        immutable = not bases.isdisjoint(_IMMUTABLE)
        self.tracked = not (
            id(cls) in _IMMUTABLE
            or (self.held and (immutable or not bases.isdisjoint(_NEVER_HELD)))
            or id(_local) in bases
        )
        # Its contents are something else than its attributes; of code in C that is not known.
        self.is_container = not (immutable or is_foreign(cls)) and any(
            type(_found(mro, name)) not in (types.FunctionType, type(None))
            for name in _CONTAINER_METHODS
        )
        self.identity_keys = (
            _found(mro, "__eq__") is object.__eq__ and _found(mro, "__hash__") is object.__hash__
        )


def _found(mro: tuple[type, ...], name: str) -> object:
    """What a class or its bases define under a name, or ``None``."""
    for base in mro:
        namespace = _namespace_of(base)
        if name in namespace:
            return namespace[name]
    return None


GLOBALS = Kind(dict, excluded=False)
"""The kind of the namespaces of modules."""


class Types:
    """What is known of the types of the tested program; kept from one execution to the next.

    Parameters:
        excluded: says of a type that its instances are modelled as a whole, as those of
            the classes of locks and threads; asked once for each type.
    """

    def __init__(self, excluded: Callable[[type], bool] | None = None) -> None:
        self._excluded = excluded
        self.kinds: dict[int, Kind] = {}
        self._references: dict[int, weakref.ref[type]] = {}

    def kind_of(self, cls: type) -> Kind:
        """What is known of ``cls``."""
        identity = id(cls)
        kind = self.kinds.get(identity)
        if kind is None:
            excluded = self._excluded is not None and self._excluded(cls)
            kind = self.kinds[identity] = Kind(cls, excluded)
            kinds, references = self.kinds, self._references

            def forget(reference: weakref.ref[type]) -> None:
                if references.get(identity) is reference:
                    del kinds[identity], references[identity]

            references[identity] = weakref.ref(cls, forget)
        return kind
