"""Variables of the tested program, each with what a race detector remembers of it."""

from __future__ import annotations

from typing import Any, Protocol

from bohrbug.accelerator.plain import plain
from bohrbug.model.operation import ResourceId
from bohrbug.runtime.threads.data.kinds import Kind

Accesses = dict[int, int]
"""When variables were last accessed: ``{place and task, as one int: epoch}``."""

NO_ACCESSES: Accesses = {}
"""Shared by all variables that were not accessed in a certain way; never changed."""

SEVERAL = -1
"""In place of the index of the only task that ever touched a variable."""


class Owned(Protocol):
    """An object that has variables, as they know it."""

    kind: Kind

    @property
    def resource_id(self) -> ResourceId:
        """Names the object."""
        ...

    def target(self) -> Any:
        """The object, or ``None`` if it is no more."""
        ...

    def describe(self, shadow: Shadow) -> str:
        """The label of one of its variables."""
        ...


@plain
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
        self, owner: Owned, key: object, container: Shadow | None, is_item: bool, sole: int
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
            return f"[{shown(self.key)}]"
        return whole if self.key is None else f".{self.key}"

    def __repr__(self) -> str:
        return f"<Shadow {self.resource_id} {self.label}>"


def add_later(accesses: Accesses, others: Accesses) -> None:
    """Put other accesses in, of two at one place and by one task the later one."""
    for key, epoch in others.items():
        accesses[key] = max(epoch, accesses.get(key, 0))


class IdentityKey:
    """Stands for a key that is compared by identity, for as long as that key lives."""

    __slots__ = ("owner",)

    def __init__(self, owner: Owned) -> None:
        self.owner = owner


def shown(key: object, in_label: bool = False) -> str:
    """A key for people and ids; it consists of built-in types, so that no code is run.

    Labels leave out the ids of objects, which depend on the schedule.
    """
    if isinstance(key, IdentityKey):
        name = key.owner.kind.name
        return f"<{name}>" if in_label else f"<{name} {key.owner.resource_id}>"
    if isinstance(key, tuple):
        return f"({', '.join(shown(element, in_label) for element in key)})"
    return repr(key)
