"""Correct programs: threads, timers, executors."""

from __future__ import annotations

import concurrent.futures
import contextvars
import functools
import io
import logging
import os
import queue
import sched
import tempfile
import threading
import time
from pathlib import Path

from tests.programs.together import together


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


def locks_in_the_order_of_their_ids() -> None:
    """Two tasks name two locks the other way round, and take them in the same order."""
    locks = (threading.Lock(), threading.Lock())

    def both(named: tuple[threading.Lock, ...]) -> None:
        first, second = sorted(named, key=id)
        with first, second:
            pass

    together(lambda: both(locks), lambda: both(locks[::-1]))


def every_future_of_a_set() -> None:
    """The futures of a set are gone through in any order, and all are counted."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done, _ = concurrent.futures.wait([pool.submit(int, number) for number in range(3)])
        assert sum(future.result() for future in done) == 3


def thread_started_once_under_a_lock() -> None:
    """The second task finds that the thread has been started."""
    lock = threading.Lock()
    thread = threading.Thread(target=list)

    def start_once() -> None:
        with lock:
            if thread.native_id is None:
                thread.start()

    together(start_once, start_once)
    thread.join()


def daemon_by_turns_under_a_lock() -> None:
    """Each sees what the other has set."""
    lock = threading.Lock()
    thread = threading.Thread(target=list)

    def turn() -> None:
        with lock:
            thread.daemon = not thread.daemon

    together(turn, turn)
    assert not thread.daemon


def repr_of_threads() -> None:
    """What a task prints of threads that run already changes only as they end."""
    together(
        lambda: repr(threading.current_thread()),
        lambda: repr(threading.main_thread()),
    )
