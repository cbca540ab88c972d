"""cached-property 2.0.1: two threads that read properties of different objects wait for ever.

Promised: ``threaded_cached_property`` is "for use in environments where multiple threads might
concurrently try to access the property".
Race: the lock belongs to the property, not to the object (cached_property.py:52), and is held while
the value is computed (60-67). Where the value of one property is made from another property of
another object, and the other way round, two threads take the two locks in opposite orders.
Reported: issue #250 of the project ("Locking strategy is wrong"); the standard library took its own
lock of the same design out again in Python 3.12.
"""

from __future__ import annotations

import threading

from cached_property import threaded_cached_property


class Node:
    """A node of a tree whose paths turn left and right in turn."""

    def __init__(self, child: Node | None = None) -> None:
        self.child = child

    @threaded_cached_property
    def left_path(self) -> int:
        return 0 if self.child is None else 1 + self.child.right_path

    @threaded_cached_property
    def right_path(self) -> int:
        return 0 if self.child is None else 1 + self.child.left_path


def test_paths_of_two_trees() -> None:
    one, two = Node(Node()), Node(Node())
    lengths: list[int] = []

    threads = [
        threading.Thread(target=lambda: lengths.append(one.left_path)),
        threading.Thread(target=lambda: lengths.append(two.right_path)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert lengths == [1, 1]
