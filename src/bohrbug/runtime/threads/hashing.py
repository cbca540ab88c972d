"""Without the accelerator: sets of threads and futures have the same order in every execution.

``concurrent.futures`` keeps its threads and futures in sets, as many programs do. Objects hash by
their address, so that the order of such a set, in which an executor joins its threads for
example, would differ from one execution to the next.  The accelerator does it for all objects that
an execution makes (:mod:`.identities`).
"""

from __future__ import annotations

import concurrent.futures._base as base
import threading
import weakref
from collections.abc import Callable
from typing import Any

from bohrbug.accelerator import native
from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.patches import Patches

_HASH = "_bohrbug_hash"
_of_address = object.__hash__


class _HashPatches(Patches):
    """Also remembers which threads are older: their hashes are in use already."""

    def __init__(self) -> None:
        super().__init__()
        self.older: dict[int, weakref.ref[threading.Thread]] = {}

    def install(self) -> None:
        """See :class:`Patches`."""
        threads = list(threading._dangling)  # type: ignore[attr-defined]
        self.older = {id(thread): weakref.ref(thread) for thread in threads}
        super().install()


patches = _HashPatches()


class _Counter:
    """Numbers objects in the order in which an execution first asks for their hashes."""

    __slots__ = ("_count", "_execution")

    def __init__(self) -> None:
        self._execution = 0
        self._count = 0

    def next(self, execution: Execution) -> int:
        """The next number of this execution."""
        if self._execution != execution.resources.serial:
            self._execution = execution.resources.serial
            self._count = 0
        self._count += 1
        return self._count


_counter = _Counter()


def _is_older(thread: threading.Thread, execution: Execution) -> bool:
    reference = patches.older.get(id(thread))
    return reference is not None and reference() is thread


def _is_foreign(future: base.Future[Any], execution: Execution) -> bool:
    return execution.resources.of(future, "Future").created is None


def _hash_in_order(cls: type, keeps_address: Any) -> Callable[[Any], int]:
    """Let new objects of ``cls`` hash by their number; the method that does so.

    Parameters:
        cls: of the objects.
        keeps_address: whether an object may have been hashed before, by its address.
    """

    @patches.method(cls, "__hash__")
    def __hash__(self: Any) -> int:  # noqa: N807
        known: int | None = self.__dict__.get(_HASH)
        if known is None:
            execution = controlled()
            if execution is None or keeps_address(self, execution):
                known = _of_address(self)
            else:
                known = _counter.next(execution)
            # It must never change, whoever asks next.
            self.__dict__[_HASH] = known
        return known

    return __hash__


if native is None:
    _hash_in_order(threading.Thread, _is_older)
    _hash_in_order(base.Future, _is_foreign)
