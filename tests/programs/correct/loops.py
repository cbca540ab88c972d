"""Correct programs: loops that wait."""

from __future__ import annotations

import concurrent.futures
import contextlib
import queue
import threading
import time
import types

from tests.programs.together import together


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


def ten_yields_before_a_wait() -> None:
    """It yields ten times, and then waits until the other has written."""
    box = [0]
    reads = []
    written = threading.Event()

    def read_twice() -> None:
        reads.append(box[0])
        for _ in range(10):
            time.sleep(0)
        written.wait()
        reads.append(box[0])

    def write() -> None:
        box[0] = 1
        written.set()

    together(read_twice, write)
    assert reads[1] == 1
