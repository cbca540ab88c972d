"""Programs that some interleaving breaks; the docstring of each says what breaks.

Each is called without arguments, once for each execution, and uses nothing but the standard
library. Each has been seen broken, or called correct, by some tool that explores interleavings.
"""

from __future__ import annotations

import array
import collections
import concurrent.futures
import contextlib
import ctypes
import dataclasses
import functools
import heapq
import io
import itertools
import logging
import os
import queue
import socket
import sys
import tempfile
import threading
import time
import types
import unittest.mock
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .together import together

# -- threads, executors, timers --------------------------------------------------------------------


class _Counter:
    def __init__(self) -> None:
        self.value = 0

    def increment(self) -> None:
        value = self.value
        self.value = value + 1


def lost_update() -> None:
    """Two read-modify-writes of an attribute: one is lost."""
    counter = _Counter()
    together(counter.increment, counter.increment)
    assert counter.value == 2


def lost_update_in_nested_threads() -> None:
    """A thread starts a thread, and both count: one update is lost."""
    counter = _Counter()

    def outer() -> None:
        inner = threading.Thread(target=counter.increment)
        inner.start()
        counter.increment()
        inner.join()

    together(outer)
    assert counter.value == 2


def lost_update_three_levels_down() -> None:
    """Threads started by threads started by threads: one update is lost."""
    counter = _Counter()

    def start(depth: int) -> None:
        if depth:
            together(lambda: start(depth - 1))
        counter.increment()

    together(lambda: start(2), counter.increment)
    assert counter.value == 4


class _Worker(threading.Thread):
    def __init__(self, counter: _Counter) -> None:
        super().__init__(name="worker")
        self.counter = counter

    def run(self) -> None:
        self.counter.increment()


def lost_update_in_thread_subclasses() -> None:
    """Subclasses of Thread that override ``run``: one update is lost."""
    counter = _Counter()
    workers = [_Worker(counter), _Worker(counter)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert counter.value == 2


class _Result(threading.Thread):
    value: int | None = None

    def run(self) -> None:
        self.value = 42


def result_read_before_the_join() -> None:
    """The result of a Thread subclass is read before it is there."""
    thread = _Result()
    thread.start()
    assert thread.value == 42


def timer_cancelled_too_late() -> None:
    """``cancel`` comes after the timer has fired."""
    fired: list[bool] = []
    timer = threading.Timer(0.01, lambda: fired.append(True))
    timer.start()
    time.sleep(0.005)
    timer.cancel()
    timer.join()
    assert not fired


def timer_fires_before_the_value_is_set() -> None:
    """The callback of a timer reads what is set after the start of the timer."""
    values: dict[str, int] = {}
    seen: list[int | None] = []
    timer = threading.Timer(1, lambda: seen.append(values.get("x")))
    timer.start()
    values["x"] = 1
    timer.join()
    assert seen == [1]


def executor_waits_for_itself() -> None:
    """A task of a pool with one worker waits for another task of that pool: deadlock."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:

        def outer() -> int:
            return executor.submit(lambda: 1).result()

        executor.submit(outer).result()


def executor_workers_wait_for_each_other() -> None:
    """Both tasks of a pool with two workers submit one more and wait: deadlock."""
    with concurrent.futures.ThreadPoolExecutor(2) as executor:

        def outer() -> int:
            return executor.submit(lambda: 1).result()

        futures = [executor.submit(outer) for _ in range(2)]
        assert [future.result() for future in futures] == [1, 1]


def futures_wait_for_each_other() -> None:
    """Two tasks wait for the futures of each other: deadlock."""
    futures: list[concurrent.futures.Future[Any]] = []
    ready = threading.Event()

    def wait_for(number: int) -> Any:
        ready.wait()
        return futures[number].result()

    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        futures.append(executor.submit(wait_for, 1))
        futures.append(executor.submit(wait_for, 0))
        ready.set()


def lost_update_in_an_executor() -> None:
    """Tasks of an executor count without a lock: one update is lost."""
    counter = _Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        for _ in range(2):
            executor.submit(counter.increment)
    assert counter.value == 2


def lost_update_in_executor_map() -> None:
    """``Executor.map`` over a function that counts: one update is lost."""
    counter = _Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        list(executor.map(lambda _: counter.increment(), range(2)))
    assert counter.value == 2


def callback_of_a_future_races() -> None:
    """A future's callback runs in the worker and counts beside the main thread."""
    counter = _Counter()
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        future = executor.submit(int)
        future.add_done_callback(lambda _: counter.increment())
        counter.increment()
    assert counter.value == 2


def lost_update_in_a_thread_pool() -> None:
    """``multiprocessing.pool.ThreadPool`` workers count: one update is lost."""
    from multiprocessing.pool import ThreadPool

    counter = _Counter()
    with ThreadPool(2) as pool:
        pool.map(lambda _: counter.increment(), range(2), chunksize=1)
    assert counter.value == 2


_IMPORT_TIME_LOCK = threading.Lock()
_OTHER_IMPORT_TIME_LOCK = threading.Lock()


def locks_made_at_import_in_two_orders() -> None:
    """Two locks made when the module was imported are taken in two orders: deadlock."""

    def forth() -> None:
        with _IMPORT_TIME_LOCK, _OTHER_IMPORT_TIME_LOCK:
            pass

    def back() -> None:
        with _OTHER_IMPORT_TIME_LOCK, _IMPORT_TIME_LOCK:
            pass

    together(forth, back)


def logging_handler_takes_a_lock_in_the_wrong_order() -> None:
    """A log handler takes a lock that a thread holds while it logs: deadlock."""
    lock = threading.Lock()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with lock:
                pass

    logger = logging.Logger("deadlock")
    logger.addHandler(Handler())

    def log_with_lock() -> None:
        with lock:
            logger.warning("held")

    with contextlib.suppress(RuntimeError):
        together(lambda: logger.warning("free"), log_with_lock)


def lost_update_between_log_lines() -> None:
    """Threads that log between the read and the write of a counter: one update is lost."""
    counter = _Counter()
    logger = logging.Logger("counting")
    logger.addHandler(logging.StreamHandler(io.StringIO()))

    def count() -> None:
        value = counter.value
        logger.warning("value is %d", value)
        counter.value = value + 1

    together(count, count)
    assert counter.value == 2


def names_come_in_any_order() -> None:
    """The names of threads are noted in the order in which they happen to run."""
    names: list[str] = []

    def note() -> None:
        names.append(threading.current_thread().name)

    threads = [threading.Thread(target=note, name=name) for name in ("ada", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names == ["ada", "bob"]


def main_thread_goes_on_without_the_others() -> None:
    """A thread is never joined, and its result is expected anyway."""
    results: list[int] = []
    threading.Thread(target=lambda: results.append(1)).start()
    assert results == [1]


def exception_in_one_order_only() -> None:
    """A thread raises KeyError if it is faster than the one that stores."""
    values: dict[str, int] = {}
    together(lambda: values.update(x=1), lambda: values["x"])


def daemon_thread_races() -> None:
    """A daemon thread changes what the main thread checks."""
    values = [0]

    def change() -> None:
        values[0] = 1

    threading.Thread(target=change, daemon=True).start()
    assert values[0] == 0


# -- conditions, events, barriers, semaphores, queues ----------------------------------------------


def lost_notify() -> None:
    """``notify`` comes before ``wait`` and is lost: the waiter waits for ever."""
    condition = threading.Condition()

    def wait() -> None:
        with condition:
            condition.wait()

    def notify() -> None:
        with condition:
            condition.notify()

    together(wait, notify)


def notify_wakes_the_wrong_waiter() -> None:
    """One ``notify`` for two kinds of waiters wakes the wrong one: a waiter waits for ever."""
    condition = threading.Condition()
    state = {"a": False, "b": False}

    def wait(name: str) -> None:
        with condition:
            while not state[name]:
                condition.wait()

    def tell(name: str) -> None:
        with condition:
            state[name] = True
            condition.notify()

    together(lambda: wait("a"), lambda: wait("b"), lambda: (tell("a"), tell("b")))


def event_cleared_between_set_and_wait() -> None:
    """An event is set and cleared before the other thread waits: it waits for ever."""
    event = threading.Event()

    def pulse() -> None:
        event.set()
        event.clear()

    together(pulse, event.wait)


def event_reused_too_early() -> None:
    """A waiter clears an event after the other thread has set it again: deadlock."""
    event = threading.Event()
    answered = threading.Event()

    def ask() -> None:
        event.set()
        answered.wait()
        event.set()

    def answer() -> None:
        event.wait()
        answered.set()
        event.clear()
        event.wait()

    together(ask, answer)


def event_is_set_is_old_news() -> None:
    """``is_set`` is false when asked and true when acted upon: done twice."""
    done = threading.Event()
    count: list[int] = []

    def once() -> None:
        if not done.is_set():
            done.set()
            count.append(1)

    together(once, once)
    assert len(count) == 1


def barrier_broken() -> None:
    """A thread waits at a barrier with a timeout, which breaks it."""
    barrier = threading.Barrier(2)

    def slow() -> None:
        time.sleep(0.1)
        barrier.wait()

    together(lambda: barrier.wait(timeout=0.2), slow)


def barrier_aborted() -> None:
    """A thread that gives up aborts the barrier at which another one waits."""
    barrier = threading.Barrier(2)
    together(barrier.wait, barrier.abort)


def barrier_for_too_many() -> None:
    """A barrier for three is reached by two: deadlock."""
    barrier = threading.Barrier(3)
    together(barrier.wait, barrier.wait)


class _Buffer:
    """A buffer of one item."""

    def __init__(self) -> None:
        self.items: list[int] = []
        self.changed = threading.Condition()

    def put(self, item: int) -> None:
        with self.changed:
            if self.items:
                self.changed.wait()
            self.items.append(item)
            assert len(self.items) == 1
            self.changed.notify()

    def get(self) -> int:
        with self.changed:
            if not self.items:
                self.changed.wait()
            item = self.items.pop()
            self.changed.notify()
            return item


def bounded_buffer_with_if() -> None:
    """``if`` for ``while`` around ``wait``: a consumer takes from an empty buffer."""
    buffer = _Buffer()
    together(buffer.get, buffer.get, lambda: (buffer.put(1), buffer.put(2)))


def try_lock_gives_up() -> None:
    """Work is skipped because another thread holds the lock for a moment."""
    lock = threading.Lock()
    done: list[int] = []

    def work() -> None:
        if lock.acquire(blocking=False):
            done.append(1)
            lock.release()

    together(work, work)
    assert len(done) == 2


def try_semaphore_gives_up() -> None:
    """Work is skipped because the semaphore is taken for a moment."""
    semaphore = threading.Semaphore(1)
    done: list[int] = []

    def work() -> None:
        if semaphore.acquire(blocking=False):
            done.append(1)
            semaphore.release()

    together(work, work)
    assert len(done) == 2


def locked_is_old_news() -> None:
    """``locked`` is false when asked, but the lock is taken when acted upon."""
    lock = threading.Lock()
    entered: list[int] = []

    def enter() -> None:
        if not lock.locked():
            entered.append(1)
            lock.acquire()

    def start() -> None:
        enter()
        if len(entered) == 2:
            raise RuntimeError("two are in")

    threads = [threading.Thread(target=start, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    assert len(entered) == 1


def lock_released_by_the_wrong_thread() -> None:
    """A lock is released by a thread that does not hold it: RuntimeError."""
    lock = threading.Lock()

    def sloppy() -> None:
        lock.acquire(timeout=0.1)
        lock.release()

    together(sloppy, sloppy)


def rlock_not_released_as_often_as_taken() -> None:
    """A reentrant lock is released once less than it was taken: deadlock."""
    lock = threading.RLock()

    def work() -> None:
        lock.acquire()
        with lock:
            pass

    together(work, work)


def bounded_semaphore_released_too_often() -> None:
    """A bounded semaphore is released before it was taken: ValueError."""
    semaphore = threading.BoundedSemaphore(1)
    together(semaphore.acquire, semaphore.release)


def semaphore_lets_two_in() -> None:
    """A semaphore of two guards what needs a lock: one update is lost."""
    semaphore = threading.Semaphore(2)
    counter = _Counter()

    def work() -> None:
        with semaphore:
            counter.increment()

    together(work, work)
    assert counter.value == 2


def queue_empty_then_get_nowait() -> None:
    """``empty`` is false when asked, but another thread takes the item: queue.Empty."""
    items: queue.Queue[int] = queue.Queue()
    items.put(1)

    def take() -> None:
        if not items.empty():
            items.get_nowait()

    together(take, take)


def simple_queue_empty_then_get_nowait() -> None:
    """The same with SimpleQueue: queue.Empty."""
    items: queue.SimpleQueue[int] = queue.SimpleQueue()
    items.put(1)

    def take() -> None:
        if not items.empty():
            items.get_nowait()

    together(take, take)


def queue_full_then_put_nowait() -> None:
    """``full`` is false when asked, but another thread puts: queue.Full."""
    items: queue.Queue[int] = queue.Queue(1)

    def give() -> None:
        if not items.full():
            items.put_nowait(1)

    together(give, give)


def queue_size_is_old_news() -> None:
    """``qsize`` says that there is an item, but another thread takes it: deadlock."""
    items: queue.LifoQueue[int] = queue.LifoQueue()
    items.put(1)

    def take() -> None:
        if items.qsize():
            items.get()

    together(take, take)


def queue_with_too_few_stop_signs() -> None:
    """One ``None`` for two consumers: one of them waits for ever."""
    items: queue.Queue[int | None] = queue.Queue()

    def consume() -> None:
        while items.get() is not None:
            pass

    together(consume, consume, lambda: items.put(None))


def queue_task_done_forgotten() -> None:
    """``task_done`` is not called for an item, and ``join`` waits for ever."""
    items: queue.Queue[int] = queue.Queue()
    threading.Thread(target=items.get, daemon=True).start()
    items.put(1)
    items.join()


def bounded_queues_deadlock() -> None:
    """Two threads put into each other's full queues: deadlock."""
    one: queue.Queue[int] = queue.Queue(1)
    two: queue.Queue[int] = queue.Queue(1)

    def pump(mine: queue.Queue[int], other: queue.Queue[int]) -> None:
        for _ in range(2):
            other.put(1)
        for _ in range(2):
            mine.get()

    together(lambda: pump(one, two), lambda: pump(two, one))


def priority_queue_order() -> None:
    """The most urgent item does not come first if it is put too late."""
    items: queue.PriorityQueue[int] = queue.PriorityQueue()
    taken: list[int] = []
    together(lambda: (items.put(2), items.put(1)), lambda: taken.extend((items.get(), items.get())))
    assert taken == [1, 2]


def lock_timeout_while_others_run() -> None:
    """``acquire`` with a timeout fails although the holder goes on."""
    lock = threading.Lock()

    def hold() -> None:
        with lock:
            time.sleep(0.01)

    def need() -> None:
        if not lock.acquire(timeout=1):
            raise TimeoutError("no lock")
        lock.release()

    together(hold, need)


def event_timeout_while_others_run() -> None:
    """``wait`` with a timeout returns False although the event is about to be set."""
    event = threading.Event()
    seen: list[bool] = []
    together(event.set, lambda: seen.append(event.wait(1)))
    assert seen == [True]


def queue_timeout_while_others_run() -> None:
    """``get`` with a timeout raises queue.Empty although the item is about to come."""
    items: queue.Queue[int] = queue.Queue()
    together(lambda: items.put(1), lambda: items.get(timeout=1))


def condition_timeout_ignored() -> None:
    """The result of a timed ``wait`` is not looked at."""
    condition = threading.Condition()
    items: list[int] = []

    def take() -> None:
        with condition:
            if not items:
                condition.wait(timeout=1)
            items.pop()

    def give() -> None:
        with condition:
            items.append(1)
            condition.notify()

    together(take, give)


def join_timeout_ignored() -> None:
    """``join`` with a timeout returns before the thread has ended."""
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(1))
    thread.start()
    thread.join(timeout=1)
    assert results == [1]


def future_timeout() -> None:
    """``result`` with a timeout raises although the task goes on."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        assert executor.submit(lambda: 1).result(timeout=1) == 1


def sleep_as_synchronisation() -> None:
    """Half a second is taken to be long enough for the other thread."""
    values: list[int] = []
    thread = threading.Thread(target=lambda: values.append(1))
    thread.start()
    time.sleep(0.5)
    assert values == [1]
    thread.join()


# -- deadlocks and classics ------------------------------------------------------------------------


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
    counter = _Counter()

    def work() -> None:
        if "x" not in locks:
            locks["x"] = threading.Lock()
        with locks["x"]:
            counter.increment()

    together(work, work)
    assert counter.value == 2


def wrong_lock() -> None:
    """Each thread has a lock of its own: one update is lost."""
    counter = _Counter()

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


# -- accesses to data ------------------------------------------------------------------------------


class _Object:
    x = 0


def vars_item_against_attribute() -> None:
    """``vars(obj)['x']`` in one thread, ``obj.x`` in the other: one update is lost."""
    thing = _Object()
    thing.x = 0

    def with_attribute() -> None:
        thing.x = thing.x + 1

    def with_vars() -> None:
        vars(thing)["x"] = vars(thing)["x"] + 1

    together(with_attribute, with_vars)
    assert thing.x == 2


def dict_of_an_object_against_attribute() -> None:
    """``obj.__dict__['x']`` in one thread, ``obj.x`` in the other: one update is lost."""
    thing = _Object()
    thing.x = 0

    def with_attribute() -> None:
        thing.x += 1

    def with_dict() -> None:
        thing.__dict__["x"] += 1

    together(with_attribute, with_dict)
    assert thing.x == 2


def dict_of_an_object_made_before() -> None:
    """The ``__dict__`` is got before there are threads: one update is lost."""
    thing = _Object()
    thing.x = 0
    namespace = thing.__dict__

    def with_attribute() -> None:
        thing.x += 1

    def with_dict() -> None:
        namespace["x"] += 1

    together(with_attribute, with_dict)
    assert thing.x == 2


def dict_update_of_an_object() -> None:
    """``obj.__dict__.update`` is between the read and the write of an attribute."""
    thing = _Object()
    thing.x = 0

    def with_attribute() -> None:
        thing.x += 1

    together(with_attribute, lambda: thing.__dict__.update(x=10))
    assert thing.x in (10, 11)
    assert thing.x != 1, "the update is lost"


def getattr_and_setattr() -> None:
    """``getattr`` and ``setattr`` with a name: one update is lost."""
    thing = _Object()

    def count() -> None:
        setattr(thing, "x", getattr(thing, "x") + 1)

    together(count, count)
    assert thing.x == 2


def getattr_with_a_default() -> None:
    """``getattr(obj, name, None)`` then ``setattr``: made twice."""
    thing = types.SimpleNamespace()
    made: list[object] = []

    def get() -> None:
        if getattr(thing, "cache", None) is None:
            thing.cache = object()
            made.append(thing.cache)

    together(get, get)
    assert len(made) == 1


def hasattr_then_set() -> None:
    """``hasattr`` then an assignment: made twice."""
    thing = _Object()
    made: list[int] = []

    def get() -> None:
        if not hasattr(thing, "cache"):
            thing.cache = 1  # type: ignore[attr-defined]
            made.append(1)

    together(get, get)
    assert len(made) == 1


def hasattr_then_delete() -> None:
    """``hasattr`` then ``del``: AttributeError."""
    thing = types.SimpleNamespace(x=1)

    def drop() -> None:
        if hasattr(thing, "x"):
            del thing.x

    together(drop, drop)


class _Slots:
    __slots__ = ("x",)

    def __init__(self) -> None:
        self.x = 0

    def add(self) -> None:
        self.x += 1


def slots() -> None:
    """A counter in ``__slots__``: one update is lost."""
    thing = _Slots()
    together(thing.add, thing.add)
    assert thing.x == 2


def object_setattr() -> None:
    """``object.__setattr__`` and ``object.__getattribute__``: one update is lost."""
    thing = _Slots()

    def count() -> None:
        object.__setattr__(thing, "x", object.__getattribute__(thing, "x") + 1)

    together(count, count)
    assert thing.x == 2


_get_attribute = object.__getattribute__
_set_attribute = object.__setattr__


class _Proxy:
    """Keeps its state away from its own attribute access."""

    __slots__ = ("__factory__", "__target__")

    def __init__(self, factory: Callable[[], Any]) -> None:
        _set_attribute(self, "__factory__", factory)

    def __getattribute__(self, name: str) -> Any:
        if name == "__target__":
            try:
                return _get_attribute(self, "__target__")
            except AttributeError:
                target = _get_attribute(self, "__factory__")()
                _set_attribute(self, "__target__", target)
                return target
        return getattr(_get_attribute(self, "__getattribute__")("__target__"), name)


def proxy_with_its_own_attribute_access() -> None:
    """A lazy proxy with ``__slots__`` and ``__getattribute__`` makes its target twice."""
    made: list[int] = []

    def make() -> list[int]:
        made.append(1)
        return made

    proxy = _Proxy(make)
    together(lambda: proxy.count(1), lambda: proxy.count(1))
    assert len(made) == 1


class _LazyDescriptor:
    """A data descriptor that keeps its value under its own name in the instance's dict."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        try:
            return instance.__dict__[self.name]
        except KeyError:
            value = instance.__dict__[self.name] = object()
            return value

    def __set__(self, instance: Any, value: object) -> None:
        instance.__dict__[self.name] = value


def data_descriptor_that_keeps_its_value_in_the_dict() -> None:
    """A data descriptor computes its value twice."""

    class Owner:
        value = _LazyDescriptor()

    owner = Owner()
    seen: list[object] = []
    together(*[lambda: seen.append(owner.value)] * 2)
    assert seen[0] is seen[1]


class _WithProperty:
    def __init__(self) -> None:
        self._x = 0

    @property
    def x(self) -> int:
        return self._x

    @x.setter
    def x(self, value: int) -> None:
        self._x = value


def property_increment() -> None:
    """``obj.x += 1`` through a property: one update is lost."""
    thing = _WithProperty()

    def count() -> None:
        thing.x += 1

    together(count, count)
    assert thing.x == 2


class _HasClassAttribute:
    made = 0

    def __init__(self) -> None:
        _HasClassAttribute.made += 1


def class_attribute() -> None:
    """``Class.count += 1`` in the initialiser: one is not counted."""
    _HasClassAttribute.made = 0
    together(_HasClassAttribute, _HasClassAttribute)
    assert _HasClassAttribute.made == 2


def class_attribute_through_type_of_self() -> None:
    """``type(self).serial += 1``: two objects with one number."""

    class Numbered:
        serial = 0

        def __init__(self) -> None:
            type(self).serial += 1
            self.number = type(self).serial

    numbers: list[int] = []
    together(*[lambda: numbers.append(Numbered().number)] * 2)
    assert sorted(numbers) == [1, 2]


def class_attribute_in_a_classmethod() -> None:
    """A registry in a class attribute, replaced by a larger copy: one entry is lost."""

    class Registry:
        names: tuple[str, ...] = ()

        @classmethod
        def register(cls, name: str) -> None:
            cls.names = (*cls.names, name)

    together(lambda: Registry.register("a"), lambda: Registry.register("b"))
    assert sorted(Registry.names) == ["a", "b"]


def getattr_hook_caches() -> None:
    """``__getattr__`` computes and stores: computed twice."""
    computed: list[str] = []

    class Lazy:
        def __getattr__(self, name: str) -> int:
            computed.append(name)
            self.__dict__[name] = 1
            return 1

    lazy = Lazy()
    together(lambda: lazy.value, lambda: lazy.value)
    assert len(computed) == 1


def in_then_pop() -> None:
    """``in`` then ``pop``: KeyError."""
    table = {"x": 1}

    def take() -> None:
        if "x" in table:
            table.pop("x")

    together(take, take)


def in_then_delete() -> None:
    """``in`` then ``del``: KeyError."""
    table = {"x": 1}

    def drop() -> None:
        if "x" in table:
            del table["x"]  # noqa: RUF051  (that these are two operations is the bug)

    together(drop, drop)


def in_then_read() -> None:
    """``in`` then a read, while another thread clears: KeyError."""
    table = {"x": 1}

    def read() -> int | None:
        return table["x"] if "x" in table else None

    together(read, table.clear)


def get_then_store() -> None:
    """``dict.get`` then a store: one update is lost."""
    table: dict[str, int] = {}

    def count() -> None:
        table["x"] = table.get("x", 0) + 1

    together(count, count)
    assert table["x"] == 2


def setdefault_misused() -> None:
    """``setdefault`` makes the list, but an assignment replaces it: an entry is lost."""
    table: dict[str, list[int]] = {}

    def add(number: int) -> None:
        entries = table.setdefault("x", [])
        table["x"] = [*entries, number]

    together(lambda: add(1), lambda: add(2))
    assert sorted(table["x"]) == [1, 2]


def setdefault_makes_the_value_twice() -> None:
    """The default of ``setdefault`` is made by each thread."""
    table: dict[str, object] = {}
    made: list[int] = []

    def make() -> object:
        made.append(1)
        return object()

    def get() -> None:
        if "x" not in table:
            table.setdefault("x", make())

    together(get, get)
    assert len(made) == 1


def dict_update_loses() -> None:
    """A copy of a dict is changed and put back with ``update``: one change is lost."""
    table = {"x": 0}

    def change() -> None:
        copy = dict(table)
        copy["x"] += 1
        table.update(copy)

    together(change, change)
    assert table["x"] == 2


def item_augmented() -> None:
    """``table['x'] += 1``: one update is lost."""
    table = {"x": 0}

    def count() -> None:
        table["x"] += 1

    together(count, count)
    assert table["x"] == 2


def list_item_augmented() -> None:
    """``values[-1] += 1``: one update is lost."""
    values = [0, 0]

    def count() -> None:
        values[-1] += 1

    together(count, count)
    assert values == [0, 2]


def slice_augmented() -> None:
    """``values[:] = ...`` from a copy: one update is lost."""
    values = [0, 0]

    def count() -> None:
        values[:] = [value + 1 for value in values]

    together(count, count)
    assert values == [2, 2]


def attribute_string_built() -> None:
    """``self.text += part``: one part is lost."""
    thing = types.SimpleNamespace(text="")

    def add(part: str) -> None:
        thing.text += part

    together(lambda: add("a"), lambda: add("b"))
    assert len(thing.text) == 2


def truth_of_a_list_then_pop() -> None:
    """``if items: items.pop()``: IndexError."""
    items = [1]

    def take() -> None:
        if items:
            items.pop()

    together(take, take)


def truth_of_a_deque_then_popleft() -> None:
    """``while items: items.popleft()``: IndexError."""
    items = collections.deque([1])

    def take() -> None:
        while items:
            items.popleft()

    together(take, take)


def length_then_pop() -> None:
    """``if len(items) > 0: items.pop()``: IndexError."""
    items = [1]

    def take() -> None:
        if len(items) > 0:
            items.pop()

    together(take, take)


def length_then_append() -> None:
    """``if len(items) < limit: items.append()``: above the limit."""
    items: list[int] = []

    def add() -> None:
        if len(items) < 1:
            items.append(1)

    together(add, add)
    assert len(items) == 1


def last_item_is_somebody_elses() -> None:
    """``append`` then ``items[-1]``: the item of another thread."""
    items: list[int] = []
    wrong: list[int] = []

    def add(number: int) -> None:
        items.append(number)
        if items[-1] != number:
            wrong.append(number)

    together(lambda: add(1), lambda: add(2))
    assert not wrong


def list_index_then_delete() -> None:
    """``del items[items.index(x)]``: another item is deleted."""
    items = [1, 2, 3]

    def drop(number: int) -> None:
        del items[items.index(number)]

    together(lambda: drop(1), lambda: drop(2))
    assert items == [3]


def list_in_then_remove() -> None:
    """``if x in items: items.remove(x)``: ValueError."""
    items = [1]

    def drop() -> None:
        if 1 in items:
            items.remove(1)

    together(drop, drop)


def set_in_then_add() -> None:
    """``in`` then ``add`` of a set: done twice."""
    seen: set[str] = set()
    done: list[str] = []

    def once() -> None:
        if "x" not in seen:
            seen.add("x")
            done.append("x")

    together(once, once)
    assert len(done) == 1


def set_in_then_remove() -> None:
    """``in`` then ``remove`` of a set, which another thread discards from: KeyError."""
    names = {"x"}

    def remove() -> None:
        if "x" in names:
            names.remove("x")

    together(remove, lambda: names.discard("x"))


def set_truth_then_pop() -> None:
    """``if names: names.pop()``: KeyError."""
    names = {"x"}

    def take() -> None:
        if names:
            names.pop()

    together(take, take)


def deque_of_bounded_length_drops() -> None:
    """A full deque drops what nobody has read yet."""
    items: collections.deque[int] = collections.deque(maxlen=1)
    taken: list[int] = []

    def take() -> None:
        if items:
            taken.append(items.popleft())

    together(lambda: (items.append(1), items.append(2)), take)
    assert sorted([*taken, *items]) == [1, 2]


def deque_rotated() -> None:
    """Round robin with ``items[0]`` and ``rotate``: the same item twice."""
    items = collections.deque(["a", "b"])
    taken: list[str] = []

    def turn() -> None:
        item = items[0]
        items.rotate(-1)
        taken.append(item)

    together(turn, turn)
    assert sorted(taken) == ["a", "b"]


def deque_changed_during_iteration() -> None:
    """A deque grows while it is iterated over: RuntimeError."""
    items = collections.deque([1, 2])
    together(lambda: [item for item in items], lambda: items.append(3))  # noqa: C416


def dict_changed_during_iteration() -> None:
    """A dict grows while it is iterated over: RuntimeError."""
    table = {1: 1, 2: 2}

    def read() -> None:
        for _ in table:
            pass

    together(read, lambda: table.update({3: 3}))


def dict_changed_during_comprehension() -> None:
    """A dict grows during a comprehension over its items: RuntimeError."""
    table = {1: 1, 2: 2}

    def grow() -> None:
        table[3] = 3

    together(lambda: {value: key for key, value in table.items()}, grow)


def set_changed_during_generator() -> None:
    """A set grows while a generator expression goes over it: RuntimeError."""
    names = {"a", "b"}
    together(lambda: sum(len(name) for name in names), lambda: names.add("c"))


def list_changed_during_comprehension() -> None:
    """A list shrinks during a comprehension over it: an item is passed over."""
    items = [1, 2, 3]
    seen: list[list[int]] = []
    together(lambda: seen.append([item for item in items]), lambda: items.remove(1))  # noqa: C416
    assert 3 in seen[0]


def list_read_twice_in_a_comprehension() -> None:
    """Indices up to a length that has become too large: IndexError."""
    items = [1, 2]
    together(lambda: [items[index] for index in range(len(items))], items.clear)


def iterator_shared() -> None:
    """Two threads take two items each in a row from one iterator: not in a row."""
    iterator = iter([1, 2, 3, 4])
    pairs: list[tuple[int, int]] = []

    def take() -> None:
        first = next(iterator)
        pairs.append((first, next(iterator)))

    together(take, take)
    assert sorted(pairs) == [(1, 2), (3, 4)]


def generator_shared() -> None:
    """A generator is asked by two threads at once: ValueError, already executing."""
    lock = threading.Lock()

    def numbers() -> Iterator[int]:
        number = 0
        while True:
            with lock:
                number += 1
            yield number

    generator = numbers()
    together(lambda: next(generator), lambda: next(generator))


def generator_of_data_shared() -> None:
    """A generator that reads shared data is asked by two threads at once: ValueError."""
    state = types.SimpleNamespace(next=0)

    def numbers() -> Iterator[int]:
        while True:
            number = state.next
            state.next = number + 1
            yield number

    generator = numbers()

    def change() -> None:
        state.next = 10

    together(lambda: next(generator), lambda: next(generator), change)


def count_read_and_advanced() -> None:
    """The next value of ``itertools.count`` is looked at before it is taken."""
    counter = itertools.count()
    wrong: list[int] = []

    def take() -> None:
        expected = int(repr(counter)[6:-1])
        if next(counter) != expected:
            wrong.append(expected)

    together(take, take)
    assert not wrong


def count_twice_in_a_row() -> None:
    """Two numbers of an ``itertools.count`` are taken to be consecutive."""
    counter = itertools.count()
    ranges: list[tuple[int, int]] = []

    def take() -> None:
        start = next(counter)
        ranges.append((start, next(counter)))

    together(take, take)
    assert all(end == start + 1 for start, end in ranges)


def heap_looked_at_then_popped() -> None:
    """``heap[0]`` then ``heappop``: another item."""
    heap = [1, 2]
    wrong: list[int] = []

    def take() -> None:
        smallest = heap[0]
        if heapq.heappop(heap) != smallest:
            wrong.append(smallest)

    together(take, take)
    assert not wrong


def heap_truth_then_pop() -> None:
    """``if heap: heappop(heap)``: IndexError."""
    heap = [1]

    def take() -> None:
        if heap:
            heapq.heappop(heap)

    together(take, take)


def counter_update() -> None:
    """``Counter.update`` reads and writes each count: one update is lost."""
    counts: collections.Counter[str] = collections.Counter(x=1)
    together(lambda: counts.update({"x": 1}), lambda: counts.update({"x": 1}))
    assert counts["x"] == 3


def counter_item() -> None:
    """``counts[x] += 1``: one update is lost."""
    counts: collections.Counter[str] = collections.Counter()

    def count() -> None:
        counts["x"] += 1

    together(count, count)
    assert counts["x"] == 2


def defaultdict_factory() -> None:
    """The factory of a defaultdict written in Python: two lists, and one item is lost."""

    def factory() -> list[int]:
        made.append(1)
        return []

    made: list[int] = []
    table: collections.defaultdict[str, list[int]] = collections.defaultdict(factory)
    together(lambda: table["x"].append(1), lambda: table["x"].append(2))
    assert sorted(table["x"]) == [1, 2]


def defaultdict_count() -> None:
    """``defaultdict(int)[x] += 1``: one update is lost."""
    table: collections.defaultdict[str, int] = collections.defaultdict(int)

    def count() -> None:
        table["x"] += 1

    together(count, count)
    assert table["x"] == 2


def missing_hook() -> None:
    """``__missing__`` computes and stores: computed twice."""
    computed: list[int] = []

    class Squares(dict[int, int]):
        def __missing__(self, key: int) -> int:
            computed.append(key)
            self[key] = key * key
            return self[key]

    squares = Squares()
    together(lambda: squares[3], lambda: squares[3])
    assert len(computed) == 1


def ordered_dict_as_cache() -> None:
    """``in`` then ``move_to_end``, while another thread evicts: KeyError."""
    cache: collections.OrderedDict[str, int] = collections.OrderedDict(x=1)

    def use() -> None:
        if "x" in cache:
            cache.move_to_end("x")

    together(use, lambda: cache.popitem(last=False))


def chain_map_of_shared_dicts() -> None:
    """``ChainMap`` looks twice at a dict that changes: KeyError."""
    inner = {"x": 1}
    chain = collections.ChainMap({}, inner)

    def read() -> None:
        if "x" in chain:
            chain["x"]

    together(read, inner.clear)


def lru_cache_computed_twice() -> None:
    """``lru_cache`` calls its function twice for the same argument."""
    calls: list[int] = []

    @functools.lru_cache
    def compute(number: int) -> int:
        calls.append(number)
        return number

    together(lambda: compute(1), lambda: compute(1))
    assert len(calls) == 1


def lru_cache_without_limit_computed_twice() -> None:
    """``functools.cache`` gives two threads two different objects."""

    @functools.cache
    def make() -> object:
        return object()

    made: list[object] = []
    together(*[lambda: made.append(make())] * 2)
    assert made[0] is made[1]


def cached_property_computed_twice() -> None:
    """``cached_property`` calls its function twice."""
    calls: list[int] = []

    class Lazy:
        @functools.cached_property
        def value(self) -> int:
            calls.append(1)
            return 1

    lazy = Lazy()
    together(lambda: lazy.value, lambda: lazy.value)
    assert len(calls) == 1


def cached_property_two_objects() -> None:
    """``cached_property`` gives two threads two different objects."""

    class Lazy:
        @functools.cached_property
        def value(self) -> object:
            return object()

    lazy = Lazy()
    seen: list[object] = []
    together(*[lambda: seen.append(lazy.value)] * 2)
    assert seen[0] is seen[1]


class _Key:
    """A key whose comparison and hash count how often they are called, without a lock."""

    compared = 0
    hashed = 0

    def __eq__(self, other: object) -> bool:
        _Key.compared += 1
        return isinstance(other, _Key)

    def __hash__(self) -> int:
        _Key.hashed += 1
        return 1


def equality_callback() -> None:
    """``__eq__`` called by ``list.index`` counts: one update is lost."""
    _Key.compared = 0
    keys = [_Key()]
    together(lambda: keys.index(_Key()), lambda: keys.index(_Key()))
    assert _Key.compared == 2


def hash_callback() -> None:
    """``__hash__`` called by a dict counts: one update is lost."""
    _Key.hashed = 0
    together(lambda: {_Key(): 1}, lambda: {_Key(): 1})
    assert _Key.hashed == 2


def finaliser_callback() -> None:
    """``__del__`` counts: one update is lost."""
    alive = types.SimpleNamespace(count=2)

    class Resource:
        def __del__(self) -> None:
            alive.count -= 1

    def use() -> None:
        Resource()

    together(use, use)
    assert alive.count == 0


def sort_key_callback() -> None:
    """The key function of ``sort`` counts: one update is lost."""
    counter = _Counter()

    def key(number: int) -> int:
        counter.increment()
        return number

    together(lambda: [1].sort(key=key), lambda: sorted([1], key=key))
    assert counter.value == 2


def list_sorted_while_it_grows() -> None:
    """``list.sort`` with a key function, while another thread appends: ValueError."""
    items = [2, 1]
    state = types.SimpleNamespace(looked=0)

    def key(number: int) -> int:
        state.looked += 1
        return number

    def add() -> None:
        state.looked = 0
        items.append(3)

    together(lambda: items.sort(key=key), add)


def less_than_callback() -> None:
    """``__lt__`` called by ``heapq`` counts: one update is lost."""
    counter = _Counter()

    class Item:
        def __lt__(self, other: object) -> bool:
            counter.increment()
            return True

    def push() -> None:
        heap = [Item()]
        heapq.heappush(heap, Item())

    together(push, push)
    assert counter.value == 2


def ctypes_field() -> None:
    """A field of a ctypes structure: one update is lost."""

    class Point(ctypes.Structure):
        _fields_ = (("x", ctypes.c_int),)

    point = Point(0)

    def move() -> None:
        point.x += 1

    together(move, move)
    assert point.x == 2


def ctypes_value() -> None:
    """``c_int.value += 1``: one update is lost."""
    number = ctypes.c_int(0)

    def count() -> None:
        number.value += 1

    together(count, count)
    assert number.value == 2


def ctypes_array_item() -> None:
    """An item of a ctypes array: one update is lost."""
    numbers = (ctypes.c_int * 2)()

    def count() -> None:
        numbers[1] += 1

    together(count, count)
    assert numbers[1] == 2


def array_item() -> None:
    """An item of an ``array.array``: one update is lost."""
    numbers = array.array("i", [0])

    def count() -> None:
        numbers[0] += 1

    together(count, count)
    assert numbers[0] == 2


def bytearray_item() -> None:
    """An item of a bytearray: one update is lost."""
    data = bytearray(1)

    def count() -> None:
        data[0] += 1

    together(count, count)
    assert data[0] == 2


def bytearray_grown() -> None:
    """The length of a bytearray is taken for the place of what is appended."""
    data = bytearray()
    starts: list[int] = []

    def add() -> None:
        starts.append(len(data))
        data.extend(b"ab")

    together(add, add)
    assert sorted(starts) == [0, 2]


def memoryview_item() -> None:
    """An item of a memoryview, and of what it shows: one update is lost."""
    data = bytearray(1)
    view = memoryview(data)

    def with_view() -> None:
        view[0] += 1

    def with_data() -> None:
        data[0] += 1

    together(with_view, with_data)
    assert data[0] == 2


def partial_as_target() -> None:
    """``functools.partial`` of a bound method as the target: one update is lost."""
    counter = _Counter()
    together(functools.partial(counter.increment), functools.partial(counter.increment))
    assert counter.value == 2


def partial_of_a_method_of_c() -> None:
    """``partial(dict.pop)`` after a look at the dict: KeyError."""
    table = {"x": 1}
    pop = functools.partial(table.pop, "x")

    def take() -> None:
        if "x" in table:
            pop()

    together(take, take)


def bound_method_kept() -> None:
    """``pop = items.pop`` is kept and called after a look: IndexError."""
    items = [1]
    pop = items.pop

    def take() -> None:
        if items:
            pop()

    together(take, take)


def weakref_callback() -> None:
    """The callback of a weak reference counts: one update is lost."""
    counter = _Counter()

    class Thing:
        pass

    def use() -> None:
        thing = Thing()
        reference = weakref.ref(thing, lambda _: counter.increment())
        del thing
        assert reference() is None

    together(use, use)
    assert counter.value == 2


def weak_value_dictionary() -> None:
    """``in`` then a read of a WeakValueDictionary, whose value dies in between: KeyError."""

    class Thing:
        pass

    holder = [Thing()]
    table: weakref.WeakValueDictionary[str, Thing] = weakref.WeakValueDictionary()
    table["x"] = holder[0]

    def read() -> None:
        if "x" in table:
            table["x"]

    together(read, holder.clear)


_total = 0
_cache: dict[str, object] = {}
_names: list[str] = []


def _add_to_total() -> None:
    global _total
    _total += 1


def global_variable() -> None:
    """``global total; total += 1``: one update is lost."""
    global _total
    _total = 0
    together(_add_to_total, _add_to_total)
    assert _total == 2


def global_through_globals() -> None:
    """``globals()['_total'] += 1`` against ``global``: one update is lost."""
    global _total
    _total = 0

    def with_globals() -> None:
        globals()["_total"] += 1

    together(_add_to_total, with_globals)
    assert _total == 2


def global_cache() -> None:
    """A cache in a global dict: two objects for one key."""
    _cache.clear()
    seen: list[object] = []

    def get() -> None:
        if "x" not in _cache:
            _cache["x"] = object()
        seen.append(_cache["x"])

    together(get, get)
    assert seen[0] is seen[1]


def module_attribute() -> None:
    """An attribute of a module object: one update is lost."""
    module = types.ModuleType("settings")
    module.level = 0  # type: ignore[attr-defined]

    def count() -> None:
        module.level += 1  # type: ignore[attr-defined]

    together(count, count)
    assert module.level == 2  # type: ignore[attr-defined]


def closure_cell() -> None:
    """``nonlocal count; count += 1``: one update is lost."""
    count = 0

    def add() -> None:
        nonlocal count
        count += 1

    together(add, add)
    assert count == 2


def closure_cell_rebound() -> None:
    """A closure cell is read twice, and bound to None in between: AttributeError."""
    text: str | None = "x"

    def use() -> None:
        if text is not None:
            text.upper()

    def drop() -> None:
        nonlocal text
        text = None

    together(use, drop)


def default_argument() -> None:
    """A mutable default argument: two threads share it."""

    def add(number: int, numbers: list[int] = []) -> list[int]:
        numbers.append(number)
        return numbers

    results: list[list[int]] = []
    together(lambda: results.append(list(add(1))), lambda: results.append(list(add(2))))
    assert sorted(results) == [[1], [1, 2]] or sorted(results) == [[1, 2], [2]]


def function_attribute() -> None:
    """A counter in an attribute of a function: one call is not counted."""

    def work() -> None:
        work.calls += 1  # type: ignore[attr-defined]

    work.calls = 0  # type: ignore[attr-defined]
    together(work, work)
    assert work.calls == 2  # type: ignore[attr-defined]


@dataclasses.dataclass
class _Account:
    balance: int = 0
    history: list[int] = dataclasses.field(default_factory=list)

    def deposit(self, amount: int) -> None:
        self.balance += amount
        self.history.append(self.balance)


def dataclass_field() -> None:
    """A field of a dataclass: one deposit is lost."""
    account = _Account()
    together(lambda: account.deposit(1), lambda: account.deposit(1))
    assert account.balance == 2


@dataclasses.dataclass(slots=True)
class _Point:
    x: int = 0
    y: int = 0


def dataclass_with_slots_torn() -> None:
    """Two fields of a dataclass with slots are compared while they change."""
    point, target = _Point(), _Point(1, 1)
    seen: list[bool] = []

    def move() -> None:
        point.x = 1
        point.y = 1

    together(move, lambda: seen.append(point in (_Point(), target)))
    assert seen == [True]


def class_body() -> None:
    """A class body that two threads execute draws a number: both draw the same."""
    state = types.SimpleNamespace(serial=0)

    def define() -> type:
        class Numbered:
            state.serial += 1
            number = state.serial

        return Numbered

    numbers: list[int] = []
    together(*[lambda: numbers.append(define().number)] * 2)  # type: ignore[attr-defined]
    assert sorted(numbers) == [1, 2]


def lambda_and_conditional() -> None:
    """A lambda with a conditional expression: IndexError."""
    items = [1]
    take = lambda: items.pop() if items else None  # noqa: E731
    together(take, take)


def exception_handler() -> None:
    """``except KeyError`` then a store: stored twice."""
    table: dict[str, object] = {}
    stored: list[int] = []

    def get() -> object:
        try:
            return table["x"]
        except KeyError:
            stored.append(1)
            table["x"] = object()
            return table["x"]

    together(get, get)
    assert len(stored) == 1


def with_statement_of_python() -> None:
    """A context manager written as a generator restores an old value: changes are lost."""
    state = types.SimpleNamespace(level=0)

    @contextlib.contextmanager
    def raised() -> Iterator[None]:
        old = state.level
        state.level = old + 1
        yield
        state.level = old

    def work() -> None:
        with raised():
            pass

    together(work, work)
    assert state.level == 0


def star_arguments() -> None:
    """``f(*items)`` with a list that shrinks: too few arguments."""
    items = [1, 2]

    def pair(first: int, second: int) -> None:
        pass

    together(lambda: pair(*items), items.pop)


def unpacking() -> None:
    """``first, second = items`` with a list that grows: ValueError."""
    items = [1, 2]

    def read() -> None:
        _first, _second = items

    together(read, lambda: items.append(3))


def match_statement() -> None:
    """A match statement on a list that shrinks in between."""
    items = [1]

    def read() -> None:
        match items:
            case [_]:
                items[0]

    together(read, items.clear)


def walrus() -> None:
    """An assignment expression remembers a count that is old when it is stored."""
    state = types.SimpleNamespace(count=0)

    def add() -> None:
        if (count := state.count) < 5:
            state.count = count + 1

    together(add, add)
    assert state.count == 2


def string_io() -> None:
    """Two writes to one StringIO are taken to stay together."""
    stream = io.StringIO()

    def write(word: str) -> None:
        stream.write(word)
        stream.write(word)

    together(lambda: write("a"), lambda: write("b"))
    assert stream.getvalue() in ("aabb", "bbaa")


def object_in_two_containers() -> None:
    """An item is moved between containers in two steps: nobody has it for a moment."""
    waiting, running = {"job"}, set()
    lost: list[bool] = []

    def move() -> None:
        waiting.discard("job")
        running.add("job")

    together(move, lambda: lost.append("job" not in waiting and "job" not in running))
    assert lost == [False]


def observer_added_while_notifying() -> None:
    """Listeners are called from a list that changes: one is passed over."""
    called: list[str] = []
    listeners: list[Callable[[], object]] = []
    first, second = (lambda: called.append("first")), (lambda: called.append("second"))
    listeners += [first, second]

    def notify() -> None:
        for listener in listeners:
            listener()

    together(notify, lambda: listeners.remove(first))
    assert "second" in called


def subclass_of_dict() -> None:
    """A subclass of dict with a counter in ``__setitem__``: one store is not counted."""

    class Counting(dict[str, int]):
        stores = 0

        def __setitem__(self, key: str, value: int) -> None:
            self.stores += 1
            super().__setitem__(key, value)

    table = Counting()

    def store(key: str) -> None:
        table[key] = 1

    together(lambda: store("a"), lambda: store("b"))
    assert table.stores == 2


def nested_containers() -> None:
    """A list in a dict in an attribute: one update is lost."""
    state = types.SimpleNamespace(table={"x": [0]})

    def count() -> None:
        state.table["x"][0] += 1

    together(count, count)
    assert state.table["x"][0] == 2


def simulated_compare_and_swap() -> None:
    """A compare-and-swap in Python is no compare-and-swap: two win."""
    state = types.SimpleNamespace(owner=None)
    winners: list[str] = []

    def claim(name: str) -> None:
        if state.owner is None:
            state.owner = name
            winners.append(name)

    together(lambda: claim("ada"), lambda: claim("bob"))
    assert len(winners) == 1


def copy_on_write_list() -> None:
    """``self.items = self.items + [x]``: one item is lost."""
    state = types.SimpleNamespace(items=[])

    def add(number: int) -> None:
        state.items = [*state.items, number]

    together(lambda: add(1), lambda: add(2))
    assert sorted(state.items) == [1, 2]


def stop_flag_read_too_late() -> None:
    """A worker looks at the stop flag, then works after ``stop`` has returned."""
    state = types.SimpleNamespace(stopped=False, closed=False)
    late: list[bool] = []

    def work() -> None:
        if not state.stopped:
            late.append(state.closed)

    def stop() -> None:
        state.stopped = True
        state.closed = True

    together(work, stop)
    assert True not in late


# -- what all threads of a process share -----------------------------------------------------------


def file_looked_at_then_made() -> None:
    """Both find that a file is not there, and make it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lock")
        made: list[str] = []

        def make() -> None:
            if not os.path.exists(path):
                open(path, "w").close()
                made.append(path)

        together(make, make)
        assert len(made) == 1


def file_read_while_it_is_written() -> None:
    """A file that is opened for writing is empty for a while."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "settings")

        def save() -> None:
            with open(path, mode="w", encoding="utf-8") as file:
                file.write("color=red")

        def load() -> None:
            with open(path, encoding="utf-8") as file:
                assert file.read() == "color=red"

        save()
        together(save, load)


def current_folder_is_everybodys() -> None:
    """A thread goes to a folder, and is in that of another."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:

        def work(folder: str) -> None:
            os.chdir(folder)
            assert os.getcwd() == folder

        try:
            together(
                functools.partial(work, os.path.realpath(one)),
                functools.partial(work, os.path.realpath(other)),
            )
        finally:
            os.chdir(before)


def handler_added_twice() -> None:
    """``if not logger.handlers: logger.addHandler(...)``: each line is logged twice."""
    logger = logging.Logger("broken")

    def configure() -> None:
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())

    together(configure, configure)
    assert len(logger.handlers) == 1


def output_redirected_by_two() -> None:
    """``redirect_stdout`` in two threads: what one prints comes to the other."""
    before = sys.stdout

    def work(name: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            print(name)
        assert output.getvalue() == f"{name}\n"

    try:
        together(lambda: work("ada"), lambda: work("bob"))
    finally:
        sys.stdout = before


def lines_printed_in_any_order() -> None:
    """Two threads print; the test expects one line first."""
    output = io.StringIO()
    together(lambda: print("ada", file=output), lambda: print("bob", file=output))
    assert output.getvalue() == "ada\nbob\n"


def mock_called_in_any_order() -> None:
    """Two threads call a mock; the test expects one call first."""
    mock = unittest.mock.Mock()
    together(lambda: mock("ada"), lambda: mock("bob"))
    mock.assert_has_calls([unittest.mock.call("ada"), unittest.mock.call("bob")])
