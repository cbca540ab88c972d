"""What the variables at scheduling points are called in operations, and what they are a part of.

``vars(object)`` and ``globals()`` are seldom accessed as a whole; only then do the accesses to
single names conflict with that. It is remembered by the type of the object, which does not
depend on the schedule as its id does.
"""

from __future__ import annotations

from bohrbug.model.operation import ResourceId
from bohrbug.runtime.threads.data.shadows import Shadow

Names = tuple[ResourceId, ResourceId | None, Shadow]
"""A variable, the whole that it is a part of, and its shadow, whose identity so stays its own."""


def names_of(shadow: Shadow, namespaces: set[object]) -> Names:
    """The resource that a variable is, and the whole that an access to it touches, too.

    Parameters:
        shadow: the variable.
        namespaces: types of objects, and ids of the dicts of modules, whose names were ever
            used as a whole; a new one is added.
    """
    resource = shadow.resource_id
    whole = None
    if shadow.is_item and shadow.container is not None and not _is_global(shadow):
        whole = shadow.container.resource_id
    namespace = _namespace_of(shadow, namespaces)
    if namespace is not None and namespace != resource:
        whole = namespace
    return resource, whole, shadow


def _namespace_of(shadow: Shadow, namespaces: set[object]) -> ResourceId | None:
    """The whole that an attribute or a global belongs to, if that is ever used as one."""
    owner = shadow.owner
    target = owner.target()
    if _is_global(shadow):
        key: object = id(target)
    elif shadow.is_item or owner.kind.is_container:
        return None
    else:
        key = type(target)
    if shadow.key is None:
        namespaces.add(key)
    return f"{owner.resource_id}[*]" if key in namespaces else None


def _is_global(shadow: Shadow) -> bool:
    """Whether the container of a variable is a module, which is never used as a whole."""
    target = shadow.owner.target()
    return type(target) is dict and "__builtins__" in target
