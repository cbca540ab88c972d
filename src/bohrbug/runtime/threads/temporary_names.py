"""Names that ``tempfile`` draws: the same in each execution, others than other processes draw.

Were they the same in all processes, those of a run would meet what another one uses or has left
behind, and try name after name: with a thousand folders left behind, most of the time of an
execution.  So the names are those of this process, and what is taken is passed over in one step,
before the program tries to make it.
"""

from __future__ import annotations

import os
import sys
from _random import Random
from collections.abc import Iterator
from typing import Any

_real_fsdecode = os.fsdecode
_real_lexists = os.path.lexists
_real_join = os.path.join
_real_getpid = os.getpid
_real_urandom = os.urandom

_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"
_LENGTH = 8


class _Drawn:
    """The names of this process, in the order in which each execution gets them.

    Its generator is the one in C: what ``random.Random`` draws is told of, and these draws are
    nobody's.
    """

    def __init__(self) -> None:
        self._process = _real_getpid()
        self._generator = Random(int.from_bytes(_real_urandom(16), "little"))
        self._names: list[str] = []

    def at(self, index: int) -> str:
        """One of them; a forked child draws its own."""
        if self._process != _real_getpid():
            self.__init__()  # type: ignore[misc]
        while len(self._names) <= index:
            self._names.append("".join(self._character() for _ in range(_LENGTH)))
        return self._names[index]

    def _character(self) -> str:
        return _CHARACTERS[int(self._generator.random() * len(_CHARACTERS))]


_drawn = _Drawn()


class NamesOfAnExecution:
    """Stands for ``tempfile._RandomNameSequence`` while an execution runs."""

    def __init__(self) -> None:
        self._next = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        asking = sys._getframe(1).f_locals
        while True:
            name = _drawn.at(self._next)
            self._next += 1
            if not _is_taken(name, asking):
                return name


def _is_taken(name: str, asking: dict[str, Any]) -> bool:
    """Whether there is a file of this name where a function of ``tempfile`` is to make one.

    Parameters:
        name: drawn.
        asking: the local variables of that function.
    """
    folder = asking.get("dir")
    before = asking.get("pre", asking.get("prefix"))
    after = asking.get("suf", asking.get("suffix"))
    given = [part for part in (folder, before, after) if isinstance(part, str | bytes)]
    parts = [_real_fsdecode(part) for part in given]
    if len(parts) < 3:
        return False
    return _real_lexists(_real_join(parts[0], parts[1] + name + parts[2]))
