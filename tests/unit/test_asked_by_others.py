"""Code that the scheduler runs on behalf of tasks that wait is no access of the task that runs."""

from __future__ import annotations

import queue
import selectors
import socket
import threading
from collections.abc import Callable

import bohrbug
from bohrbug import Result


class OrderedSetQueue(queue.Queue[int]):
    """A queue as its documentation says that one is to be derived: its methods hold the mutex."""

    def _init(self, maxsize: int) -> None:
        self.items: dict[int, None] = {}

    def _qsize(self) -> int:
        return len(self.items)

    def _put(self, item: int) -> None:
        self.items[item] = None

    def _get(self) -> int:
        item = next(iter(self.items))
        del self.items[item]
        return item


def _explored(test: Callable[[], None]) -> Result:
    result = bohrbug.explore(test, executions=30)
    assert not result.failures
    assert not result.verdict.caveats
    return result


def test_the_methods_of_a_queue_do_not_race() -> None:
    def hands_over() -> None:
        items = OrderedSetQueue(1)
        received: list[int] = []

        def produce() -> None:
            for number in range(3):
                items.put(number)
                items.qsize()

        thread = threading.Thread(target=produce)
        thread.start()
        for _ in range(3):
            received.append(items.get())
        thread.join()
        assert received == [0, 1, 2]

    assert _explored(hands_over).races == []


def test_selectors_of_two_tasks_do_not_race() -> None:
    def waits_for_both() -> None:
        def wait(near: socket.socket) -> None:
            with selectors.PollSelector() as selector:
                selector.register(near, selectors.EVENT_READ)
                ((key, _),) = selector.select()
                assert key.fileobj is near
                assert near.recv(1) == b"x"

        pairs = [socket.socketpair() for _ in range(2)]
        threads = [threading.Thread(target=wait, args=(near,)) for near, _ in pairs]
        for thread in threads:
            thread.start()
        for _, far in pairs:
            far.sendall(b"x")
        for thread in threads:
            thread.join()
        for near, far in pairs:
            near.close()
            far.close()

    assert _explored(waits_for_both).races == []
