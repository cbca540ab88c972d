"""Variables of objects that nobody keeps alive for it.

Lists, dicts and others that can't be referenced weakly are known by their addresses alone.  If one
dies, another may get its address, and is taken for it: only who asks about one object that lives
anyway, from one access to another, may use this.
"""

from __future__ import annotations

from typing import Any

from bohrbug.model.operation import ResourceId
from bohrbug.runtime.threads.data.kinds import module_namespace_of
from bohrbug.runtime.threads.data.owners import OWNER_SLOTS, Owner
from bohrbug.runtime.threads.data.places import Place
from bohrbug.runtime.threads.data.shadows import Shadow
from bohrbug.runtime.threads.data.variables import Variables


class PassingOwner(Owner):
    """An owner that can't be referenced weakly, and is not held."""

    __slots__ = (*OWNER_SLOTS, "type")

    def __init__(self, type: type) -> None:
        self.type = type

    def target(self) -> Any:
        """See :meth:`Owner.target`."""
        return None


class PassingVariables(Variables):
    """Finds the variable that an access is to, and holds nothing; see :class:`Variables`."""

    __slots__ = ()

    def shadow_of_attribute(
        self, owner: Any, name: str, is_write: bool = False, place: Place | None = None
    ) -> Shadow | None:
        """See :meth:`Variables.shadow_of_attribute`."""
        if self.types.kind_of(type(owner)).is_module:
            return self.shadow_of_item(module_namespace_of(owner), name, is_write, place)
        known = self._known(owner) or self._register(owner, place)
        if known is None:
            return None
        shadow = known.attributes.get(name)
        if shadow is None:
            container = None if known.kind.is_container else known.whole
            index = self._execution.current.index
            shadow = known.attributes[name] = Shadow(known, name, container, False, index)
        return shadow

    def shadow_of_item(
        self, owner: Any, key: Any, is_write: bool = False, place: Place | None = None
    ) -> Shadow | None:
        """See :meth:`Variables.shadow_of_item`."""
        self._known(owner)
        return super().shadow_of_item(owner, key, is_write, place)

    def shadow_of_whole(
        self, owner: Any, is_write: bool = False, place: Place | None = None
    ) -> Shadow | None:
        """See :meth:`Variables.shadow_of_whole`."""
        self._known(owner)
        return super().shadow_of_whole(owner, is_write, place)

    def next_name(self) -> ResourceId:
        """No operation names these objects."""
        return "passing"

    def _known(self, owner: Any) -> Owner | None:
        """What is known of an object; what had its address and was another is forgotten."""
        known = self.owners.get(id(owner))
        if isinstance(known, PassingOwner) and known.type is not type(owner):
            del self.owners[id(owner)]
            return None
        return known

    def _owner_of(self, target: Any, is_held: bool) -> Owner:
        return PassingOwner(type(target)) if is_held else super()._owner_of(target, is_held)
