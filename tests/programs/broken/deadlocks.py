"""Broken programs: deadlocks and classics."""

from __future__ import annotations

import functools
import socket
import threading
import time
import types

from tests.programs.counter import Counter
from tests.programs.together import together


def dining_philosophers() -> None:
    """Each philosopher takes the left fork first: deadlock."""
    forks = [threading.Lock() for _ in range(3)]

    def dine(seat: int) -> None:
        with forks[seat], forks[(seat + 1) % 3]:
            pass

    together(*(functools.partial(dine, seat) for seat in range(3)))


def lock_cycle_of_three() -> None:
    """Three locks, each pair in one order, and a cycle of the orders: deadlock."""
    a, b, c = (threading.Lock() for _ in range(3))

    def take(first: threading.Lock, second: threading.Lock) -> None:
        first.acquire()
        second.acquire()
        second.release()
        first.release()

    together(lambda: take(a, b), lambda: take(b, c), lambda: take(c, a))


def transfer_between_accounts() -> None:
    """Two transfers in opposite directions lock the accounts in opposite orders: deadlock."""

    class Account:
        def __init__(self) -> None:
            self.lock = threading.Lock()
            self.balance = 10

        def transfer(self, other: Account) -> None:
            with self.lock, other.lock:
                self.balance -= 1
                other.balance += 1

    one, two = Account(), Account()
    together(lambda: one.transfer(two), lambda: two.transfer(one))


def join_while_holding_the_lock() -> None:
    """A thread is joined by one that holds the lock that it needs: deadlock."""
    lock = threading.Lock()

    def need() -> None:
        with lock:
            pass

    thread = threading.Thread(target=need)
    with lock:
        thread.start()
        thread.join()


def lock_taken_twice() -> None:
    """A lock that is not reentrant is taken by its holder: deadlock."""
    lock = threading.Lock()

    def outer() -> None:
        with lock:
            with lock:
                pass

    together(outer)


def readers_writers_without_the_first_reader() -> None:
    """The count of readers is not guarded: a writer writes while somebody reads."""
    writing = threading.Lock()
    state = types.SimpleNamespace(readers=0, x=0, y=0)
    torn: list[tuple[int, int]] = []

    def read() -> None:
        state.readers += 1
        if state.readers == 1:
            writing.acquire()
        x, y = state.x, state.y
        if x != y:
            torn.append((x, y))
        state.readers -= 1
        if state.readers == 0 and writing.locked():
            writing.release()

    def write() -> None:
        with writing:
            state.x += 1
            state.y += 1

    together(read, read, write)
    assert not torn


def readers_read_without_the_lock() -> None:
    """The writer locks, the reader does not: the reader sees half of a change."""
    lock = threading.Lock()
    state = types.SimpleNamespace(x=0, y=0)
    seen: list[tuple[int, int]] = []

    def write() -> None:
        with lock:
            state.x = 1
            state.y = 1

    together(write, lambda: seen.append((state.x, state.y)))
    assert seen[0] in ((0, 0), (1, 1))


class _Node:
    def __init__(self, name: str, following: _Node | None = None) -> None:
        self.name = name
        self.following = following


class _Stack:
    """A stack with a compare-and-set that compares names, as if they were addresses."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.top: _Node | None = _Node("a", _Node("b", _Node("c")))

    def compare_and_set(self, old: _Node | None, new: _Node | None) -> bool:
        with self.lock:
            if (old and old.name) == (self.top and self.top.name):
                self.top = new
                return True
            return False

    def pop(self) -> _Node | None:
        while True:
            top = self.top
            following = top.following if top else None
            if self.compare_and_set(top, following):
                return top

    def push(self, node: _Node) -> None:
        while True:
            node.following = self.top
            if self.compare_and_set(node.following, node):
                return


def aba() -> None:
    """The top of a stack is what it was, but what follows it is not: a popped node is back."""
    stack = _Stack()

    def change() -> None:
        a = stack.pop()
        stack.pop()
        assert a is not None
        stack.push(_Node(a.name))

    together(stack.pop, change)
    top = stack.top
    names = []
    while top:
        names.append(top.name)
        top = top.following
    assert "b" not in names


def reorder() -> None:
    """The classic ``reorder``: two stores are seen halfway by a checker."""
    state = types.SimpleNamespace(a=0, b=0)
    bad: list[bool] = []

    def set_both() -> None:
        state.a = 1
        state.b = -1

    def check() -> None:
        a, b = state.a, state.b
        if not ((a == 0 and b == 0) or (a == 1 and b == -1)):
            bad.append(True)

    together(set_both, set_both, check)
    assert not bad


def twostage() -> None:
    """The classic ``twostage``: two locks, and a value derived under the second is missing."""
    one, two = threading.Lock(), threading.Lock()
    data = types.SimpleNamespace(first=0, second=0)
    bad: list[bool] = []

    def write() -> None:
        with one:
            data.first = 1
        with two:
            data.second = data.first + 1

    def read() -> None:
        with one:
            first = data.first
        if first:
            with two:
                if data.second != first + 1:
                    bad.append(True)

    together(write, read)
    assert not bad


def peterson_with_flags_swapped() -> None:
    """Mutual exclusion that looks before it says what it wants: two are in."""
    wants = [False, False]
    inside: list[int] = []

    def enter(me: int) -> None:
        if not wants[1 - me]:
            wants[me] = True
            inside.append(me)

    together(lambda: enter(0), lambda: enter(1))
    assert len(inside) < 2


def double_checked_locking_done_wrong() -> None:
    """The flag is set before the value: the fast path returns nothing."""
    lock = threading.Lock()
    state = types.SimpleNamespace(ready=False, value=None)
    seen: list[object] = []

    def get() -> None:
        if not state.ready:
            with lock:
                if not state.ready:
                    state.ready = True
                    state.value = "made"
        seen.append(state.value)

    together(get, get)
    assert seen == ["made", "made"]


def double_checked_locking_without_the_second_check() -> None:
    """The second check is missing: made twice."""
    lock = threading.Lock()
    state = types.SimpleNamespace(value=None)
    made: list[object] = []

    def get() -> None:
        if state.value is None:
            with lock:
                state.value = object()
                made.append(state.value)

    together(get, get)
    assert len(made) == 1


def lazy_initialisation() -> None:
    """``if self._x is None`` in two threads: two objects."""

    class Service:
        _connection: object = None

        @property
        def connection(self) -> object:
            if self._connection is None:
                self._connection = object()
            return self._connection

    service = Service()
    seen: list[object] = []
    together(*[lambda: seen.append(service.connection)] * 2)
    assert seen[0] is seen[1]


def singleton_in_new() -> None:
    """A singleton made in ``__new__`` is made twice."""

    class Singleton:
        instance: Singleton | None = None

        def __new__(cls) -> Singleton:
            if cls.instance is None:
                cls.instance = super().__new__(cls)
            return cls.instance

    seen: list[Singleton] = []
    together(*[lambda: seen.append(Singleton())] * 2)
    assert seen[0] is seen[1]


def lock_per_key_made_twice() -> None:
    """Each of two threads makes the lock of a key: both enter."""
    locks: dict[str, threading.Lock] = {}
    counter = Counter()

    def work() -> None:
        if "x" not in locks:
            locks["x"] = threading.Lock()
        with locks["x"]:
            counter.increment()

    together(work, work)
    assert counter.value == 2


def wrong_lock() -> None:
    """Each thread has a lock of its own: one update is lost."""
    counter = Counter()

    def work() -> None:
        with threading.Lock():
            counter.increment()

    together(work, work)
    assert counter.value == 2


def lock_released_between_check_and_act() -> None:
    """The check and the act are locked, each for itself: two get the last seat."""
    lock = threading.Lock()
    seats = [1]
    sold: list[int] = []

    def book() -> None:
        with lock:
            free = seats[0] > 0
        if free:
            with lock:
                seats[0] -= 1
                sold.append(1)

    together(book, book)
    assert len(sold) == 1


def livelock_of_the_polite() -> None:
    """A loop that waits for a flag that the other thread never sets."""
    flags = [False, False]

    def wait_for(number: int) -> None:
        while not flags[number]:
            time.sleep(0)
        flags[1 - number] = True

    together(lambda: wait_for(0), lambda: wait_for(1))


def socket_bytes_mixed() -> None:
    """Two threads send on a socket in two parts each: the parts mix."""
    one, two = socket.socketpair()
    with one, two:

        def send(letter: bytes) -> None:
            one.sendall(letter)
            one.sendall(letter)

        together(lambda: send(b"a"), lambda: send(b"b"))
        assert two.recv(4) in (b"aabb", b"bbaa")
