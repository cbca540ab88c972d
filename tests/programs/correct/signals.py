"""Handlers of signals that do nothing which the main thread could be in the middle of."""

from __future__ import annotations

import collections
import threading
import types

from tests.programs.interrupting import handling, send


def event_that_a_handler_sets() -> None:
    """The main thread waits until the signal was handled."""
    event = threading.Event()
    seen: list[int] = []

    def handle(number: int, _: object) -> None:
        seen.append(number)
        event.set()

    with handling(handle):
        thread = threading.Thread(target=send)
        thread.start()
        event.wait()
        assert len(seen) == 1
        thread.join()


def number_of_the_handler_alone() -> None:
    """The main thread reads it when no signal is left that could come."""
    state = types.SimpleNamespace(n=0, others=0)

    def handle(*_: object) -> None:
        state.n += 1

    with handling(handle):
        threads = [threading.Thread(target=send) for _ in range(2)]
        for thread in threads:
            thread.start()
        state.others += 1
        for thread in threads:
            thread.join()
    assert 1 <= state.n <= 2


def reentrant_lock_around_one_step() -> None:
    """A handler that comes into it finds what it guards whole."""
    lock = threading.RLock()
    whole = [(0, 0)]

    def handle(*_: object) -> None:
        with lock:
            assert whole[0] in ((0, 0), (1, 1))

    with handling(handle):
        thread = threading.Thread(target=send)
        thread.start()
        with lock:
            whole[0] = (1, 1)
        thread.join()


def what_a_handler_leaves_for_later() -> None:
    """The handler only notes what the main thread does when it is through."""
    noted: collections.deque[int] = collections.deque()
    waiting = [1]

    with handling(lambda number, _: noted.append(number)):
        thread = threading.Thread(target=send)
        thread.start()
        if waiting:
            waiting.pop()
        thread.join()
    while noted:
        noted.popleft()
        waiting.clear()
    assert not waiting


class _Stop(Exception):
    pass


def undone_wherever_a_handler_raises() -> None:
    """What is undone is undone in any case."""
    state = {"open": False}

    def handle(*_: object) -> None:
        raise _Stop

    with handling(handle):
        thread = threading.Thread(target=send)
        try:
            thread.start()
            state["open"] = True
            thread.join()
        except _Stop:
            pass
        thread.join()
        state["open"] = False
    assert not state["open"]
