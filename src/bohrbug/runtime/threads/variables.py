"""The variables of the tested program: finding, naming and watching them.

Rewritten bytecode tells an :class:`AccessMonitor` of every access to data, just
before it happens.  :class:`Variables` finds the variable that is meant, a
:class:`Shadow`, on which a race detector keeps its state.

Two rules shape this module.  It runs no code of the tested program, because
that would change what is tested: no ``__getattr__``, ``__eq__``, ``__hash__``
or ``__len__`` is ever called on its objects.  And it does not prolong the life
of its objects, because the moment of ``__del__`` and of weakref callbacks is
part of what is tested; the exceptions are at :meth:`Variables.sweep`.
"""

from __future__ import annotations

import dis
import os
import sys
import types
import weakref
from _thread import _local as local
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from bohrbug.model.operation import READ, WRITE, Kind, ResourceId, TaskId
from bohrbug.model.site import site_of

Place = tuple[types.CodeType, int]
"""``(original code object, byte offset)``; there is one such tuple for each place."""


class PlaceSet:
    """A set of places, in the order in which they were added.

    Places are told apart by identity: the hash of a code object goes through
    all of its instructions, which takes longer than everything else that is
    done for an access.

    Parameters:
        places: what is in it from the start.
    """

    __slots__ = ("by_identity",)

    def __init__(self, places: Iterable[Place] = ()) -> None:
        self.by_identity: dict[int, Place] = {id(place): place for place in places}

    def add(self, place: Place) -> None:
        """Put a place in."""
        self.by_identity[id(place)] = place

    def update(self, places: Iterable[Place]) -> None:
        """Put several places in."""
        if isinstance(places, PlaceSet):
            self.by_identity.update(places.by_identity)
        else:
            self.by_identity.update((id(place), place) for place in places)

    def __contains__(self, place: object) -> bool:
        return id(place) in self.by_identity

    def __iter__(self) -> Iterator[Place]:
        return iter(self.by_identity.values())

    def __len__(self) -> int:
        return len(self.by_identity)

    def __repr__(self) -> str:
        return f"PlaceSet({[str(site_of(place)) for place in self]})"


Accesses = dict[int, int]
"""When variables were last accessed: ``{place and task, as one int: epoch}``."""

NO_ACCESSES: Accesses = {}
"""Shared by all variables that were not accessed in a certain way; never changed."""

SEVERAL = -1
"""In place of the index of the only task that ever touched a variable."""


class Shadow:
    """A variable, and what a race detector remembers of the accesses to it.

    A container is one variable (its *whole*: length, order, iteration) and one
    more for each key.  Accesses to the keys are summed up at the whole.

    Parameters:
        owner: the object that the variable belongs to.
        key: attribute name, key or index; ``None`` for a whole.
        container: the whole of the container that an item belongs to.
        sole: index of the task that touches it first.
    """

    __slots__ = (
        "container",
        "is_item",
        "item_reads",
        "item_writes",
        "key",
        "owner",
        "reads",
        "sole",
        "writes",
    )

    def __init__(
        self, owner: _Owner, key: object, container: Shadow | None, is_item: bool, sole: int
    ) -> None:
        self.owner = owner
        self.key = key
        self.container = container
        self.is_item = is_item
        # The only task that has touched it so far, or SEVERAL.
        self.sole = sole
        self.reads = self.writes = self.item_reads = self.item_writes = NO_ACCESSES

    @property
    def resource_id(self) -> ResourceId:
        """The same in every execution: first toucher of the owner, count, and name or key."""
        return self.owner.resource_id + self._suffix("[*]")

    @property
    def label(self) -> str:
        """How reports call the variable, such as ``Account.balance`` or ``global COUNTER``."""
        return self.owner.describe(self)

    def _suffix(self, whole: str) -> str:
        if self.is_item:
            return f"[{_shown(self.key)}]"
        return whole if self.key is None else f".{self.key}"

    def __repr__(self) -> str:
        return f"<Shadow {self.resource_id} {self.label}>"


class _IdentityKey:
    """Stands for a key that is compared by identity, for as long as that key lives."""

    __slots__ = ("owner",)

    def __init__(self, owner: _Owner) -> None:
        self.owner = owner


def _shown(key: object) -> str:
    """A key for people and ids; it consists of built-in types, so that no code is run."""
    if isinstance(key, _IdentityKey):
        return f"<{key.owner.kind.name} {key.owner.resource_id}>"
    if isinstance(key, tuple):
        return f"({', '.join(_shown(element) for element in key)})"
    return repr(key)


# -- types ---------------------------------------------------------------------

_mro_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_namespace_of: Callable[[type], types.MappingProxyType[str, object]]
_namespace_of = type.__dict__["__dict__"].__get__
_name_of: Callable[[type], str] = type.__dict__["__name__"].__get__
_flags_of: Callable[[type], int] = type.__dict__["__flags__"].__get__
_weakref_offset_of: Callable[[type], int] = type.__dict__["__weakrefoffset__"].__get__
_module_namespace_of: Callable[[types.ModuleType], dict[str, object]]
_module_namespace_of = types.ModuleType.__dict__["__dict__"].__get__
_IMMUTABLE_TYPE_FLAG = 1 << 8

_IMMUTABLE = (
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
_NEVER_HELD = (BaseException, types.FrameType, types.TracebackType)
"""They keep whole stacks alive, so that a strong reference to one would do so too."""

_PLAIN_KEYS = frozenset({str, int, bytes, bool, type(None), float})
_READS_ITEM = ("__getitem__", "__contains__", "__missing__")
_WRITES_ITEM = ("__setitem__", "__delitem__")
_READS_WHOLE = ("__len__", "__iter__", "__next__", "__bool__", "__contains__", "__getitem__")
_WRITES_WHOLE = (
    *("append", "appendleft", "extend", "extendleft", "insert", "remove", "pop", "popleft"),
    *("clear", "sort", "reverse", "rotate", "update", "popitem", "setdefault", "add", "discard"),
    *("__setitem__", "__delitem__", "__iadd__", "__ior__"),
)
_INTERNAL_ATTRIBUTES = frozenset({"__class__", "__dict__", "__weakref__"})


class _Kind:
    """What has to be known of a type to find the variables of its instances.

    An operation that a class implements in Python is a call and not an access:
    what counts are the accesses inside of it.  So ``owner[key]`` is an item of
    a ``dict`` and of a subclass that inherits ``dict.__getitem__``, and nothing
    for a class that defines its own.  A kind does not keep its type alive.
    """

    __slots__ = (
        "attributes_read",
        "attributes_written",
        "calls",
        "held",
        "identity_keys",
        "is_mapping",
        "is_module",
        "is_type",
        "items_read",
        "items_written",
        "length",
        "name",
        "tracked",
        "whole_read",
        "whole_written",
    )

    def __init__(self, cls: type, excluded: bool) -> None:
        mro = _mro_of(cls)
        self.name = _name_of(cls)
        self.is_type = type in mro
        self.is_module = types.ModuleType in mro
        self.is_mapping = dict in mro
        self.held = not _weakref_offset_of(cls)
        immutable = any(base in mro for base in _IMMUTABLE)
        self.tracked = not (
            excluded
            or cls in _IMMUTABLE
            or (immutable and self.held)
            or (self.held and any(base in mro for base in _NEVER_HELD))
        )
        self.attributes_read = not _in_python(mro, ("__getattribute__",))
        self.attributes_written = not _in_python(mro, ("__setattr__", "__delattr__"))
        # Names of attributes, and whether they are computed, as properties are.
        self.calls = dict.fromkeys(_INTERNAL_ATTRIBUTES, True)
        in_c = not immutable and any(
            not isinstance(_found(mro, name), types.FunctionType | None)
            for name in ("__getitem__", "__len__", "__iter__", "__next__")
        )
        is_cell = cls is types.CellType
        self.items_read = in_c and not _in_python(mro, _READS_ITEM)
        self.items_written = in_c and not _in_python(mro, _WRITES_ITEM)
        self.whole_read = is_cell or (in_c and not _in_python(mro, _READS_WHOLE))
        self.whole_written = is_cell or (in_c and not _in_python(mro, _WRITES_WHOLE))
        self.length: Callable[[Any], int] | None = None
        for base in (list, deque, bytearray):
            if base in mro:
                self.length = base.__len__
        self.identity_keys = (
            _found(mro, "__eq__") is object.__eq__ and _found(mro, "__hash__") is object.__hash__
        )

    def is_call(self, cls: type, name: str) -> bool:
        """Whether an attribute is computed by a descriptor instead of being stored."""
        known = self.calls.get(name)
        if known is None:
            known = self.calls[name] = _computes(_found(_mro_of(cls), name))
        return known


def _found(mro: tuple[type, ...], name: str) -> object:
    """What a class or its bases define under a name, or ``None``."""
    for base in mro:
        namespace = _namespace_of(base)
        if name in namespace:
            return namespace[name]
    return None


def _in_python(mro: tuple[type, ...], names: tuple[str, ...]) -> bool:
    return any(isinstance(_found(mro, name), types.FunctionType) for name in names)


def _computes(descriptor: object) -> bool:
    """Whether reading or writing an attribute calls code: properties and their like.

    Descriptors made in C, such as those of ``__slots__`` and of ``ctypes`` fields,
    store the attribute.
    """
    mro = _mro_of(type(descriptor))
    return property in mro or _in_python(mro, ("__set__", "__delete__"))


class Types:
    """What is known of the types of the tested program; kept from one execution to the next.

    Parameters:
        excluded: says of a type that its instances have no variables, as those of
            the classes of locks and threads; asked once for each type.
    """

    def __init__(self, excluded: Callable[[type], bool] | None = None) -> None:
        self._excluded = excluded
        self.kinds: dict[int, _Kind] = {}
        self._references: dict[int, weakref.ref[type]] = {}
        # Attributes that were seen to be written on classes: only for these
        # is it worth while to look where an instance's attribute comes from.
        self.names_written_on_classes: set[str] = set()

    def kind_of(self, cls: type) -> _Kind:
        """What is known of ``cls``."""
        identity = id(cls)
        kind = self.kinds.get(identity)
        if kind is None:
            excluded = self._excluded is not None and self._excluded(cls)
            kind = self.kinds[identity] = _Kind(cls, excluded or local in _mro_of(cls))
            kinds, references = self.kinds, self._references

            def forget(reference: weakref.ref[type]) -> None:
                if references.get(identity) is reference:
                    del kinds[identity], references[identity]

            references[identity] = weakref.ref(cls, forget)
        return kind


# -- owners --------------------------------------------------------------------


class Toucher(Protocol):
    """A task, as far as variables are concerned."""

    @property
    def id(self) -> TaskId:
        """Its path in the spawn tree."""

    @property
    def index(self) -> int:
        """How many tasks were created before it."""


class Running(Protocol):
    """Where the task is found that is running: an execution."""

    @property
    def current(self) -> Any:
        """The task, a :class:`Toucher`; not declared as one, so that it may be assignable."""


_OWNER_SLOTS = (
    "attributes",
    "count",
    "identity",
    "identity_key",
    "instance",
    "items",
    "kind",
    "namespace",
    "place",
    "task",
    "whole",
)


class _Owner:
    """An object that has variables; its two subclasses differ in how they refer to it."""

    __slots__ = ()

    identity: int
    kind: _Kind
    # Who touched it first, where, and how many objects it had touched before.
    task: Toucher
    place: Place | None
    count: int
    attributes: dict[str, Shadow]
    items: dict[object, Shadow]
    whole: Shadow | None
    identity_key: _IdentityKey | None
    # The whole of an instance's ``__dict__``, and the other way round, once it was asked for.
    namespace: Shadow | None
    instance: _Owner | None

    @property
    def resource_id(self) -> ResourceId:
        """Names the object in the same way in every execution."""
        return f"{self.task.id}:{self.count}"

    def target(self) -> Any:
        """The object, or ``None`` if it is no more."""
        raise NotImplementedError

    def describe(self, shadow: Shadow) -> str:
        """The label of one of the owner's variables."""
        key = shadow.key
        if shadow.is_item:
            target = self.target()
            if type(target) is dict and dict.__contains__(target, "__builtins__"):
                return f"global {key}"
            return f"{self._located()}[{_shown(key)}]"
        if key is None:
            return self._cell() if self.kind.name == "cell" else self._located()
        target = self.target() if self.kind.is_type else None
        return f"{self.kind.name if target is None else _name_of(target)}.{key}"

    def _located(self) -> str:
        site = site_of(self.place)
        if site is None:
            return self.kind.name
        return f"{self.kind.name} {os.path.basename(site.filename)}:{site.line}"

    def _cell(self) -> str:
        if self.place is None:
            return "cell"
        code, offset = self.place
        names = code.co_cellvars + code.co_freevars
        for instruction in dis.get_instructions(code):
            if instruction.offset == offset and instruction.argval in names:
                return f"cell {instruction.argval} in {code.co_name}"
        return f"cell in {code.co_name}"


class _WeakOwner(_Owner, weakref.ref[Any]):
    """An owner that can be referenced weakly; itself the weak reference."""

    __slots__ = _OWNER_SLOTS

    def target(self) -> Any:
        return self()


class _HeldOwner(_Owner):
    """An owner that can't: held until :meth:`Variables.sweep` finds that nobody else does."""

    __slots__ = (*_OWNER_SLOTS, "object")

    def __init__(self, object: Any) -> None:
        self.object = object

    def target(self) -> Any:
        return self.object


def _references_of_held() -> int:
    """What ``sys.getrefcount`` says of an object that only its owner record holds."""
    owner = _HeldOwner([])
    return sys.getrefcount(owner.object)


_HELD_ONLY_BY_US = _references_of_held()

_ANY_KEY = object()
"""In place of a key that can't be compared without running code of the tested program."""

NOT_A_VARIABLE = Shadow(None, None, None, False, SEVERAL)  # type: ignore[arg-type]
"""Remembered for attributes that are calls, such as properties."""


class Variables:
    """Finds the variable that an access is to, within one execution.

    Parameters:
        execution: has the task that is running as ``current``, with ``index`` and ``id``.
        types: what is known of types; share it between executions.
        sweep_every: how many objects may be held, beyond twice those that survived
            the last sweep, before :meth:`sweep` is called.
    """

    def __init__(
        self, execution: Running, types: Types | None = None, sweep_every: int = 64
    ) -> None:
        self.types = Types() if types is None else types
        self.owners: dict[int, _Owner] = {}
        self._kinds = self.types.kinds
        self._execution = execution
        self._counts: dict[int, int] = {}
        self._held: dict[int, _HeldOwner] = {}
        self._sweep_every = sweep_every
        self._sweep_at = sweep_every
        owners, held = self.owners, self._held

        def forget(owner: _WeakOwner) -> None:
            identity = owner.identity
            if owners.get(identity) is owner:
                del owners[identity]
            if owner.namespace is not None:
                namespace = owner.namespace.owner
                if held.get(namespace.identity) is namespace:
                    del held[namespace.identity], owners[namespace.identity]
                    namespace.object = None  # type: ignore[attr-defined]

        self._forget = forget

    # -- finding -----------------------------------------------------------------

    def shadow_of_attribute(
        self, owner: Any, name: str, is_write: bool = False, place: Place | None = None
    ) -> Shadow | None:
        """The variable ``owner.name``; ``None`` if that is no variable.

        Parameters:
            owner: any object of the tested program.
            name: of the attribute.
            is_write: whether it is about to be written.
            place: where it is touched, for the label of an owner seen for the first time.
        """
        known = self.owners.get(id(owner))
        kind = (
            known.kind
            if known is not None
            else self._kinds.get(id(type(owner))) or self.types.kind_of(type(owner))
        )
        if kind.is_module:
            return self.shadow_of_item(_module_namespace_of(owner), name, is_write, place)
        if not (kind.attributes_written if is_write else kind.attributes_read):
            return None
        if kind.is_call(type(owner), name):
            if name == "__dict__":
                self._join_namespace(owner, kind, place)
            elif known is not None:
                known.attributes[name] = NOT_A_VARIABLE
            return None
        if known is None:
            known = self._register(owner, kind, place)
            if known is None:
                return None
        shadow = known.attributes.get(name)
        if shadow is None:
            shadow = known.attributes[name] = Shadow(
                known, name, known.namespace, False, self._execution.current.index
            )
        return shadow

    def shadow_of_item(
        self, owner: Any, key: Any, is_write: bool = False, place: Place | None = None
    ) -> Shadow | None:
        """The variable ``owner[key]``; ``None`` if that is no variable.

        It is the whole of the container if ``key`` is a slice or can't be
        compared without running code of the tested program.

        Parameters:
            owner: a container, or the namespace of a module for a global.
            key: key or index.
            is_write: whether it is about to be written.
            place: where it is touched, for the label of an owner seen for the first time.
        """
        known = self.owners.get(id(owner))
        kind = (
            known.kind
            if known is not None
            else self._kinds.get(id(type(owner))) or self.types.kind_of(type(owner))
        )
        if not (kind.items_written if is_write else kind.items_read):
            return None
        if known is None:
            known = self._register(owner, kind, place)
            if known is None:
                return None
        key = self._comparable(owner, kind, key, place)
        if key is _ANY_KEY:
            return self.shadow_of_whole(owner, is_write, place)
        shadow = known.items.get(key)
        if shadow is None:
            index = self._execution.current.index
            if known.whole is None:
                known.whole = Shadow(known, None, None, False, index)
            if known.instance is not None and type(key) is str:
                shadow = Shadow(known.instance, key, known.whole, False, index)
            else:
                shadow = Shadow(known, key, known.whole, True, index)
            known.items[key] = shadow
        return None if shadow is NOT_A_VARIABLE else shadow

    def shadow_of_whole(
        self, owner: Any, is_write: bool = False, place: Place | None = None
    ) -> Shadow | None:
        """The variable that is ``owner`` as a whole; ``None`` if that is no variable.

        Parameters:
            owner: a container, an iterator or a closure cell.
            is_write: whether it is about to be changed.
            place: where it is touched, for the label of an owner seen for the first time.
        """
        known = self.owners.get(id(owner))
        kind = (
            known.kind
            if known is not None
            else self._kinds.get(id(type(owner))) or self.types.kind_of(type(owner))
        )
        if not (kind.whole_written if is_write else kind.whole_read):
            return None
        if known is None:
            known = self._register(owner, kind, place)
            if known is None:
                return None
        if known.whole is None:
            known.whole = Shadow(known, None, None, False, self._execution.current.index)
        return known.whole

    def inherited(self, owner: Any, name: str) -> Shadow | None:
        """The variable of the class that ``owner.name`` is read from, if it is one now.

        Parameters:
            owner: an instance or a class.
            name: an attribute that some class had written since it was created.
        """
        kind = self.types.kind_of(type(owner))
        mro = _mro_of(owner if kind.is_type else type(owner))
        for base in mro:
            namespace = _namespace_of(base)
            if name in namespace:
                if base is owner or type(namespace[name]) is types.MemberDescriptorType:
                    return None
                own = None if kind.is_type else _instance_namespace(mro, owner)
                if own is not None and dict.__contains__(own, name):
                    return None
                return self.shadow_of_attribute(base, name)
        return None

    # -- lifetime ----------------------------------------------------------------

    def sweep(self) -> None:
        """Let go of the objects that only we still hold.

        Objects that can be referenced weakly are forgotten when they die, and
        their lives are not prolonged.  Lists, dicts, cells, iterators and instances
        of classes with ``__slots__`` and without ``__weakref__`` can't be, and
        are held from the first access until the first sweep after the program
        let go of them: when a task ends, after so many new ones, and whenever
        somebody calls this.
        """
        held = self._held
        while True:
            dropped = [
                owner
                for owner in held.values()
                if sys.getrefcount(owner.object) <= _HELD_ONLY_BY_US
            ]
            self._sweep_at = 2 * (len(held) - len(dropped)) + self._sweep_every
            if not dropped:
                return
            for owner in dropped:
                del held[owner.identity], self.owners[owner.identity]
            # From here on finalizers of the tested program may run and come back to us.
            for owner in dropped:
                owner.object = None

    def clear(self) -> None:
        """Forget all objects, at the end of the execution."""
        held = list(self._held.values())
        self._held.clear()
        self.owners.clear()
        for owner in held:
            owner.object = None

    # -- internals ---------------------------------------------------------------

    def _register(self, target: Any, kind: _Kind, place: Place | None) -> _Owner | None:
        if not kind.tracked or (kind.is_type and _flags_of(target) & _IMMUTABLE_TYPE_FLAG):
            return None
        identity = id(target)
        task = self._execution.current
        owner: _Owner
        if kind.held:
            if len(self._held) >= self._sweep_at:
                self.sweep()
            owner = self._held[identity] = _HeldOwner(target)
        else:
            owner = _WeakOwner(target, self._forget)  # type: ignore[arg-type]
        owner.identity = identity
        owner.kind = kind
        owner.place = place
        owner.task = task
        owner.count = self._counts[task.index] = self._counts.get(task.index, -1) + 1
        owner.attributes = {}
        owner.items = {}
        owner.whole = None
        owner.identity_key = None
        owner.namespace = None
        owner.instance = None
        self.owners[identity] = owner
        return owner

    def _comparable(self, owner: Any, kind: _Kind, key: Any, place: Place | None) -> Any:
        """What stands for a key in ``items``, or ``_ANY_KEY``."""
        cls = type(key)
        if cls is int:
            if key >= 0 or kind.is_mapping:
                return key
            return _ANY_KEY if kind.length is None else key + kind.length(owner)
        if cls in _PLAIN_KEYS or (cls is tuple and _is_plain(key)):
            return key
        if not kind.is_mapping:
            return _ANY_KEY
        known = self.owners.get(id(key))
        if known is None:
            key_kind = self.types.kind_of(cls)
            # Not if it would have to be held: it would live longer than in the program.
            if key_kind.identity_keys and not key_kind.held:
                known = self._register(key, key_kind, place)
            if known is None:
                return _ANY_KEY
        elif not known.kind.identity_keys:
            return _ANY_KEY
        if known.identity_key is None:
            known.identity_key = _IdentityKey(known)
        return known.identity_key

    def _join_namespace(self, instance: Any, kind: _Kind, place: Place | None) -> None:
        """Make ``instance.__dict__['x']`` the same variable as ``instance.x``.

        The program is about to get the namespace, so that making it now changes nothing.
        """
        if kind.is_type or not kind.tracked:
            return
        namespace = _instance_namespace(_mro_of(type(instance)), instance)
        if namespace is None or id(namespace) in self.owners:
            return
        known = self.owners.get(id(instance)) or self._register(instance, kind, place)
        joined = self._register(namespace, self.types.kind_of(dict), place)
        if known is None or joined is None:
            return
        joined.items = known.attributes  # type: ignore[assignment]
        joined.instance = known
        joined.whole = known.namespace = whole = Shadow(joined, None, None, False, SEVERAL)
        whole.item_reads = {}
        whole.item_writes = {}
        for shadow in known.attributes.values():
            if shadow is not NOT_A_VARIABLE:
                shadow.container = whole
                _merge(shadow.reads, whole.item_reads)
                _merge(shadow.writes, whole.item_writes)


def _merge(accesses: Accesses, into: Accesses) -> None:
    for key, epoch in accesses.items():
        into[key] = max(epoch, into.get(key, 0))


def _instance_namespace(mro: tuple[type, ...], instance: Any) -> dict[str, object] | None:
    """The ``__dict__`` of an instance, without running code of its class."""
    descriptor = _found(mro, "__dict__")
    if type(descriptor) is not types.GetSetDescriptorType:
        return None
    namespace = descriptor.__get__(instance)
    return namespace if type(namespace) is dict else None


def _is_plain(key: Any) -> bool:
    return all(
        type(element) in _PLAIN_KEYS or (type(element) is tuple and _is_plain(element))
        for element in key
    )


# -- watching ------------------------------------------------------------------


class Detector(Protocol):
    """What an :class:`AccessMonitor` needs of a race detector.

    ``epochs`` and ``tags`` have an entry for each task; they are read directly
    because a call for every access of the tested program would cost too much.
    """

    epochs: list[int]
    tags: list[int]

    def read(self, shadow: Shadow, task_index: int, place: Place) -> object:
        """A task reads a variable."""

    def write(self, shadow: Shadow, task_index: int, place: Place) -> object:
        """A task writes a variable."""


class AccessMonitor:
    """The sink of rewritten bytecode: told of each access just before it happens.

    While ``enabled`` is false it does nothing.  Leave it so until the first
    task is spawned: what the root task did before that happens before
    everything that other tasks do, so no access of that time can be in a race.

    Parameters:
        detector: told of the accesses that are new to it.
        variables: finds the variables.
        execution: has the task that is running as ``current``.
        on_point: called first if the place is among ``points``, with the place,
            ``READ`` or ``WRITE``, and the variable; may pass control to other tasks.
        points: the places that are scheduling points; may grow at any time.
    """

    __slots__ = (
        "_detector",
        "_epochs",
        "_execution",
        "_names_written_on_classes",
        "_on_point",
        "_owners",
        "_points",
        "_tags",
        "_variables",
        "enabled",
    )

    def __init__(
        self,
        detector: Detector,
        variables: Variables,
        execution: Running,
        on_point: Callable[[Place, Kind, Shadow], object],
        points: PlaceSet,
    ) -> None:
        self.enabled = False
        self._detector = detector
        self._epochs = detector.epochs
        self._tags = detector.tags
        self._variables = variables
        self._owners = variables.owners
        self._names_written_on_classes = variables.types.names_written_on_classes
        self._execution = execution
        self._on_point = on_point
        self._points = points.by_identity

    # The three methods repeat one another, because a call would cost as much as
    # the rest of what they do.  All accesses that a task makes at one place
    # between two of its synchronisations are the same to the detector, so that
    # a look at the last one is enough for most.

    def attribute(self, owner: Any, name: str, is_write: bool, place: Place) -> None:
        """A task is about to access ``owner.name``."""
        execution = self._execution
        if not self.enabled or execution.current.inside or execution.suspended:
            return
        known = self._owners.get(id(owner))
        shadow = None if known is None else known.attributes.get(name)
        if shadow is None or id(place) in self._points:
            shadow = self._variables.shadow_of_attribute(owner, name, is_write, place)
            if shadow is None:
                return
            if id(place) in self._points:
                self._on_point(place, WRITE if is_write else READ, shadow)
        index = execution.current.index
        if is_write:
            if shadow.writes.get(id(place) + self._tags[index]) != self._epochs[index]:
                self._write_attribute(shadow, index, place)
        elif shadow.reads.get(id(place) + self._tags[index]) != self._epochs[index]:
            self._read_attribute(shadow, owner, name, index, place)

    def item(self, owner: Any, key: Any, is_write: bool, place: Place) -> None:
        """A task is about to access ``owner[key]``, or a global."""
        execution = self._execution
        if not self.enabled or execution.current.inside or execution.suspended:
            return
        known = self._owners.get(id(owner))
        shadow = None
        if known is not None and (type(key) is str or (type(key) is int and key >= 0)):
            shadow = known.items.get(key)
        if shadow is None or id(place) in self._points:
            shadow = self._variables.shadow_of_item(owner, key, is_write, place)
            if shadow is None:
                return
            if id(place) in self._points:
                self._on_point(place, WRITE if is_write else READ, shadow)
        index = execution.current.index
        if is_write:
            if shadow.writes.get(id(place) + self._tags[index]) != self._epochs[index]:
                if known is None or (known.kind.items_written and shadow is not NOT_A_VARIABLE):
                    self._detector.write(shadow, index, place)
        elif shadow.reads.get(id(place) + self._tags[index]) != self._epochs[index]:
            if self._variables.shadow_of_item(owner, key) is not None:
                self._detector.read(shadow, index, place)

    def whole(self, owner: Any, is_write: bool, place: Place) -> None:
        """A task is about to access a container as a whole, an iterator or a cell."""
        execution = self._execution
        if not self.enabled or execution.current.inside or execution.suspended:
            return
        shadow = self._variables.shadow_of_whole(owner, is_write, place)
        if shadow is None:
            return
        if id(place) in self._points:
            self._on_point(place, WRITE if is_write else READ, shadow)
        index = execution.current.index
        if is_write:
            if shadow.writes.get(id(place) + self._tags[index]) != self._epochs[index]:
                self._detector.write(shadow, index, place)
        elif shadow.reads.get(id(place) + self._tags[index]) != self._epochs[index]:
            self._detector.read(shadow, index, place)

    def _write_attribute(self, shadow: Shadow, index: int, place: Place) -> None:
        if shadow is NOT_A_VARIABLE:
            return
        kind = shadow.owner.kind
        if kind.attributes_written:
            if kind.is_type:
                self._names_written_on_classes.add(str(shadow.key))
            self._detector.write(shadow, index, place)

    def _read_attribute(
        self, shadow: Shadow, owner: Any, name: str, index: int, place: Place
    ) -> None:
        if shadow is NOT_A_VARIABLE or not shadow.owner.kind.attributes_read:
            return
        self._detector.read(shadow, index, place)
        if name in self._names_written_on_classes:
            inherited = self._variables.inherited(owner, name)
            if inherited is not None:
                self._detector.read(inherited, index, place)
