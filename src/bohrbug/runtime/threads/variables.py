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
        "inherited",
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
        # The variable of the class, where an attribute may be inherited from one.
        self.inherited: Shadow | None = None

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
    for a class that defines its own.
    """

    __slots__ = (
        "attributes",
        "calls",
        "has_instance_namespace",
        "held",
        "identity_keys",
        "is_module",
        "is_type",
        "items_read",
        "items_written",
        "length",
        "mro",
        "name",
        "tracked",
        "whole_read",
        "whole_written",
    )

    def __init__(self, cls: type, excluded: bool) -> None:
        self.mro = mro = _mro_of(cls)
        self.name: str = type.__dict__["__name__"].__get__(cls)
        self.is_type = type in mro
        self.is_module = types.ModuleType in mro
        weak = bool(_weakref_offset_of(cls))
        self.held = not weak
        immutable = any(base in _IMMUTABLE for base in mro)
        self.tracked = not (
            excluded
            or cls in _IMMUTABLE
            or (self.held and any(base in _NEVER_HELD for base in mro))
            or (immutable and self.held)
        )
        # Names of attributes that are calls: properties and other data descriptors.
        self.calls: dict[str, bool] = {}
        in_c = not immutable and any(
            self._found_in_c(name) for name in ("__getitem__", "__len__", "__iter__", "__next__")
        )
        self.items_read = in_c and not self._overrides(_READS_ITEM)
        self.items_written = in_c and not self._overrides(_WRITES_ITEM)
        self.whole_read = (in_c and not self._overrides(_READS_WHOLE)) or cls is types.CellType
        self.whole_written = (in_c and not self._overrides(_WRITES_WHOLE)) or cls is types.CellType
        self.length: Callable[[Any], int] | None = None
        for base in (list, deque, bytearray):
            if base in mro:
                self.length = base.__len__
        self.identity_keys = (
            self._find("__eq__") is object.__eq__ and self._find("__hash__") is object.__hash__
        )
        self.has_instance_namespace = self._find("__dict__") is not None and not self.is_type

    def _find(self, name: str) -> object:
        for base in self.mro:
            namespace = _namespace_of(base)
            if name in namespace:
                return namespace[name]
        return None

    def _found_in_c(self, name: str) -> bool:
        found = self._find(name)
        return found is not None and not isinstance(found, types.FunctionType)

    def _overrides(self, names: tuple[str, ...]) -> bool:
        return any(isinstance(self._find(name), types.FunctionType) for name in names)

    def is_call(self, name: str) -> bool:
        """Whether the attribute is computed by a descriptor instead of being stored."""
        known = self.calls.get(name)
        if known is None:
            if name in _INTERNAL_ATTRIBUTES:
                known = True
            else:
                found = self._find(name)
                known = found is not None and _computes(found)
            self.calls[name] = known
        return known


def _computes(descriptor: object) -> bool:
    cls = type(descriptor)
    if cls is types.MemberDescriptorType or cls is types.GetSetDescriptorType:
        return False
    return any(
        "__set__" in _namespace_of(base) or "__delete__" in _namespace_of(base)
        for base in _mro_of(cls)
    )


class Types:
    """What is known of the types of the tested program; kept from one execution to the next.

    Parameters:
        excluded: says of a type that its instances have no variables, as those of
            the classes of locks and threads; asked once for each type.
    """

    def __init__(self, excluded: Callable[[type], bool] | None = None) -> None:
        self._excluded = excluded
        self._kinds: dict[int, tuple[_Kind, weakref.ref[type]]] = {}
        # Attributes that were seen to be written on classes: only for these
        # is it worth while to look where an instance's attribute comes from.
        self.names_written_on_classes: set[str] = set()

    def kind_of(self, cls: type) -> _Kind:
        """What is known of ``cls``."""
        known = self._kinds.get(id(cls))
        if known is not None:
            return known[0]
        excluded = self._excluded is not None and self._excluded(cls)
        kind = _Kind(cls, excluded)
        # A kind must not keep its class alive: only built-in bases are needed later.
        kinds, identity = self._kinds, id(cls)

        def forget(reference: weakref.ref[type]) -> None:
            entry = kinds.get(identity)
            if entry is not None and entry[1] is reference:
                del kinds[identity]

        kinds[identity] = (kind, weakref.ref(cls, forget))
        return kind


# -- owners --------------------------------------------------------------------


class _Toucher(Protocol):
    """The task that touches something: a ``Task`` of the threads runtime."""

    @property
    def id(self) -> TaskId: ...
    @property
    def index(self) -> int: ...


class Execution(Protocol):
    """Where the task is found that is running."""

    @property
    def current(self) -> Any:
        """An object with ``index`` and ``id``."""


class _Owner(Protocol):
    """An object that has variables; weakly referenced or held."""

    identity: int
    task: _Toucher
    count: int
    kind: _Kind
    place: Place | None
    attributes: dict[str, Shadow]
    items: dict[object, Shadow]
    whole: Shadow | None
    identity_key: _IdentityKey | None

    @property
    def resource_id(self) -> ResourceId: ...
    def describe(self, shadow: Shadow) -> str: ...
    def target(self) -> Any: ...


class _Naming:
    """What weakly referenced and held owners have in common."""

    __slots__ = ()

    task: _Toucher
    count: int
    kind: _Kind
    place: Place | None

    @property
    def resource_id(self) -> ResourceId:
        return f"{self.task.id}:{self.count}"

    def target(self) -> Any:
        raise NotImplementedError

    def describe(self, shadow: Shadow) -> str:
        """The label of one of the owner's variables."""
        kind = self.kind
        key = shadow.key
        if kind.is_type:
            cls = self.target()
            name = kind.name if cls is None else type.__dict__["__name__"].__get__(cls)
            return f"{name}.{key}"
        if shadow.is_item:
            target = self.target()
            if type(target) is dict and dict.__contains__(target, "__builtins__"):
                return f"global {key}"
            return f"{self._located()}[{_shown(key)}]"
        if key is not None:
            return f"{kind.name}.{key}"
        if kind.name == "cell":
            return self._cell()
        return self._located()

    def _located(self) -> str:
        site = site_of(self.place)
        if site is None:
            return self.kind.name
        return f"{self.kind.name} {os.path.basename(site.filename)}:{site.line}"

    def _cell(self) -> str:
        if self.place is None:
            return "cell"
        code, offset = self.place
        for instruction in dis.get_instructions(code):
            if instruction.offset >= offset:
                if instruction.argval in code.co_cellvars + code.co_freevars:
                    return f"cell {instruction.argval} in {code.co_name}"
                break
        return f"cell in {code.co_name}"


class _WeakOwner(_Naming, weakref.ref[Any]):
    """An owner that can be referenced weakly; itself the weak reference."""

    __slots__ = (
        "attributes",
        "count",
        "identity",
        "identity_key",
        "items",
        "kind",
        "place",
        "task",
        "whole",
    )

    def target(self) -> Any:
        return self()


class _HeldOwner(_Naming):
    """An owner that can't: held until :meth:`Variables.sweep` finds that nobody else does."""

    __slots__ = (
        "attributes",
        "count",
        "identity",
        "identity_key",
        "items",
        "kind",
        "object",
        "place",
        "task",
        "whole",
    )

    def target(self) -> Any:
        return self.object


def _references_of_held() -> int:
    """What ``sys.getrefcount`` says of an object that only its owner record holds."""
    owner = _HeldOwner()
    owner.object = []
    return sys.getrefcount(owner.object)


_HELD_ONLY_BY_US = _references_of_held()

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
        self, execution: Execution, types: Types | None = None, sweep_every: int = 64
    ) -> None:
        self._execution = execution
        self._types = Types() if types is None else types
        self._counts: dict[int, int] = {}
        self._held: dict[int, _HeldOwner] = {}
        self._sweep_every = sweep_every
        self._sweep_at = sweep_every
        self.owners: dict[int, _Owner] = {}
        owners = self.owners

        def forget(reference: weakref.ref[Any]) -> None:
            identity = reference.identity  # type: ignore[attr-defined]
            if owners.get(identity) is reference:
                del owners[identity]

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
        if known is None:
            kind = self._types.kind_of(type(owner))
            if kind.is_module:
                return self.shadow_of_item(_module_namespace_of(owner), name, is_write, place)
            if name == "__dict__":
                self._join_namespace(owner, kind, place)
                return None
            if kind.is_call(name):
                return None
            known = self._register(owner, kind, place)
            if known is None:
                return None
        shadow = known.attributes.get(name)
        if shadow is None:
            kind = known.kind
            if kind.is_call(name):
                if name == "__dict__":
                    self._join_namespace(owner, kind, place)
                    return None
                shadow = NOT_A_VARIABLE
            else:
                shadow = Shadow(known, name, None, False, self._execution.current.index)
            known.attributes[name] = shadow
        if shadow is NOT_A_VARIABLE:
            return None
        names = self._types.names_written_on_classes
        if is_write:
            if known.kind.is_type:
                names.add(name)
        elif name in names:
            shadow.inherited = self._inherited(owner, known.kind, name)
        return shadow

    def shadow_of_item(
        self, owner: Any, key: object, is_write: bool = False, place: Place | None = None
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
        if known is None:
            kind = self._types.kind_of(type(owner))
            if not (kind.items_read or kind.items_written):
                return None
            known = self._register(owner, kind, place)
            if known is None:
                return None
        kind = known.kind
        if not (kind.items_written if is_write else kind.items_read):
            return None
        cls = type(key)
        if cls not in _PLAIN_KEYS:
            if cls is tuple and _is_plain(key):
                pass
            elif cls is slice or kind.length is not None:
                return self.shadow_of_whole(owner, is_write, place)
            else:
                key = self._identity_key(key, place)
                if key is None:
                    return self.shadow_of_whole(owner, is_write, place)
        elif cls is int and key < 0 and kind.items_read:  # type: ignore[operator]
            if kind.length is not None:
                key += kind.length(owner)  # type: ignore[operator]
            elif dict not in kind.mro:
                return self.shadow_of_whole(owner, is_write, place)
        shadow = known.items.get(key)
        if shadow is None:
            index = self._execution.current.index
            if known.whole is None:
                known.whole = Shadow(known, None, None, False, index)
            shadow = known.items[key] = Shadow(known, key, known.whole, True, index)
        return shadow

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
        if known is None:
            kind = self._types.kind_of(type(owner))
            if not (kind.whole_read or kind.whole_written):
                return None
            known = self._register(owner, kind, place)
            if known is None:
                return None
        kind = known.kind
        if not (kind.whole_written if is_write else kind.whole_read):
            return None
        shadow = known.whole
        if shadow is None:
            shadow = known.whole = Shadow(
                known, None, None, False, self._execution.current.index
            )
        return shadow

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
            if not dropped:
                break
            for owner in dropped:
                del held[owner.identity]
                del self.owners[owner.identity]
            self._sweep_at = 2 * len(held) + self._sweep_every
            # From here on finalizers of the tested program may run and come back to us.
            for owner in dropped:
                owner.object = None
        self._sweep_at = 2 * len(held) + self._sweep_every

    def clear(self) -> None:
        """Forget all objects, at the end of the execution."""
        held = list(self._held.values())
        self._held.clear()
        self.owners.clear()
        for owner in held:
            owner.object = None

    # -- internals ---------------------------------------------------------------

    def _register(self, owner: Any, kind: _Kind, place: Place | None) -> _Owner | None:
        if not kind.tracked or (kind.is_type and _flags_of(owner) & _IMMUTABLE_TYPE_FLAG):
            return None
        identity = id(owner)
        task = self._execution.current
        known: _Owner
        if kind.held:
            if len(self._held) >= self._sweep_at:
                self.sweep()
            held = _HeldOwner()
            held.object = owner
            self._held[identity] = held
            known = held
        else:
            known = _WeakOwner(owner, self._forget)
        known.identity = identity
        known.kind = kind
        known.place = place
        known.task = task
        known.count = self._counts[task.index] = self._counts.get(task.index, -1) + 1
        known.attributes = {}
        known.items = {}
        known.whole = None
        known.identity_key = None
        self.owners[identity] = known
        return known

    def _identity_key(self, key: Any, place: Place | None) -> _IdentityKey | None:
        known = self.owners.get(id(key))
        if known is None:
            kind = self._types.kind_of(type(key))
            # Held keys would live longer than in the program.
            if not kind.identity_keys or kind.held:
                return None
            known = self._register(key, kind, place)
            if known is None:
                return None
        elif not known.kind.identity_keys:
            return None
        if known.identity_key is None:
            known.identity_key = _IdentityKey(known)
        return known.identity_key

    def _inherited(self, owner: Any, kind: _Kind, name: str) -> Shadow | None:
        """The variable of the class that ``owner.name`` comes from now."""
        mro = _mro_of(owner if kind.is_type else type(owner))
        for base in mro:
            if name in _namespace_of(base):
                return None if base is owner else self.shadow_of_attribute(base, name)
        return None

    def _join_namespace(self, owner: Any, kind: _Kind, place: Place | None) -> None:
        """Make ``owner.__dict__['x']`` the same variable as ``owner.x``.

        The program is about to get the namespace, so that making it now changes nothing.
        """
        if not kind.tracked or not kind.has_instance_namespace:
            return
        known = self.owners.get(id(owner)) or self._register(owner, kind, place)
        getter = kind._find("__dict__")
        if known is None or type(getter) is not types.GetSetDescriptorType:
            return
        namespace = getter.__get__(owner)
        if type(namespace) is dict and id(namespace) not in self.owners:
            joined = self._register(namespace, self._types.kind_of(dict), place)
            if joined is not None:
                joined.items = known.attributes  # type: ignore[assignment]


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
        execution: Execution,
        on_point: Callable[[Place, Kind, Shadow], object],
        points: PlaceSet,
    ) -> None:
        self.enabled = False
        self._detector = detector
        self._epochs = detector.epochs
        self._tags = detector.tags
        self._variables = variables
        self._owners = variables.owners
        self._execution = execution
        self._on_point = on_point
        self._points = points.by_identity

    # The three methods repeat one another, because a call would cost as much as
    # the rest of what they do.  All accesses that a task makes at one place
    # between two of its synchronisations are the same to the detector, so that
    # one look at the last of them is enough for most.

    def attribute(self, owner: Any, name: str, is_write: bool, place: Place) -> None:
        """A task is about to access ``owner.name``."""
        if not self.enabled:
            return
        known = self._owners.get(id(owner))
        shadow = None if known is None else known.attributes.get(name)
        if shadow is None or id(place) in self._points:
            shadow = self._variables.shadow_of_attribute(owner, name, is_write, place)
            if shadow is None:
                return
            if id(place) in self._points:
                self._on_point(place, WRITE if is_write else READ, shadow)
        index = self._execution.current.index
        if is_write:
            if shadow.writes.get(id(place) + self._tags[index]) != self._epochs[index]:
                self._first_of_epoch(shadow, owner, index, True, place)
        elif shadow.reads.get(id(place) + self._tags[index]) != self._epochs[index]:
            self._first_of_epoch(shadow, owner, index, False, place)

    def item(self, owner: Any, key: object, is_write: bool, place: Place) -> None:
        """A task is about to access ``owner[key]``, or a global."""
        if not self.enabled:
            return
        shadow = self._variables.shadow_of_item(owner, key, is_write, place)
        if shadow is None:
            return
        if id(place) in self._points:
            self._on_point(place, WRITE if is_write else READ, shadow)
        index = self._execution.current.index
        if is_write:
            if shadow.writes.get(id(place) + self._tags[index]) != self._epochs[index]:
                self._detector.write(shadow, index, place)
        elif shadow.reads.get(id(place) + self._tags[index]) != self._epochs[index]:
            self._detector.read(shadow, index, place)

    def whole(self, owner: Any, is_write: bool, place: Place) -> None:
        """A task is about to access a container as a whole, an iterator or a cell."""
        if not self.enabled:
            return
        shadow = self._variables.shadow_of_whole(owner, is_write, place)
        if shadow is None:
            return
        if id(place) in self._points:
            self._on_point(place, WRITE if is_write else READ, shadow)
        index = self._execution.current.index
        if is_write:
            if shadow.writes.get(id(place) + self._tags[index]) != self._epochs[index]:
                self._detector.write(shadow, index, place)
        elif shadow.reads.get(id(place) + self._tags[index]) != self._epochs[index]:
            self._detector.read(shadow, index, place)

    def _first_of_epoch(
        self, shadow: Shadow, owner: Any, index: int, is_write: bool, place: Place
    ) -> None:
        if shadow is NOT_A_VARIABLE:
            return
        variables = self._variables
        variables.shadow_of_attribute(owner, str(shadow.key), is_write, place)
        if is_write:
            self._detector.write(shadow, index, place)
            return
        self._detector.read(shadow, index, place)
        if shadow.inherited is not None:
            self._detector.read(shadow.inherited, index, place)
