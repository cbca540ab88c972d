"""Handlers of signals, which run in the main thread between any two of its instructions."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import types
from collections.abc import Callable
from typing import Any

from tests.programs.interrupting import handling, send

Sender = Callable[[], object]


def _counts(sending: Sender) -> None:
    """The main thread has read the number before the handler changes it."""
    state = types.SimpleNamespace(n=0)

    def handle(*_: object) -> None:
        state.n += 10

    with handling(handle):
        thread = threading.Thread(target=sending)
        thread.start()
        seen = state.n
        state.n = seen + 1
        thread.join()
    assert state.n == 11


def number_that_a_handler_counts() -> None:
    """The increment of the handler is lost."""
    _counts(send)


def number_counted_for_a_raised_signal() -> None:
    """Likewise, if another thread raises the signal."""
    _counts(lambda: signal.raise_signal(signal.SIGUSR1))


def number_counted_for_a_signal_to_the_main_thread() -> None:
    """Likewise, if it is sent to the main thread itself."""
    main = threading.get_ident()
    _counts(lambda: signal.pthread_kill(main, signal.SIGUSR1))


def number_counted_for_an_interrupted_main_thread() -> None:
    """Likewise, if the main thread is interrupted."""
    _counts(lambda: _thread.interrupt_main(signal.SIGUSR1))


def lock_that_a_handler_takes() -> None:
    """The main thread holds the lock that its handler waits for."""
    lock = threading.Lock()

    def handle(*_: object) -> None:
        with lock:
            pass

    with handling(handle):
        thread = threading.Thread(target=send)
        thread.start()
        with lock:
            pass
        thread.join()


def reentrant_lock_that_a_handler_takes() -> None:
    """The lock does not keep the handler out of what its thread does under it."""
    lock = threading.RLock()
    pair = [0, 0]
    seen: list[list[int]] = []

    def handle(*_: object) -> None:
        with lock:
            seen.append(pair.copy())

    with handling(handle):
        thread = threading.Thread(target=send)
        thread.start()
        with lock:
            pair[0] = 1
            pair[1] = 1
        thread.join()
    assert seen in ([[0, 0]], [[1, 1]])


def list_that_a_handler_changes() -> None:
    """The list is emptied between a look at it and the use of its last item."""
    waiting = [1]

    with handling(lambda *_: waiting.clear()):
        thread = threading.Thread(target=send)
        thread.start()
        if waiting:
            waiting.pop()
        thread.join()


class _Stop(Exception):
    pass


def left_halfway_by_a_handler_that_raises() -> None:
    """The handler raises between the two stores."""
    state = {"open": False}

    def handle(*_: object) -> None:
        raise _Stop

    with handling(handle):
        thread = threading.Thread(target=send)
        try:
            thread.start()
            state["open"] = True
            state["open"] = False
            thread.join()
        except _Stop:
            pass
        thread.join()
    assert not state["open"]


def left_halfway_by_an_interrupt() -> None:
    """``KeyboardInterrupt`` comes before the ``finally`` that undoes what was done is in force."""
    used = [0]

    def use() -> None:
        used[0] += 1
        try:
            pass
        finally:
            used[0] -= 1

    thread = threading.Thread(target=_thread.interrupt_main)
    try:
        thread.start()
        use()
        thread.join()
    except KeyboardInterrupt:
        pass
    thread.join()
    assert used == [0]


def flag_looked_at_before_a_wait_for_a_signal() -> None:
    """The signal comes after the look at the flag, and the wait behind it is in vain."""
    event = threading.Event()
    come: list[int] = []

    def handle(number: int, _: Any) -> None:
        come.append(number)
        event.set()
        event.clear()

    with handling(handle):
        thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1))
        thread.start()
        if not come:
            event.wait()
        thread.join()
