"""What the kernels need of Go, over ``threading``: goroutines, channels, contexts, locks.

Written as one would in Python; Bohrbug knows nothing of it.  Where Go draws one of several cases
that are ready, ``bohrbug.choose`` does, so that an exploration tries them all.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Self

from bohrbug import choose

CLOSED = object()
"""What is received of a channel that is closed and empty."""


class Panic(Exception):
    """A run-time panic of Go."""


class Goroutines:
    """Starts threads, and at the end of the block joins all: one that is leaked is a deadlock."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def __call__(self, function: Callable[..., object], *arguments: object) -> None:
        thread = threading.Thread(target=function, args=arguments)
        self._threads.append(thread)
        thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            for thread in self._threads:  # those started meanwhile, too
                thread.join()


class _Parked:
    """One who waits until the first of its cases is served."""

    def __init__(self) -> None:
        self.claim = threading.Lock()
        self._asleep = threading.Lock()
        self._asleep.acquire()
        self._case: int | None = None
        self._value: Any = None

    def claimed(self) -> bool:
        """Whether the caller is the one to serve it: as a compare-and-swap."""
        return self.claim.acquire(blocking=False)

    def wake(self, case: int, value: object) -> None:
        self._case, self._value = case, value
        self._asleep.release()

    def wait(self, timeout: float | None) -> tuple[int | None, Any]:
        if not self._asleep.acquire(timeout=-1 if timeout is None else timeout):
            if self.claimed():
                return None, None
            self._asleep.acquire()
        if isinstance(self._value, Panic):
            raise self._value
        return self._case, self._value


class Channel:
    """A channel of Go; with a capacity of 0, a sender waits for a receiver."""

    _numbers = itertools.count()

    def __init__(self, capacity: int = 0) -> None:
        self.lock = threading.Lock()
        self.number = next(Channel._numbers)
        self._capacity = capacity
        self._items: deque[Any] = deque()
        self._closed = False
        self.receivers: deque[tuple[_Parked, int]] = deque()
        self.senders: deque[tuple[_Parked, int, Any]] = deque()

    def send(self, value: object = None) -> None:
        select(sending(self, value))

    def receive(self) -> Any:
        return select(receiving(self))[1]

    def close(self) -> None:
        with self.lock:
            if self._closed:
                raise Panic("close of closed channel")
            self._closed = True
            while self.receivers:
                parked, case = self.receivers.popleft()
                if parked.claimed():
                    parked.wake(case, CLOSED)
            while self.senders:
                parked, case, _ = self.senders.popleft()
                if parked.claimed():
                    parked.wake(case, Panic("send on closed channel"))

    def __iter__(self) -> Iterator[Any]:
        while (value := self.receive()) is not CLOSED:
            yield value

    def can_send(self) -> bool:
        return (
            self._closed
            or len(self._items) < self._capacity
            or any(not parked.claim.locked() for parked, _ in self.receivers)
        )

    def can_receive(self) -> bool:
        return (
            self._closed
            or bool(self._items)
            or any(not parked.claim.locked() for parked, _, _ in self.senders)
        )

    def try_send(self, value: object) -> bool:
        if self._closed:
            raise Panic("send on closed channel")
        while self.receivers:
            parked, case = self.receivers.popleft()
            if parked.claimed():
                parked.wake(case, value)
                return True
        if len(self._items) < self._capacity:
            self._items.append(value)
            return True
        return False

    def try_receive(self) -> tuple[bool, Any]:
        if self._items:
            value = self._items.popleft()
            while self.senders:
                parked, case, waiting = self.senders.popleft()
                if parked.claimed():
                    self._items.append(waiting)
                    parked.wake(case, None)
                    break
            return True, value
        while self.senders:
            parked, case, waiting = self.senders.popleft()
            if parked.claimed():
                parked.wake(case, None)
                return True, waiting
        return self._closed, CLOSED


class _Receiving:
    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    def ready(self) -> bool:
        return self.channel.can_receive()

    def attempt(self) -> tuple[bool, Any]:
        return self.channel.try_receive()

    def park(self, parked: _Parked, case: int) -> None:
        self.channel.receivers.append((parked, case))


class _Sending:
    def __init__(self, channel: Channel, value: object) -> None:
        self.channel = channel
        self._value = value

    def ready(self) -> bool:
        return self.channel.can_send()

    def attempt(self) -> tuple[bool, Any]:
        return self.channel.try_send(self._value), None

    def park(self, parked: _Parked, case: int) -> None:
        self.channel.senders.append((parked, case, self._value))


Case = _Receiving | _Sending | None


def receiving(channel: Channel | None) -> Case:
    """The case of a select that receives; never ready for a channel that is ``nil``."""
    return None if channel is None else _Receiving(channel)


def sending(channel: Channel | None, value: object = None) -> Case:
    """The case of a select that sends."""
    return None if channel is None else _Sending(channel, value)


def select(
    *cases: Case, default: bool = False, timeout: float | None = None
) -> tuple[int | None, Any]:
    """Which of the cases was served, and what it received; None if none was."""
    real = [(number, case) for number, case in enumerate(cases) if case is not None]
    channels = sorted({case.channel for _, case in real}, key=lambda channel: channel.number)
    for channel in channels:
        channel.lock.acquire()
    try:
        ready = [(number, case) for number, case in real if case.ready()]
        if len(ready) > 1:
            first = choose(len(ready))
            ready = ready[first:] + ready[:first]
        for number, case in ready:
            served, value = case.attempt()
            if served:
                return number, value
        if default:
            return None, None
        parked = _Parked()
        for number, case in real:
            case.park(parked, number)
    finally:
        for channel in channels:
            channel.lock.release()
    return parked.wait(timeout)


class Context:
    """A context that can be cancelled, and is with its parent."""

    def __init__(self, parent: Context | None = None) -> None:
        self.done = Channel()
        self._lock = threading.Lock()
        self._cancelled = False
        self._children: list[Context] = []
        if parent is not None:
            parent.adopt(self)

    def adopt(self, child: Context) -> None:
        with self._lock:
            cancelled = self._cancelled
            self._children.append(child)
        if cancelled:
            child.cancel()

    def cancel(self) -> None:
        with self._lock:
            if self._cancelled:
                return
            self._cancelled = True
            self.done.close()
            children = list(self._children)
        for child in children:
            child.cancel()


class WaitGroup:
    """A counter; waiting ends when it is 0."""

    def __init__(self, count: int = 0) -> None:
        self._count = count
        self._changed = threading.Condition(threading.Lock())

    def add(self, count: int = 1) -> None:
        with self._changed:
            self._count += count
            if self._count < 0:
                raise Panic("negative WaitGroup counter")
            if self._count == 0:
                self._changed.notify_all()

    def done(self) -> None:
        self.add(-1)

    def wait(self) -> None:
        with self._changed:
            while self._count:
                self._changed.wait()


class RWMutex:
    """A lock for readers and writers; a writer that waits keeps new readers out."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._readers = 0
        self._writing = False
        self._waiting = 0

    def lock(self) -> None:
        with self._changed:
            self._waiting += 1
            while self._writing or self._readers:
                self._changed.wait()
            self._waiting -= 1
            self._writing = True

    def unlock(self) -> None:
        with self._changed:
            self._writing = False
            self._changed.notify_all()

    def read_lock(self) -> None:
        with self._changed:
            while self._writing or self._waiting:
                self._changed.wait()
            self._readers += 1

    def read_unlock(self) -> None:
        with self._changed:
            self._readers -= 1
            self._changed.notify_all()


class Once:
    """Calls a function once; others wait until it has returned."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done = False

    def do(self, function: Callable[[], object]) -> None:
        with self._lock:
            if not self._done:
                self._done = True
                function()
