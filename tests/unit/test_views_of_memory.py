"""Views of memory that is no object's."""

from __future__ import annotations

import io
import threading
import weakref

import bohrbug
from bohrbug.runtime.threads.rewrite import lives


class Raw(io.RawIOBase):
    """What code in C reads from: it hands over a view of its own buffer to be filled."""

    def __init__(self) -> None:
        self.left = 3

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        count = min(self.left, len(buffer))
        buffer[:count] = b"x" * count
        self.left -= count
        return count


def test_code_in_c_lets_a_method_fill_its_memory() -> None:
    def test() -> None:
        reference = weakref.ref(Raw())
        read: list[bytes] = []
        threads = [
            threading.Thread(target=lambda: read.append(io.BufferedReader(Raw()).read()))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert read == [b"xxx", b"xxx"]
        assert reference() is None

    result = bohrbug.explore(test, executions=100)
    assert not result.failures, result.failures


def test_nothing_is_let_go_of_by_nobody() -> None:
    assert lives.let_go_by(None) == []
