"""Programs that no interleaving breaks; the docstring of each says what looks suspicious.

Each is called without arguments, once for each execution. A failure, a hang or a verdict with
doubts is a false alarm; each has been one for some tool that explores interleavings.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import contextvars
import functools
import heapq
import io
import itertools
import logging
import os
import queue
import sched
import socket
import tempfile
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path

from .together import together

# -- loops that wait -------------------------------------------------------------------------------


def spin_on_a_variable() -> None:
    """``while not flag: pass``, without any yield."""
    state = types.SimpleNamespace(flag=False)

    def wait() -> None:
        while not state.flag:
            pass

    def set_flag() -> None:
        state.flag = True

    together(wait, set_flag)


def spin_on_a_closure_cell() -> None:
    """``while not flag: pass`` with ``nonlocal``."""
    flag = False

    def wait() -> None:
        while not flag:
            pass

    def set_flag() -> None:
        nonlocal flag
        flag = True

    together(wait, set_flag)


_flag = False


def spin_on_a_global() -> None:
    """``while not flag: pass`` with a global."""
    global _flag
    _flag = False

    def wait() -> None:
        while not _flag:
            pass

    def set_flag() -> None:
        global _flag
        _flag = True

    together(wait, set_flag)


def spin_on_a_list() -> None:
    """``while not items: pass``."""
    items: list[int] = []

    def wait() -> None:
        while not items:
            pass

    together(wait, lambda: items.append(1))


def spin_on_a_length() -> None:
    """``while len(items) < 2: pass``."""
    items: list[int] = []

    def wait() -> None:
        while len(items) < 2:
            pass

    together(wait, lambda: items.append(1), lambda: items.append(2))


def spin_on_a_dict() -> None:
    """``while 'x' not in table: pass``."""
    table: dict[str, int] = {}

    def wait() -> None:
        while "x" not in table:
            pass

    together(wait, lambda: table.update(x=1))


def spin_in_both_directions() -> None:
    """Each thread spins until the other one has come."""
    here = [False, False]

    def meet(me: int) -> None:
        here[me] = True
        while not here[1 - me]:
            pass

    together(lambda: meet(0), lambda: meet(1))


def spin_on_an_event() -> None:
    """``while not event.is_set(): pass``."""
    event = threading.Event()

    def wait() -> None:
        while not event.is_set():
            pass

    together(wait, event.set)


def spin_on_a_lock() -> None:
    """``while True: with lock: if ready: break``."""
    lock = threading.Lock()
    state = types.SimpleNamespace(ready=False)

    def wait() -> None:
        while True:
            with lock:
                if state.ready:
                    break

    def set_ready() -> None:
        with lock:
            state.ready = True

    together(wait, set_ready)


def spin_on_try_lock() -> None:
    """``while not lock.acquire(blocking=False): pass``."""
    lock = threading.Lock()
    counter = [0]

    def count() -> None:
        while not lock.acquire(blocking=False):
            pass
        counter[0] += 1
        lock.release()

    together(count, count)
    assert counter == [2]


def spin_on_try_lock_with_sleep() -> None:
    """The same with ``time.sleep(0)`` in the loop."""
    lock = threading.Lock()

    def enter() -> None:
        while not lock.acquire(blocking=False):
            time.sleep(0)
        lock.release()

    together(enter, enter)


def spin_with_sleep_zero() -> None:
    """``while not flag: time.sleep(0)``."""
    state = types.SimpleNamespace(flag=False)

    def wait() -> None:
        while not state.flag:
            time.sleep(0)

    def set_flag() -> None:
        state.flag = True

    together(wait, set_flag)


def poll_with_sleep() -> None:
    """``while not flag: time.sleep(0.01)``."""
    state = types.SimpleNamespace(flag=False)

    def wait() -> None:
        while not state.flag:
            time.sleep(0.01)

    def set_flag() -> None:
        time.sleep(0.05)
        state.flag = True

    together(wait, set_flag)


def poll_an_event_with_a_timeout() -> None:
    """``while not event.wait(0.01): pass``."""
    event = threading.Event()

    def wait() -> None:
        while not event.wait(0.01):
            pass

    together(wait, event.set)


def poll_an_empty_queue() -> None:
    """``while items.empty(): pass``, with one consumer."""
    items: queue.Queue[int] = queue.Queue()

    def consume() -> None:
        while items.empty():
            pass
        assert items.get_nowait() == 1

    together(consume, lambda: items.put(1))


def poll_get_nowait() -> None:
    """``get_nowait`` until it does not raise."""
    items: queue.Queue[int] = queue.Queue()

    def consume() -> None:
        while True:
            try:
                items.get_nowait()
            except queue.Empty:
                continue
            return

    together(consume, lambda: items.put(1))


def poll_get_with_a_timeout() -> None:
    """``get(timeout=...)`` until a stop flag is set."""
    items: queue.Queue[int] = queue.Queue()
    stop = threading.Event()
    taken: list[int] = []

    def consume() -> None:
        while not stop.is_set():
            with contextlib.suppress(queue.Empty):
                taken.append(items.get(timeout=0.1))

    thread = threading.Thread(target=consume)
    thread.start()
    items.put(1)
    stop.set()
    thread.join()
    assert len(taken) + items.qsize() == 1


def poll_is_alive() -> None:
    """``while thread.is_alive(): pass``."""
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(1))
    thread.start()
    while thread.is_alive():
        pass
    assert results == [1]


def poll_join_with_a_timeout() -> None:
    """``join(0.1)`` until the thread is not alive."""
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(1))
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    assert results == [1]


def poll_a_future() -> None:
    """``while not future.done(): pass``."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        future = executor.submit(lambda: 1)
        while not future.done():
            pass
        assert future.result() == 1


def poll_the_clock() -> None:
    """``while time.monotonic() < deadline: pass``."""
    deadline = time.monotonic() + 0.5

    def wait() -> None:
        while time.monotonic() < deadline:
            pass

    together(wait, wait)


def poll_the_clock_and_sleep() -> None:
    """``while time.monotonic() < deadline`` with a sleep, and a flag that is set in time."""
    state = types.SimpleNamespace(flag=False)

    def wait() -> None:
        deadline = time.monotonic() + 100
        while not state.flag and time.monotonic() < deadline:
            time.sleep(0.1)

    def set_flag() -> None:
        state.flag = True

    together(wait, set_flag)


def time_goes_on() -> None:
    """``sleep`` takes at least as long as it is told to, by every clock."""
    clocks = (time.time, time.monotonic, time.perf_counter)
    before = [clock() for clock in clocks]

    def nap() -> None:
        time.sleep(0.25)
        after = [clock() for clock in clocks]
        assert all(late - early >= 0.249 for early, late in zip(before, after, strict=True))

    together(nap, nap)


# -- threads, timers, executors --------------------------------------------------------------------


def daemon_thread_left_blocked() -> None:
    """A daemon thread waits for ever when the test ends."""
    items: queue.Queue[int] = queue.Queue()
    threading.Thread(target=items.get, daemon=True).start()


def daemon_thread_left_on_an_event() -> None:
    """The same with an event that nobody sets."""
    event = threading.Event()
    threading.Thread(target=event.wait, daemon=True).start()
    together(lambda: None)


def daemon_thread_left_in_a_loop() -> None:
    """A daemon thread sleeps in an endless loop when the test ends."""

    def loop() -> None:
        while True:
            time.sleep(1)

    threading.Thread(target=loop, daemon=True).start()


def daemon_workers_and_queue_join() -> None:
    """Daemon workers, ``task_done`` and ``queue.join``."""
    items: queue.Queue[int] = queue.Queue()
    done: list[int] = []

    def work() -> None:
        while True:
            done.append(items.get())
            items.task_done()

    for _ in range(2):
        threading.Thread(target=work, daemon=True).start()
    for number in range(3):
        items.put(number)
    items.join()
    assert sorted(done) == [0, 1, 2]


def thread_never_joined() -> None:
    """A thread that is not joined but ends."""
    threading.Thread(target=lambda: None).start()


def thread_subclass_joined() -> None:
    """The result of a Thread subclass is read after the join."""

    class Result(threading.Thread):
        value: int | None = None

        def run(self) -> None:
            self.value = 42

    thread = Result()
    thread.start()
    thread.join()
    assert thread.value == 42


def nested_threads_with_a_lock() -> None:
    """Threads that start threads, and a lock for what they count."""
    lock = threading.Lock()
    counter = [0]

    def count(depth: int) -> None:
        if depth:
            together(lambda: count(depth - 1))
        with lock:
            counter[0] += 1

    together(lambda: count(1), lambda: count(0))
    assert counter == [3]


def names_and_idents() -> None:
    """Each thread sees its own name and ident, and is listed while it runs."""
    seen: dict[str, int] = {}

    def note() -> None:
        current = threading.current_thread()
        assert current.ident == threading.get_ident()
        assert current in threading.enumerate()
        seen[current.name] = threading.get_ident()

    threads = [threading.Thread(target=note, name=name) for name in ("ada", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert threading.current_thread() is threading.main_thread()
    assert {thread.name: thread.ident for thread in threads} == seen
    assert len(set(seen.values())) == 2


def timer_cancelled() -> None:
    """A timer is cancelled before it is started."""
    fired: list[int] = []
    timer = threading.Timer(1, lambda: fired.append(1))
    timer.cancel()
    timer.start()
    timer.join()
    assert not fired


def timer_cancelled_or_not() -> None:
    """A timer is cancelled while it runs; whether it fires does not matter."""
    timer = threading.Timer(0.01, lambda: None)
    timer.start()
    timer.cancel()
    timer.join()
    assert not timer.is_alive()


def scheduler() -> None:
    """``sched`` runs its events in order of time."""
    order: list[int] = []
    scheduler = sched.scheduler()
    scheduler.enter(2, 1, lambda: order.append(2))
    scheduler.enter(1, 1, lambda: order.append(1))
    together(scheduler.run)
    assert order == [1, 2]


def executor_without_shutdown() -> None:
    """A ThreadPoolExecutor that nobody shuts down."""
    executor = concurrent.futures.ThreadPoolExecutor(2)
    futures = []
    # In a comprehension Python 3.11 would make it a closure's, which lives on, see the limits.
    for number in range(3):
        futures.append(executor.submit(pow, 2, number))
    assert [future.result() for future in futures] == [1, 2, 4]


_executor = concurrent.futures.ThreadPoolExecutor(2)


def executor_of_the_module() -> None:
    """An executor made at import and used again in each execution."""
    assert list(_executor.map(lambda number: number + 1, range(3))) == [1, 2, 3]


def executor_initialiser_and_locals() -> None:
    """The initialiser of an executor prepares a ``threading.local`` in each worker."""
    local = threading.local()

    def prepare() -> None:
        local.value = 1

    with concurrent.futures.ThreadPoolExecutor(2, initializer=prepare) as executor:
        assert list(executor.map(lambda _: local.value, range(3))) == [1, 1, 1]


def executor_with_two_workers_waits() -> None:
    """A task waits for another one, and there is a worker for each."""
    with concurrent.futures.ThreadPoolExecutor(2) as executor:

        def outer() -> int:
            return executor.submit(lambda: 1).result()

        assert executor.submit(outer).result() == 1


def futures_with_callbacks() -> None:
    """Callbacks of futures count under a lock; all are called before the shutdown is over."""
    lock = threading.Lock()
    counter = [0]

    def count(_: concurrent.futures.Future[int]) -> None:
        with lock:
            counter[0] += 1

    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        for _ in range(2):
            executor.submit(int).add_done_callback(count)
    assert counter == [2]


def futures_as_completed() -> None:
    """``as_completed`` gives each future once, in any order."""
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        futures = [executor.submit(pow, 2, number) for number in range(3)]
        results = [future.result() for future in concurrent.futures.as_completed(futures)]
    assert sorted(results) == [1, 2, 4]


def futures_wait_for_the_first() -> None:
    """``wait(FIRST_COMPLETED)`` until none is left."""
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        pending = {executor.submit(int) for _ in range(2)}
        rounds = 0
        while pending:
            done, pending = concurrent.futures.wait(
                pending, return_when=concurrent.futures.FIRST_COMPLETED
            )
            assert done
            rounds += 1
    assert 1 <= rounds <= 2


def futures_cancelled() -> None:
    """A future is cancelled or has a result, never both."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        executor.submit(int)
        future = executor.submit(lambda: 1)
        if future.cancel():
            assert future.cancelled()
        else:
            assert future.result() == 1


def future_with_an_exception() -> None:
    """An exception in a task of an executor belongs to its future, not to the test."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        future = executor.submit(lambda: 1 // 0)
        assert isinstance(future.exception(), ZeroDivisionError)


def thread_pool() -> None:
    """``multiprocessing.pool.ThreadPool`` with a lock for what is counted."""
    from multiprocessing.pool import ThreadPool

    with ThreadPool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]


def thread_local() -> None:
    """``threading.local`` is not shared."""
    local = threading.local()
    local.value = 0

    def count() -> None:
        local.value = 1
        local.value += 1
        assert local.value == 2

    together(count, count)
    assert local.value == 0


_context: contextvars.ContextVar[int] = contextvars.ContextVar("level", default=0)


def context_variables() -> None:
    """A context variable set in one thread is not seen in another."""

    def count() -> None:
        assert _context.get() == 0
        token = _context.set(_context.get() + 1)
        assert _context.get() == 1
        _context.reset(token)

    together(count, count)
    context = contextvars.copy_context()
    together(functools.partial(context.run, count))
    assert _context.get() == 0


def logging_in_threads() -> None:
    """Threads that log to one handler: each line is whole."""
    stream = io.StringIO()
    logger = logging.Logger("correct")
    logger.addHandler(logging.StreamHandler(stream))
    together(lambda: logger.warning("ada"), lambda: logger.warning("bob"))
    assert sorted(stream.getvalue().split()) == ["ada", "bob"]


def logging_with_getlogger() -> None:
    """``logging.getLogger`` of a new name in two threads gives one logger."""
    loggers: list[logging.Logger] = []
    together(*[lambda: loggers.append(logging.getLogger("tests.programs.correct"))] * 2)
    assert loggers[0] is loggers[1]


def exception_caught_in_the_thread() -> None:
    """A thread raises and catches."""
    caught: list[str] = []

    def work() -> None:
        try:
            raise ValueError("expected")
        except ValueError as error:
            caught.append(str(error))

    together(work, work)
    assert caught == ["expected", "expected"]


def file_made_by_one() -> None:
    """One of two makes a file that must not be there, and both read it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "new")
        made: list[bool] = []

        def make() -> None:
            try:
                open(path, "x").close()
            except FileExistsError:
                assert path.read_text() == ""
            else:
                made.append(True)

        together(make, make)
        assert made == [True]


def file_replaced_at_once() -> None:
    """Who writes a file beside and renames it never shows half of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "settings")
        path.write_text("color=red")

        def save() -> None:
            beside = path.with_suffix(".new")
            beside.write_text("color=blue")
            os.replace(beside, path)

        together(save, lambda: path.read_text().index("="))


# -- primitives ------------------------------------------------------------------------------------


class _Buffer:
    """A buffer guarded by a condition."""

    def __init__(self, size: int) -> None:
        self.items: collections.deque[int] = collections.deque()
        self.size = size
        self.changed = threading.Condition()

    def put(self, item: int) -> None:
        with self.changed:
            while len(self.items) == self.size:
                self.changed.wait()
            self.items.append(item)
            self.changed.notify_all()

    def get(self) -> int:
        with self.changed:
            self.changed.wait_for(lambda: self.items)
            item = self.items.popleft()
            self.changed.notify_all()
            return item


def bounded_buffer() -> None:
    """A buffer with ``while`` and ``notify_all``."""
    buffer = _Buffer(1)
    taken: list[int] = []
    together(
        lambda: taken.append(buffer.get()),
        lambda: taken.append(buffer.get()),
        lambda: (buffer.put(1), buffer.put(2)),
    )
    assert sorted(taken) == [1, 2]


def notify_under_a_condition() -> None:
    """The waiter looks at the state before it waits, so no notification is lost."""
    condition = threading.Condition()
    state = types.SimpleNamespace(ready=False)

    def wait() -> None:
        with condition:
            while not state.ready:
                condition.wait()

    def notify() -> None:
        with condition:
            state.ready = True
            condition.notify()

    together(wait, notify)


def condition_with_a_timeout() -> None:
    """A timed ``wait`` in a loop."""
    condition = threading.Condition()
    state = types.SimpleNamespace(ready=False)

    def wait() -> None:
        with condition:
            while not state.ready:
                condition.wait(0.1)

    def notify() -> None:
        with condition:
            state.ready = True

    together(wait, notify)


def barrier_used_again() -> None:
    """A barrier is used twice, and one thread of each round is the leader."""
    barrier = threading.Barrier(2)
    leaders: list[int] = []

    def work() -> None:
        for _ in range(2):
            if barrier.wait() == 0:
                leaders.append(1)

    together(work, work)
    assert len(leaders) == 2


def semaphore_of_two() -> None:
    """Never more than two are behind a semaphore of two."""
    semaphore = threading.Semaphore(2)
    lock = threading.Lock()
    state = types.SimpleNamespace(inside=0)

    def work() -> None:
        with semaphore:
            with lock:
                state.inside += 1
                assert state.inside <= 2
            with lock:
                state.inside -= 1

    together(work, work, work)


def reentrant_lock() -> None:
    """A reentrant lock is taken twice by one thread."""
    lock = threading.RLock()
    state = types.SimpleNamespace(count=0)

    def add() -> None:
        with lock:
            state.count += 1

    def add_twice() -> None:
        with lock:
            add()
            add()

    together(add_twice, add_twice)
    assert state.count == 4


def event_hand_over() -> None:
    """What is written before ``set`` is seen after ``wait``."""
    event = threading.Event()
    state = types.SimpleNamespace(value=0)

    def write() -> None:
        state.value = 1
        event.set()

    def read() -> None:
        event.wait()
        assert state.value == 1

    together(write, read)


def lock_as_a_signal() -> None:
    """A lock is released by another thread than the one that took it, as a signal."""
    lock = threading.Lock()
    lock.acquire()
    state = types.SimpleNamespace(value=0)

    def write() -> None:
        state.value = 1
        lock.release()

    def read() -> None:
        with lock:
            assert state.value == 1

    together(write, read)


def try_lock_with_a_fallback() -> None:
    """Who does not get the lock does something else."""
    lock = threading.Lock()
    done: list[str] = []

    def work() -> None:
        if lock.acquire(blocking=False):
            done.append("fast")
            lock.release()
        else:
            done.append("slow")

    together(work, work)
    assert "fast" in done
    assert len(done) == 2


def lock_with_a_timeout_and_a_fallback() -> None:
    """A timeout is handled."""
    lock = threading.Lock()
    state = types.SimpleNamespace(count=0, given_up=0)
    guard = threading.Lock()

    def work() -> None:
        if lock.acquire(timeout=1):
            try:
                state.count += 1
            finally:
                lock.release()
        else:
            with guard:
                state.given_up += 1

    together(work, work)
    assert state.count + state.given_up == 2


def queue_with_stop_signs() -> None:
    """A ``None`` for each consumer."""
    items: queue.Queue[int | None] = queue.Queue()
    taken: list[int] = []

    def consume() -> None:
        while (item := items.get()) is not None:
            taken.append(item)

    def produce() -> None:
        items.put(1)
        items.put(None)
        items.put(None)

    together(consume, consume, produce)
    assert taken == [1]


def bounded_queue() -> None:
    """A queue of one: the order is kept."""
    items: queue.Queue[int] = queue.Queue(1)
    taken: list[int] = []
    together(
        lambda: [items.put(number) for number in range(3)],
        lambda: taken.extend(items.get() for _ in range(3)),
    )
    assert taken == [0, 1, 2]


def simple_queue() -> None:
    """SimpleQueue hands over."""
    items: queue.SimpleQueue[int] = queue.SimpleQueue()
    taken: list[int] = []
    together(lambda: items.put(1), lambda: taken.append(items.get()))
    assert taken == [1]


def dining_philosophers_in_order() -> None:
    """The forks are taken in the order of their numbers."""
    forks = [threading.Lock() for _ in range(3)]

    def dine(seat: int) -> None:
        first, second = sorted((seat, (seat + 1) % 3))
        with forks[first], forks[second]:
            pass

    together(*(functools.partial(dine, seat) for seat in range(3)))


class _ReadersWriters:
    """A lock for many readers or one writer."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.readers = 0
        self.writing = False

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        with self.changed:
            while self.writing:
                self.changed.wait()
            self.readers += 1
        yield
        with self.changed:
            self.readers -= 1
            self.changed.notify_all()

    @contextlib.contextmanager
    def written(self) -> Iterator[None]:
        with self.changed:
            while self.writing or self.readers:
                self.changed.wait()
            self.writing = True
        yield
        with self.changed:
            self.writing = False
            self.changed.notify_all()


def readers_and_writers() -> None:
    """Readers never see half of what a writer does."""
    lock = _ReadersWriters()
    state = types.SimpleNamespace(x=0, y=0)

    def read() -> None:
        with lock.reading():
            assert state.x == state.y

    def write() -> None:
        with lock.written():
            state.x += 1
            state.y += 1

    together(read, read, write)


def peterson() -> None:
    """Peterson's mutual exclusion, with spin loops: right if memory is as one expects it."""
    wants = [False, False]
    state = types.SimpleNamespace(turn=0, count=0)

    def work(me: int) -> None:
        wants[me] = True
        state.turn = 1 - me
        while wants[1 - me] and state.turn == 1 - me:
            pass
        state.count += 1
        wants[me] = False

    together(lambda: work(0), lambda: work(1))
    assert state.count == 2


def socket_pair() -> None:
    """One thread sends, the other one receives."""
    one, two = socket.socketpair()
    with one, two:
        received: list[bytes] = []
        together(lambda: one.sendall(b"ping"), lambda: received.append(two.recv(4)))
        assert received == [b"ping"]


def socket_pair_both_ways() -> None:
    """A request and a reply over a socket pair."""
    one, two = socket.socketpair()
    with one, two:

        def serve() -> None:
            two.sendall(two.recv(4).upper())

        def ask() -> None:
            one.sendall(b"ping")
            assert one.recv(4) == b"PING"

        together(serve, ask)


def socket_pair_with_a_daemon() -> None:
    """A daemon thread serves until the other end closes."""
    one, two = socket.socketpair()
    with two:

        def serve() -> None:
            while data := two.recv(4):
                two.sendall(data)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with one:
            one.sendall(b"ping")
            assert one.recv(4) == b"ping"
        thread.join()


# -- data ------------------------------------------------------------------------------------------


def locked_counter() -> None:
    """A counter under a lock."""
    lock = threading.Lock()
    state = types.SimpleNamespace(value=0)

    def count() -> None:
        with lock:
            state.value += 1

    together(count, count)
    assert state.value == 2


_cache: dict[int, object] = {}
_cache_lock = threading.Lock()


def _cached(number: int) -> object:
    with _cache_lock:
        if number not in _cache:
            _cache[number] = object()
        return _cache[number]


def cache_of_the_module() -> None:
    """A cache in a global, guarded by a lock; it is full from the first execution on."""
    seen: list[object] = []
    together(*[lambda: seen.append(_cached(1))] * 2)
    assert seen[0] is seen[1]


def double_checked_locking() -> None:
    """The value is published last: both threads get it."""
    lock = threading.Lock()
    state = types.SimpleNamespace(value=None)
    seen: list[object] = []

    def get() -> None:
        value = state.value
        if value is None:
            with lock:
                value = state.value
                if value is None:
                    value = state.value = object()
        seen.append(value)

    together(get, get)
    assert seen[0] is seen[1]


def list_append_is_atomic() -> None:
    """``append`` from two threads: nothing is lost."""
    items: list[int] = []
    together(lambda: items.append(1), lambda: items.append(2))
    assert sorted(items) == [1, 2]


def dict_store_is_atomic() -> None:
    """Stores of different keys: nothing is lost."""
    table: dict[str, int] = {}

    def store(key: str) -> None:
        table[key] = 1

    together(lambda: store("a"), lambda: store("b"))
    assert table == {"a": 1, "b": 1}


def setdefault_is_atomic() -> None:
    """``setdefault`` gives both threads the same list."""
    table: dict[str, list[int]] = {}
    together(
        lambda: table.setdefault("x", []).append(1), lambda: table.setdefault("x", []).append(2)
    )
    assert sorted(table["x"]) == [1, 2]


def pop_with_a_default_is_atomic() -> None:
    """``pop(key, None)``: one thread gets it."""
    table = {"x": 1}
    taken: list[int | None] = []
    together(*[lambda: taken.append(table.pop("x", None))] * 2)
    assert sorted(taken, key=str) == [1, None]


def deque_popleft_or_exception() -> None:
    """``popleft`` with IndexError handled."""
    items = collections.deque([1])
    taken: list[int] = []

    def take() -> None:
        with contextlib.suppress(IndexError):
            taken.append(items.popleft())

    together(take, take)
    assert taken == [1]


def next_is_atomic() -> None:
    """``next`` of an ``itertools.count`` gives each number once."""
    counter = itertools.count()
    taken: list[int] = []
    together(*[lambda: taken.append(next(counter))] * 2)
    assert sorted(taken) == [0, 1]


def heap_under_a_lock() -> None:
    """A heap under a lock."""
    lock = threading.Lock()
    heap = [1, 2]
    taken: list[int] = []

    def take() -> None:
        with lock:
            if heap:
                taken.append(heapq.heappop(heap))

    together(take, take)
    assert sorted(taken) == [1, 2]


def iteration_over_a_copy() -> None:
    """A list is copied before it is iterated over."""
    items = [1, 2]

    def read() -> None:
        for item in items.copy():
            assert item in (1, 2, 3)

    together(read, lambda: items.append(3))


def lru_cache_of_a_pure_function() -> None:
    """``lru_cache`` of a pure function: computed twice perhaps, but right."""

    @functools.lru_cache
    def square(number: int) -> int:
        return number * number

    results: list[int] = []
    together(*[lambda: results.append(square(3))] * 2)
    assert results == [9, 9]


def cached_property_under_a_lock() -> None:
    """A cached property with a lock of its own."""
    lock = threading.Lock()

    class Lazy:
        @functools.cached_property
        def _value(self) -> object:
            return object()

        @property
        def value(self) -> object:
            with lock:
                return self._value

    lazy = Lazy()
    seen: list[object] = []
    together(*[lambda: seen.append(lazy.value)] * 2)
    assert seen[0] is seen[1]


def handed_over_and_joined() -> None:
    """Data made by a thread is used after the join."""
    state = types.SimpleNamespace(value=0)

    def make() -> None:
        state.value = 1

    together(make)
    state.value += 1
    together(make)
    assert state.value == 1


def copy_on_write() -> None:
    """A tuple is replaced as a whole: readers see an old or a new one."""
    lock = threading.Lock()
    state = types.SimpleNamespace(pair=(0, 0))

    def write() -> None:
        with lock:
            first, second = state.pair
            state.pair = (first + 1, second + 1)

    def read() -> None:
        first, second = state.pair
        assert first == second

    together(write, write, read)


def objects_made_in_threads() -> None:
    """Many objects of one class, each in one thread only."""

    class Node:
        __slots__ = ("following", "value")

        def __init__(self, value: int, following: Node | None) -> None:
            self.value = value
            self.following = following

    def build() -> None:
        node = None
        for number in range(5):
            node = Node(number, node)
        total = 0
        while node:
            total += node.value
            node = node.following
        assert total == 10

    together(build, build)


def sixteen_threads() -> None:
    """Many threads that hardly share anything."""
    results = [0] * 16

    def work(number: int) -> None:
        results[number] = number

    together(*(functools.partial(work, number) for number in range(16)))
    assert results == list(range(16))
