"""What tells objects apart is the same in each execution: ``id``, hashes, ``repr``.

By default it is the address of an object, and with it the order of sets of objects, that of
``sorted(locks, key=id)``, or which shard ``hash(key) % 8`` is.  Addresses differ from one execution
to the next, as what is free in memory does.  So objects that an execution makes are known by their
number: which task has made them, and how many of their class it had made before.

That takes the accelerator, as it exchanges what ``object`` does in C.
"""

from __future__ import annotations

from collections.abc import Callable

from bohrbug.accelerator import native
from bohrbug.runtime.threads.namespaces import with_subclasses
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.rewrite.classes import module_of

_OWN = frozenset({"bohrbug", "greenlet"})
"""Packages of classes whose objects the program has nothing to do with."""


class _Identities(Patches):
    """Known once, for all of the process: an object may outlive the execution that made it."""

    def __init__(self) -> None:
        super().__init__()
        self._are_known = False

    def install(self) -> None:
        """See :class:`Patches`."""
        if native is None or self._are_known:
            return
        classes = with_subclasses(object)
        counted = [each for each in classes if _package(each) not in _OWN]
        native.know_births(counted, classes)
        native.watch_functions()
        self._are_known = True


patches = _Identities()


def _package(class_: type) -> str:
    return module_of(class_).partition(".")[0]


def begin(is_endless: bool) -> None:
    """Before an execution.

    Parameters:
        is_endless: it can't be replayed, and numbers of all that it ever makes would be too many:
            objects are known by their addresses.
    """
    if native is not None:
        native.count_births(not is_endless)


def _end() -> None:
    """Where nothing is counted."""


end: Callable[[], None] = _end if native is None else native.forget_births
"""After an execution: the next one counts from the beginning."""
