"""What the system gives at random is the same in each execution, as virtual time is.

``os.urandom`` and ``os.getrandom``; with them ``secrets``, ``random.SystemRandom`` and
``uuid.uuid4``; generators of ``random`` that are given no seed; and ``uuid.uuid1``, which is made
of the time.  A replay needs the same input (CHESS, OSDI 2008, section 3.2).

The bytes come from a generator of our own, begun anew with each execution.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from typing import Any

from bohrbug.runtime.threads.control import controlled
from bohrbug.runtime.threads.execution import Execution
from bohrbug.runtime.threads.patches import Patches
from bohrbug.runtime.threads.rewrite import tell
from bohrbug.runtime.threads.rewrite.callables import CALLABLE_PLACES
from bohrbug.runtime.threads.rewrite.place import Place
from bohrbug.runtime.threads.settings import Settings
from bohrbug.runtime.threads.temporary_names import NamesOfAnExecution

patches = Patches()

_seed = random.Random.seed
_urandom = os.urandom


class Source:
    """Gives the bytes of the execution that runs."""

    def __init__(self) -> None:
        self._execution = 0
        self._generator = random.Random(0)

    def bytes_for(self, execution: Execution, count: int) -> bytes:
        """The next bytes of an execution."""
        if self._execution != execution.resources.serial:
            self._execution = execution.resources.serial
            _seed(self._generator, 0)
        return self._generator.randbytes(count)


source = Source()


def _seeded() -> Execution | None:
    """The execution in control, unless its random input is to be the real one."""
    execution = controlled()
    return None if execution is None or execution.settings.real_entropy else execution


def urandom(size: Any, /) -> bytes:
    """Stands for ``os.urandom``."""
    execution = _seeded()
    if execution is None or not isinstance(size, int) or size < 0:
        return _urandom(size)
    return source.bytes_for(execution, size)


patches.add(os, "urandom", urandom)

if hasattr(os, "getrandom"):
    _getrandom = os.getrandom

    def getrandom(size: int, flags: int = 0) -> bytes:
        """Stands for ``os.getrandom``."""
        execution = _seeded()
        if execution is None or not isinstance(size, int) or size < 0:
            return _getrandom(size, flags)
        return source.bytes_for(execution, size)

    patches.add(os, "getrandom", getrandom)


def _place_of_seeding() -> Place:
    code = _place_of_seeding.__code__.replace(co_name="seed", co_qualname="Random.seed")
    return CALLABLE_PLACES.setdefault("Random.seed", Place((code, 0)))


_SEEDING = _place_of_seeding()


@patches.method(random.Random, "seed")
def seed(self: Any, a: Any = None, version: int = 2) -> None:
    """Stands for ``random.Random.seed``."""
    execution = _seeded() if a is None else None
    if tell.active:
        tell.whole(self, True, _SEEDING)
    if execution is not None:
        a = int.from_bytes(source.bytes_for(execution, 32), "little")
    _seed(self, a, version)


def _seed_the_shared_one(a: Any = None, version: int = 2) -> None:
    seed(_shared, a, version)


_shared: Any = getattr(random.seed, "__self__", None)
if _shared is not None:
    # Bound to the method when the module was imported.
    patches.add(random, "seed", _seed_the_shared_one)


_LAST = {
    "_last_timestamp": None,
    "_last_timestamp_v6": None,
    "_last_timestamp_v7": None,
    "_last_counter_v7": 0,
}
"""What ``uuid`` goes on from, and with what it begins."""
_tempfile = vars(tempfile)
_times_of_uuids: list[Any] = []
_names_of_files: list[Any] = []


def begin(settings: Settings) -> None:
    """Before an execution: nothing that is drawn in it goes on from what came before.

    UUIDs are made of virtual time, and the names of temporary files are drawn anew.

    Parameters:
        settings: of the execution.
    """
    if settings.real_entropy:
        return
    _names_of_files.append(_tempfile.get("_name_sequence"))
    _tempfile["_name_sequence"] = NamesOfAnExecution()
    module = sys.modules.get("uuid")
    if module is None:
        return
    namespace = vars(module)
    for name, first in _LAST.items():
        if name in namespace:
            namespace[name] = first
    # It asks a library for the time; without that, ``time.time_ns``.
    _times_of_uuids.append(namespace.get("_generate_time_safe"))
    namespace["_generate_time_safe"] = None


def end() -> None:
    """After an execution."""
    while _names_of_files:
        _tempfile["_name_sequence"] = _names_of_files.pop()
    while _times_of_uuids:
        vars(sys.modules["uuid"])["_generate_time_safe"] = _times_of_uuids.pop()
