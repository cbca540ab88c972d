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
from _thread import _local
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from bohrbug.model.operation import READ, WRITE, Kind, ResourceId
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
        "shared",
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
        # Whether accesses of two tasks conflicted, even if they were ordered.
        self.shared = False
        self.reads = self.writes = self.item_reads = self.item_writes = NO_ACCESSES

    @property
    def resource_id(self) -> ResourceId:
        """``task:count`` of the owner, and name or key.

        The count is taken when an id of the owner is first asked for, by the task that
        runs then.  It so depends only on where ids are asked for, which is at
        scheduling points, and not on whether all other accesses are watched, too.
        """
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


def _shown(key: object, in_label: bool = False) -> str:
    """A key for people and ids; it consists of built-in types, so that no code is run.

    Labels leave out the ids of objects, which depend on the schedule.
    """
    if isinstance(key, _IdentityKey):
        name = key.owner.kind.name
        return f"<{name}>" if in_label else f"<{name} {key.owner.resource_id}>"
    if isinstance(key, tuple):
        return f"({', '.join(_shown(element, in_label) for element in key)})"
    return repr(key)


# -- types ---------------------------------------------------------------------

_mro_of: Callable[[type], tuple[type, ...]] = type.__dict__["__mro__"].__get__
_namespace_of: Callable[[type], types.MappingProxyType[str, object]]
_namespace_of = type.__dict__["__dict__"].__get__
_name_of: Callable[[type], str] = type.__dict__["__name__"].__get__
_flags_of: Callable[[type], int] = type.__dict__["__flags__"].__get__
_weakref_offset_of: Callable[[type], int] = type.__dict__["__weakrefoffset__"].__get__
_module_namespace_of: Callable[[types.ModuleType], dict[str, object]]
_module_namespace_of = vars(types.ModuleType)["__dict__"].__get__
_IMMUTABLE_TYPE_FLAG = 1 << 8


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
_NEVER_HELD = _identities(BaseException, types.FrameType, types.TracebackType)
"""They keep whole stacks alive, so that a strong reference to one would do so too."""

_PLAIN_KEYS = _identities(str, int, bytes, bool, type(None), float)
_CONTAINER_METHODS = ("__getitem__", "__len__", "__iter__", "__next__")


class _Kind:
    """What has to be known of a type to find the variables of its instances.

    It does not keep the type alive.
    """

    __slots__ = (
        "held",
        "identity_keys",
        "is_container",
        "is_mapping",
        "is_module",
        "is_type",
        "name",
        "tracked",
    )

    def __init__(self, cls: type, excluded: bool) -> None:
        mro = _mro_of(cls)
        # By identity: a metaclass may define ``__eq__`` and ``__hash__``.
        bases = {id(base) for base in mro}
        self.name = _name_of(cls)
        self.is_type = id(type) in bases
        self.is_module = id(types.ModuleType) in bases
        self.is_mapping = id(dict) in bases
        self.held = not _weakref_offset_of(cls)
        immutable = not bases.isdisjoint(_IMMUTABLE)
        self.tracked = not (
            excluded
            or id(cls) in _IMMUTABLE
            or (self.held and (immutable or not bases.isdisjoint(_NEVER_HELD)))
            or id(_local) in bases
        )
        # Its contents are something else than its attributes.
        self.is_container = not immutable and any(
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


_GLOBALS = _Kind(dict, excluded=False)
"""The kind of the namespaces of modules."""


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

    def kind_of(self, cls: type) -> _Kind:
        """What is known of ``cls``."""
        identity = id(cls)
        kind = self.kinds.get(identity)
        if kind is None:
            excluded = self._excluded is not None and self._excluded(cls)
            kind = self.kinds[identity] = _Kind(cls, excluded)
            kinds, references = self.kinds, self._references

            def forget(reference: weakref.ref[type]) -> None:
                if references.get(identity) is reference:
                    del kinds[identity], references[identity]

            references[identity] = weakref.ref(cls, forget)
        return kind


# -- owners --------------------------------------------------------------------


class Running(Protocol):
    """Where the task is found that is running: an execution."""

    @property
    def current(self) -> Any:
        """The task, with ``id`` and ``index``; not declared, so that it may be assignable."""


# A class with slots of its own could not be a base beside ``weakref.ref``.
_IN_SUBCLASSES = ()
_OWNER_SLOTS = (
    "attributes",
    "identity",
    "identity_key",
    "items",
    "kind",
    "name",
    "place",
    "variables",
    "whole",
)


class _Owner:
    """An object that has variables; its two subclasses differ in how they refer to it."""

    __slots__ = _IN_SUBCLASSES

    identity: int
    kind: _Kind
    variables: Variables
    name: ResourceId | None
    # Where it was first touched.
    place: Place | None
    attributes: dict[str, Shadow]
    items: dict[object, Shadow]
    whole: Shadow | None
    identity_key: _IdentityKey | None

    @property
    def resource_id(self) -> ResourceId:
        """Names the object; given when it is first asked for, see :attr:`Shadow.resource_id`."""
        if self.name is None:
            self.name = self.variables.next_name()
        return self.name

    def target(self) -> Any:
        """The object, or ``None`` if it is no more."""
        raise NotImplementedError

    def let_go(self) -> None:
        """Drop the variables, which refer back here: nobody else would resolve the cycle."""
        self.attributes.clear()
        self.items.clear()
        self.whole = None

    def describe(self, shadow: Shadow) -> str:
        """The label of one of the owner's variables."""
        key = shadow.key
        if shadow.is_item:
            if self.kind is _GLOBALS:
                return f"global {key}"
            return f"{self._located()}[{_shown(key, in_label=True)}]"
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
        self._execution: Any = execution
        self._counts: dict[int, int] = {}
        self._held: dict[int, _HeldOwner] = {}
        self._sweep_every = sweep_every
        self._sweep_at = sweep_every
        owners = self.owners

        def forget(owner: _WeakOwner) -> None:
            identity = owner.identity
            if owners.get(identity) is owner:
                del owners[identity]
            owner.let_go()

        self._forget = forget

    def next_name(self) -> ResourceId:
        """An id for an object that the running task is the first to ask for."""
        task = self._execution.current
        count = self._counts[task.index] = self._counts.get(task.index, -1) + 1
        return f"{task.id}:{count}"

    # -- finding -----------------------------------------------------------------

    def shadow_of_attribute(
        self, owner: Any, name: str, is_write: bool = False, place: Place | None = None
    ) -> Shadow | None:
        """The variable ``owner.name``; ``None`` if that is no variable.

        Parameters:
            owner: any object of the tested program.
            name: of the attribute; not one that is computed, such as a property.
            is_write: whether it is about to be written.
            place: where it is touched, for the label of an owner seen for the first time.
        """
        known = self.owners.get(id(owner))
        if known is None:
            if self.types.kind_of(type(owner)).is_module:
                return self.shadow_of_item(_module_namespace_of(owner), name, is_write, place)
            known = self._register(owner, place)
            if known is None:
                return None
        shadow = known.attributes.get(name)
        if shadow is None:
            container = None if known.kind.is_container else known.whole
            shadow = known.attributes[name] = Shadow(
                known, name, container, False, self._execution.current.index
            )
        return shadow

    def shadow_of_item(
        self, owner: Any, key: Any, is_write: bool = False, place: Place | None = None
    ) -> Shadow | None:
        """The variable ``owner[key]``; ``None`` if that is no variable.

        It is the whole of the container if ``key`` is a slice or a negative index, or
        can't be compared without running code of the tested program.

        Parameters:
            owner: a container, or the namespace of a module for a global.
            key: key or index.
            is_write: whether it is about to be written.
            place: where it is touched, for the label of an owner seen for the first time.
        """
        known = self.owners.get(id(owner)) or self._register(owner, place)
        if known is None:
            return None
        key = self._comparable(known.kind, key, place)
        whole = known.whole or self._make_whole(known)
        if key is _ANY_KEY:
            return whole
        shadow = known.items.get(key)
        if shadow is None:
            shadow = known.items[key] = Shadow(
                known, key, whole, True, self._execution.current.index
            )
        return shadow

    def shadow_of_whole(
        self, owner: Any, is_write: bool = False, place: Place | None = None
    ) -> Shadow | None:
        """The variable that is ``owner`` as a whole; ``None`` if that is no variable.

        Parameters:
            owner: a container, an iterator or a closure cell; any other object for
                all of its attributes, as in ``vars(owner).update(...)``.
            is_write: whether it is about to be changed.
            place: where it is touched, for the label of an owner seen for the first time.
        """
        known = self.owners.get(id(owner)) or self._register(owner, place)
        if known is None:
            return None
        return known.whole or self._make_whole(known)

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
                owner.let_go()
                owner.object = None

    def clear(self) -> None:
        """Forget all objects, at the end of the execution.

        Labels can still be asked for, ids only of owners that were given one.
        """
        owners = list(self.owners.values())
        held = list(self._held.values())
        self._held.clear()
        self.owners.clear()
        self._execution = None
        for owner in owners:
            owner.let_go()
        for owner in held:
            owner.object = None

    # -- internals ---------------------------------------------------------------

    def _register(self, target: Any, place: Place | None) -> _Owner | None:
        cls = type(target)
        kind = self._kinds.get(id(cls)) or self.types.kind_of(cls)
        if cls is dict and "__builtins__" in target:
            kind = _GLOBALS
        elif not kind.tracked or (kind.is_type and _flags_of(target) & _IMMUTABLE_TYPE_FLAG):
            return None
        identity = id(target)
        owner: _Owner
        if kind.held:
            if len(self._held) >= self._sweep_at:
                self.sweep()
            owner = self._held[identity] = _HeldOwner(target)
        else:
            owner = _WeakOwner(target, self._forget)
        owner.identity = identity
        owner.kind = kind
        owner.variables = self
        owner.name = None
        owner.place = place
        owner.attributes = {}
        owner.items = {}
        owner.whole = None
        owner.identity_key = None
        self.owners[identity] = owner
        return owner

    def _make_whole(self, owner: _Owner) -> Shadow:
        """The whole of an owner; of one that is no container it sums up the attributes."""
        owner.whole = whole = Shadow(owner, None, None, False, self._execution.current.index)
        if owner.attributes and not owner.kind.is_container:
            whole.sole = SEVERAL
            whole.item_reads = {}
            whole.item_writes = {}
            for shadow in owner.attributes.values():
                shadow.container = whole
                _add_later(whole.item_reads, shadow.reads)
                _add_later(whole.item_writes, shadow.writes)
        return whole

    def _comparable(self, kind: _Kind, key: Any, place: Place | None) -> Any:
        """What stands for a key in ``items``, or ``_ANY_KEY``."""
        cls = type(key)
        if cls is int:
            return key if key >= 0 or kind.is_mapping else _ANY_KEY
        if id(cls) in _PLAIN_KEYS or (cls is tuple and _is_plain(key)):
            return key
        if not kind.is_mapping:
            return _ANY_KEY
        key_kind = self._kinds.get(id(cls)) or self.types.kind_of(cls)
        # Not if it would have to be held: it would live longer than in the program.
        if not key_kind.identity_keys or key_kind.held:
            return _ANY_KEY
        known = self.owners.get(id(key)) or self._register(key, place)
        if known is None:
            return _ANY_KEY
        if known.identity_key is None:
            known.identity_key = _IdentityKey(known)
        return known.identity_key


def _add_later(accesses: Accesses, others: Accesses) -> None:
    """Put other accesses in, of two at one place and by one task the later one."""
    for key, epoch in others.items():
        accesses[key] = max(epoch, accesses.get(key, 0))


def _is_plain(key: Any) -> bool:
    return all(
        id(type(element)) in _PLAIN_KEYS or (type(element) is tuple and _is_plain(element))
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
        self._execution = execution
        self._on_point = on_point
        self._points = points.by_identity

    # The three methods repeat one another, because a call would cost as much as
    # the rest of what they do.  All accesses that a task makes at one place
    # between two of its synchronisations are the same to the detector, so that
    # a look at the last one is enough for most.

    def attribute(self, owner: Any, name: str, is_write: bool, place: Place) -> None:
        """A task is about to access ``owner.name``."""
        if not self.enabled:
            return
        known = self._owners.get(id(owner))
        shadow = None if known is None else known.attributes.get(name)
        if shadow is None:
            shadow = self._variables.shadow_of_attribute(owner, name, is_write, place)
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

    def item(self, owner: Any, key: Any, is_write: bool, place: Place) -> None:
        """A task is about to access ``owner[key]``, or a global."""
        if not self.enabled:
            return
        known = self._owners.get(id(owner))
        shadow = None
        if known is not None and (type(key) is str or type(key) is int):
            shadow = known.items.get(key)
        if shadow is None:
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
        known = self._owners.get(id(owner))
        shadow = None if known is None else known.whole
        if shadow is None:
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
