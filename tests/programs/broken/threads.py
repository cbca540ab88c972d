"""Broken programs: threads, executors, timers."""

from __future__ import annotations

import concurrent.futures
import contextlib
import io
import logging
import threading
import time
from typing import Any

from tests.programs.counter import Counter
from tests.programs.together import together


def lost_update() -> None:
    """Two read-modify-writes of an attribute: one is lost."""
    counter = Counter()
    together(counter.increment, counter.increment)
    assert counter.value == 2


def lost_update_in_nested_threads() -> None:
    """A thread starts a thread, and both count: one update is lost."""
    counter = Counter()

    def outer() -> None:
        inner = threading.Thread(target=counter.increment)
        inner.start()
        counter.increment()
        inner.join()

    together(outer)
    assert counter.value == 2


def lost_update_three_levels_down() -> None:
    """Threads started by threads started by threads: one update is lost."""
    counter = Counter()

    def start(depth: int) -> None:
        if depth:
            together(lambda: start(depth - 1))
        counter.increment()

    together(lambda: start(2), counter.increment)
    assert counter.value == 4


class _Worker(threading.Thread):
    def __init__(self, counter: Counter) -> None:
        super().__init__(name="worker")
        self.counter = counter

    def run(self) -> None:
        self.counter.increment()


def lost_update_in_thread_subclasses() -> None:
    """Subclasses of Thread that override ``run``: one update is lost."""
    counter = Counter()
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
    counter = Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        for _ in range(2):
            executor.submit(counter.increment)
    assert counter.value == 2


def lost_update_in_executor_map() -> None:
    """``Executor.map`` over a function that counts: one update is lost."""
    counter = Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        list(executor.map(lambda _: counter.increment(), range(2)))
    assert counter.value == 2


def callback_of_a_future_races() -> None:
    """A future's callback runs in the worker and counts beside the main thread."""
    counter = Counter()
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        future = executor.submit(int)
        future.add_done_callback(lambda _: counter.increment())
        counter.increment()
    assert counter.value == 2


def lost_update_in_a_thread_pool() -> None:
    """``multiprocessing.pool.ThreadPool`` workers count: one update is lost."""
    from multiprocessing.pool import ThreadPool

    counter = Counter()
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
    counter = Counter()
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


def first_of_the_futures_that_are_done() -> None:
    """A set of futures has no order: the first one need not be the first that was submitted."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done, _ = concurrent.futures.wait([pool.submit(int, number) for number in range(2)])
        assert next(iter(done)).result() == 0


def order_of_what_is_completed_already() -> None:
    """What was done before is yielded in the order of a set, not in that of its completion."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        futures = [pool.submit(int, number) for number in range(2)]
        concurrent.futures.wait(futures)
        results = [future.result() for future in concurrent.futures.as_completed(futures)]
        assert results == [0, 1]


def root_goes_on_when_it_is_woken() -> None:
    """The list is read between the event and the append; nobody has joined the thread yet."""
    event = threading.Event()
    done: list[int] = []

    def work() -> None:
        event.set()
        done.append(1)

    worker = threading.Thread(target=work)
    worker.start()
    event.wait()
    count = len(done)
    worker.join()
    assert count == 1


def root_updates_when_it_is_woken() -> None:
    """A lost update between the root task and one whose end it has not waited for."""
    counter = Counter()
    ready = threading.Semaphore(0)

    def work() -> None:
        ready.release()
        counter.value += 1

    worker = threading.Thread(target=work)
    worker.start()
    ready.acquire()
    counter.value += 1
    worker.join()
    assert counter.value == 2


def joined_before_it_is_started() -> None:
    """RuntimeError: cannot join thread before it is started."""
    thread = threading.Thread(target=len, args=("",))
    together(thread.start, thread.join)
    thread.join()


def ident_before_it_is_started() -> None:
    """It is None until another task has started the thread."""
    thread = threading.Thread(target=len, args=("",))
    idents: list[int | None] = []
    together(thread.start, lambda: idents.append(thread.ident))
    thread.join()
    assert idents != [None]


def timer_calls_code_in_c() -> None:
    """KeyError: the dict is cleared between the two looks."""
    table = {"a": 1}
    timer = threading.Timer(0.1, table.clear)
    timer.start()
    if "a" in table:
        table["a"]
    timer.join()


def future_calls_code_in_c() -> None:
    """The callback of a future has appended to the list between two looks at it."""
    results: list[object] = []
    lengths: list[int] = []
    future: concurrent.futures.Future[int] = concurrent.futures.Future()
    future.add_done_callback(results.append)

    def look() -> None:
        lengths.append(len(results))
        lengths.append(len(results))

    together(lambda: future.set_result(1), look)
    assert lengths[0] == lengths[1]


def thread_started_twice() -> None:
    """RuntimeError: both find that the thread has not been started."""
    thread = threading.Thread(target=list)

    def start_once() -> None:
        if thread.native_id is None:
            thread.start()

    together(start_once, start_once)
    thread.join()


def started_flag_of_a_thread() -> None:
    """RuntimeError: both find that the thread has not been started."""
    thread = threading.Thread(target=list)

    def start_once() -> None:
        if not thread._started.is_set():  # type: ignore[attr-defined]
            thread.start()

    together(start_once, start_once)
    thread.join()


def repr_of_a_thread() -> None:
    """The thread has not been started yet, or has."""
    thread = threading.Thread(target=list)
    seen: list[str] = []
    looking = threading.Thread(target=lambda: seen.append(repr(thread)))
    looking.start()
    thread.start()
    thread.join()
    looking.join()
    assert "initial" not in seen[0]


def daemon_by_turns() -> None:
    """Both see what it was before."""
    thread = threading.Thread(target=list)

    def turn() -> None:
        thread.daemon = not thread.daemon

    together(turn, turn)
    assert not thread.daemon
