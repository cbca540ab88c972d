"""From an access to the variable that is meant.

Two rules shape this module.  It runs no code of the tested program, because
that would change what is tested: no ``__getattr__``, ``__eq__``, ``__hash__``
or ``__len__`` is ever called on its objects.  And it does not prolong the life
of its objects, because the moment of ``__del__`` and of weakref callbacks is
part of what is tested; the exceptions are at :meth:`Variables.sweep`.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

from bohrbug.model.operation import ResourceId
from bohrbug.runtime.threads.data.kinds import (
    GLOBALS,
    PLAIN_KEYS,
    Kind,
    Types,
    is_immutable_type,
    module_namespace_of,
)
from bohrbug.runtime.threads.data.owners import HeldOwner, Owner, WeakOwner, held_only_by_us
from bohrbug.runtime.threads.data.places import Place
from bohrbug.runtime.threads.data.shadows import SEVERAL, IdentityKey, Shadow, add_later
from bohrbug.runtime.threads.rewrite.named import Named


class Running(Protocol):
    """Where the task is found that is running: an execution."""

    @property
    def current(self) -> Any:
        """The task, with ``id`` and ``index``; not declared, so that it may be assignable."""


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

    __slots__ = (
        "_counts",
        "_execution",
        "_forget",
        "_held",
        "_kinds",
        "_sweep_at",
        "_sweep_every",
        "owners",
        "types",
    )

    def __init__(
        self, execution: Running, types: Types | None = None, sweep_every: int = 64
    ) -> None:
        self.types = Types() if types is None else types
        self.owners: dict[int, Owner] = {}
        self._kinds = self.types.kinds
        self._execution: Any = execution
        self._counts: dict[int, int] = {}
        self._held: dict[int, HeldOwner] = {}
        self._sweep_every = sweep_every
        self._sweep_at = sweep_every
        owners = self.owners

        def forget(owner: WeakOwner) -> None:
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
            cls = type(owner)
            if (self._kinds.get(id(cls)) or self.types.kind_of(cls)).is_module:
                return self.shadow_of_item(module_namespace_of(owner), name, is_write, place)
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
        if known is None or known.kind.is_modelled:
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
        if known is None or known.kind.is_modelled:
            return None
        return known.whole or self._make_whole(known)

    # -- lifetime ----------------------------------------------------------------

    def sweep(self) -> None:
        """Let go of the objects that only we still hold.

        Objects that can be referenced weakly are forgotten when they die, and
        their lives are not prolonged.  Lists, dicts, cells, iterators and instances
        of classes with ``__slots__`` and without ``__weakref__`` can't be, and
        are held from the first access until the first sweep after the program
        let go of them: after so many new ones, and whenever somebody calls this.
        """
        held = self._held
        while True:
            dropped = held_only_by_us(held)
            self._sweep_at = 2 * (len(held) - len(dropped)) + self._sweep_every
            if not dropped:
                return
            for owner in dropped:
                del held[owner.identity], self.owners[owner.identity]
            # From here on finalizers of the tested program may run and come back to us.
            for owner in dropped:
                owner.let_go()
                owner.object = None

    def let_go_of_unnamed(self) -> None:
        """Let go of the held objects that nobody has asked a name for.

        All that is known of them comes before whatever will be accessed from now on.
        """
        held = self._held
        dropped = [owner for owner in held.values() if owner.name is None]
        for owner in dropped:
            del held[owner.identity], self.owners[owner.identity]
        for owner in dropped:
            owner.let_go()
            owner.object = None
        self.sweep()

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

    def _register(self, target: Any, place: Place | None) -> Owner | None:
        cls = type(target)
        kind = self._kinds.get(id(cls)) or self.types.kind_of(cls)
        if cls is dict and "__builtins__" in target:
            kind = GLOBALS
        elif not kind.tracked or (kind.is_type and is_immutable_type(target)):
            return None
        if kind.is_error and kind.held and target is sys.exception():
            # It would be held with its stack, and nobody but its handler has it, as a rule.
            return None
        identity = id(target)
        owner = self._owner_of(target, kind.held)
        owner.identity = identity
        owner.kind = kind
        owner.label = target.label if cls is Named else None
        owner.variables = self
        owner.name = None
        owner.place = place
        owner.attributes = {}
        owner.items = {}
        owner.whole = None
        owner.identity_key = None
        self.owners[identity] = owner
        return owner

    def _owner_of(self, target: Any, is_held: bool) -> Owner:
        """What refers to an object that is touched for the first time."""
        if not is_held:
            return WeakOwner(target, self._forget)
        if len(self._held) >= self._sweep_at:
            self.sweep()
        owner = self._held[id(target)] = HeldOwner(target)
        return owner

    def _make_whole(self, owner: Owner) -> Shadow:
        """The whole of an owner; of one that is no container it sums up the attributes."""
        owner.whole = whole = Shadow(owner, None, None, False, self._execution.current.index)
        if owner.attributes and not owner.kind.is_container:
            whole.sole = SEVERAL
            whole.item_reads = {}
            whole.item_writes = {}
            for shadow in owner.attributes.values():
                shadow.container = whole
                add_later(whole.item_reads, shadow.reads)
                add_later(whole.item_writes, shadow.writes)
        return whole

    def _comparable(self, kind: Kind, key: Any, place: Place | None) -> Any:
        """What stands for a key in ``items``, or ``_ANY_KEY``."""
        cls = type(key)
        if cls is int:
            return key if key >= 0 or kind.is_mapping else _ANY_KEY
        if id(cls) in PLAIN_KEYS or (cls is tuple and _is_plain(key)):
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
            known.identity_key = IdentityKey(known)
        return known.identity_key


def _is_plain(key: Any) -> bool:
    return all(
        id(type(element)) in PLAIN_KEYS or (type(element) is tuple and _is_plain(element))
        for element in key
    )
