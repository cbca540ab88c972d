"""Protocols without locks, or with atomic operations only."""

from __future__ import annotations

import threading

from ._together import together


class _Atomic:
    """A variable with compare-and-swap, which stands for one instruction of a processor."""

    def __init__(self, value: object) -> None:
        self._value = value
        self._lock = threading.Lock()

    def load(self) -> object:
        with self._lock:
            return self._value

    def compare_and_swap(self, expected: object, value: object) -> bool:
        with self._lock:
            if self._value != expected:
                return False
            self._value = value
            return True


class _Node:
    def __init__(self, name: str, following: _Node | None) -> None:
        self.name = name
        self.following = following


class _Stack:
    """Treiber's stack over nodes that are used again, with or without a count of the changes."""

    def __init__(self, counts: bool) -> None:
        self.b = _Node("b", None)
        self.a = _Node("a", self.b)
        self.top = _Atomic((self.a, 0))
        self.counts = counts

    def pop(self) -> _Node | None:
        while True:
            top = self.top.load()
            node, count = top  # type: ignore[misc]
            if node is None:
                return None
            following = node.following
            if self.top.compare_and_swap(top, (following, count + self.counts)):
                return node  # type: ignore[no-any-return]

    def push(self, node: _Node) -> None:
        while True:
            top = self.top.load()
            following, count = top  # type: ignore[misc]
            node.following = following
            if self.top.compare_and_swap(top, (node, count + self.counts)):
                return


def _pop_and_push_again(stack: _Stack) -> None:
    freed: list[_Node] = []

    def slow() -> None:
        stack.pop()

    def quick() -> None:
        first = stack.pop()
        second = stack.pop()
        if first is not None and second is not None:
            freed.append(second)
            stack.push(first)

    together(slow, quick)
    node, _ = stack.top.load()  # type: ignore[misc]
    assert node is None or node not in freed, "a node that was taken is in the stack again"


def aba() -> None:
    """``top`` is the same node as before, but what follows it is not."""
    _pop_and_push_again(_Stack(counts=False))


def aba_counted() -> None:
    """A count of the changes tells the same node at two times apart."""
    _pop_and_push_again(_Stack(counts=True))


class _Driver:
    """The Bluetooth driver of KISS (Qadeer and Wu, PLDI 2004): a count of pending requests."""

    def __init__(self) -> None:
        self.pending = 1
        self.is_stopping = False
        self.is_stopped = False
        self.lock = threading.Lock()
        self.may_stop = threading.Event()

    def enter(self) -> bool:
        """Looks, then counts: the stop comes in between."""
        if self.is_stopping:
            return False
        with self.lock:
            self.pending += 1
        return True

    def enter_counting_first(self) -> bool:
        """Counts, then looks."""
        with self.lock:
            if self.pending == 0:
                return False
            self.pending += 1
        if self.is_stopping:
            self.leave()
            return False
        return True

    def leave(self) -> None:
        with self.lock:
            self.pending -= 1
            if self.pending == 0:
                self.may_stop.set()

    def stop(self) -> None:
        self.is_stopping = True
        self.leave()
        self.may_stop.wait()
        self.is_stopped = True


def bluetooth(requests: int) -> None:
    """A request is served by a driver that has stopped."""
    driver = _Driver()

    def request() -> None:
        if driver.enter():
            assert not driver.is_stopped
            driver.leave()

    together(*[request] * requests, driver.stop)


def bluetooth_counting_first(requests: int) -> None:
    """A request counts itself before it looks whether the driver stops."""
    driver = _Driver()

    def request() -> None:
        if driver.enter_counting_first():
            assert not driver.is_stopped
            driver.leave()

    together(*[request] * requests, driver.stop)


class _References:
    def __init__(self) -> None:
        self.count = 2
        self.freed = 0
        self.lock = threading.Lock()

    def release_in_two_steps(self) -> None:
        with self.lock:
            self.count -= 1
        if self.count == 0:
            self.freed += 1

    def release(self) -> None:
        with self.lock:
            self.count -= 1
            is_last = self.count == 0
        if is_last:
            self.freed += 1


def freed_twice() -> None:
    """Two threads count down, then both see zero."""
    references = _References()
    together(references.release_in_two_steps, references.release_in_two_steps)
    assert references.freed == 1


def freed_once() -> None:
    """Who counts down to zero knows it from its own count."""
    references = _References()
    together(references.release, references.release)
    assert references.freed == 1


class _Mutex:
    """Peterson's algorithm for two threads (Information Processing Letters, 1981)."""

    def __init__(self) -> None:
        self.wants = [False, False]
        self.turn = 0
        self.inside = 0

    def may_enter(self, me: int) -> bool:
        return not self.wants[1 - me] or self.turn == me

    def visit(self, me: int) -> None:
        self.inside += 1
        assert self.inside == 1
        self.inside -= 1
        self.wants[me] = False


def peterson_turn_first() -> None:
    """The turn is given away before the wish is made known: both enter."""
    mutex = _Mutex()

    def enter(me: int) -> None:
        mutex.turn = 1 - me
        mutex.wants[me] = True
        if mutex.may_enter(me):
            mutex.visit(me)
        else:
            mutex.wants[me] = False

    together(lambda: enter(0), lambda: enter(1))


def peterson() -> None:
    """The wish is made known first.  Who may not enter gives up, so there is no loop."""
    mutex = _Mutex()

    def enter(me: int) -> None:
        mutex.wants[me] = True
        mutex.turn = 1 - me
        if mutex.may_enter(me):
            mutex.visit(me)
        else:
            mutex.wants[me] = False

    together(lambda: enter(0), lambda: enter(1))


def tickets_taken_twice(customers: int) -> None:
    """Taking a ticket is a read and a write: two customers get the same number."""
    following = [0]
    numbers: list[int] = []

    def take() -> None:
        number = following[0]
        following[0] = number + 1
        numbers.append(number)

    together(*[take] * customers)
    assert len(set(numbers)) == customers


def tickets_taken_once(customers: int) -> None:
    """Taking a ticket is one critical section."""
    following = [0]
    numbers: list[int] = []
    lock = threading.Lock()

    def take() -> None:
        with lock:
            number = following[0]
            following[0] = number + 1
        numbers.append(number)

    together(*[take] * customers)
    assert len(set(numbers)) == customers


class _Connection:
    def __init__(self) -> None:
        self.socket: list[str] | None = ["open"]
        self.lock = threading.Lock()


def used_after_close() -> None:
    """A connection is looked at, then used; it was closed in between."""
    connection = _Connection()

    def use() -> None:
        if connection.socket is not None:
            connection.socket.append("sent")

    def close() -> None:
        connection.socket = None

    together(use, close)


def used_or_closed() -> None:
    """Looking and using are one critical section."""
    connection = _Connection()

    def use() -> None:
        with connection.lock:
            if connection.socket is not None:
                connection.socket.append("sent")

    def close() -> None:
        with connection.lock:
            connection.socket = None

    together(use, close)
