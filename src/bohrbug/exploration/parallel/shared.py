"""A few numbers that the first process and its workers look at without a message."""

from __future__ import annotations

import mmap

_STOP, _HUNGRY, _LIMIT, _FIRST = 0, 1, 2, 3
NO_LIMIT = (1 << 62) - 1


class SharedNumbers:
    """Numbers in memory that forked processes share; each is written by one of them only.

    Parameters:
        workers: how many workers there will be.
    """

    def __init__(self, workers: int) -> None:
        self._memory = mmap.mmap(-1, 8 * (_FIRST + workers))
        self._numbers = memoryview(self._memory).cast("q")
        self._numbers[_LIMIT] = NO_LIMIT

    @property
    def stop(self) -> bool:
        """All workers are to end what they do after the running execution."""
        return bool(self._numbers[_STOP])

    @stop.setter
    def stop(self, value: bool) -> None:
        self._numbers[_STOP] = value

    @property
    def hungry(self) -> int:
        """How many workers have nothing to do: the others are to split off some of theirs."""
        return self._numbers[_HUNGRY]

    @hungry.setter
    def hungry(self, value: int) -> None:
        self._numbers[_HUNGRY] = value

    @property
    def limit(self) -> int:
        """Plans from this position on need not be executed any more."""
        return self._numbers[_LIMIT]

    @limit.setter
    def limit(self, value: int) -> None:
        self._numbers[_LIMIT] = value

    def set_executions(self, worker: int, executions: int) -> None:
        """How many executions a worker has made of its piece."""
        self._numbers[_FIRST + worker] = executions

    def executions(self) -> int:
        """Executions that workers have made of the pieces that they are at."""
        return sum(self._numbers[_FIRST:])
