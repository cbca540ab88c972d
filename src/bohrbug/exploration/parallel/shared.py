"""A few numbers that the first process and its workers look at without a message."""

from __future__ import annotations

import mmap

_STOP, _LIMIT, _FIRST = 0, 1, 2
NO_LIMIT = (1 << 62) - 1


class SharedNumbers:
    """Numbers in memory that forked processes share; each is written by one of them only.

    Parameters:
        workers: how many workers there will be.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._memory = mmap.mmap(-1, 8 * (_FIRST + 2 * workers))
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
    def limit(self) -> int:
        """Plans from this position on need not be executed any more."""
        return self._numbers[_LIMIT]

    @limit.setter
    def limit(self, value: int) -> None:
        self._numbers[_LIMIT] = value

    def is_asked(self, worker: int) -> bool:
        """Whether a worker is to give back what it has, if that is enough for two."""
        return bool(self._numbers[_FIRST + self._workers + worker])

    def ask(self, worker: int, value: bool) -> None:
        """Let a worker give back what it has, or not."""
        self._numbers[_FIRST + self._workers + worker] = value

    def set_executions(self, worker: int, executions: int) -> None:
        """How many executions a worker has made of its piece."""
        self._numbers[_FIRST + worker] = executions

    def executions(self) -> int:
        """Executions that workers have made of the pieces that they are at."""
        return sum(self._numbers[_FIRST : _FIRST + self._workers])
