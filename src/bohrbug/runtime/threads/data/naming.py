"""What the variables at scheduling points are called in operations, and what they are a part of.

``vars(object)`` and ``globals()`` are seldom accessed as a whole; only then do the accesses to
single names conflict with that. It is remembered by the type of the object, which does not
depend on the schedule as its id does.
"""

from __future__ import annotations

from collections.abc import Callable

from bohrbug.model.operation import ResourceId
from bohrbug.runtime.threads.data.kinds import GLOBALS
from bohrbug.runtime.threads.data.shadows import Shadow
from bohrbug.runtime.threads.rewrite.classes import module_of

_type = vars(type)
_name_of: Callable[[type], str] = _type["__qualname__"].__get__

Names = tuple[ResourceId, ResourceId | None, Shadow]
"""A variable, the whole that it is a part of, and its shadow, whose identity so stays its own."""


def names_of(shadow: Shadow, namespaces: set[object]) -> Names:
    """The resource that a variable is, and the whole that an access to it touches, too.

    Parameters:
        shadow: the variable.
        namespaces: names of types of objects, and of modules, whose names were ever used as a
            whole; a new one is added.
    """
    owner = shadow.owner
    resource = shadow.resource_id
    target = owner.target()
    if owner.kind is GLOBALS:
        # A dict that code is executed in has no name, and need not be there in each execution.
        name = None if target is None else dict.get(target, "__name__")
        key: object = ("globals", name if type(name) is str else "")
    elif shadow.is_item:
        container = shadow.container
        return resource, None if container is None else container.resource_id, shadow
    elif owner.kind.is_container:
        return resource, None, shadow
    else:
        # By name: a class that the test makes is another one in each execution.
        class_ = type(target)
        key = (module_of(class_), _name_of(class_))
    if shadow.key is None:
        namespaces.add(key)
    # The whole that an attribute or a global belongs to, if that is ever used as one.
    whole = f"{owner.resource_id}[*]" if key in namespaces else None
    return resource, None if whole == resource else whole, shadow
