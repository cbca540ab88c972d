"""Broken programs: conditions, events, barriers, semaphores, queues."""

from __future__ import annotations

import concurrent.futures
import queue
import threading
import time

from tests.programs.counter import Counter
from tests.programs.together import together


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


def predicate_that_gives_back_a_list() -> None:
    """What is waited for, that a list is not empty, comes after the notification."""
    condition = threading.Condition()
    items: list[int] = []

    def wait() -> None:
        with condition:
            condition.wait_for(lambda: items)

    def add() -> None:
        with condition:
            condition.notify()
        items.append(1)

    together(wait, add)


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
    counter = Counter()

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


def ten_yields_are_no_wait() -> None:
    """What is read after ten yields may be as old as what was read before: the assertion fails."""
    box = [0]
    reads = []

    def read_twice() -> None:
        reads.append(box[0])
        for _ in range(10):
            time.sleep(0)
        reads.append(box[0])

    def write() -> None:
        box[0] = 1

    together(read_twice, write)
    assert reads != [0, 0]


def three_tries_are_no_wait() -> None:
    """Who gives up after three looks with a yield after each may be too early: it raises."""
    ready = [False]

    def wait() -> None:
        for _ in range(3):
            if ready[0]:
                return
            time.sleep(0)
        raise TimeoutError("not ready after three looks")

    def tell() -> None:
        ready[0] = True

    together(wait, tell)
