"""The dicts in which classes keep their attributes, of which programs see only a proxy."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Collection
from typing import Any

from bohrbug.accelerator import with_fast_path

proxy_of: Callable[[type], Any] = vars(type)["__dict__"].__get__
"""What ``vars`` gives of a class, whatever its metaclass says."""


def namespace_of(cls: type) -> dict[str, Any]:
    """The dict itself; whoever changes it has to say so, see :func:`put_into_closed`."""
    namespace: dict[str, Any] = gc.get_referents(proxy_of(cls))[0]
    return namespace


def put_into_closed(cls: type, attributes: dict[str, Any]) -> None:
    """Give new attributes to a type that is closed to programs, as those of the interpreter are.

    The interpreter is told, as it remembers where it found attributes of classes.
    """
    namespace = namespace_of(cls)
    # What was there lives on until nobody remembers it.
    before = [namespace.get(name) for name in attributes]
    namespace.update(attributes)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))
    before.clear()


@with_fast_path
def with_subclasses(cls: type, /) -> list[type]:
    """A class, and all that are derived from it.

    They are not put into a set, as metaclasses may say how their classes compare and hash.
    """
    seen = {id(cls)}
    found = [cls]
    subclass: type
    for each in found:
        for subclass in type.__subclasses__(each):
            if id(subclass) not in seen:
                seen.add(id(subclass))
                found.append(subclass)
    return found


@with_fast_path
def classes_of(namespaces: Collection[dict[str, Any]], /) -> dict[int, type]:
    """The classes whose attributes some dicts are, by the ids of these.

    Nothing in a namespace tells whose it is: it has a descriptor ``__dict__`` only if the bases
    give their objects none, and from Python 3.15 on that is the same for all classes.
    """
    wanted = {id(namespace) for namespace in namespaces}
    classes = {id(namespace_of(cls)): cls for cls in with_subclasses(object)}
    return {key: cls for key, cls in classes.items() if key in wanted}
