"""Objects that are parts of another one, which stands for them.

The ``flags`` and ``traps`` of a decimal context are dicts to look at, and part of the context to
whoever computes in it. From Python 3.13 on ``f_locals`` gives another proxy each time, which reads
and stores local variables of a frame.
"""

from __future__ import annotations

import decimal
import gc
import sys
from types import CodeType, FrameType
from typing import Any

from bohrbug.runtime.threads.leftovers import forgotten_afterwards
from bohrbug.runtime.threads.rewrite.inspected import Inspecting
from bohrbug.runtime.threads.rewrite.named import Named
from bohrbug.runtime.threads.rewrite.place import Place

_SIGNALS: type = type(decimal.Context().flags)


def _proxy_of_locals() -> type:
    return type(sys._getframe().f_locals)


_LOCALS = _proxy_of_locals() if sys.version_info >= (3, 13) else _SIGNALS

PARTS = frozenset({_SIGNALS, _LOCALS})
"""Classes of such objects."""

CLASSES = PARTS | {base for base in _SIGNALS.__mro__ if base.__module__ == "decimal"}
"""These and the classes in C that they have their methods from."""

# By id of each part, with the part, so that no other gets its id.
_contexts: dict[int, tuple[Any, Any]] = {}
# By code: who keeps a frame keeps alive what its variables refer to.
_variables: dict[CodeType, Named] = {}
forgotten_afterwards(_contexts, _variables)


def note(owner: Any) -> bool:
    """Parts of an object are about to be handed out.

    Parameters:
        owner: the object.

    Returns:
        Whether that is all there is to say of it.
    """
    if issubclass(type(owner), decimal.Context):
        for part in (owner.flags, owner.traps):
            _contexts[id(part)] = part, owner
        return True
    # What is read through the proxy of a frame is told then.
    return False


def whole_of(part: Any, place: Place) -> Any:
    """What stands for a part that is about to be accessed.

    Parameters:
        part: of one of the classes :data:`PARTS`.
        place: where.
    """
    if type(part) is _SIGNALS:
        return _contexts.get(id(part), (part, part))[1]
    for frame in gc.get_referents(part):
        if type(frame) is FrameType:
            # Nobody tells what the code of the frame itself does to its variables.
            Inspecting.tell(frame, "f_locals", False, place)
            found = _variables.get(frame.f_code)
            if found is None:
                name = frame.f_code.co_qualname
                found = _variables[frame.f_code] = Named(f"local variables of {name}")
            return found
    return part
